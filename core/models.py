"""The outbox: what happened, written in the transaction that made it happen."""

from __future__ import annotations

from typing import Any

from django.db import models

from core.tenant_scope import TenantModel


class OutboxEvent(TenantModel):
    """An event for whoever listens: the feed, a relay. Never written apart from what it tells of."""

    type = models.CharField(max_length=60)
    at = models.DateTimeField()
    data: models.JSONField[dict[str, Any], dict[str, Any]] = models.JSONField(default=dict)
    published_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            # The relay: what is not out yet, in order.
            models.Index(
                fields=["tenant", "id"],
                name="outbox_unpublished",
                condition=models.Q(published_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} at {self.at:%Y-%m-%d %H:%M:%S}"


class FixedSetting(models.Model):
    """A setting that stored data depends on, as it was at the first migration; another value stops the start."""

    name = models.CharField(max_length=60, primary_key=True)
    value = models.CharField(max_length=60)

    objects = models.Manager["FixedSetting"]()

    def __str__(self) -> str:
        return f"{self.name}={self.value}"
