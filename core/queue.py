"""Hand work to the worker processes after the commit: a task by its dotted path, and ids; never objects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any
from uuid import UUID, uuid4

import structlog
from django.db import connection, transaction
from django.utils.module_loading import import_string

from core.observability.correlation import current_id

log = structlog.get_logger("wisdom.task")

# The first half of the key of an advisory lock that a task holds while it is at work.
_LOCK = 7205


def enqueue(task: str, tenant_id: UUID, *ids: UUID) -> None:
    """Queue a task of one tenant once the open transaction commits, at once if there is none.

    Delivered at least once: a task claims its row, or does no harm when it runs twice.
    Raises: TypeError without a tenant's id.
    """
    if not isinstance(tenant_id, UUID):
        raise TypeError(f"{task} needs the id of the tenant that it works for")
    correlation_id = current_id() or uuid4().hex
    arguments = [str(tenant_id), *map(str, ids)]
    transaction.on_commit(lambda: _queue(task, correlation_id, arguments))


def _queue(task: str, correlation_id: str, arguments: list[str]) -> None:
    from django_q.tasks import async_task  # its imports are for those who queue something

    async_task("core.queue.run", task, correlation_id, *arguments, q_options={"task_name": task[:100]})


def run(task: str, correlation_id: str, *arguments: str) -> Any:
    """Run a queued task under the correlation id of whoever queued it: what the worker calls.

    What a task raises is logged with its ids, and goes on to the queue, which keeps it.
    """
    with structlog.contextvars.bound_contextvars(correlation_id=correlation_id):
        started = perf_counter()
        try:
            result = import_string(task)(*map(UUID, arguments))
        except Exception:
            log.exception("task failed", task=task, arguments=arguments)
            raise
        log.info("task", task=task, arguments=arguments, milliseconds=round((perf_counter() - started) * 1000, 1))
        return result


def waiting() -> int:
    """Return how many tasks nobody has finished yet."""
    from django_q.models import OrmQ

    return int(OrmQ.objects.count())


@contextmanager
def working_alone(identity: UUID) -> Iterator[bool]:
    """Hold the lock of a piece of work while the block runs; False when another process is at it.

    The database frees the lock of a process that dies, so that its work can be taken up again.
    """
    key = [_LOCK, identity.int % (1 << 32) - (1 << 31)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", key)
        is_ours = bool(cursor.fetchone()[0])
    try:
        yield is_ours
    finally:
        if is_ours and not connection.needs_rollback:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", key)
