"""Find out who is asking before any view runs; a view decides whether that is enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import structlog
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse

from core.clock import utc_now
from core.errors import DatabaseUnavailable, NotAuthenticated, WisdomError
from tenants.selectors import find_caller_of_user, get_caller_of_key

if TYPE_CHECKING:
    from tenants.caller import Caller

log = structlog.get_logger("wisdom.caller")
TENANT_HEADER = "X-Tenant-Id"
# Pages that know no tenant, so that a wrong choice of tenant can't lock anybody out of them.
_WITHOUT_TENANT = ("/health", "/ready", "/metrics", "/static/", "/sign-in", "/sign-out")


class CallerMiddleware:
    """Put the caller on the request as `request.caller`, or the reason there is none as `caller_error`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        target: Any = request
        target.caller, target.caller_error, target.tenant = None, None, None
        if not request.path.startswith(_WITHOUT_TENANT):
            try:
                target.caller = _find_caller(request)
                target.tenant = target.caller.tenant if target.caller else None
            except WisdomError as error:
                target.caller_error = error
            except (OperationalError, InterfaceError):
                log.exception("who is asking can't be found out")
                target.caller_error = DatabaseUnavailable()
        return self.get_response(request)


def _find_caller(request: HttpRequest) -> Caller | None:
    chosen = request.headers.get(TENANT_HEADER) or None
    address = request.META.get("REMOTE_ADDR", "")
    authorization = request.headers.get("Authorization", "")
    if authorization:
        kind, _, token = authorization.partition(" ")
        if kind.lower() != "bearer":
            raise NotAuthenticated("Send the key as: Authorization: Bearer wsk_…", code="bad_authorization")
        return get_caller_of_key(token=token.strip(), chosen=chosen, address=address, now=utc_now())
    if request.user.is_authenticated:
        chosen = chosen or request.session.get("tenant") or None
        return find_caller_of_user(user=request.user, chosen=chosen, address=address)
    return None


def caller_of(request: HttpRequest) -> Caller:
    """Return who is asking.

    Raises: what stood in the way, else NotAuthenticated.
    """
    target: Any = request
    if target.caller_error is not None:
        raise target.caller_error
    if target.caller is None:
        if request.user.is_authenticated:
            raise NotAuthenticated(
                "Your account belongs to no tenant yet: ask an admin of yours to add it.",
                code="no_membership",
            )
        raise NotAuthenticated("Sign in, or send an API key as: Authorization: Bearer wsk_…")
    caller: Caller = target.caller
    return caller
