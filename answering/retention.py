"""Drop the runs of months that need not be kept."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from core.partitions import drop_before

if TYPE_CHECKING:
    from tenants.models import Tenant


def retire_runs(*, cursor: Any, tenants: Iterable[Tenant], before: datetime) -> list[str]:
    """Drop the runs before a moment with their steps and reviews; return the names of the partitions that held them.

    As the owner of the tables, in the caller's transaction.
    """
    for tenant in tenants:
        cursor.execute(f"SET LOCAL app.tenant_id = '{UUID(str(tenant.id))}'")
        cursor.execute(
            "DELETE FROM answering_runstep WHERE tenant_id = %s AND run_id IN"
            " (SELECT id FROM answering_run WHERE tenant_id = %s AND created_at < %s)",
            [tenant.id, tenant.id, before],
        )
        cursor.execute(
            "DELETE FROM answering_claimreview WHERE tenant_id = %s AND run_id IN"
            " (SELECT id FROM answering_run WHERE tenant_id = %s AND created_at < %s)",
            [tenant.id, tenant.id, before],
        )
    return drop_before(cursor=cursor, table="answering_run", column="created_at", before=before)
