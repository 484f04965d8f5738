"""The reranked order is the sum of features that are all returned."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.rerank import Candidate, RerankRules, contenders, coverage, neutral_rules, recency, rerank

AS_OF = datetime(2026, 11, 30, tzinfo=UTC)
unit = st.floats(0, 1)
candidates = st.lists(
    st.builds(
        Candidate,
        key=st.integers(),
        relevance=st.floats(-1, 2),
        coverage=unit,
        source=st.sampled_from(["survey", "call", ""]),
        occurred_at=st.none() | st.datetimes(timezones=st.just(UTC)),
        cross_encoder=st.none() | st.floats(-1, 2),
    ),
    max_size=8,
)
rules = st.builds(
    RerankRules,
    relevance=st.floats(0.01, 1),
    coverage=unit,
    recency=unit,
    source=unit,
    cross_encoder=unit,
    source_weights=st.dictionaries(st.sampled_from(["survey", "call"]), unit),
)


@given(candidates, rules)
def test_features_add_up_to_the_score(found: list[Candidate[int]], given_rules: RerankRules) -> None:
    ranked = rerank(found, rules=given_rules, as_of=AS_OF)

    assert [entry.score for entry in ranked] == sorted((entry.score for entry in ranked), reverse=True)
    assert sorted(entry.key for entry in ranked) == sorted(candidate.key for candidate in found)
    for entry in ranked:
        assert set(entry.features) - {"cross_encoder"} == {"relevance", "recency", "source", "coverage"}
        assert entry.score == pytest.approx(sum(entry.features.values()))
        assert 0 <= entry.score <= 1


@given(
    st.lists(
        st.builds(
            Candidate,
            key=st.uuids(),
            relevance=unit,
            coverage=unit,
            source=st.sampled_from(["survey", "call"]),
            occurred_at=st.none() | st.datetimes(timezones=st.just(UTC)),
            exact=unit,
            phrase=unit,
        ),
        max_size=12,
    ),
    rules,
    st.integers(1, 12),
)
def test_who_is_no_contender_would_not_have_come_among_the_first(
    found: list[Candidate[UUID]], given_rules: RerankRules, top_k: int
) -> None:
    kept = contenders(
        [candidate.relevance for candidate in found],
        [candidate.coverage for candidate in found],
        top_k=top_k,
        rules=given_rules,
        named=("exact", "phrase"),
    )
    everybody = rerank(found, rules=given_rules, as_of=AS_OF)[:top_k]
    contending = rerank([found[place] for place in kept], rules=given_rules, as_of=AS_OF)[:top_k]

    assert [entry.key for entry in contending] == [entry.key for entry in everybody]


def test_only_those_who_could_still_come_first_are_contenders() -> None:
    rules = neutral_rules(0.5)
    relevance, covered = [1.0, 0.9, 0.89, 0.5], [1.0, 1.0, 1.0, 1.0]

    assert contenders(relevance, covered, top_k=2, rules=rules, named=()) == [0, 1]
    assert contenders(relevance, covered, top_k=2, rules=rules, named=("phrase",)) == [0, 1, 2]
    assert contenders(relevance, covered, top_k=4, rules=rules, named=()) == [0, 1, 2, 3]


def test_the_most_relevant_stays_since_the_others_are_measured_by_it() -> None:
    rules = neutral_rules(1.0)

    assert contenders([1.0, 0.99, 0.98, 0.97], [0.0, 1.0, 1.0, 0.0], top_k=2, rules=rules, named=()) == [0, 1, 2]


def test_neutral_pass_ignores_age_and_source() -> None:
    old = Candidate("old", 0.5, 0.5, "call", AS_OF - timedelta(days=3000))
    new = Candidate("new", 0.5, 0.5, "survey", AS_OF)

    ranked = rerank([old, new], rules=RerankRules(), as_of=AS_OF)

    assert [entry.key for entry in ranked] == ["old", "new"]
    assert ranked[0].features == ranked[1].features


def test_preferred_source_comes_first_when_asked_for() -> None:
    call, survey = Candidate("call", 0.5, source="call"), Candidate("survey", 0.5, source="survey")

    ranked = rerank([call, survey], rules=RerankRules(source=0.2, source_weights={"call": 0.1}), as_of=AS_OF)

    assert [entry.key for entry in ranked] == ["survey", "call"]


def test_recency_halves_every_half_life() -> None:
    assert recency(AS_OF, AS_OF, 30) == 1
    assert recency(AS_OF - timedelta(days=30), AS_OF, 30) == pytest.approx(0.5)
    assert recency(AS_OF + timedelta(days=30), AS_OF, 30) == 1
    assert recency(None, AS_OF, 30) == 0


def test_coverage_is_weighted_by_rarity() -> None:
    question = {"refund": 3.0, "app": 1.0}

    assert coverage({"refund"}, question) == 0.75
    assert coverage({"app", "other"}, question) == 0.25
    assert coverage({"refund"}, {}) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"relevance": -1.0},
        {"relevance": 0.0, "coverage": 0.0},
        {"recency": float("nan")},
        {"half_life_days": 0.0},
        {"source_weights": {"call": 1.5}},
    ],
)
def test_impossible_rules_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"weight|half_life"):
        RerankRules(**wrong)  # type: ignore[arg-type]  # wrong on purpose


def test_a_second_opinion_takes_its_share_and_leaves_the_rest_to_the_others() -> None:
    judged = Candidate("judged", 0.5, 0.5, cross_encoder=1.0)
    not_judged = Candidate("not judged", 0.5, 0.5)

    first, second = rerank([not_judged, judged], rules=RerankRules(cross_encoder=0.4), as_of=AS_OF)

    assert (first.key, second.key) == ("judged", "not judged")
    assert first.features["cross_encoder"] == pytest.approx(0.4)
    assert first.score == pytest.approx(0.4 + 0.6 * second.score)
    assert "cross_encoder" not in second.features


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_an_impossible_share_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        RerankRules(cross_encoder=share)


@pytest.mark.parametrize(("weight", "coverage_share"), [(0.0, 0.0), (0.5, 0.15), (1.0, 0.3)])
def test_coverage_counts_as_far_as_words_do(weight: float, coverage_share: float) -> None:
    rules = neutral_rules(weight)

    assert (rules.relevance, rules.coverage) == (pytest.approx(1 - coverage_share), pytest.approx(coverage_share))
    assert (rules.recency, rules.source) == (0, 0)


@pytest.mark.parametrize("weight", [-0.1, 1.1])
def test_a_weight_outside_zero_to_one_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        neutral_rules(weight)
