"""What really reaches the database names its tenant in every part, so that it could be sent to one place."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.db import connection

from core.tenant_session import tenant_session
from feedback.domain import segments
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Mode
from feedback.selectors.aggregates import Grouping, Selection, count_matching, group_matching, select_mentions
from feedback.selectors.clusters import cluster_totals, get_duplicates, list_clusters
from feedback.selectors.corpora import list_corpora
from feedback.selectors.records import get_record
from feedback.selectors.retrieval import rerank_hits, retrieve
from feedback.services.clustering import cluster_waiting, recluster
from feedback.services.clusters import merge_records, reset_record, unmerge_record
from feedback.services.deletion import delete_document, restore_document
from feedback.services.segments import index_vectors
from feedback.services.vectors import embed_missing
from tests.architecture.source_tree import tenant_tables
from tests.architecture.statement_guard import why_it_cant_be_routed
from tests.factories import NOW, make_document

TABLES = {"feedback_document", "feedback_passage", "feedback_term"}


@pytest.fixture
def statements():
    """Give the list of statements on tenants' tables that the test sends from here on."""
    named = re.compile("|".join(sorted(tenant_tables(), key=len, reverse=True)))
    sent: list[str] = []

    def record(execute, sql, params, many, context):
        if named.search(sql):
            sent.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(record):
        yield sent


def test_ingest_search_and_delete_name_their_tenant_everywhere(corpus, caller, ingest, statements, monkeypatch):
    monkeypatch.setattr(settings, "WISDOM", settings.WISDOM.model_copy(update={"vector_exact_limit": 0}))
    monkeypatch.setattr(segments, "MIN_WAITING", 1)
    ingest(make_document("a", "The refund of order A-10293 never came."), make_document("b", themes=["delivery"]))
    ingest(make_document("a", "The refund of order A-10293 came at last."))
    ingest(make_document("b", themes=["courier"], occurred_at="2026-02-01"))
    embed_missing(tenant=corpus.tenant, corpus=corpus)
    assert index_vectors(corpus=corpus, now=NOW).indexed == 2
    with tenant_session(corpus.tenant):
        list_corpora(tenant=corpus.tenant)
        for mode in Mode:
            rerank_hits(retrieve(corpus=corpus, query="the refund", mode=mode), as_of=NOW)
        selection = select_mentions(corpus=corpus, text="refund", filters=FilterSet(source=("survey",)))
        count_matching(corpus=corpus, selection=selection)
        group_matching(corpus=corpus, selection=Selection(), by=Grouping.MONTH)
        get_record(corpus=corpus, doc_id="a")
    delete_document(caller=caller, corpus=corpus, external_id="a", now=NOW)
    restore_document(caller=caller, corpus=corpus, external_id="a", now=NOW)

    astray = {sql: reason for sql in statements if (reason := why_it_cant_be_routed(sql, tenant_tables()))}

    assert len(statements) > 50
    assert astray == {}


def test_clustering_and_deciding_name_their_tenant_everywhere(corpus, caller, ingest, statements):
    kettle = "The kettle that you sent me last week broke on the third day"
    ingest(make_document("a", kettle), make_document("b", f"{kettle} again"), make_document("c"))
    cluster_waiting(tenant=corpus.tenant, corpus=corpus)
    merge_records(caller=caller, corpus=corpus, doc_ids=["a", "c"], now=NOW)
    unmerge_record(caller=caller, corpus=corpus, doc_id="b", now=NOW)
    reset_record(caller=caller, corpus=corpus, doc_id="b", now=NOW)
    delete_document(caller=caller, corpus=corpus, external_id="a", now=NOW)
    cluster_waiting(tenant=corpus.tenant, corpus=corpus)
    with tenant_session(corpus.tenant):
        cluster_totals(corpus=corpus)
        list_clusters(corpus=corpus, limit=5)
        get_duplicates(corpus=corpus, doc_id="b")
        count_matching(corpus=corpus, selection=Selection(), with_distinct=True)
        group_matching(corpus=corpus, selection=Selection(), by=Grouping.THEME, with_distinct=True)
    recluster(corpus=corpus)

    astray = {sql: reason for sql in statements if (reason := why_it_cant_be_routed(sql, tenant_tables()))}

    assert len(statements) > 50
    assert astray == {}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM feedback_document",
        "SELECT * FROM feedback_document WHERE id = %s",
        "SELECT * FROM feedback_document WHERE tenant_id = current_setting('app.tenant_id')::uuid",
        "SELECT * FROM feedback_document WHERE tenant_id = %s OR true",
        "SELECT * FROM feedback_document WHERE NOT tenant_id = %s",
        "SELECT * FROM feedback_document WHERE tenant_id IN (%s, %s)",
        "SELECT * FROM feedback_document d JOIN feedback_passage p ON p.document_id = d.id WHERE d.tenant_id = %s",
        "SELECT * FROM feedback_document d LEFT JOIN feedback_passage p ON d.tenant_id = %s AND p.tenant_id = %s",
        "SELECT * FROM feedback_document d JOIN feedback_passage p ON p.id = d.id WHERE tenant_id = %s",
        "SELECT * FROM feedback_document d WHERE d.tenant_id = %s"
        " AND EXISTS (SELECT FROM feedback_passage p WHERE p.document_id = d.id)",
        "SELECT * FROM feedback_document d WHERE d.tenant_id = %s"
        " AND EXISTS (SELECT FROM feedback_document d WHERE d.id = %s)",
        "WITH x AS (SELECT * FROM feedback_document) SELECT * FROM x WHERE tenant_id = %s",
        "SELECT 1 FROM feedback_document WHERE tenant_id = %s UNION ALL SELECT 1 FROM feedback_passage",
        "UPDATE feedback_document SET title = %s WHERE id = %s",
        "UPDATE feedback_document SET tenant_id = %s WHERE tenant_id = %s",
        "UPDATE feedback_document SET deleted_at = now() WHERE tenant_id = %s",
        "DELETE FROM feedback_document WHERE id = %s",
        "INSERT INTO feedback_document (id) VALUES (%s)",
        "INSERT INTO feedback_term (tenant_id, id) VALUES (%s, %s) ON CONFLICT (tenant_id, id) DO UPDATE SET at = now()",
        "INSERT INTO feedback_term (tenant_id, id) SELECT tenant_id, id FROM feedback_document",
    ],
)
def test_a_statement_that_goes_astray_is_found(sql):
    assert why_it_cant_be_routed(sql, TABLES)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM feedback_document WHERE tenant_id = %s AND (title = %s OR title = %s)",
        "SELECT * FROM feedback_document WHERE tenant_id IN (%s)",
        "SELECT * FROM feedback_document d JOIN feedback_passage p ON p.tenant_id = d.tenant_id WHERE d.tenant_id = %s",
        "SELECT * FROM feedback_document d WHERE d.tenant_id = %s"
        " AND EXISTS (SELECT FROM feedback_passage p WHERE p.tenant_id = d.tenant_id AND p.document_id = d.id)",
        "SELECT * FROM feedback_document d LEFT JOIN feedback_passage p ON p.tenant_id = %s WHERE d.tenant_id = %s",
        "UPDATE feedback_document SET title = %s WHERE tenant_id = %(tenant)s",
        "DELETE FROM feedback_document WHERE tenant_id = '6e0d8a4e-0000-7000-8000-000000000000'::uuid",
        "INSERT INTO feedback_document (tenant_id, id) VALUES (%s, %s)",
        "SELECT * FROM tenants_tenant",
    ],
)
def test_a_statement_for_one_tenant_passes(sql):
    assert why_it_cant_be_routed(sql, TABLES) is None
