"""Whatever is stored, edited, deleted and decided, in whatever order, clusters are those that clustering anew gives."""

from __future__ import annotations

import contextlib
from itertools import combinations, count

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import Conflict, NotFound
from core.tenant_session import tenant_session
from feedback.domain.fingerprints import fingerprints
from feedback.domain.near_duplicates import is_near_duplicate, words
from feedback.selectors.clusters import cluster_totals, list_clusters
from feedback.services.clustering import cluster_waiting, recluster
from feedback.services.clusters import merge_records, reset_record, unmerge_record
from feedback.services.deletion import delete_document, restore_document
from feedback.services.index_check import check_index
from feedback.services.ingest import ingest_documents
from tenants.caller import operator
from tests.factories import NOW, make_corpus, make_document, make_tenant, rows

pytestmark = pytest.mark.django_db

LONG = "the kettle that you sent me last week broke on the third day and nobody answers the phone".split()
# Edits of one long text in a row: neighbours are near-duplicates, the ends are not.
CHAIN = [" ".join([*LONG[:-n], *(f"word{i}" for i in range(n))]) if n else " ".join(LONG) for n in range(9)]
TEXTS = st.sampled_from([*CHAIN, "Nothing", "nothing.", "late", "very late", "…", "Late again, as always!"])
IDS = st.sampled_from("abcde")
OPERATIONS = st.one_of(
    st.tuples(st.just("ingest"), st.lists(st.tuples(IDS, TEXTS), min_size=1, max_size=4, unique_by=lambda d: d[0])),
    st.tuples(st.sampled_from(["delete", "restore", "unmerge", "reset"]), IDS),
    st.tuples(st.just("merge"), st.lists(IDS, min_size=2, max_size=3, unique=True)),
    st.tuples(st.just("cluster"), st.none()),
)
_names = count()


def do(operation, corpus):
    kind, argument = operation
    said = {"caller": operator(corpus.tenant), "corpus": corpus, "now": NOW}
    if kind == "ingest":
        ingest_documents(**said, rows=rows(*(make_document(*each) for each in argument)))
    elif kind == "cluster":
        cluster_waiting(tenant=corpus.tenant, corpus=corpus)
    else:
        with contextlib.suppress(NotFound, Conflict):
            if kind == "delete":
                delete_document(**said, external_id=argument)
            elif kind == "restore":
                restore_document(**said, external_id=argument)
            elif kind == "merge":
                merge_records(**said, doc_ids=argument)
            elif kind == "unmerge":
                unmerge_record(**said, doc_id=argument)
            else:
                reset_record(**said, doc_id=argument)


def live_texts(corpus):
    """Return what live records say, by their ids, in the order in which their current texts were stored."""
    with tenant_session(corpus.tenant), connection.cursor() as cursor:
        cursor.execute(
            "SELECT k.external_id, r.text, k.id FROM feedback_documentkey k JOIN feedback_documentrevision r"
            "    ON r.tenant_id = %s AND r.document_id = k.id AND r.number = k.revision"
            " WHERE k.tenant_id = %s AND k.corpus_id = %s AND k.deleted_at IS NULL ORDER BY r.id",
            [corpus.tenant_id, corpus.tenant_id, corpus.id],
        )
        return {doc_id: (text, identity) for doc_id, text, identity in cursor.fetchall()}


def decisions(corpus):
    """Return (the records apart, the merges) that people decided, by the records' ids."""
    with tenant_session(corpus.tenant), connection.cursor() as cursor:
        cursor.execute(
            "SELECT k.external_id, d.is_apart, d.merge_id FROM feedback_clusterdecision d JOIN feedback_documentkey k"
            "    ON k.tenant_id = %s AND k.id = d.id WHERE d.tenant_id = %s AND d.corpus_id = %s",
            [corpus.tenant_id, corpus.tenant_id, corpus.id],
        )
        found = cursor.fetchall()
    merges = {}
    for doc_id, _, merge_id in found:
        if merge_id:
            merges.setdefault(merge_id, set()).add(doc_id)
    return {doc_id for doc_id, is_apart, _ in found if is_apart}, list(merges.values())


def expected(corpus):
    """Cluster the live records from scratch, by the definition, and apply what people decided."""
    texts = live_texts(corpus)
    apart, merges = decisions(corpus)
    said = {doc_id: words(text) for doc_id, (text, _) in texts.items()}
    prints = dict(
        zip(
            texts,
            fingerprints(list(said.values()), salts=[i.bytes for _, i in texts.values()], corpus=corpus.id),
            strict=True,
        )
    )
    leaders, clusters = [], {}
    for doc_id in texts:
        mine = prints[doc_id]
        for leader in leaders:
            theirs = prints[leader]
            is_found = mine.identity == theirs.identity or set(mine.bands) & set(theirs.bands)
            if is_found and is_near_duplicate(said[doc_id], said[leader]):
                break
        else:
            leader = doc_id
            leaders.append(doc_id)
        clusters.setdefault(leader, set()).add(doc_id)
    groups = [members - apart for members in clusters.values()] + [{doc_id} for doc_id in apart & set(texts)]
    groups = [group for group in groups if group]
    for merge in merges:
        touched = [group for group in groups if group & merge]
        groups = [group for group in groups if not group & merge]
        if touched:
            groups.append(set().union(*touched))
    return sorted(sorted(group) for group in groups)


