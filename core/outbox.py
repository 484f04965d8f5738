"""Write an event in the transaction that caused it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from core.models import OutboxEvent
from core.tenant_session import HasId, session_tenant_id


def record_event(*, tenant: HasId, type: str, data: Mapping[str, Any], now: datetime) -> None:
    """Add an event to the outbox; it is published if, and only if, the open transaction commits.

    Raises: RuntimeError outside a session of the tenant.
    """
    if session_tenant_id() != tenant.id:
        raise RuntimeError("an event belongs in the transaction of what it tells of")
    OutboxEvent(tenant_id=tenant.id, type=type, at=now, data=dict(data)).save(force_insert=True)
