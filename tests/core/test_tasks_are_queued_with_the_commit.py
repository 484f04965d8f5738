"""A task is queued when the transaction commits, carries the correlation id, and names its tenant."""

from __future__ import annotations

from uuid import UUID

import pytest
import structlog
from django_q.models import OrmQ

from core import queue
from core.observability.correlation import current_id

pytestmark = pytest.mark.django_db

TENANT, ROW = UUID(int=1), UUID(int=2)
seen: list[tuple[object, ...]] = []


def remember(*ids: UUID) -> str:
    """Stand in for a task."""
    seen.append((*ids, current_id()))
    return "done"


def fail(*_: UUID) -> None:
    """Stand in for a task that raises."""
    raise ZeroDivisionError


@pytest.fixture(autouse=True)
def _nothing_seen():
    seen.clear()


def test_nothing_is_queued_before_the_commit(django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks() as callbacks:
        queue.enqueue("tests.task", TENANT, ROW)
        before = queue.waiting()

    callbacks[0]()

    assert (before, queue.waiting()) == (0, 1)


def test_a_task_gets_its_ids_and_the_correlation_id(django_capture_on_commit_callbacks):
    with (
        structlog.contextvars.bound_contextvars(correlation_id="request-7"),
        django_capture_on_commit_callbacks(execute=True),
    ):
        queue.enqueue(f"{__name__}.remember", TENANT, ROW)
    (queued,) = OrmQ.objects.all()

    result = queue.run(*queued.task["args"])

    assert result == "done"
    assert seen == [(TENANT, ROW, "request-7")]


def test_a_task_without_a_tenant_is_refused():
    with pytest.raises(TypeError, match="tenant"):
        queue.enqueue("tests.task", "acme")  # type: ignore[arg-type]  # the mistake that is meant


def test_what_a_task_raises_goes_on_to_the_queue():
    with pytest.raises(ZeroDivisionError):
        queue.run(f"{__name__}.fail", "id", str(TENANT))


def test_a_task_that_doesnt_exist_raises():
    with pytest.raises(ImportError):
        queue.run("tests.no_such.task", "id", str(TENANT))
