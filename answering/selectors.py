"""Read runs: one by its id, the latest of a corpus, and the steps of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings

from answering.models import Run, RunStep
from core.errors import NotFound

if TYPE_CHECKING:
    from feedback.models import Corpus
    from tenants.models import Tenant

_VERSION_WITH_TIME = 7
_SLACK = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class PastQuestion:
    """A line of the history. `outcome` is blank for a run that is not finished."""

    run_id: UUID
    question: str
    actor: str
    created_at: datetime
    status: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a run's trace."""

    position: int
    step: str
    outcome: str
    milliseconds: float | None
    detail: Mapping[str, Any]


def get_run(*, tenant: Tenant, run_id: UUID) -> Run:
    """Return a run. Raises: NotFound, for another tenant's run too."""
    runs = Run.objects.for_tenant(tenant).filter(pk=run_id)
    window = creation_window(run_id)
    # The id says when it was made: only the partitions of those days are asked. A run may have been given another
    # present moment than the clock's; then all are.
    run = runs.filter(created_at__range=window).first() if window else None
    run = run or runs.first()
    if run is None:
        raise NotFound
    return run


def get_run_named(*, tenant: Tenant, run_id: str) -> Run:
    """Return a run by its id as an address has it. Raises: NotFound, also for what is no id."""
    try:
        return get_run(tenant=tenant, run_id=UUID(run_id))
    except ValueError as error:
        raise NotFound from error


def has_failed(run: Run, *, now: datetime) -> bool:
    """Tell whether a run ended without an answer: by a fault, or with the process that was at work on it."""
    longest = timedelta(seconds=60 + 2 * settings.WISDOM.agent_max_wall_clock_seconds)
    return run.status == Run.Status.FAILED or (run.status == Run.Status.RUNNING and run.created_at < now - longest)


def creation_window(run_id: UUID) -> tuple[datetime, datetime] | None:
    """Return between when and when a row with this id was made; None for an id that doesn't tell.

    Source: RFC 9562, version 7: the first 48 bits are the milliseconds since 1970.
    """
    if run_id.version != _VERSION_WITH_TIME:
        return None
    try:
        made_at = datetime.fromtimestamp((run_id.int >> 80) / 1000, tz=UTC)
        return made_at - _SLACK, made_at + _SLACK
    except (ValueError, OverflowError):
        return None


def list_recent_runs(*, corpus: Corpus, limit: int = 10) -> list[PastQuestion]:
    """Return the latest questions about a corpus, newest first."""
    rows = (
        Run.objects.for_tenant(corpus.tenant)
        .filter(corpus_id=corpus.id)
        .order_by("-created_at")
        .values_list("id", "question", "actor", "created_at", "status", "outcome")[:limit]
    )
    return [PastQuestion(*row) for row in rows]


def list_steps(*, tenant: Tenant, run_id: UUID) -> list[Step]:
    """Return the trace of a run, in order."""
    rows = (
        RunStep.objects.for_tenant(tenant)
        .filter(run_id=run_id)
        .order_by("position")
        .values_list("position", "step", "outcome", "milliseconds", "detail")
    )
    return [Step(*row) for row in rows]
