"""Tenants, who belongs to them, and what was done."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models

from core.ids import new_id
from core.tenant_scope import TenantModel
from tenants.domain.access import SLUG_PATTERN, Role


class Tenant(models.Model):
    """A customer of this installation. Its slug lives in `TenantSlug`: unique over all shards."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    slug = models.CharField(max_length=63, editable=False)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField()

    objects = models.Manager["Tenant"]()

    def __str__(self) -> str:
        return self.slug


class TenantSlug(models.Model):
    """The name in the addresses of a tenant; a global table, since it must be unique over all tenants."""

    slug = models.CharField(max_length=63, primary_key=True, validators=[RegexValidator(SLUG_PATTERN)])
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, db_constraint=False, related_name="slugs")

    objects = models.Manager["TenantSlug"]()

    def __str__(self) -> str:
        return self.slug


class Membership(models.Model):
    """A person's role in a tenant. Global: it is read before the tenant is known."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, db_constraint=False, related_name="memberships"
    )
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, db_constraint=False, related_name="memberships")
    role = models.CharField(max_length=10, choices=[(role.value, role.value) for role in Role])
    created_at = models.DateTimeField()

    objects = models.Manager["Membership"]()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user"], name="membership_once"),
            models.CheckConstraint(
                condition=models.Q(role__in=[role.value for role in Role]), name="membership_role_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} is {self.role} of {self.tenant_id}"


class ApiKey(models.Model):
    """A program's credential. Global: it is read before the tenant is known. Only its digest is kept."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, db_constraint=False, related_name="api_keys")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=8, unique=True)
    digest = models.CharField(max_length=64)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    objects = models.Manager["ApiKey"]()

    class Meta:
        indexes = [
            # The settings page: the keys of a tenant, newest first.
            models.Index(fields=["tenant", "-created_at"], name="apikey_of_tenant"),
        ]

    def __str__(self) -> str:
        return f"{self.name} (wsk_{self.prefix}_…)"

    def is_usable(self, now: datetime) -> bool:
        """Say whether the key is neither revoked nor expired at `now`."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


class AuditEntry(TenantModel):
    """Who did what to which row, when, from where. Append-only: the application may not change a row."""

    at = models.DateTimeField()
    actor = models.CharField(max_length=200)
    action = models.CharField(max_length=60)
    subject = models.CharField(max_length=300)
    detail: models.JSONField[dict[str, Any], dict[str, Any]] = models.JSONField(default=dict)
    address = models.CharField(max_length=64, blank=True)
    correlation_id = models.CharField(max_length=128, blank=True)

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [
            # The audit page: newest first.
            models.Index(fields=["tenant", "-at"], name="audit_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.actor} {self.action} {self.subject}"
