"""The one place that reads the time; everything else is handed `now`."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the present moment, aware, in UTC."""
    return datetime.now(tz=UTC)
