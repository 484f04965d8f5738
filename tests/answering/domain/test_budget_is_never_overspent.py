"""A charge is booked whole or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answering.domain.budget import Budget, BudgetExhausted, BudgetLimits


@pytest.mark.parametrize(
    ("charge", "resource"),
    [
        ({"steps": 9}, "steps"),
        ({"tokens": 8001}, "tokens"),
        ({"repairs": 2}, "repairs"),
        ({"claims": 13}, "claims"),
        ({"evidence": 9}, "evidence"),
    ],
)
def test_a_charge_beyond_the_limit_ends_the_run(charge: dict[str, int], resource: str) -> None:
    budget = Budget(BudgetLimits(), started_at=100.0)

    with pytest.raises(BudgetExhausted) as caught:
        budget.charge(at=100.0, **charge)

    assert caught.value.resource == resource


def test_time_alone_can_end_a_run() -> None:
    budget = Budget(BudgetLimits(wall_seconds=30), started_at=100.0)

    assert budget.charge(at=130.0).wall_seconds == 30.0
    assert budget.seconds_left(at=125.0) == 5.0
    with pytest.raises(BudgetExhausted, match="wall_seconds"):
        budget.charge(at=130.1)


def test_each_tool_has_calls_of_its_own() -> None:
    budget = Budget(BudgetLimits(), started_at=0.0)
    for _ in range(3):
        budget = budget.charge(at=0.0, tool="search_feedback")

    assert budget.calls_left("search_feedback") == 0
    assert budget.charge(at=0.0, tool="trend_over_time").tool_calls == {"search_feedback": 3, "trend_over_time": 1}
    with pytest.raises(BudgetExhausted, match="search_feedback"):
        budget.charge(at=0.0, tool="search_feedback")


def test_a_negative_charge_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="negative"):
        Budget(BudgetLimits(), started_at=0.0).charge(at=0.0, tokens=-1)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3000)), max_size=20))
def test_what_was_booked_stays_within_the_limits(charges: list[tuple[int, int]]) -> None:
    budget = Budget(BudgetLimits(), started_at=0.0)
    for steps, tokens in charges:
        try:
            budget = budget.charge(at=0.0, steps=steps, tokens=tokens)
        except BudgetExhausted:
            continue

    assert budget.steps <= 8
    assert budget.tokens <= 8000
