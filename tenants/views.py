"""Signing in and out."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


class SignInView(LoginView):
    """Sign a person in; they go on to the page that they wanted, if it is one of ours."""

    template_name = "tenants/sign_in.html"
    redirect_authenticated_user = True

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = 422
        return response


def too_many_attempts(request: HttpRequest, credentials: Any = None, *args: Any, **kwargs: Any) -> HttpResponse:
    """Answer a sign-in that has been tried too often."""
    context = {
        "status": 429,
        "message": "Too many attempts to sign in. Wait a quarter of an hour, then try again.",
        "request_id": "",
    }
    response = render(request, "error.html", context, status=429)
    response["Retry-After"] = "900"
    return response
