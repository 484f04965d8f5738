"""What every page shows of who is signed in."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest


def caller(request: HttpRequest) -> dict[str, Any]:
    """Offer `caller` to the templates; None before sign-in."""
    return {"caller": getattr(request, "caller", None)}
