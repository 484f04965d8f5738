"""Fused rankings follow their formulas, hold each key once and break ties the same way every time."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.fusion import REFERENCE_RANK, ArmBalance, adaptive_fusion, reciprocal_rank_fusion, weighted_fusion

rankings = st.lists(st.integers(0, 15), max_size=12)
scores = st.dictionaries(st.integers(0, 15), st.floats(allow_nan=False, allow_infinity=False), max_size=10)


def test_reciprocal_ranks_are_summed() -> None:
    fused = reciprocal_rank_fusion(["a", "b"], ["b", "c"], k=60)

    assert fused == [
        ("b", pytest.approx(1 / 62 + 1 / 61)),
        ("a", pytest.approx(1 / 61)),
        ("c", pytest.approx(1 / 62)),
    ]


def test_tie_goes_to_the_lexical_arm() -> None:
    assert [key for key, _ in reciprocal_rank_fusion(["z"], ["a"])] == ["z", "a"]


@pytest.mark.parametrize("k", [0, -1])
def test_damping_below_one_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match="k must"):
        reciprocal_rank_fusion(["a"], [], k=k)


def test_weighted_scores_are_scaled_per_list() -> None:
    fused = dict(weighted_fusion({"a": 10.0, "b": 5.0, "c": 0.0}, {"c": 0.9, "a": 0.7}, lam=0.25))

    assert fused == {"a": pytest.approx(0.25), "b": pytest.approx(0.125), "c": pytest.approx(0.75)}


def test_equal_scores_are_all_best() -> None:
    assert weighted_fusion({"a": 3.0, "b": 3.0}, {}, lam=1.0) == [("a", 1.0), ("b", 1.0)]


@pytest.mark.parametrize("lam", [-0.1, 1.1, math.nan])
def test_share_outside_zero_to_one_is_refused(lam: float) -> None:
    with pytest.raises(ValueError, match="lam"):
        weighted_fusion({"a": 1.0}, {}, lam=lam)


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_scores_that_are_not_finite_are_refused(score: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        weighted_fusion({"a": score}, {})


@given(rankings, rankings, st.integers(1, 100))
def test_reciprocal_fusion_holds_each_key_once_best_first(lexical: list[int], semantic: list[int], k: int) -> None:
    fused = reciprocal_rank_fusion(lexical, semantic, k=k)

    keys = [key for key, _ in fused]
    assert len(keys) == len(set(keys))
    assert set(keys) == set(lexical) | set(semantic)
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)
    assert all(0 < score <= 2 / (k + 1) for _, score in fused)


@given(st.lists(st.integers(), unique=True, max_size=10))
def test_agreeing_arms_keep_their_order(ranking: list[int]) -> None:
    assert [key for key, _ in reciprocal_rank_fusion(ranking, ranking)] == ranking


@given(scores, scores, st.floats(0, 1))
def test_weighted_fusion_stays_within_zero_and_one(
    lexical: dict[int, float], semantic: dict[int, float], lam: float
) -> None:
    fused = weighted_fusion(lexical, semantic, lam=lam)

    assert {key for key, _ in fused} == lexical.keys() | semantic.keys()
    assert len(fused) == len(lexical.keys() | semantic.keys())
    assert all(0 <= score <= 1 + 1e-12 for _, score in fused)
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)


@given(scores)
def test_one_arm_alone_keeps_its_order(lexical: dict[int, float]) -> None:
    fused = weighted_fusion(lexical, {}, lam=1.0)

    assert [key for key, _ in fused] == sorted(lexical, key=lambda key: -lexical[key])


_BALANCE = ArmBalance(far=0.5, near=0.9, lexical_when_far=0.8, lexical_when_near=0.2)


@pytest.mark.parametrize(("nearest", "weight"), [(0.1, 0.8), (0.5, 0.8), (0.7, 0.5), (0.9, 0.2), (1.0, 0.2)])
def test_the_nearer_the_records_the_less_the_words_weigh(nearest: float, weight: float) -> None:
    assert _BALANCE.lexical_weight(nearest) == pytest.approx(weight)


@pytest.mark.parametrize(("nearest", "first"), [(0.95, "meaning"), (0.4, "words")])
def test_the_arm_that_the_question_favours_leads(nearest: float, first: str) -> None:
    cosines = {"meaning": nearest, "words": nearest - 0.3, "third": nearest - 0.3}

    fused = adaptive_fusion(
        {"words": 9.0, "meaning": 1.0},
        cosines,
        semantic_ranking=sorted(cosines.values(), reverse=True),
        balance=_BALANCE,
    )

    assert fused[0][0] == first


@given(scores, scores, st.lists(st.floats(-1, 1), max_size=60))
def test_adaptive_fusion_holds_each_key_once_within_zero_and_one(
    lexical: dict[int, float], semantic: dict[int, float], ranking: list[float]
) -> None:
    words = {key: abs(score) for key, score in lexical.items()}
    cosines = {key: math.tanh(score) for key, score in semantic.items()}
    ranking = sorted([*ranking, *cosines.values()], reverse=True)

    fused = adaptive_fusion(words, cosines, semantic_ranking=ranking, balance=_BALANCE)

    assert sorted(key for key, _ in fused) == sorted({*words, *cosines})
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)
    assert all(0 <= score <= 1 for _, score in fused)


@given(st.integers(REFERENCE_RANK, 200))
def test_an_order_does_not_depend_on_how_many_were_asked_for(asked: int) -> None:
    ranking = [1.0 - place / 300 for place in range(300)]
    words = {place: float(place % 17) for place in range(300)}

    def order(size: int) -> list[int]:
        found = dict(enumerate(ranking[:size]))
        fused = adaptive_fusion(
            {key: words[key] for key in found}, found, semantic_ranking=ranking[:size], balance=_BALANCE
        )
        return [key for key, _ in fused if key < REFERENCE_RANK]

    assert order(asked) == order(REFERENCE_RANK)


@pytest.mark.parametrize("broken", [(0.9, 0.5, 0.5, 0.5), (0.1, 0.5, 1.5, 0.5), (0.1, 0.5, 0.5, -0.1)])
def test_a_balance_that_weighs_nothing_is_refused(broken: tuple[float, float, float, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        ArmBalance(*broken)


def test_cosines_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        adaptive_fusion({}, {"a": math.nan}, semantic_ranking=[], balance=_BALANCE)
