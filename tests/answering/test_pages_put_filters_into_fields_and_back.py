"""A filter set that goes through the question form comes out as it went in."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answering.presentation import chips
from answering.question_form import address_of, fields_of, fields_sent, read_filters
from core.errors import InvalidInput
from feedback.domain.filters import FacetVocabulary, FilterSet, Vocabulary

VOCABULARY = Vocabulary(
    sources=("survey", "call"), themes=("Parking", "A, B"), languages=("en", "de"), facets={"plan": FacetVocabulary()}
)
WORDS = st.text(alphabet="ab Ä&=\"'{}", min_size=1, max_size=8).filter(lambda text: bool(text.strip()))
MOMENTS = st.integers(946_684_800, 1_893_456_000).map(lambda seconds: datetime.fromtimestamp(seconds, tz=UTC))
DAYS = MOMENTS.map(lambda moment: moment.replace(hour=0, minute=0, second=0, microsecond=0))


class Sent:
    """What a browser sends of a form."""

    def __init__(self, query: str) -> None:
        self._values = parse_qs(query, keep_blank_values=True)

    def getlist(self, key: str) -> list[str]:
        return self._values.get(key, [])


@st.composite
def filter_sets(draw: Any) -> FilterSet:
    since = draw(st.none() | DAYS | MOMENTS)
    length = draw(st.integers(1, 500))
    until = draw(st.none() | DAYS | MOMENTS) if since is None else since + timedelta(days=length)
    return FilterSet(
        source=tuple(draw(st.lists(st.sampled_from(VOCABULARY.sources), max_size=2))),
        theme=tuple(draw(st.lists(st.sampled_from(VOCABULARY.themes), max_size=2))),
        account=tuple(word.strip() for word in draw(st.lists(WORDS, max_size=3))),
        language=tuple(draw(st.lists(st.sampled_from(VOCABULARY.languages), max_size=2))),
        ids=tuple(word.strip() for word in draw(st.lists(WORDS, max_size=2))),
        occurred_from=since,
        occurred_to=until,
        facets=draw(st.just({}) | st.lists(WORDS, min_size=1, max_size=2).map(lambda words: {"plan": tuple(words)})),
    )


@given(filters=filter_sets())
def test_a_filter_set_survives_the_form(filters: FilterSet) -> None:
    address = address_of(filters.as_json(), question="Why?", corpus="feedback")

    assert FilterSet.from_json(read_filters(Sent(address)), vocabulary=VOCABULARY) == filters


@given(filters=filter_sets())
def test_every_filter_is_put_into_words(filters: FilterSet) -> None:
    stated = filters.as_json()

    assert len(chips(stated)) == len(stated) - ("facets" in stated) + len(stated.get("facets", {}))


def test_the_last_day_of_a_period_counts() -> None:
    assert read_filters(Sent("until=2026-03-31"))["occurred_to"] == "2026-04-01"


def test_the_last_day_is_shown_as_it_was_given() -> None:
    assert fields_of({"occurred_to": "2026-04-01T00:00:00Z"}).until == "2026-03-31"
    assert [chip.value for chip in chips({"occurred_to": "2026-04-01T00:00:00Z"})] == ["31 Mar 2026"]


def test_an_hour_of_the_day_is_kept_exactly() -> None:
    fields = fields_of({"occurred_to": "2026-04-01T12:30:00Z"})

    assert fields.until == ""
    assert json.loads(fields.kept[0].json) == {"occurred_to": "2026-04-01T12:30:00Z"}


def test_blank_fields_are_no_filters() -> None:
    assert read_filters(Sent("account=&account=+&since=&until=")) == {}


@pytest.mark.parametrize("sent", ["since=yesterday", "until=2026-02-30", "until=9999-12-31", "kept=null", "kept=%7B"])
def test_a_field_that_cant_be_read_is_refused(sent: str) -> None:
    with pytest.raises(InvalidInput):
        read_filters(Sent(sent))


def test_what_was_sent_is_shown_again_beside_the_fault() -> None:
    fields = fields_sent(Sent("since=yesterday&account=North&account="))

    assert (fields.since, fields.account, fields.count) == ("yesterday", ("North",), 2)
