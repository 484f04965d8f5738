"""Write down each step of a run before it can fail.

The journal commits apart from the work of the steps: what a step does may roll back, that it was begun
stays. Each entry is counted in `wa_saga_steps_total` when it is written, so trace and metric agree even
after a kill.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.utils import timezone

from answering.models import Run, RunStep
from core.ids import new_id
from core.observability.metrics import SAGA_STEPS
from core.tenant_session import tenant_session

if TYPE_CHECKING:
    from feedback.models import Corpus
    from tenants.models import Tenant


@dataclass(slots=True)
class Entry:
    """A step of the trace, as it stands."""

    position: int
    step: str
    outcome: str
    detail: dict[str, Any] = field(default_factory=dict)
    milliseconds: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the shape of the answer's `trace`."""
        return {
            "position": self.position,
            "step": self.step,
            "outcome": self.outcome,
            "milliseconds": self.milliseconds,
            "detail": self.detail,
        }


class Journal:
    """The trace of one run. A step is begun, then ended; beginning the next ends the one before in one commit."""

    def __init__(self, *, tenant: Tenant, corpus: Corpus, run_id: UUID, now: datetime) -> None:
        self.tenant = tenant
        self.corpus = corpus
        self.run_id = run_id
        self.now = now
        self.entries: list[Entry] = []
        self._started = 0.0
        self._pending: Entry | None = None

    def open_run(self, *, question: str, actor: str, request: dict[str, Any]) -> None:
        """Store the run itself."""
        with tenant_session(self.tenant, durable=False):
            Run(
                id=self.run_id,
                tenant=self.tenant,
                corpus_id=self.corpus.id,
                created_at=self.now,
                actor=actor,
                question=question,
                request=request,
            ).save(force_insert=True)

    def begin(self, step: str) -> Entry:
        """Write that a step begins, and how the one before it ended."""
        entry = Entry(position=len(self.entries) + 1, step=step, outcome=RunStep.Outcome.STARTED)
        with tenant_session(self.tenant, durable=False):
            self._write_pending()
            RunStep(
                id=new_id(),
                tenant=self.tenant,
                run_id=self.run_id,
                position=entry.position,
                step=step,
                started_at=timezone.now(),
            ).save(force_insert=True)
        self._count_pending()
        SAGA_STEPS.labels(step=step, outcome=RunStep.Outcome.STARTED).inc()
        self.entries.append(entry)
        self._started = time.perf_counter()
        return entry

    def end(self, outcome: str, detail: dict[str, Any] | None = None) -> None:
        """Note how the step at work ended; written with the next entry, or by `flush`."""
        entry = self.entries[-1]
        entry.outcome = outcome
        entry.detail.update(detail or {})
        entry.milliseconds = round((time.perf_counter() - self._started) * 1000, 2)
        self._pending = entry

    def flush(self) -> None:
        """Write what was noted last."""
        if self._pending is None:
            return
        with tenant_session(self.tenant, durable=False):
            self._write_pending()
        self._count_pending()

    def fail_run(self) -> None:
        """Mark the run as failed, with the step that did it."""
        with tenant_session(self.tenant):
            self._write_pending()
            Run.objects.for_tenant(self.tenant).filter(pk=self.run_id, created_at=self.now).update(
                status=Run.Status.FAILED, finished_at=timezone.now()
            )
        self._count_pending()

    def as_json(self) -> list[dict[str, Any]]:
        """Return the trace."""
        return [entry.as_json() for entry in self.entries]

    def _write_pending(self) -> None:
        if self._pending is not None:
            entry = self._pending
            RunStep.objects.for_tenant(self.tenant).filter(run_id=self.run_id, position=entry.position).update(
                outcome=entry.outcome, milliseconds=entry.milliseconds, detail=entry.detail
            )

    def _count_pending(self) -> None:
        if self._pending is not None:
            SAGA_STEPS.labels(step=self._pending.step, outcome=self._pending.outcome).inc()
            self._pending = None
