"""The one table from what went wrong to what each door answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render, resolve_url
from django.utils.http import urlencode
from rest_framework import exceptions as rest
from rest_framework.response import Response

from core import errors
from core.observability.correlation import current_id

log = structlog.get_logger("wisdom.error")


@dataclass(frozen=True, slots=True)
class Reply:
    """How one kind of error is told: HTTP status, GraphQL `extensions.code`, MCP treatment."""

    http: int
    graphql: str
    mcp: str


ERROR_MAP: dict[type[errors.WisdomError], Reply] = {
    errors.InvalidInput: Reply(422, "BAD_USER_INPUT", "isError"),
    errors.NotAuthenticated: Reply(401, "UNAUTHENTICATED", "401"),
    errors.Forbidden: Reply(403, "FORBIDDEN", "isError"),
    errors.NotFound: Reply(404, "NOT_FOUND", "isError"),
    errors.Conflict: Reply(409, "CONFLICT", "isError"),
    errors.RateLimited: Reply(429, "RATE_LIMITED", "isError, retry_at"),
    errors.QuotaExhausted: Reply(429, "QUOTA_EXHAUSTED", "isError, retry_at"),
    errors.UpstreamUnavailable: Reply(503, "UPSTREAM", "isError, retryable"),
    errors.UpstreamTimedOut: Reply(504, "UPSTREAM", "isError, retryable"),
}
UNEXPECTED = Reply(500, "INTERNAL", "internal error")


def reply_for(error: BaseException) -> Reply:
    """Return the row of the nearest class of `error`; anything unknown is internal."""
    for kind in type(error).__mro__:
        if kind in ERROR_MAP:
            return ERROR_MAP[kind]
    return UNEXPECTED


def error_body(*, code: str, message: str, detail: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the one body that every door uses."""
    return {"error": {"code": code, "message": message, "detail": detail or {}, "request_id": current_id()}}


def _body_of(error: errors.WisdomError) -> dict[str, Any]:
    return error_body(code=error.error_code, message=error.message, detail=error.detail)


def _headers_of(error: BaseException) -> dict[str, str]:
    after = getattr(error, "retry_after_seconds", None)
    headers = {} if after is None else {"Retry-After": str(max(1, round(after)))}
    if isinstance(error, errors.NotAuthenticated):
        headers["WWW-Authenticate"] = 'Bearer realm="wisdom"'
    return headers


_REST_STATUS_CODES = {
    400: "bad_request",
    401: "not_authenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    413: "too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
}


def rest_exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """Translate for REST framework: ours by the table, its own by their status, the rest as 500."""
    if isinstance(error, errors.WisdomError):
        return Response(_body_of(error), status=reply_for(error).http, headers=_headers_of(error))
    if isinstance(error, Http404):
        return Response(_body_of(errors.NotFound()), status=404)
    if isinstance(error, RequestDataTooBig):
        return Response(
            error_body(code="too_large", message="The request is too large: send at most 64 MB."), status=413
        )
    if isinstance(error, RecursionError):
        return Response(error_body(code="bad_json", message="The body is nested too deeply."), status=400)
    if isinstance(error, (OperationalError, InterfaceError)):
        return rest_exception_handler(_database_away(error), context)
    if isinstance(error, rest.ValidationError):
        field = str(next(iter(error.detail), "")) if isinstance(error.detail, dict) else ""
        message = f"{field}: {_first_message(error.detail)}" if field else _first_message(error.detail)
        return Response(
            error_body(code="invalid_input", message=message, detail={"field": field, "fields": error.detail}),
            status=422,
        )
    if isinstance(error, rest.ParseError):
        return Response(error_body(code="bad_json", message=f"The body isn't valid JSON. {error.detail}"), status=400)
    if isinstance(error, rest.APIException):
        headers = {"Retry-After": str(error.wait)} if getattr(error, "wait", None) else {}  # type: ignore[attr-defined]  # only Throttled has it
        code = _REST_STATUS_CODES.get(error.status_code, "error")
        return Response(error_body(code=code, message=str(error.detail)), status=error.status_code, headers=headers)
    if isinstance(error, PermissionDenied):
        return Response(error_body(code="forbidden", message="This is not allowed."), status=403)
    log.error("unexpected error", exc_info=error)
    return Response(_unexpected_body(), status=500)


def _database_away(error: Exception) -> errors.DatabaseUnavailable:
    log.error("the database is away or took too long", exc_info=error)
    return errors.DatabaseUnavailable()


def _first_message(detail: Any) -> str:
    while isinstance(detail, dict | list) and detail:
        detail = next(iter(detail.values())) if isinstance(detail, dict) else detail[0]
    return str(detail)


def _unexpected_body() -> dict[str, Any]:
    return error_body(
        code="internal_error",
        message="Something went wrong on our side. Give the request id when you report it.",
    )


def _wants_json(request: HttpRequest) -> bool:
    return request.path.startswith("/api/") or request.headers.get("Accept", "").startswith("application/json")


class ErrorMiddleware:
    """Translate what a page raised: JSON for programs, a page for people, the sign-in for strangers."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith("/api/") and ("\x00" in request.path or "%00" in request.META["QUERY_STRING"]):
            # The database takes no NUL, and nothing that is stored has one.
            return error_response(request, errors.InvalidInput("The address holds a NUL character."))
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, errors.WisdomError):
            return error_response(request, error)
        if isinstance(error, Http404):
            return error_response(request, errors.NotFound())
        if isinstance(error, (OperationalError, InterfaceError)):
            return error_response(request, _database_away(error))
        return None


def error_response(request: HttpRequest, error: errors.WisdomError) -> HttpResponse:
    """Return the reply to a page's error."""
    status = reply_for(error).http
    if _wants_json(request):
        return JsonResponse(_body_of(error), status=status, headers=_headers_of(error))
    if isinstance(error, errors.NotAuthenticated) and not request.user.is_authenticated:
        return HttpResponseRedirect(f"{resolve_url('sign-in')}?{urlencode({'next': request.get_full_path()})}")
    context = {"status": status, "message": error.message, "request_id": current_id()}
    return render(request, "error.html", context, status=status)


def page_not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer an address that leads nowhere."""
    return error_response(request, errors.NotFound("There is nothing at this address."))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form whose token is missing or stale."""
    return error_response(
        request,
        errors.Forbidden("This form has expired: go back, reload the page and send it again.", code="csrf"),
    )


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer what nobody foresaw; the request id is all that leaves the house."""
    if _wants_json(request):
        return JsonResponse(_unexpected_body(), status=500)
    context = {"status": 500, "message": _unexpected_body()["error"]["message"], "request_id": current_id()}
    return render(request, "error.html", context, status=500)
