"""Who is asking, for which tenant: what every door hands to every service."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

from core.errors import Forbidden
from tenants.domain.access import Role, Scope

if TYPE_CHECKING:
    from tenants.models import Tenant


@dataclass(frozen=True, slots=True)
class Caller:
    """A person with a role, a program with scopes, or the operator at the command line, in one tenant."""

    tenant: Tenant
    label: str
    role: Role | None = None
    scopes: frozenset[Scope] = field(default_factory=frozenset)
    user_id: int | None = None
    key_id: UUID | None = None
    address: str = ""

    def require(self, *, role: Role, scope: Scope) -> None:
        """Let a person of `role` or a key with `scope` pass.

        Raises: Forbidden, saying what is missing.
        """
        if self.role is not None:
            if not self.role.includes(role):
                raise Forbidden(f"This needs the role {role} in {self.tenant.slug}; yours is {self.role}.")
        elif scope not in self.scopes and Scope.ADMIN not in self.scopes:
            raise Forbidden(f"This key has no scope {scope}; make a key that has it.")


def operator(tenant: Tenant) -> Caller:
    """Return the caller that a command stands for: whoever has the machine has the data."""
    return Caller(tenant=tenant, label="command line", role=Role.ADMIN)
