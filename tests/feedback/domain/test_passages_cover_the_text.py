"""Passages are disjoint, in order, short enough, and leave out nothing but white space."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedback.domain.passages import index_hash, split

texts = st.text(max_size=400) | st.lists(
    st.sampled_from(
        [
            "Slow. ",
            "Why?\n",
            "\n\n",
            "\r\n\r\n",
            "a" * 37,
            "Dr. No came at 3.5 p.m. ",
            " ",
            "。",
            "好的",
            "\u2028",
            "- x\n",
        ]
    ),
    max_size=60,
).map("".join)


@given(texts, st.integers(min_value=1, max_value=120))
@settings(max_examples=300)
def test_spans_partition_what_is_not_blank(text: str, limit: int) -> None:
    spans = split(text, max_characters=limit)

    covered = 0
    for span in spans:
        assert span.start >= covered
        assert 0 < span.end - span.start <= limit
        assert not text[covered : span.start].strip()
        covered = span.end
    assert not text[covered:].strip()
    if len(text) > limit:
        for span in spans:
            assert text[span.start : span.end].strip() == text[span.start : span.end]


def test_short_text_is_one_passage_over_all_of_it() -> None:
    text = "  Two sentences. And a break.\n\nStill short. "

    (span,) = split(text)

    assert (span.start, span.end) == (0, len(text))


@pytest.mark.parametrize("text", ["", " \n\t", "\u2003"])
def test_blank_text_has_no_passage(text: str) -> None:
    assert split(text) == []


def test_cuts_fall_between_paragraphs_where_they_can() -> None:
    paragraph = "The waiting room was cold. Nobody said how long it would take."
    text = f"{paragraph}\n\n{paragraph}\r\n\r\n{paragraph}"

    spans = split(text, max_characters=100)

    assert [text[span.start : span.end] for span in spans] == [paragraph] * 3


def test_long_paragraph_is_cut_between_sentences() -> None:
    sentence = "The waiting room was cold and dark all day."
    text = " ".join([sentence] * 5)

    spans = split(text, max_characters=100)

    assert all(text[span.start : span.end].endswith("day.") for span in spans)


def test_small_paragraphs_share_a_passage() -> None:
    text = "\n\n".join(["One line."] * 40)

    assert len(split(text, max_characters=200)) == 3


def test_word_longer_than_a_passage_is_cut() -> None:
    assert [span.end - span.start for span in split("x" * 25, max_characters=10)] == [10, 10, 5]


def test_limit_must_be_positive() -> None:
    with pytest.raises(ValueError, match="max_characters"):
        split("text", max_characters=0)


def test_hash_tells_title_from_text() -> None:
    assert index_hash("a", "b") != index_hash("", "ab")
    assert index_hash("", "x") == index_hash("", "x")
    assert len(index_hash("", "x")) == 32
