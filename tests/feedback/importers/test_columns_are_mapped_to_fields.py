"""Columns are mapped by their names, the user's word wins, and a file without a text says what it has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.importers.mapping import FIELDS, BadMapping, guess_mapping, parse_pairs


@pytest.mark.parametrize(
    ("columns", "mapping"),
    [
        (["Ticket ID", "Description", "Created"], {"Ticket ID": "id", "Description": "text", "Created": "occurred_at"}),
        (["review_id", "Review Text", "stars"], {"review_id": "id", "Review Text": "text"}),
        (["id", "comment", "review"], {"id": "id", "comment": "text"}),
        (["Body", "Subject", "Customer"], {"Body": "text", "Subject": "title", "Customer": "account"}),
        (["text", "tags", "locale"], {"text": "text", "tags": "themes", "locale": "language"}),
        (["answer", "source", "channel"], {"answer": "text", "source": "source"}),
    ],
)
def test_usual_names_are_guessed(columns: list[str], mapping: dict[str, str]) -> None:
    assert guess_mapping(columns) == mapping


def test_open_question_with_the_longest_answers_is_the_text() -> None:
    columns = ["Why not?", "Please tell us why you gave this score", "Score"]

    mapping = guess_mapping(columns, samples={columns[0]: ["no"], columns[1]: ["It took three weeks."]})

    assert mapping == {columns[1]: "text"}


def test_users_mapping_wins() -> None:
    mapping = guess_mapping(
        ["text", "Notes", "date", "x"], wanted={"notes ": "text", "x": "facets.plan", "date": "ignore"}
    )

    assert mapping == {"Notes": "text", "x": "facets.plan", "date": "ignore"}


def test_no_text_names_the_columns() -> None:
    with pytest.raises(BadMapping, match=r"Columns: id, stars\.") as refused:
        guess_mapping(["id", "stars"])

    assert refused.value.detail["columns"] == ["id", "stars"]


@pytest.mark.parametrize(
    "wanted",
    [
        {"absent": "text"},
        {"text": "txt"},
        {"text": "facets."},
        {"note": "facets.text"},
        {"text": "text", "note": "text"},
        {"text": "ignore"},
    ],
)
def test_impossible_mapping_is_refused(wanted: dict[str, str]) -> None:
    with pytest.raises(BadMapping) as refused:
        guess_mapping(["text", "stars", "note"] if "ignore" not in wanted.values() else ["text"], wanted=wanted)

    assert refused.value.message


def test_pairs_split_at_the_last_equals_sign() -> None:
    assert parse_pairs(["Comment=text", "a=b=facets.c"]) == {"Comment": "text", "a=b": "facets.c"}


@pytest.mark.parametrize("pair", ["", "text", "=text", "Comment="])
def test_bad_pair_is_refused(pair: str) -> None:
    with pytest.raises(BadMapping):
        parse_pairs([pair])


@given(st.lists(st.text(max_size=12), unique=True, max_size=10))
def test_each_field_is_filled_once(columns: list[str]) -> None:
    try:
        mapping = guess_mapping(columns)
    except BadMapping:
        return

    assert "text" in mapping.values()
    assert len(set(mapping.values())) == len(mapping)
    assert set(mapping) <= set(columns)
    assert set(mapping.values()) <= set(FIELDS)
