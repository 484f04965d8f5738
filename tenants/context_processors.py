"""What every page shows of who is signed in."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from tenants.caller import Caller
from tenants.domain.access import Role


def caller(request: HttpRequest) -> dict[str, Any]:
    """Offer `caller` to the templates, None before sign-in, and whether it `may_curate`."""
    asking: Caller | None = getattr(request, "caller", None)
    may_curate = asking is not None and asking.role is not None and asking.role.includes(Role.CURATOR)
    return {"caller": asking, "may_curate": may_curate}
