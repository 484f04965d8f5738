"""Equal text with other metadata is filed anew: no revision, no embedding, and filters know it at once."""

from __future__ import annotations

import pytest

from core.tenant_session import tenant_session
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Mode
from feedback.selectors.corpora import find_corpus
from feedback.selectors.records import get_record
from tests.factories import make_document
from tests.feedback.recount import differences

BEFORE = {
    "source": "survey",
    "themes": ["delivery"],
    "account": "Acme",
    "author": "ann",
    "language": "en",
    "url": "https://a.example/1",
    "occurred_at": "2026-01-10",
    "region": "north",
}
CHANGES = [
    {"source": "complaint"},
    {"themes": ["delivery", "price"]},
    {"account": "Globex"},
    {"account": None},
    {"author": "bob"},
    {"url": "https://a.example/2"},
    {"occurred_at": "2026-01-11"},
    {"occurred_at": "2025-06-01"},
    {"region": "south"},
    {"plan": "gold"},
    {"record_kind": "verbatim", "content_kind": "text", "origin": "survey tool", "attribution": "Ann, Acme"},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_it_is_an_update_without_revision_and_without_embedding(corpus, ingest, embedded, search, change):
    ingest(make_document("a", "The kettle broke.", **BEFORE))
    embedded_before = embedded()

    result = ingest(make_document("a", "The kettle broke.", **{**BEFORE, **change}))

    with tenant_session(corpus.tenant):
        record = get_record(corpus=corpus, doc_id="a")
    assert (result.saved, result.updated, result.indexed) == (0, 1, 0)
    assert len(record.revisions) == 1
    assert embedded() == embedded_before
    assert search("kettle") == search("kettle", mode=Mode.VECTOR) == ["a"]
    assert differences(corpus) == []


@pytest.mark.parametrize("mode", [Mode.LEXICAL, Mode.VECTOR])
@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        ({"source": "complaint"}, FilterSet(source=("survey",)), FilterSet(source=("complaint",))),
        ({"themes": ["price"]}, FilterSet(theme=("delivery",)), FilterSet(theme=("price",))),
        ({"account": "Globex"}, FilterSet(account=("Acme",)), FilterSet(account=("Globex",))),
        ({"region": "south"}, FilterSet(facets={"region": ("north",)}), FilterSet(facets={"region": ("south",)})),
    ],
    ids=["source", "themes", "account", "facet"],
)
def test_filters_go_by_the_new_value_at_once(corpus, ingest, search, mode, change, old, new):
    ingest(make_document("a", "The kettle broke.", **BEFORE))

    ingest(make_document("a", "The kettle broke.", **{**BEFORE, **change}))

    assert search("kettle", mode=mode, filters=old) == []
    assert search("kettle", mode=mode, filters=new) == ["a"]


def test_a_long_record_of_many_passages_moves_whole(corpus, ingest, embedded):
    text = "\n\n".join(f"Paragraph {n}. " + "The courier was late again. " * 30 for n in range(6))
    ingest(make_document("a", text, occurred_at="2026-01-10"))
    embedded_before = embedded()

    ingest(make_document("a", text, occurred_at="2025-12-10"))

    assert len(embedded_before) > 3
    assert embedded() == embedded_before
    assert differences(corpus) == []


def test_new_values_become_the_corpuss_vocabulary(tenant, corpus, ingest):
    ingest(make_document("a", **BEFORE))

    ingest(make_document("a", **{**BEFORE, "themes": ["price"], "plan": "gold"}))

    with tenant_session(tenant):
        found = find_corpus(tenant=tenant, slug=corpus.slug)
    assert {"delivery", "price"} <= set(found.themes)
    assert {"region", "plan"} <= set(found.facet_names)


def test_the_state_of_the_corpus_follows_a_newest_record_that_is_dated_back(corpus, ingest):
    ingest(make_document("old", occurred_at="2026-01-01"), make_document("new", occurred_at="2026-03-01"))

    ingest(make_document("new", occurred_at="2025-12-01"))

    assert differences(corpus) == []
