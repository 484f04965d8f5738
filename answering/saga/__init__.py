"""The answer saga: plan → retrieve → rerank → draft → verify → repair → finalise.

A gate that stops a run turns it into a refusal, and the saga goes straight to its last step; a repair is a
downgrade, never a rollback. Each step is written to the journal before it can fail.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from answering.domain.budget import BudgetExhausted
from answering.domain.outcome import Refusal, RefusalReason, refuse
from answering.models import RunStep
from answering.saga.judging import ask_for_opinions, draft_step, finalise_step, repair_step, rerank_step, verify_step
from answering.saga.progress import Progress, Request
from answering.saga.retrieving import plan_step, relax_step, retrieve_step
from core.tenant_session import tenant_session

if TYPE_CHECKING:
    from answering.journal import Journal

__all__ = [
    "FIRST",
    "LAST",
    "RELAX",
    "STEPS",
    "Progress",
    "Request",
    "Step",
    "draft_step",
    "finalise_step",
    "plan_step",
    "repair_step",
    "rerank_step",
    "retrieve_step",
    "run_saga",
    "verify_step",
]

Step = Callable[[Progress], dict[str, Any]]
STEPS: tuple[tuple[str, Step], ...] = (
    ("plan", plan_step),
    ("retrieve", retrieve_step),
    ("rerank", rerank_step),
    ("draft", draft_step),
    ("verify", verify_step),
    ("repair", repair_step),
    ("finalise", finalise_step),
)
# What a step asks of other machines, before its transaction begins: no row is held while they think.
BEFORE: dict[str, Callable[[Progress], None]] = {"verify": ask_for_opinions}
FIRST, LAST = STEPS[0][0], STEPS[-1][0]
# Between retrieve and what follows it, as often as there is something to give up.
RELAX, _AFTER_RELAXING = "relax", "retrieve"


def run_saga(run: Progress, journal: Journal, store: Callable[[Progress], None]) -> Progress:
    """Run the steps in order, each in a transaction of its own; `store` keeps the result in the last one.

    The journal holds the first step as begun.
    Raises: whatever a step raised; the journal then says which step it was, and the run is marked failed.
    """
    steps = dict(STEPS)
    following = dict(pairwise(steps))
    following[RELAX], steps[RELAX] = following[_AFTER_RELAXING], relax_step
    name: str | None = FIRST
    while name:
        is_last = name not in following
        try:
            if name in BEFORE:
                BEFORE[name](run)
            # Only the last commit has to reach the disk before the answer goes out.
            with tenant_session(run.request.corpus.tenant, durable=is_last):
                # However much is given up, relaxing counts as one step.
                outcome, detail = _work(
                    run, steps[name], is_charged=not is_last and not (name == RELAX and run.relaxed)
                )
                if is_last:
                    store(run)
                after = LAST if run.refusal and not is_last else RELAX if run.to_relax else following.get(name)
                journal.turn(outcome, detail, to=after)
        except BaseException as error:
            journal.fail_run(_outcome_of(error), {"error": type(error).__name__})
            raise
        journal.committed()
        name = after
    return run


def _work(run: Progress, step: Step, *, is_charged: bool) -> tuple[str, dict[str, Any]]:
    """Do a step; one that finds the budget spent makes the run a refusal. Return its outcome and detail."""
    try:
        if is_charged:
            # A run that is out of budget still ends properly: its last step is free.
            run.budget = run.budget.charge(at=time.monotonic(), steps=1)
        return RunStep.Outcome.OK, step(run)
    except BudgetExhausted as exhausted:
        run.refusal = _exhausted(exhausted)
        return _outcome_of(exhausted), {"reason": str(exhausted)}


def _exhausted(exhausted: BudgetExhausted) -> Refusal:
    return refuse(RefusalReason.BUDGET_EXHAUSTED, value=exhausted.wanted, floor=exhausted.limit, detail=str(exhausted))


def _outcome_of(error: BaseException) -> str:
    """Return how a step ended that raised: out of time, out of budget, or failed."""
    from django.db.utils import OperationalError

    if isinstance(error, BudgetExhausted):
        return RunStep.Outcome.TIMED_OUT if error.resource == "wall_seconds" else RunStep.Outcome.EXHAUSTED
    if isinstance(error, TimeoutError) or (isinstance(error, OperationalError) and "timeout" in str(error)):
        return RunStep.Outcome.TIMED_OUT
    return RunStep.Outcome.FAILED
