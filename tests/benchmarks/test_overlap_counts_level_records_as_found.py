"""Overlap with exact BM25 measures the ranking, not the order that an engine gives to equal scores."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.reference import ExactBM25, overlap
from feedback.domain.bm25 import score_all

WORDS = ("late", "parcel", "refund", "kettle", "price", "rude")
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=8), min_size=1, max_size=12)


def engine(*documents: list[str]) -> ExactBM25[str]:
    """Return exact BM25 over documents d0, d1, … given as tokens."""
    return ExactBM25(
        (f"d{number}", {word: words.count(word) for word in words}) for number, words in enumerate(documents)
    )


@given(documents=texts, query=st.lists(st.sampled_from(WORDS), max_size=4))
def test_the_reference_scores_as_the_brute_force_formula_does(documents: list[list[str]], query: list[str]) -> None:
    expected = dict(score_all(query, {f"d{number}": words for number, words in enumerate(documents)}))

    scores = engine(*documents).scores(query)

    assert scores == pytest.approx(expected)


def test_a_document_scores_its_best_passage() -> None:
    passages = ExactBM25([("d", {"late": 1, "parcel": 5}), ("d", {"late": 1}), ("other", {"price": 3})])
    alone = ExactBM25([("first", {"late": 1, "parcel": 5}), ("second", {"late": 1}), ("other", {"price": 3})])

    assert passages.scores(["late"])["d"] == pytest.approx(alone.scores(["late"])["second"])


def test_the_exact_top_is_found_whole_in_any_order() -> None:
    scores = {"a": 3.0, "b": 2.0, "c": 1.0}

    assert overlap(["b", "a"], scores, k=2) == 1.0


def test_what_is_level_with_the_last_of_the_top_counts() -> None:
    scores = {"a": 3.0, "b": 2.0, "c": 2.0, "d": 2.0}

    assert overlap(["a", "d"], scores, k=2) == 1.0


def test_what_is_below_the_top_does_not_count() -> None:
    scores = {"a": 3.0, "b": 2.0, "c": 1.9}

    assert overlap(["a", "c"], scores, k=2) == 0.5


def test_what_shares_no_word_does_not_count() -> None:
    assert overlap(["x", "y"], {"a": 3.0, "b": 2.0}, k=2) == 0.0


def test_a_record_found_twice_counts_once() -> None:
    assert overlap(["a", "a"], {"a": 3.0, "b": 2.0}, k=2) == 0.5


def test_a_short_exact_list_asks_for_no_more_than_it_has() -> None:
    assert overlap(["a"], {"a": 3.0}, k=10) == 1.0


def test_nothing_to_find_has_no_overlap() -> None:
    assert overlap(["a"], {}, k=10) is None
    assert overlap([], {"a": 0.0}, k=10) is None


def test_an_empty_collection_scores_nothing() -> None:
    assert engine().scores(["late"]) == {}
