"""Whatever stops a run at whichever step: the step is in the trace, and the metric has counted it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector

from answering import saga
from answering.domain.budget import BudgetExhausted
from answering.models import Run, RunStep
from answering.services import ask
from core.tenant_session import tenant_session
from tests import factories

STEPS = [name for name, _ in saga.STEPS]
QUESTION = "Why are deliveries late?"
TEXTS = [
    "The delivery came two weeks late and nobody called.",
    "My delivery was late again, the driver never showed up.",
    "Late delivery for the third time this month.",
    "The checkout crashed when I paid with my card.",
]


def counted() -> Counter[tuple[str, str]]:
    """Return what wa_saga_steps_total says now, over all processes."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    found: Counter[tuple[str, str]] = Counter()
    for metric in registry.collect():
        for sample in metric.samples:
            if sample.name == "wa_saga_steps_total":
                found[(sample.labels["step"], sample.labels["outcome"])] = int(sample.value)
    return found


def traced(tenant: Any) -> tuple[Run, list[RunStep]]:
    with tenant_session(tenant):
        run = Run.objects.for_tenant(tenant).get()
        return run, list(RunStep.objects.for_tenant(tenant).filter(run_id=run.id).order_by("position"))


def assert_trace_and_metric_agree(steps: list[RunStep], before: Counter[tuple[str, str]]) -> None:
    grown = counted()
    grown.subtract(before)
    written: Counter[tuple[str, str]] = Counter((step.step, "started") for step in steps)
    written.update((step.step, step.outcome) for step in steps if step.outcome != "started")
    assert {key: value for key, value in grown.items() if value} == dict(written)


@pytest.fixture
def loaded(transactional_db: None, corpus: Any, ingest: Callable[..., Any]) -> None:
    ingest(*(factories.make_document(f"d{number}", text) for number, text in enumerate(TEXTS)))


def break_step(monkeypatch: pytest.MonkeyPatch, broken: str, fault: Callable[[], None]) -> None:
    """Let the step do its work, and then fail: what it wrote has to roll back."""

    def wrap(name: str, step: saga.Step) -> saga.Step:
        def failing(run: saga.Progress) -> dict[str, Any]:
            detail = step(run)
            if name == broken:
                fault()
            return detail

        return failing

    monkeypatch.setattr(saga, "STEPS", tuple((name, wrap(name, step)) for name, step in saga.STEPS))


def raise_error() -> None:
    raise ZeroDivisionError("a fault nobody foresaw")


def run_out_of_time() -> None:
    raise TimeoutError("the statement took too long")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def ask_and_fail(fault: Callable[[], None], caller: Any, now: Any) -> None:
    """Ask, and see the fault through; a process that kills itself is a child of this one."""
    if fault is die:
        connections.close_all()
        child = multiprocessing.get_context("fork").Process(
            target=ask, kwargs={"caller": caller, "question": QUESTION, "now": now}
        )
        child.start()
        child.join(60)
        assert child.exitcode == -signal.SIGKILL
        return
    with pytest.raises((ZeroDivisionError, TimeoutError)):
        ask(caller=caller, question=QUESTION, now=now)


FAULTS = {
    # The fault, how its step stands in the trace, and the run.
    "exception": (raise_error, "failed", Run.Status.FAILED),
    "timeout": (run_out_of_time, "timed_out", Run.Status.FAILED),
    "kill": (die, "started", Run.Status.RUNNING),
}


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("step", STEPS)
def test_a_fault_at_each_saga_step_leaves_its_row_and_its_count(
    step: str, fault: str, caller: Any, now: Any, monkeypatch: Any
) -> None:
    strike, outcome, status = FAULTS[fault]
    break_step(monkeypatch, step, strike)
    before = counted()

    ask_and_fail(strike, caller, now)

    run, steps = traced(caller.tenant)
    assert [row.step for row in steps] == STEPS[: STEPS.index(step) + 1]
    assert [row.outcome for row in steps] == ["ok"] * STEPS.index(step) + [outcome]
    assert run.status == status
    assert run.answer == {}
    assert_trace_and_metric_agree(steps, before)


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("step", STEPS[:-1])
def test_a_spent_budget_ends_in_a_typed_refusal(step: str, caller: Any, now: Any, monkeypatch: Any) -> None:
    def fault() -> None:
        raise BudgetExhausted(resource="wall_seconds", wanted=31, limit=30)

    break_step(monkeypatch, step, fault)
    before = counted()

    answer = ask(caller=caller, question=QUESTION, now=now, include=["trace"])

    run, steps = traced(caller.tenant)
    assert answer["outcome"] == "refused"
    assert answer["refusal"]["reason"] == "budget_exhausted"
    assert answer["claims"] == []
    assert [row.step for row in steps] == [*STEPS[: STEPS.index(step) + 1], "finalise"]
    assert steps[-2].outcome == "timed_out"
    assert run.status == Run.Status.FINISHED
    assert_trace_and_metric_agree(steps, before)


@pytest.mark.usefixtures("loaded")
def test_a_whole_run_is_in_the_trace_and_in_the_answer(caller: Any, now: Any) -> None:
    before = counted()

    answer = ask(caller=caller, question=QUESTION, now=now, include=["trace"])

    run, steps = traced(caller.tenant)
    assert answer["outcome"] == "answered"
    assert [row.step for row in steps] == STEPS
    assert [entry["step"] for entry in answer["trace"]] == STEPS
    assert {entry["outcome"] for entry in answer["trace"]} == {"ok"}
    assert run.status == Run.Status.FINISHED
    assert run.answer["claims"] == answer["claims"]
    assert_trace_and_metric_agree(steps, before)