def stored(corpus):
    """Return the clusters that are kept, those of one record included."""
    with tenant_session(corpus.tenant):
        shared = [sorted(each.doc_ids) for each in list_clusters(corpus=corpus, limit=100)]
        totals = cluster_totals(corpus=corpus)
        assert all(
            each.records == len(each.doc_ids) for each in list_clusters(corpus=corpus, limit=100) if each.records < 6
        )
    alone = sorted(set(live_texts(corpus)) - {doc_id for group in shared for doc_id in group})
    groups = sorted([*shared, *([doc_id] for doc_id in alone)])
    assert (totals.records, totals.distinct, totals.lag) == (len(live_texts(corpus)), len(groups), 0)
    return groups


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(operations=st.lists(OPERATIONS, min_size=3, max_size=14))
def test_any_order_of_changes_gives_what_clustering_anew_gives(db, operations):
    tenant = make_tenant(slug=f"tenant-{next(_names)}")
    corpus = make_corpus(tenant=tenant)

    for operation in operations:
        do(operation, corpus)
    cluster_waiting(tenant=tenant, corpus=corpus)

    kept = stored(corpus)
    assert kept == expected(corpus)
    assert check_index(tenant=tenant) == []
    recluster(corpus=corpus)
    cluster_waiting(tenant=tenant, corpus=corpus)
    assert stored(corpus) == kept


def test_a_chain_of_edits_joins_no_unlike_texts(corpus, ingest):
    ingest(*(make_document(f"r{n}", text) for n, text in enumerate(CHAIN)))

    cluster_waiting(tenant=corpus.tenant, corpus=corpus)

    with tenant_session(corpus.tenant):
        clusters = list_clusters(corpus=corpus, limit=10)
    said = {f"r{n}": words(text) for n, text in enumerate(CHAIN)}
    assert clusters
    for cluster in clusters:
        assert all(is_near_duplicate(said[cluster.doc_ids[0]], said[each]) for each in cluster.doc_ids)
    assert any(not is_near_duplicate(said[one], said[other]) for one, other in combinations(said, 2)), (
        "the chain should have unlike ends"
    )
    assert "r8" not in next(cluster.doc_ids for cluster in clusters if "r0" in cluster.doc_ids)


def test_similar_texts_are_found_by_their_index(corpus, ingest):
    ingest(make_document("a", CHAIN[0]), make_document("b", CHAIN[1]))

    with tenant_session(corpus.tenant):
        cluster_waiting(tenant=corpus.tenant, corpus=corpus)
        with connection.cursor() as cursor:
            # Without statistics the planner would rather read all texts of the tenant.
            cursor.execute(
                "SELECT relname, pg_stat_get_xact_numscans(oid) FROM pg_class WHERE relname LIKE 'distincttext_%'"
            )
            scans = dict(cursor.fetchall())

    assert scans["distincttext_leaders"] > 0
    assert scans["distincttext_others"] == 0


def test_a_record_that_waits_counts_as_itself(corpus, ingest):
    ingest(make_document("a", "Nothing"), make_document("b", "Nothing"))

    with tenant_session(corpus.tenant):
        totals = cluster_totals(corpus=corpus)

    assert (totals.records, totals.distinct, totals.clusters, totals.lag) == (2, 2, 0, 2)


def test_a_text_that_changed_while_it_was_read_waits_on(corpus, ingest, monkeypatch):
    from feedback.services import clustering

    ingest(make_document("a", "Nothing"), make_document("b", "Nothing"))
    made = clustering.fingerprints

    def edit_meanwhile(*args, **options):
        monkeypatch.setattr(clustering, "fingerprints", made)
        ingest(make_document("b", "Something else altogether"))
        return made(*args, **options)

    monkeypatch.setattr(clustering, "fingerprints", edit_meanwhile)
    cluster_waiting(tenant=corpus.tenant, corpus=corpus)

    assert stored(corpus) == [["a"], ["b"]]


def test_clustering_in_slices_goes_on_where_it_stopped(corpus, ingest, monkeypatch):
    from feedback.services import clustering

    monkeypatch.setattr(clustering, "_BATCH", 2)
    ingest(*(make_document(f"r{n}", "Nothing") for n in range(5)))

    stopped = cluster_waiting(tenant=corpus.tenant, corpus=corpus, time_limit_seconds=0)
    finished = cluster_waiting(tenant=corpus.tenant, corpus=corpus)

    assert (stopped.clustered, stopped.lag) == (0, 5)
    assert (finished.clustered, finished.lag) == (5, 0)
    assert stored(corpus) == [["r0", "r1", "r2", "r3", "r4"]]
