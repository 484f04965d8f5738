"""Give every request a correlation id, log it once, count it once.

The outermost layer: an answer of any other layer carries the id too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from uuid import uuid4

import structlog
from django.http import HttpRequest, HttpResponse

from core.observability.metrics import REQUEST_DURATION, REQUESTS

HEADER = "X-Correlation-Id"
_ACCEPTED = re.compile(r"[A-Za-z0-9._:-]{1,128}\Z")
log = structlog.get_logger("wisdom.request")


def accepted_id(given: str | None) -> str:
    """Return the caller's id when it is safe to log and echo, else a new one."""
    return given if given and _ACCEPTED.match(given) else uuid4().hex


def current_id() -> str:
    """Return the id of the request or task at work, or an empty string."""
    return str(structlog.contextvars.get_contextvars().get("correlation_id", ""))


class CorrelationMiddleware:
    """Bind the id to every log line of this request and echo it on the response."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        correlation_id = accepted_id(request.headers.get(HEADER))
        started = time.perf_counter()
        with structlog.contextvars.bound_contextvars(correlation_id=correlation_id):
            response = self.get_response(request)
            response[HEADER] = correlation_id
            seconds = time.perf_counter() - started
            # The template of the route, never the path: a path holds ids, and a metric has no room for them.
            operation = request.resolver_match.route if request.resolver_match else "unmatched"
            outcome = f"{response.status_code // 100}xx"
            REQUESTS.labels(operation=operation, outcome=outcome).inc()
            REQUEST_DURATION.labels(operation=operation).observe(seconds)
            if not operation.startswith("static/"):
                log.info(
                    "request",
                    method=request.method,
                    operation=operation,
                    status=response.status_code,
                    milliseconds=round(seconds * 1000, 1),
                    tenant=getattr(getattr(request, "tenant", None), "slug", None),
                )
        return response
