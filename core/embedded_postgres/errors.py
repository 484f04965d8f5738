"""Say in one line what this machine lacks and what to do about it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_FULL = {errno.ENOSPC, errno.EDQUOT}


class EmbeddedPostgresError(RuntimeError):
    """The embedded server can't run here; the message is one line and says what to do."""


@contextmanager
def operating_system_errors_explained(folder: Path) -> Iterator[None]:
    """Turn an `OSError` about `folder`, or what lies in it, into one line."""
    try:
        yield
    except OSError as error:
        place = error.filename if isinstance(error.filename, str) else str(folder)
        if error.errno in _DENIED:
            raise EmbeddedPostgresError(
                f"{place} can't be used by user id {os.geteuid()} ({error.strerror}): run as its owner, "
                "or set WA_STATE_DIR to a folder of yours"
            ) from error
        if error.errno in _FULL:
            raise EmbeddedPostgresError(
                f"the disk that holds {place} is full: make room, or set WA_STATE_DIR to a folder on another disk"
            ) from error
        raise EmbeddedPostgresError(f"the embedded PostgreSQL can't use {place}: {error.strerror}") from error
