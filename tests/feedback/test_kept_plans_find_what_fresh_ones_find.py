"""A search without filters keeps its plan; it finds what one that is planned anew finds, also in months made since."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from core.tenant_session import tenant_session
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Mode
from feedback.selectors.aggregates import Selection, count_matching, list_matching, select_mentions
from feedback.selectors.retrieval import retrieve
from tests.factories import SMALL_CORPUS, make_document

# It admits every record, and takes the statement that is planned for its values.
EVERYTHING = FilterSet(occurred_from=datetime(1970, 1, 1, tzinfo=UTC))


@pytest.fixture
def loaded(corpus, ingest):
    ingest(*SMALL_CORPUS)
    return corpus


@pytest.mark.parametrize(
    "query", ["kettle", "late delivery again", "refund SAVE20", "Lieferung", "nothing of it xyzzy"]
)
@pytest.mark.parametrize("mode", Mode)
def test_both_statements_find_the_same_records_with_the_same_scores(loaded, query, mode):
    with tenant_session(loaded.tenant):
        kept, planned = (
            retrieve(corpus=loaded, query=query, mode=mode, filters=filters).hits
            for filters in (FilterSet(), EVERYTHING)
        )

    assert kept == planned


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("delivery", ["r-01", "r-09"]),
        ("delivery late", ["r-01", "r-09"]),
        ("delivery late third", ["r-09"]),
        ("refund days", ["r-05", "r-10"]),
        ("delivery refund", []),
        ("delivery xyzzy", []),
    ],
)
def test_both_statements_count_the_same_mentions(loaded, text, expected):
    with tenant_session(loaded.tenant):
        for filters in (FilterSet(), EVERYTHING):
            selection = select_mentions(corpus=loaded, text=text, filters=filters)
            assert sorted(list_matching(corpus=loaded, selection=selection, limit=100)) == expected
            assert count_matching(corpus=loaded, selection=selection).value == len(expected)


def test_words_of_one_group_are_alternatives(loaded):
    with tenant_session(loaded.tenant):
        for filters in (FilterSet(), EVERYTHING):
            either = Selection((("kettl", "refund"),), filters)
            both_groups = Selection((("kettl", "refund"), ("day",)), filters)
            assert sorted(list_matching(corpus=loaded, selection=either, limit=9)) == ["r-02", "r-05", "r-07", "r-10"]
            assert sorted(list_matching(corpus=loaded, selection=both_groups, limit=9)) == ["r-02", "r-05", "r-10"]


def test_groups_may_stand_in_different_passages_of_a_record(corpus, ingest):
    filler = "It goes on and on about nothing much at all. " * 60
    ingest(
        make_document("long", f"The kettle was fine. {filler} The courier was rude."),
        make_document("short", "A kettle."),
    )

    with tenant_session(corpus.tenant):
        for filters in (FilterSet(), EVERYTHING):
            selection = Selection((("kettl",), ("courier",)), filters)
            assert list_matching(corpus=corpus, selection=selection, limit=9) == ["long"]


def test_a_kept_plan_sees_a_month_that_was_made_after_it(loaded, ingest, search):
    before = set(search("kettle"))

    ingest(make_document("old", "A kettle from long ago.", occurred_at="1999-05-04"))

    assert set(search("kettle")) == before | {"old"}
    with tenant_session(loaded.tenant):
        selection = select_mentions(corpus=loaded, text="kettle", filters=FilterSet())
        assert set(list_matching(corpus=loaded, selection=selection, limit=99)) == before | {"old"}
