"""BM25 gives the values of the published formula, and its contributions add up to its score."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.bm25 import contributions, idf, score_all, term_weight

words = st.sampled_from(["app", "slow", "refund", "card", "late"])
corpora = st.dictionaries(st.integers(0, 20), st.lists(words, max_size=12), max_size=8)


def test_idf_is_the_natural_logarithm_of_the_smoothed_odds() -> None:
    assert idf(10, 2) == pytest.approx(math.log(1 + 8.5 / 2.5))
    assert idf(1, 1) == pytest.approx(math.log(1 + 0.5 / 1.5))


@pytest.mark.parametrize(("n", "df"), [(1, 2), (5, -1)])
def test_impossible_document_frequency_is_refused(n: int, df: int) -> None:
    with pytest.raises(ValueError, match="df"):
        idf(n, df)


def test_weight_of_a_document_of_average_length() -> None:
    assert term_weight(1, 10, 10.0) == pytest.approx(1.0)
    assert term_weight(3, 10, 10.0) == pytest.approx(3 * 2.2 / 4.2)
    assert term_weight(0, 10, 10.0) == 0


def test_worked_example() -> None:
    documents = {"a": ["slow", "app"], "b": ["card", "late", "slow", "slow"], "c": ["refund"]}

    ranking = score_all(["slow"], documents)

    expected_b = idf(3, 2) * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 4 / (7 / 3)))
    expected_a = idf(3, 2) * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / (7 / 3)))
    assert ranking == [("b", pytest.approx(expected_b)), ("a", pytest.approx(expected_a))]


def test_nothing_shared_scores_nothing() -> None:
    assert score_all(["refund"], {"a": ["slow"]}) == []
    assert score_all(["refund"], {}) == []
    assert score_all([], {"a": ["slow"]}) == []


@given(st.integers(0, 50), st.integers(1, 200), st.floats(0.1, 200), st.floats(0, 3), st.floats(0, 1))
def test_weight_is_bounded_and_grows_with_frequency(tf: int, length: int, average: float, k1: float, b: float) -> None:
    weight = term_weight(tf, length, average, k1=k1, b=b)

    assert 0 <= weight <= k1 + 1 + 1e-9
    assert term_weight(tf + 1, length, average, k1=k1, b=b) >= weight - 1e-9


@given(st.integers(0, 1000).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_idf_is_positive(sizes: tuple[int, int]) -> None:
    assert idf(*sizes) > 0


@given(corpora, st.lists(words, max_size=4))
def test_contributions_add_up_to_the_score(documents: dict[int, list[str]], query: list[str]) -> None:
    ranking = score_all(query, documents)

    n = len(documents)
    frequencies = {word: sum(word in tokens for tokens in documents.values()) for word in set(query)}
    average = sum(map(len, documents.values())) / n if n else 0.0
    assert [score for _, score in ranking] == sorted((score for _, score in ranking), reverse=True)
    for key, score in ranking:
        parts = contributions(query, documents[key], document_frequencies=frequencies, n=n, average_length=average)
        assert sum(parts.values()) == pytest.approx(score)
        assert set(parts) == set(query) & set(documents[key])
