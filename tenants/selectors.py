"""Find tenants, and who a credential stands for."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from core.errors import NotAuthenticated, NotFound
from tenants.caller import Caller
from tenants.domain.access import ApiSecret, Role, Scope
from tenants.models import ApiKey, Membership, Tenant

if TYPE_CHECKING:
    from django.contrib.auth.models import User

_LAST_USED_GRAIN = timedelta(minutes=1)


def get_tenant(*, slug: str) -> Tenant:
    """Return the tenant of that slug. Raises: NotFound."""
    tenant = find_tenant(slug=slug)
    if tenant is None:
        raise NotFound(f"There is no tenant {slug!r}.", code="unknown_tenant", field="tenant")
    return tenant


def find_tenant(*, slug: str) -> Tenant | None:
    """Return the tenant of that slug, or None."""
    return Tenant.objects.filter(slugs__slug=slug).first()


def get_caller_of_key(*, token: str, chosen: str | None, address: str, now: datetime) -> Caller:
    """Return who a bearer token stands for.

    Raises: NotAuthenticated, with one message for a key that is unknown, revoked or expired; NotFound
    when `chosen` names a tenant that isn't the key's own.
    """
    secret = ApiSecret.parse(token)
    key = ApiKey.objects.select_related("tenant").filter(prefix=secret.prefix).first() if secret else None
    if secret is None or key is None or not secret.matches(key.digest) or not key.is_usable(now):
        raise NotAuthenticated("This API key is unknown, expired or revoked.", code="bad_api_key")
    if chosen is not None and chosen != key.tenant.slug:
        raise NotFound
    if key.last_used_at is None or now - key.last_used_at > _LAST_USED_GRAIN:
        ApiKey.objects.filter(pk=key.pk).update(last_used_at=now)
    return Caller(
        tenant=key.tenant,
        label=f"key {key.name}",
        scopes=frozenset(Scope(scope) for scope in key.scopes if scope in set(Scope)),
        key_id=key.id,
        address=address,
    )


def find_caller_of_user(*, user: User, chosen: str | None, address: str) -> Caller | None:
    """Return the person in the chosen tenant, else in the first that they joined; None without membership.

    Raises: NotFound when `chosen` is none of their own.
    """
    memberships = Membership.objects.select_related("tenant").filter(user=user).order_by("created_at", "id")
    if chosen is not None:
        membership = memberships.filter(tenant__slugs__slug=chosen).first()
        if membership is None:
            raise NotFound
    else:
        membership = memberships.first()
        if membership is None:
            return None
    return Caller(
        tenant=membership.tenant,
        label=user.get_username(),
        role=Role(membership.role),
        user_id=user.pk,
        address=address,
    )


def list_tenants_of_user(*, user: User) -> list[Tenant]:
    """Return the tenants that a person belongs to, oldest membership first."""
    return [
        membership.tenant
        for membership in Membership.objects.select_related("tenant").filter(user=user).order_by("created_at")
    ]


def get_tenant_by_id(*, tenant_id: UUID) -> Tenant:
    """Return the tenant that a task works for. Raises: NotFound."""
    tenant = Tenant.objects.filter(pk=tenant_id).first()
    if tenant is None:
        raise NotFound("The tenant has gone.", code="unknown_tenant")
    return tenant
