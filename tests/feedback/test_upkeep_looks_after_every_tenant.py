"""Each minute: missing vectors and records to cluster are queued, lost jobs taken up, weights of other settings made anew."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django_q.models import OrmQ

from core.tenant_session import tenant_session
from feedback.models import CorpusStatistics
from feedback.services import jobs, upkeep
from feedback.services.jobs import submit_batch
from feedback.services.upkeep import keep_up, reweight_if_due
from feedback.tasks import cluster_corpus, embed_corpus, every_minute
from tests.factories import NOW, make_document

pytestmark = pytest.mark.django_db


@pytest.fixture
def queued(django_capture_on_commit_callbacks):
    """Give the function that runs upkeep and returns what it queued: (task, tenant's id)."""

    def run(now=NOW):
        OrmQ.objects.all().delete()
        with django_capture_on_commit_callbacks(execute=True):
            keep_up(now=now)
        return [(task.task["args"][0], task.task["args"][2]) for task in OrmQ.objects.order_by("id")]

    return run


def test_missing_vectors_are_queued_and_computed(tenant, with_both_embedders, ingest, queued):
    ingest(make_document("a"), make_document("b"), into=with_both_embedders)

    before = queued()
    embed_corpus(tenant.id, with_both_embedders.id)

    assert ("feedback.tasks.embed_corpus", str(tenant.id)) in before
    assert ("feedback.tasks.embed_corpus", str(tenant.id)) not in queued()


def test_records_that_wait_to_be_clustered_are_queued_and_clustered(tenant, corpus, ingest, queued):
    ingest(make_document("a"), make_document("b"))

    before = queued()
    left = cluster_corpus(tenant.id, corpus.id)

    assert before == [("feedback.tasks.cluster_corpus", str(tenant.id))]
    assert left == 0
    assert queued() == []


def test_clustering_a_corpus_that_has_gone_does_nothing(tenant, other_corpus):
    assert cluster_corpus(tenant.id, other_corpus.id) == 0


def test_a_corpus_that_lacks_nothing_queues_nothing(tenant, corpus, ingest, queued):
    ingest(make_document("a"))
    cluster_corpus(tenant.id, corpus.id)

    assert queued() == []


def test_a_job_that_nobody_is_at_is_taken_up(caller, corpus, queued):
    submit_batch(caller=caller, corpus=corpus, documents=[make_document("a")], batch_id="", now=NOW)

    assert queued(NOW + timedelta(minutes=2)) == [("feedback.tasks.run_ingest_job", str(caller.tenant.id))]


def test_a_long_queue_is_not_made_longer(tenant, with_both_embedders, ingest, queued, monkeypatch):
    ingest(make_document("a"), into=with_both_embedders)
    monkeypatch.setattr(jobs, "waiting", lambda: 1_000)

    assert queued() == []


def test_one_tenants_fault_stops_nobody_else(corpus, other_tenant, monkeypatch):
    seen = []

    def look_after(each, now):
        seen.append(each.slug)
        if len(seen) == 1:
            raise RuntimeError

    monkeypatch.setattr(upkeep, "_keep_up_tenant", look_after)

    keep_up(now=NOW)

    assert sorted(seen) == ["acme", "globex"]


def test_weights_of_other_settings_are_made_anew_once(tenant, corpus, ingest, monkeypatch):
    ingest(make_document("a", "Late late late."), make_document("b", "Early."))
    monkeypatch.setattr(settings, "WISDOM", settings.WISDOM.model_copy(update={"bm25_k1": 2.0}))

    done = [reweight_if_due(corpus=corpus), reweight_if_due(corpus=corpus)]

    assert done == [True, False]
    with tenant_session(tenant):
        assert CorpusStatistics.objects.for_tenant(tenant).get().k1 == 2.0


def test_a_mean_length_that_has_drifted_is_baked_in(tenant, corpus, ingest):
    ingest(make_document("a", "Late late late."), make_document("b", "Early."))
    with tenant_session(tenant):
        CorpusStatistics.objects.for_tenant(tenant).update(average_length=50.0)

    assert reweight_if_due(corpus=corpus)

    with tenant_session(tenant):
        kept = CorpusStatistics.objects.for_tenant(tenant).get()
    assert kept.average_length == kept.total_length / kept.passages


def test_a_corpus_that_has_gone_is_nobodys_fault(tenant, corpus):
    assert embed_corpus(tenant.id, tenant.id) == 0


def test_the_scheduled_task_does_all_of_it(corpus, ingest):
    ingest(make_document("a"))

    every_minute()

    assert not OrmQ.objects.exists()
