"""Write down each step of a run before it can fail.

The end of a step and the beginning of the next are one write in the step's own transaction: when the work of a step
rolls back, that it was begun stays. Entries are counted in `wa_saga_steps_total` when they are committed, so trace
and metric agree even after a kill.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson
from django.db import connection
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


# One statement: a question writes seven of these, and each trip to the database shows in its time.
_TURN = """
WITH ended AS (
  UPDATE answering_runstep SET outcome = %(outcome)s, milliseconds = %(milliseconds)s, detail = %(detail)s::jsonb
   WHERE tenant_id = %(tenant)s AND run_id = %(run)s AND position = %(position)s)
INSERT INTO answering_runstep (id, tenant_id, run_id, position, step, outcome, started_at, detail)
SELECT %(id)s, %(tenant)s, %(run)s, %(position)s + 1, %(next)s, 'started', %(now)s, '{}' WHERE %(next)s <> ''
"""


class Journal:
    """The trace of one run. A step is begun, then ended; what is written counts once it is `committed`."""

    def __init__(self, *, tenant: Tenant, corpus: Corpus, run_id: UUID, now: datetime) -> None:
        self.tenant = tenant
        self.corpus = corpus
        self.run_id = run_id
        self.now = now
        self.entries: list[Entry] = []
        self._started = 0.0
        self._ended: Entry | None = None
        self._next: Entry | None = None

    def open_run(self, *, question: str, actor: str, request: dict[str, Any], first: str) -> None:
        """Store the run, and that its first step begins. Needs the tenant's session."""
        Run(
            id=self.run_id,
            tenant=self.tenant,
            corpus_id=self.corpus.id,
            created_at=self.now,
            actor=actor,
            question=question,
            request=request,
        ).save(force_insert=True)
        RunStep(
            id=new_id(),
            tenant=self.tenant,
            run_id=self.run_id,
            position=1,
            step=first,
            started_at=timezone.now(),
        ).save(force_insert=True)
        self._next = Entry(position=1, step=first, outcome=RunStep.Outcome.STARTED)

    def turn(self, outcome: str, detail: dict[str, Any], *, to: str | None) -> None:
        """Write how the step at work ended, and which one begins. Needs the tenant's session."""
        ended = self.entries[-1]
        self._ended = replace(ended, outcome=outcome, detail=detail, milliseconds=self._elapsed())
        if to:
            self._next = Entry(position=ended.position + 1, step=to, outcome=RunStep.Outcome.STARTED)
        with connection.cursor() as cursor:
            cursor.execute(
                _TURN,
                {
                    "outcome": outcome,
                    "milliseconds": self._ended.milliseconds,
                    "detail": orjson.dumps(detail).decode(),
                    "tenant": self.tenant.id,
                    "run": self.run_id,
                    "position": ended.position,
                    "id": new_id(),
                    "next": to or "",
                    "now": timezone.now(),
                },
            )

    def committed(self) -> None:
        """Take what was written as done: it is in the trace and in the metric from here on."""
        if self._ended:
            self.entries[-1] = self._ended
            SAGA_STEPS.labels(step=self._ended.step, outcome=self._ended.outcome).inc()
        if self._next:
            self.entries.append(self._next)
            SAGA_STEPS.labels(step=self._next.step, outcome=self._next.outcome).inc()
        self._ended = self._next = None
        self._started = time.perf_counter()

    def fail_run(self, outcome: str, detail: dict[str, Any]) -> None:
        """Write that the step at work failed and the run with it, in a transaction of its own."""
        self._ended = self._next = None
        with tenant_session(self.tenant):
            self.turn(outcome, detail, to=None)
            Run.objects.for_tenant(self.tenant).filter(pk=self.run_id, created_at=self.now).update(
                status=Run.Status.FAILED, finished_at=timezone.now()
            )
        self.committed()

    def as_json(self) -> list[dict[str, Any]]:
        """Return the trace."""
        return [entry.as_json() for entry in self.entries]

    def _elapsed(self) -> float:
        return round((time.perf_counter() - self._started) * 1000, 2)
