"""What every tenant's row has in common: whose it is, and no way to query it without saying whose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self, TypeVar
from uuid import UUID

from django.db import models

from core.ids import new_id
from core.tenant_session import HasId

Row = TypeVar("Row", bound=models.Model)


class TenantQuerySet(models.QuerySet[Row]):
    """A queryset that starts from a tenant."""

    def for_tenant(self, tenant: HasId) -> Self:
        """Return the rows of `tenant`; the condition is a constant of the statement."""
        return self.filter(tenant_id=tenant.id)


class TenantManager(models.Manager[Row]):
    """Offers `for_tenant` and nothing else that reads without one; an AST guard flags every other start."""

    def get_queryset(self) -> TenantQuerySet[Row]:
        return TenantQuerySet(self.model, using=self._db)

    def for_tenant(self, tenant: HasId) -> TenantQuerySet[Row]:
        """Return the rows of `tenant`."""
        return self.get_queryset().for_tenant(tenant)


class TenantForeignKey(models.ForeignKey[Any, Any]):
    """A foreign key between two tables of one tenant.

    Django gets no constraint and no index of its own: `CreateTenantModel` adds the constraint that
    pairs the tenants, and a model declares the indexes that serve its queries.
    """

    def __init__(self, to: Any, on_delete: Any = models.CASCADE, **kwargs: Any) -> None:
        kwargs["db_constraint"] = False
        kwargs.setdefault("db_index", False)
        super().__init__(to, on_delete, **kwargs)


class TenantModel(models.Model):
    """Base of every table whose rows belong to a tenant."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="+"
    )

    objects = TenantManager()

    class Meta:
        abstract = True

    def _do_update(self, base_qs: models.QuerySet[Any], using: str | None, pk_val: Any, values: Any, *rest: Any) -> Any:
        """Update by tenant *and* id, and never set the tenant: a distributed table refuses both otherwise."""
        values = [value for value in values if value[0].attname != "tenant_id"]
        return super()._do_update(base_qs.filter(tenant_id=self.tenant_id), using, pk_val, values, *rest)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete by tenant and id; what hangs on the row goes by the database's own cascade."""
        count = (
            type(self)
            ._default_manager.filter(tenant_id=self.tenant_id, pk=self.pk)
            ._raw_delete(using=kwargs.get("using") or self._state.db or "default")
        )
        return count, {self._meta.label: count}


def across_tenants(*, reason: str) -> Iterator[Any]:
    """Yield every tenant, for work that the installation does for all of them.

    The caller opens a `tenant_session` for each. `reason` is for the reader: it makes the call stand
    out in review.
    """
    if not reason.strip():
        raise ValueError("say why this runs across tenants")
    from django.apps import apps

    yield from apps.get_model("tenants", "Tenant").objects.order_by("created_at", "id")


def tenant_id_of(tenant: HasId | UUID) -> UUID:
    """Return the id, from a tenant or from the id itself."""
    return tenant if isinstance(tenant, UUID) else tenant.id
