"""Every REST view states the role and the scope that open it; one that states none stays closed."""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from core.errors import Forbidden
from tenants.api.authentication import caller_from
from tenants.domain.access import Role, Scope


class ClosedUnlessStated(BasePermission):
    """Read `view.needs = {"GET": (Role, Scope), …}`; a method that isn't named there is forbidden."""

    def has_permission(self, request: Request, view: Any) -> bool:
        needs: dict[str, tuple[Role, Scope]] = getattr(view, "needs", {})
        method = "GET" if request.method in {"HEAD", "OPTIONS"} else str(request.method)
        if str(request.method) not in view.allowed_methods:
            return True  # the dispatcher answers 405
        if method not in needs:
            raise Forbidden("This door is closed.")
        role, scope = needs[method]
        caller_from(request).require(role=role, scope=scope)
        return True
