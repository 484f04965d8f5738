"""Hand REST framework the caller that the middleware found."""

from __future__ import annotations

from typing import Any, cast

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.request import Request

from tenants.caller import Caller
from tenants.middleware import caller_of


def caller_from(request: Request) -> Caller:
    """Return the caller that REST framework authenticated."""
    return cast(Caller, request.auth)


class CallerAuthentication(BaseAuthentication):
    """`request.auth` is the `Caller`; a browser's session is held to CSRF, a key is not."""

    def authenticate(self, request: Request) -> tuple[Any, Caller]:
        inner: HttpRequest = request._request
        caller = caller_of(inner)
        if caller.key_id is None:
            SessionAuthentication().enforce_csrf(request)
        return inner.user, caller

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="wisdom"'
