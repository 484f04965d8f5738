"""What the graphs hold is what searches may find: at every commit, whatever is stored, deleted or interrupted."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection

from core.tenant_session import tenant_session
from feedback.domain import segments as policy
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Mode
from feedback.models import SegmentVector, VectorSegment
from feedback.selectors.retrieval import retrieve
from feedback.selectors.retrieval.arms import VectorPath, scan_vectors
from feedback.services import segments
from feedback.services.deletion import delete_document, restore_document
from feedback.services.index_check import check_index
from feedback.services.jobs import index_slice
from feedback.services.segments import index_vectors, waiting_vectors
from feedback.services.upkeep import keep_up
from tests.factories import NOW, make_document

WORDS = ("delivery", "refund", "kettle", "voucher", "courier", "price", "support", "handle", "parcel", "queue")


@pytest.fixture(autouse=True)
def _small_numbers(monkeypatch):
    """Let twenty vectors be many."""
    monkeypatch.setattr(settings, "WISDOM", settings.WISDOM.model_copy(update={"vector_exact_limit": 20}))
    monkeypatch.setattr(policy, "MIN_WAITING", 10)


def _documents(first, last):
    return [
        make_document(f"d-{n}", f"The {WORDS[n % 10]} of customer {n} and the {WORDS[n // 10 % 10]}.")
        for n in range(first, last)
    ]


def _find(corpus, text, *, limit=1):
    with tenant_session(corpus.tenant):
        return scan_vectors(corpus, "static", text, FilterSet(), limit, None, settings.WISDOM.vector_exact_limit)


def _names(corpus, text):
    with tenant_session(corpus.tenant):
        return [hit.doc_id for hit in retrieve(corpus=corpus, query=text, mode=Mode.VECTOR, top_k=1).hits][:1]


def _segments(corpus, **which):
    with tenant_session(corpus.tenant):
        return list(VectorSegment.objects.for_tenant(corpus.tenant).filter(**which).order_by("above"))


def test_a_small_corpus_is_scanned_and_has_no_graph(corpus, ingest):
    ingest(*_documents(0, 20))

    done = index_vectors(corpus=corpus, now=NOW)

    assert (done.indexed, done.waiting, _segments(corpus)) == (0, 0, [])
    assert _find(corpus, "the refund")[1] is VectorPath.EXACT


def test_a_vector_is_found_before_and_after_it_stands_in_a_graph(corpus, ingest):
    ingest(*_documents(0, 30))
    index_vectors(corpus=corpus, now=NOW)
    ingest(make_document("new", "A badger sat in the tea room."))

    before, path = _names(corpus, "badger in the tea room"), _find(corpus, "badger")[1]
    ingest(*_documents(30, 50))
    done = index_vectors(corpus=corpus, now=NOW)

    assert (before, path, done.indexed) == (["new"], VectorPath.GRAPH, 51)
    assert _names(corpus, "badger in the tea room") == ["new"]
    assert check_index(tenant=corpus.tenant) == []


def test_few_new_vectors_wait_and_many_are_due(corpus, ingest):
    ingest(*_documents(0, 30))
    index_vectors(corpus=corpus, now=NOW)

    ingest(*_documents(30, 39))
    few = waiting_vectors(corpus)
    ingest(*_documents(39, 42))

    assert (few, waiting_vectors(corpus)) == (0, 12)


def test_upkeep_has_a_worker_build_what_is_due_and_nothing_else(corpus, other_corpus, ingest, monkeypatch):
    ingest(*_documents(0, 30))
    ingest(*_documents(0, 5), into=other_corpus)
    queued = []
    monkeypatch.setattr("feedback.services.jobs.enqueue", lambda *task: queued.append(task))

    keep_up(now=NOW)

    indexing = [task for task in queued if task[0] == "feedback.tasks.index_corpus"]
    assert indexing == [("feedback.tasks.index_corpus", corpus.tenant_id, corpus.id)]
    assert index_slice(tenant=corpus.tenant, corpus_id=corpus.id, now=NOW) == 0
    assert _find(corpus, "the refund")[1] is VectorPath.GRAPH


def test_a_deleted_record_leaves_the_graph_in_the_same_commit(corpus, caller, ingest):
    ingest(*_documents(0, 30), make_document("gone", "A badger sat in the tea room."))
    index_vectors(corpus=corpus, now=NOW)

    delete_document(caller=caller, corpus=corpus, external_id="gone", now=NOW)

    assert _names(corpus, "badger in the tea room") != ["gone"]
    with tenant_session(corpus.tenant):
        assert SegmentVector.objects.for_tenant(corpus.tenant).count() == 30
    assert check_index(tenant=corpus.tenant) == []
    restore_document(caller=caller, corpus=corpus, external_id="gone", now=NOW)
    assert _names(corpus, "badger in the tea room") == ["gone"]


def test_an_edited_text_is_found_by_its_new_words_only(corpus, ingest):
    ingest(*_documents(0, 30), make_document("edited", "A badger sat in the tea room."))
    index_vectors(corpus=corpus, now=NOW)

    ingest(make_document("edited", "Seventeen accordions were out of tune."))

    assert _names(corpus, "accordions out of tune") == ["edited"]
    (nearest,), _ = _find(corpus, "badger in the tea room")
    assert nearest.score < 0.9


def test_changed_metadata_counts_at_once_in_the_graph(corpus, ingest):
    ingest(*_documents(0, 60))
    index_vectors(corpus=corpus, now=NOW)

    ingest(*({**document, "themes": ["moved"]} for document in _documents(0, 40)))

    with tenant_session(corpus.tenant):
        moved = scan_vectors(corpus, "static", "refund", FilterSet(theme=("moved",)), 100, None, 20)
    assert (len(moved[0]), moved[1]) == (40, VectorPath.GRAPH)


def test_a_record_that_is_deleted_while_its_segment_is_built_is_swept(corpus, caller, ingest, monkeypatch):
    ingest(*_documents(0, 30))
    build = segments._build

    def build_and_meanwhile(*arguments):
        built = build(*arguments)
        # A writer that doesn't see the segment yet: it takes nothing out of it.
        monkeypatch.setattr("feedback.services.lexical_index.forget_nodes", lambda *_, **__: None)
        delete_document(caller=caller, corpus=corpus, external_id="d-3", now=NOW)
        return built

    monkeypatch.setattr(segments, "_build", build_and_meanwhile)
    index_vectors(corpus=corpus, now=NOW)

    with tenant_session(corpus.tenant):
        assert SegmentVector.objects.for_tenant(corpus.tenant).count() == 29
    assert check_index(tenant=corpus.tenant) == []


def test_what_a_killed_builder_left_is_dropped_and_built_again(corpus, ingest, monkeypatch):
    ingest(*_documents(0, 30))
    monkeypatch.setattr(segments, "_sweep", lambda segment: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        index_vectors(corpus=corpus, now=NOW)
    (left,) = _segments(corpus)
    scanned = _find(corpus, "the refund")[1]
    monkeypatch.undo()
    monkeypatch.setattr(settings, "WISDOM", settings.WISDOM.model_copy(update={"vector_exact_limit": 20}))
    monkeypatch.setattr(policy, "MIN_WAITING", 10)

    index_vectors(corpus=corpus, now=NOW)

    (serving,) = _segments(corpus)
    assert (left.is_serving, scanned, serving.is_serving) == (False, VectorPath.EXACT, True)
    assert serving.id != left.id
    assert _tables(left) == 0


def test_a_replaced_segment_is_kept_while_searches_may_read_it(corpus, ingest):
    ingest(*_documents(0, 30))
    index_vectors(corpus=corpus, now=NOW)
    (first,) = _segments(corpus)
    ingest(*_documents(30, 60))

    index_vectors(corpus=corpus, now=NOW)
    index_vectors(corpus=corpus, now=NOW + timedelta(minutes=1))
    soon = [segment.id for segment in _segments(corpus, is_serving=False)]
    index_vectors(corpus=corpus, now=NOW + timedelta(minutes=3))

    assert soon == [first.id]
    assert [segment.rows for segment in _segments(corpus)] == [60]
    assert _tables(first) == 0


def test_a_corpus_that_has_become_small_loses_its_graphs(corpus, caller, ingest):
    ingest(*_documents(0, 25))
    index_vectors(corpus=corpus, now=NOW)
    for n in range(10):
        delete_document(caller=caller, corpus=corpus, external_id=f"d-{n}", now=NOW)

    index_vectors(corpus=corpus, now=NOW)
    index_vectors(corpus=corpus, now=NOW + timedelta(minutes=3))

    assert _segments(corpus) == []


def test_a_small_tenants_search_never_goes_through_anothers_graph(corpus, other_corpus, ingest):
    ingest(*_documents(0, 30))
    ingest(*_documents(0, 5), into=other_corpus)
    index_vectors(corpus=corpus, now=NOW)
    index_vectors(corpus=other_corpus, now=NOW)

    found, path = _find(other_corpus, "the refund", limit=10)

    assert (len(found), path) == (5, VectorPath.EXACT)
    with tenant_session(other_corpus.tenant):
        assert SegmentVector.objects.for_tenant(other_corpus.tenant).count() == 0


def test_a_tenant_cannot_drop_anothers_segment_or_one_that_serves(corpus, other_corpus, ingest):
    ingest(*_documents(0, 30))
    index_vectors(corpus=corpus, now=NOW)
    (segment,) = _segments(corpus)

    for tenant in (corpus.tenant, other_corpus.tenant):
        with pytest.raises(Exception, match="is not the tenant's, or it serves"), tenant_session(tenant):
            _run("SELECT feedback_drop_segment(%s)", segment.id)

    assert _tables(segment) == 1


def test_a_missing_node_is_found_by_the_check(corpus, ingest):
    ingest(*_documents(0, 30))
    index_vectors(corpus=corpus, now=NOW)
    with tenant_session(corpus.tenant):
        SegmentVector.objects.for_tenant(corpus.tenant).first().delete()

    (difference,) = check_index(tenant=corpus.tenant)

    assert (difference.what, difference.counted) == ("vectors that their segment lacks", 1)


def _tables(segment):
    return _run(
        "SELECT count(*) FROM pg_class WHERE relname = %s AND relkind = 'r'", f"feedback_segmentvector_{segment.id.hex}"
    )


def _run(statement, *parameters):
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()[0]
