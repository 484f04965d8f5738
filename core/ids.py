"""Row ids: time-ordered uuids made in Python, so that a row knows its id before it is stored."""

from __future__ import annotations

from uuid import UUID

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    """Return a new time-ordered id (RFC 9562, version 7)."""
    return uuid7()
