"""In every arm and every count a filter admits exactly the records that its words say."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from core.tenant_session import tenant_session
from feedback.domain.facets import facet_text
from feedback.domain.filters import FilterSet, InvalidFilter
from feedback.domain.retrieval import Mode
from feedback.selectors.aggregates import Grouping, Selection, count_matching, group_matching, list_matching
from feedback.selectors.retrieval import retrieve
from feedback.services.ingest import ingest_documents
from tenants.caller import operator
from tests.factories import NOW, make_corpus, rows

SOURCES = ["survey", "complaint", "call"]
THEMES = ["price", "quality", "o'brien", 'a "quote"', "{brace}", "back\\slash", "ünï"]
ACCOUNTS = ["Acme", "Globex", "7", "'; --"]
LANGUAGES = ["en", "de"]
# What compares as text: 1 and "1" are the same, true and "true" as well.
VALUES = [1, "1", 2.5, "2.5", True, "true", "north", "o'brien", "[]"]
DAYS = [f"2026-{month:02d}-{day:02d}" for month in (1, 2) for day in (1, 15, 28)]

FACETS = st.dictionaries(
    st.sampled_from(["region", "plan", "it's"]),
    st.one_of(st.sampled_from(VALUES), st.lists(st.sampled_from(VALUES), min_size=1, max_size=3)),
    max_size=2,
)
DOCUMENTS = st.fixed_dictionaries(
    {
        "source": st.sampled_from(SOURCES),
        "themes": st.lists(st.sampled_from(THEMES), max_size=3, unique=True),
        "account": st.sampled_from([None, *ACCOUNTS]),
        "language": st.sampled_from(LANGUAGES),
        "occurred_at": st.sampled_from(DAYS),
        "facets": FACETS,
    }
)
MOMENTS = st.one_of(st.none(), st.sampled_from(DAYS).map(lambda day: datetime.fromisoformat(day).replace(tzinfo=UTC)))


def _some(values):
    return st.lists(st.sampled_from(values), max_size=2, unique=True).map(tuple)


FILTERS = st.fixed_dictionaries(
    {
        "source": _some(SOURCES),
        "theme": _some(THEMES),
        "account": _some(ACCOUNTS),
        "language": _some(LANGUAGES),
        "ids": st.one_of(st.just(()), _some([f"doc-{n}" for n in range(8)])),
        "occurred_from": MOMENTS,
        "occurred_to": MOMENTS,
        "facets": st.dictionaries(
            st.sampled_from(["region", "plan", "it's"]),
            st.lists(st.sampled_from(VALUES), min_size=1, max_size=2).map(tuple),
            max_size=2,
        ),
    }
)
# Mostly one or two keys at a time: with all of them hardly a record is ever admitted.
NARROW = st.tuples(
    FILTERS,
    st.sets(
        st.sampled_from(["source", "theme", "account", "language", "ids", "occurred_from", "occurred_to", "facets"]),
        min_size=1,
        max_size=3,
    ),
).map(lambda both: {key: value for key, value in both[0].items() if key in both[1]})
_names = count()


def _admits(filters, identity, document):
    if filters.ids:
        return identity in filters.ids
    moment = datetime.fromisoformat(document["occurred_at"]).replace(tzinfo=UTC)
    facets = {
        name: {facet_text(value) for value in (held if isinstance(held, list) else [held])}
        for name, held in document["facets"].items()
    }
    return (
        (not filters.source or document["source"] in filters.source)
        and (not filters.theme or bool(set(document["themes"]) & set(filters.theme)))
        and (not filters.account or document["account"] in filters.account)
        and (not filters.language or document["language"] in filters.language)
        and (filters.occurred_from is None or moment >= filters.occurred_from)
        and (filters.occurred_to is None or moment < filters.occurred_to)
        and all(
            facets.get(name, set()) & {facet_text(value) for value in values} for name, values in filters.facets.items()
        )
    )


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(documents=st.lists(DOCUMENTS, min_size=1, max_size=8), chosen=st.lists(NARROW, min_size=1, max_size=3))
def test_every_arm_and_every_count_admit_the_same_records(tenant, documents, chosen):
    corpus = make_corpus(tenant=tenant, slug=f"corpus-{next(_names)}")
    stored = {f"doc-{n}": document for n, document in enumerate(documents)}
    sent = [{"id": identity, "text": f"kettle {identity}", **document} for identity, document in stored.items()]
    assert ingest_documents(caller=operator(tenant), corpus=corpus, rows=rows(*sent), now=NOW).saved == len(sent)

    for fields in chosen:
        try:
            filters = FilterSet(**fields)
        except InvalidFilter:
            assume(False)
        expected = {identity for identity, document in stored.items() if _admits(filters, identity, document)}

        with tenant_session(tenant):
            by_arm = {
                mode: {
                    hit.doc_id
                    for hit in retrieve(corpus=corpus, query="kettle", filters=filters, mode=mode, top_k=100).hits
                }
                for mode in Mode
            }
            selection = Selection(filters=filters)
            listed = list_matching(corpus=corpus, selection=selection, limit=100)
            counted = count_matching(corpus=corpus, selection=selection)
            by_source = group_matching(corpus=corpus, selection=selection, by=Grouping.SOURCE)

        assert by_arm == dict.fromkeys(Mode, expected), filters
        assert sorted(listed) == sorted(expected)
        assert counted.value == len(expected)
        assert counted.accounts == len({stored[identity]["account"] for identity in expected} - {None})
        assert {group.key: group.count.value for group in by_source} == {
            source: held
            for source in SOURCES
            if (held := sum(stored[identity]["source"] == source for identity in expected))
        }


def test_the_first_moment_is_within_and_the_last_is_not(corpus, ingest, search):
    for n, moment in enumerate(
        ["2026-01-31T23:59:59Z", "2026-02-01T00:00:00Z", "2026-02-28T23:59:59Z", "2026-03-01T00:00:00Z"]
    ):
        ingest({"id": str(n), "text": "kettle", "occurred_at": moment})
    february = FilterSet(occurred_from=datetime(2026, 2, 1, tzinfo=UTC), occurred_to=datetime(2026, 3, 1, tzinfo=UTC))

    assert search("kettle", filters=february) == ["1", "2"]


def test_a_record_of_several_groups_is_in_each_and_counts_once_in_all(corpus, ingest):
    ingest(
        {"id": "a", "text": "kettle", "themes": ["price", "quality"]},
        {"id": "b", "text": "kettle", "themes": ["price"]},
    )

    with tenant_session(corpus.tenant):
        groups = group_matching(corpus=corpus, selection=Selection(), by=Grouping.THEME)
        total = count_matching(corpus=corpus, selection=Selection())

    assert [(group.key, group.count.value) for group in groups] == [("price", 2), ("quality", 1)]
    assert total.value == 2


def test_counts_are_in_rows_and_in_people(corpus, ingest):
    ingest(
        {"id": "a", "text": "kettle", "account": "Acme", "author": "ann"},
        {"id": "b", "text": "kettle", "account": "Acme", "author": "bob"},
        {"id": "c", "text": "kettle", "author": "ann"},
        {"id": "d", "text": "kettle"},
    )

    with tenant_session(corpus.tenant):
        total = count_matching(corpus=corpus, selection=Selection())

    assert (total.value, total.people, total.accounts) == (4, 2, 1)


def test_words_in_different_passages_of_a_record_are_in_one_record(corpus, ingest):
    filler = "The courier was late again and nobody called. " * 30
    ingest(
        {"id": "both", "text": f"A kettle. {filler}\n\n{filler}\n\n{filler} A toaster."},
        {"id": "one", "text": f"A kettle. {filler}"},
    )
    with tenant_session(corpus.tenant):
        from feedback.selectors.aggregates import select_mentions

        selection = select_mentions(corpus=corpus, text="kettle toaster", filters=FilterSet())

        assert count_matching(corpus=corpus, selection=selection).doc_ids == ("both",)


def test_an_account_of_nobody_admits_nothing(corpus, ingest, search):
    ingest({"id": "a", "text": "kettle", "account": "Acme"})

    assert search("kettle", filters=FilterSet(account=("Nobody",))) == []


@pytest.mark.parametrize("name", ["x') OR true --", "a'b", 'a"b', "%s", "{}"])
def test_a_facets_name_is_data(corpus, ingest, search, name):
    ingest({"id": "a", "text": "kettle", name: "yes"}, {"id": "b", "text": "kettle"})

    assert search("kettle", filters=FilterSet(facets={name: ("yes",)})) == ["a"]
    assert search("kettle", filters=FilterSet(facets={name: ("no",)})) == []
