"""Say what went wrong once, in the trade's words; each door translates it (`wisdom_project/error_mapping.py`).

Not having enough evidence is an outcome of a question and never one of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class WisdomError(Exception):
    """Base of every error that a caller is told about.

    `message` says what to do and is safe to show; `detail` is JSON for programs; `field` names the
    input at fault where there is one.
    """

    code: ClassVar[str] = "error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        field: str | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.error_code = code or self.code
        self.field = field
        self.detail: dict[str, Any] = dict(detail or {})
        if field is not None:
            self.detail.setdefault("field", field)


class InvalidInput(WisdomError):
    """The caller sent something that can't be used; the message says what to send instead."""

    code = "invalid_input"


class NotAuthenticated(WisdomError):
    """No credential, or one that is unknown, expired or revoked."""

    code = "not_authenticated"


class Forbidden(WisdomError):
    """A known caller whose role or scopes don't reach this far."""

    code = "forbidden"


class NotFound(WisdomError):
    """No such row for this tenant; a row of another tenant gets exactly this."""

    code = "not_found"

    def __init__(self, message: str = "Nothing with that id exists here.", **kwargs: Any) -> None:
        super().__init__(message, **kwargs)


class Conflict(WisdomError):
    """The row has moved on since the caller read it, or the name is taken."""

    code = "conflict"


class _TryLater(WisdomError):
    """Carries when to try again, in seconds."""

    def __init__(self, message: str, *, retry_after_seconds: float, **kwargs: Any) -> None:
        super().__init__(message, **kwargs)
        self.retry_after_seconds = retry_after_seconds


class RateLimited(_TryLater):
    """This credential asks too fast."""

    code = "rate_limited"


class QuotaExhausted(_TryLater):
    """This tenant has used what it may use for now."""

    code = "quota_exhausted"


class UpstreamUnavailable(WisdomError):
    """Something that we call is down; trying again may help."""

    code = "upstream_unavailable"


class DatabaseUnavailable(UpstreamUnavailable):
    """The database is away or took too long."""

    code = "database_unavailable"

    def __init__(self, message: str = "The database is away or took too long: try again in a moment.") -> None:
        super().__init__(message)


class UpstreamTimedOut(WisdomError):
    """Something that we call did not answer in time."""

    code = "upstream_timed_out"
