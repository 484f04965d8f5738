"""Make tenants, memberships and keys; write the audit log."""

from __future__ import annotations

import re
import secrets
import string
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from core.errors import Conflict, InvalidInput
from core.observability.correlation import current_id
from core.tenant_session import tenant_session
from tenants.domain.access import SLUG_PATTERN, ApiSecret, Role, Scope
from tenants.models import ApiKey, AuditEntry, Membership, Tenant, TenantSlug

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from tenants.caller import Caller

_PREFIX_ALPHABET = string.ascii_lowercase + string.digits


def create_tenant(*, slug: str, name: str, now: datetime) -> Tenant:
    """Make a tenant.

    Raises: InvalidInput for a slug that can't stand in an address; Conflict when the slug is taken.
    """
    if not re.fullmatch(SLUG_PATTERN, slug):
        raise InvalidInput(
            f"{slug!r} can't be a tenant's name: use 1 to 63 lower-case letters, digits and hyphens.",
            code="bad_slug",
            field="tenant",
        )
    try:
        with transaction.atomic():
            tenant = Tenant.objects.create(slug=slug, name=name, created_at=now)
            TenantSlug.objects.create(slug=slug, tenant=tenant)
    except IntegrityError as error:
        raise Conflict(f"The tenant {slug} exists already.", code="tenant_exists") from error
    return tenant


def add_member(*, tenant: Tenant, username: str, password: str | None, role: Role, now: datetime) -> User:
    """Give a person a role in the tenant, making the account when it is new.

    Raises: InvalidInput when a new account has no password or one that the rules refuse.
    """
    users = get_user_model().objects
    user = users.filter(username=username).first()
    if user is None:
        if not password:
            raise InvalidInput("A new account needs a password.", field="password")
        try:
            validate_password(password)
        except ValidationError as error:
            raise InvalidInput(" ".join(error.messages), code="weak_password", field="password") from error
        user = users.create_user(username=username, password=password)
    Membership.objects.update_or_create(
        tenant=tenant,
        user=user,
        defaults={"role": role.value},
        create_defaults={"role": role.value, "created_at": now},
    )
    return user


def create_api_key(
    *, tenant: Tenant, name: str, scopes: Iterable[Scope], now: datetime, expires_at: datetime | None = None
) -> tuple[ApiKey, ApiSecret]:
    """Make a key; the secret is returned once and can't be had again."""
    secret = ApiSecret(
        prefix="".join(secrets.choice(_PREFIX_ALPHABET) for _ in range(8)), secret=secrets.token_urlsafe(32)
    )
    key = ApiKey.objects.create(
        tenant=tenant,
        name=name,
        prefix=secret.prefix,
        digest=secret.digest(),
        scopes=sorted(scope.value for scope in scopes),
        created_at=now,
        expires_at=expires_at,
    )
    return key, secret


def revoke_api_key(*, key: ApiKey, now: datetime) -> None:
    """End a key for good; ending it twice is harmless."""
    ApiKey.objects.filter(pk=key.pk, revoked_at__isnull=True).update(revoked_at=now)


def audit(*, caller: Caller, action: str, subject: str, now: datetime, detail: Mapping[str, Any] | None = None) -> None:
    """Add a row to the audit log, in the transaction of what it tells of."""
    with tenant_session(caller.tenant):
        AuditEntry(
            tenant=caller.tenant,
            at=now,
            actor=caller.label,
            action=action,
            subject=subject[:300],
            detail=dict(detail or {}),
            address=caller.address,
            correlation_id=current_id(),
        ).save(force_insert=True)
