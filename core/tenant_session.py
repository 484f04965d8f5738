"""Open the database to one tenant at a time.

Row-level security shows a connection nothing until `app.tenant_id` is set. It is set for one
transaction only (`SET LOCAL`): a setting of the session would survive into the next borrower of a
pooled connection.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol
from uuid import UUID

from django.db import connection, transaction


class HasId(Protocol):
    """A tenant, as far as the database needs to know it."""

    @property
    def id(self) -> UUID: ...


class TenantSessionMissing(RuntimeError):
    """A query touched a tenant's table outside `tenant_session`: it would have found nothing, in silence."""


@contextmanager
def tenant_session(tenant: HasId, *, durable: bool = True) -> Iterator[None]:
    """Run the block in a transaction that sees the rows of `tenant` and no others.

    Nested for the same tenant it is a savepoint. Raises: RuntimeError when nested for another tenant.
    With `durable=False` the commit doesn't wait for the disk: for journal rows that only a crash of the
    whole machine may lose.
    """
    wrapper: Any = connection
    current: UUID | None = wrapper.wisdom_tenant_id
    if current is not None:
        if current != tenant.id:
            raise RuntimeError("a session for another tenant is open")
        with transaction.atomic():
            yield
        return
    enclosed = connection.in_atomic_block
    try:
        with transaction.atomic():
            # A literal, not set_config(): only a plain SET LOCAL is sent on to the shards of a distributed database.
            statements = f"SET LOCAL app.tenant_id = '{UUID(str(tenant.id))}'"
            if not durable:
                statements += "; SET LOCAL synchronous_commit = off"
            with connection.cursor() as cursor:
                cursor.execute(statements)
            wrapper.wisdom_tenant_id = tenant.id
            wrapper.wisdom_seen = {}
            try:
                yield
            finally:
                wrapper.wisdom_tenant_id = wrapper.wisdom_seen = None
    finally:
        if enclosed and not connection.needs_rollback:
            # Somebody else's transaction goes on after us (a test's): close the door behind us.
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL app.tenant_id = ''")


def seen_in_session() -> dict[Any, Any] | None:
    """Return what this session has read and keeps to until it ends; None outside one, or once it writes."""
    wrapper: Any = connection
    seen: dict[Any, Any] | None = wrapper.wisdom_seen
    return seen


def forget_what_was_seen() -> None:
    """Let the rest of this session read everything anew: it is about to change it."""
    wrapper: Any = connection
    wrapper.wisdom_seen = None


def session_tenant_id() -> UUID | None:
    """Return the tenant whose session is open on this connection, if any."""
    wrapper: Any = connection
    found: UUID | None = wrapper.wisdom_tenant_id
    return found
