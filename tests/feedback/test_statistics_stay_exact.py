"""Whatever is done to a corpus, in whatever order, what is kept of it is what a recount finds."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import Conflict, NotFound
from core.tenant_session import tenant_session
from feedback.models import CorpusStatistics
from feedback.services.deletion import delete_document, restore_document
from feedback.services.index_check import check_index
from feedback.services.ingest import ingest_documents
from feedback.services.upkeep import reweight_if_due
from feedback.services.vectors import embed_missing
from tenants.caller import operator
from tests.factories import NOW, make_corpus, make_document, make_tenant, rows
from tests.feedback.recount import differences

IDS = st.sampled_from(["a", "b", "c", "d"])
WORDS = [
    "the",
    "kettle",
    "broke",
    "broken",
    "kettles",
    "late",
    "#A-10293",
    "v2.1.0",
    "café",
    "cafe",
    "故障",
    "不",
    "🙂",
    "'",
    "refund",
]
TEXTS = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join),
    # Some of more than one passage.
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=4).map(
        lambda words: "\n\n".join(f"{w} is here. " * 60 for w in words)
    ),
)
DATES = st.sampled_from(["1999-01-01", "2025-12-31", "2026-01-01", "2026-02-15", "2026-03-01"])
DOCUMENTS = st.builds(
    make_document,
    IDS,
    TEXTS,
    occurred_at=DATES,
    title=st.sampled_from(["", "Kettle", "Late again"]),
    language=st.sampled_from(["en", "de", "zh"]),
    source=st.sampled_from(["survey", "complaint"]),
    themes=st.lists(st.sampled_from(["price", "quality"]), max_size=2),
    account=st.sampled_from([None, "Acme"]),
    author=st.sampled_from([None, "ann"]),
    region=st.sampled_from([None, "north", 7, ["x", "y"]]),
)
OPERATIONS = st.one_of(
    st.tuples(st.just("ingest"), st.lists(DOCUMENTS, min_size=1, max_size=4)),
    st.tuples(st.just("delete"), IDS),
    st.tuples(st.just("restore"), IDS),
    st.tuples(st.just("embed"), st.none()),
)
_names = count()


def _do(operation, corpus):
    kind, argument = operation
    caller = operator(corpus.tenant)
    if kind == "ingest":
        ingest_documents(caller=caller, corpus=corpus, rows=rows(*argument), now=NOW)
    elif kind == "embed":
        embed_missing(tenant=corpus.tenant, corpus=corpus)
    else:
        act = delete_document if kind == "delete" else restore_document
        with contextlib.suppress(NotFound, Conflict):
            act(caller=caller, corpus=corpus, external_id=argument, now=NOW)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(operations=st.lists(OPERATIONS, min_size=1, max_size=12))
def test_a_recount_finds_no_difference_after_any_operations(with_both_embedders, operations):
    tenant = make_tenant(slug=f"tenant-{next(_names)}")
    corpus = make_corpus(tenant=tenant)
    corpus.options = with_both_embedders.options
    with tenant_session(tenant):
        corpus.save(update_fields=["options"])

    for operation in operations:
        _do(operation, corpus)

    assert differences(corpus) == []
    assert check_index(tenant=tenant) == []


def test_the_mean_length_follows_when_it_has_drifted(corpus, ingest):
    ingest(*(make_document(f"short-{n}", "kettle broke") for n in range(5)))
    ingest(*(make_document(f"long-{n}", "kettle broke " * 50) for n in range(5)))

    with tenant_session(corpus.tenant):
        kept = CorpusStatistics.objects.for_tenant(corpus.tenant).get(corpus=corpus)
    assert kept.average_length == pytest.approx((2 + 100) / 2)
    assert differences(corpus) == []


def test_other_weights_in_the_settings_are_baked_in(corpus, ingest, settings):
    ingest(make_document("a", "kettle kettle broke"), make_document("b", "courier"))
    settings.WISDOM = settings.WISDOM.model_copy(update={"bm25_k1": 2.0, "bm25_b": 0.1})

    changed = reweight_if_due(corpus=corpus)

    with tenant_session(corpus.tenant):
        kept = CorpusStatistics.objects.for_tenant(corpus.tenant).get(corpus=corpus)
    assert changed
    assert (kept.k1, kept.b) == (2.0, 0.1)
    assert differences(corpus) == []
    assert not reweight_if_due(corpus=corpus)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("UPDATE feedback_term SET document_frequency = document_frequency + 1 WHERE tenant_id = %s", "frequencies"),
        ("UPDATE feedback_corpusstatistics SET documents = documents + 1 WHERE tenant_id = %s", "documents"),
        ("UPDATE feedback_corpusstatistics SET total_length = 0 WHERE tenant_id = %s", "length"),
        ("UPDATE feedback_corpusstatistics SET vectors = '{}' WHERE tenant_id = %s", "vectors"),
        ("DELETE FROM feedback_passage WHERE tenant_id = %s", "passages"),
        ("DELETE FROM feedback_document WHERE tenant_id = %s", "record"),
        ("UPDATE feedback_passagevector SET source = 'call' WHERE tenant_id = %s", "filed otherwise"),
        ("DELETE FROM feedback_documentrevision WHERE tenant_id = %s", "text"),
    ],
)
def test_damage_is_found_by_both_counts(corpus, ingest, damage, told):
    from django.db import connection

    ingest(make_document("a"))
    with tenant_session(corpus.tenant), connection.cursor() as cursor:
        cursor.execute(damage, [corpus.tenant_id])

    found = check_index(tenant=corpus.tenant)

    assert any(told in difference.what for difference in found), found
    assert differences(corpus) != []


def test_another_tenants_damage_is_not_ours(corpus, other_corpus, ingest):
    from django.db import connection

    for each in (corpus, other_corpus):
        ingest(make_document("a"), into=each)
    with tenant_session(other_corpus.tenant), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE feedback_corpusstatistics SET documents = 7 WHERE tenant_id = %s", [other_corpus.tenant_id]
        )

    assert check_index(tenant=corpus.tenant) == []
    assert [difference.what for difference in check_index(tenant=other_corpus.tenant)] == ["documents"]


def test_counts_are_of_a_moment_within_a_session_too(corpus, ingest):
    ingest(make_document("a", occurred_at=datetime(2026, 1, 1, tzinfo=UTC).isoformat()))

    with tenant_session(corpus.tenant):
        assert check_index(tenant=corpus.tenant) == []
