"""Codes, quoted wordings, names and phrases of a question are told apart from its other words, and found in records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.emphasis import emphasis_of


@pytest.mark.parametrize(
    ("question", "holds", "lacks"),
    [
        ("Does SAVE20 work?", "the code save20 was refused", "SAVE2 and SAVE200 were refused"),
        ("Why ERR_0x80070005?", "It says ERR_0x80070005.", "It says ERR_0x80070006."),
        ("Where is order #A-10293?", "Order A-10293 never came", "Order A-1029 never came"),
        ("What broke in 4.18.0?", "since v4.18.0 it crashes", "since 4.18.1 it crashes"),
        ('Who wrote "gluten free"?', "No Gluten  free bread", "free of gluten"),
    ],
)
def test_what_is_named_is_held_or_not(question: str, holds: str, lacks: str) -> None:
    named = emphasis_of(question)

    assert named.is_exact
    assert named.exact_share(holds) == 1
    assert named.exact_share(lacks) == 0


@pytest.mark.parametrize(
    "question", ["Are patients kind?", "is it good", "I LOVE THIS APP", "Wo bleibt die Lieferung?"]
)
def test_common_words_are_no_names(question: str) -> None:
    language = "de" if "Lieferung" in question else "en"

    assert emphasis_of(question, language=language).names == ()


def test_a_name_is_found_in_any_case_and_only_whole() -> None:
    named = emphasis_of("What does the Harbour Lane nursery want?")

    assert named.names == ("harbour lane",)
    assert named.name_share("We at HARBOUR  LANE wait") == 1
    assert named.name_share("the harbour in the lane") == 0


def test_half_of_what_is_named_counts_half() -> None:
    named = emphasis_of("Do SAVE20 and WIN15 work?")

    assert named.exact_share("WIN15 did nothing") == 0.5


def test_neighbouring_words_are_found_in_any_inflection() -> None:
    named = emphasis_of("late deliveries of parcels")

    assert named.phrase_share("The delivery was late") == 0
    assert named.phrase_share("a late delivery, as ever") == 0.5
    assert named.phrase_share("late delivery of my parcel") == 1


def test_words_parted_by_a_mark_are_no_phrase() -> None:
    assert emphasis_of("Noise, light").pairs == ()


@given(st.text(max_size=200), st.text(max_size=200), st.sampled_from(["en", "de", "zh", "und"]))
def test_shares_stay_within_zero_and_one(question: str, text: str, language: str) -> None:
    named = emphasis_of(question, language=language)

    assert 0 <= named.exact_share(text) <= 1
    assert 0 <= named.name_share(text) <= 1
    assert 0 <= named.phrase_share(text) <= 1
