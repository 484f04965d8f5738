"""Dropping a month takes its records out of every statistic, for every tenant, in one transaction."""

from __future__ import annotations

import pytest

from core.tenant_session import tenant_session
from feedback.domain.filters import FilterSet
from feedback.models import (
    ClusterDecision,
    DistinctText,
    Document,
    DocumentKey,
    DocumentRevision,
    MergedCluster,
    PassageVector,
)
from feedback.selectors.clusters import list_clusters
from feedback.services.clustering import cluster_waiting
from feedback.services.clusters import merge_records
from feedback.services.deletion import delete_document
from feedback.services.index_check import check_index
from tenants.caller import operator
from tests.commands import Shell
from tests.factories import NOW, make_document

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@pytest.fixture
def manage(monkeypatch):
    return Shell(monkeypatch)


@pytest.fixture(autouse=True)
def _two_tenants_with_old_and_new(corpus, other_corpus, ingest):
    for each in (corpus, other_corpus):
        ingest(
            make_document("old", "The parcel came late in January.", occurred_at="2025-01-10"),
            make_document("old-deleted", "Late as well.", occurred_at="2025-01-20"),
            make_document("stray", "Late long ago.", occurred_at="1998-05-05"),
            make_document("edge", "Late at the edge.", occurred_at="2025-02-01"),
            make_document("new", "Late and new.", occurred_at="2026-03-01"),
            into=each,
        )
        delete_document(caller=operator(each.tenant), corpus=each, external_id="old-deleted", now=NOW)


def _ids(tenant):
    with tenant_session(tenant):
        return sorted(DocumentKey.objects.for_tenant(tenant).values_list("external_id", flat=True))


def test_old_months_are_gone_for_every_tenant(manage, tenant, other_tenant):
    done = manage("partitions", "--retire-before", "2025-02-15", "--json")

    assert done.status == 0
    assert {"feedback_document_y2025m01", "feedback_passage_y2025m01"} <= set(done.document["retired"])
    assert _ids(tenant) == _ids(other_tenant) == ["edge", "new"]
    assert done.document["default_rows"] == 0


def test_every_number_stays_exact(manage, tenant, other_tenant, corpus):
    manage("partitions", "--retire-before", "2025-02-01")

    assert check_index(tenant=tenant) == check_index(tenant=other_tenant) == []
    with tenant_session(tenant):
        assert Document.objects.for_tenant(tenant).count() == 2
        assert DocumentRevision.objects.for_tenant(tenant).count() == 2
        assert PassageVector.objects.for_tenant(tenant).count() == 2


def test_clusters_hold_what_is_left(manage, tenant, corpus, caller, ingest):
    text = "The parcel came late in January, and nobody told us why."
    ingest(
        make_document("old", text, occurred_at="2025-01-10"),
        make_document("new", f"{text} Again.", occurred_at="2026-03-01"),
        make_document("newer", f"{text} Really.", occurred_at="2026-03-02"),
    )
    cluster_waiting(tenant=tenant, corpus=corpus)
    merge_records(caller=caller, corpus=corpus, doc_ids=["old", "edge"], now=NOW)
    manage("partitions", "--retire-before", "2025-02-01")

    cluster_waiting(tenant=tenant, corpus=corpus)

    assert check_index(tenant=tenant) == []
    with tenant_session(tenant):
        (cluster,) = list_clusters(corpus=corpus, limit=5)
        assert DistinctText.objects.for_tenant(tenant).count() == 3
        assert not ClusterDecision.objects.for_tenant(tenant).filter(merge_id=None).exists()
        assert not MergedCluster.objects.for_tenant(tenant).exists()
    assert cluster.doc_ids == ("new", "newer")


def test_search_finds_what_is_left(manage, search):
    manage("partitions", "--retire-before", "2025-02-01")

    assert sorted(search("late", filters=FilterSet())) == ["edge", "new"]


def test_the_month_of_the_date_is_kept(manage, tenant):
    manage("partitions", "--retire-before", "2025-01-31")

    assert _ids(tenant) == ["edge", "new", "old", "old-deleted"]


def test_a_retired_id_can_come_again(manage, tenant, ingest):
    manage("partitions", "--retire-before", "2025-02-01")

    result = ingest(make_document("old", "Back again.", occurred_at="2025-01-11"))

    assert result.saved == 1
    assert check_index(tenant=tenant) == []


def test_a_dry_run_names_them_and_drops_nothing(manage, tenant):
    done = manage("partitions", "--retire-before", "2025-02-01", "--dry-run", "--json")

    assert "feedback_document_y2025m01" in done.document["retired"]
    assert "old" in _ids(tenant)


def test_months_ahead_are_made_once(manage):
    tried = manage("partitions", "--ensure", "2", "--dry-run", "--json").document
    made = manage("partitions", "--ensure", "2", "--json").document
    again = manage("partitions", "--ensure", "2", "--json").document

    assert tried["created"] == made["created"]
    assert any(name.startswith("answering_run_") for name in made["created"])
    assert again["created"] == []


def test_the_future_is_not_retired(manage, tenant):
    done = manage("partitions", "--retire-before", "2999-01-01")

    assert done.status == 2
    assert "future" in done.complaint
    assert len(_ids(tenant)) == 5


@pytest.mark.parametrize("words", [["--retire-before", "yesterday"], ["--ensure", "0"], ["--ensure", "x"]])
def test_what_is_no_date_and_no_number_is_refused(manage, words):
    done = manage("partitions", *words)

    assert (done.status, done.out) == (2, "")
    assert words[1] in done.err


def test_a_failure_in_the_middle_leaves_everything(manage, monkeypatch, tenant):
    def break_down(**_):
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr("wisdom_project.management.commands.partitions.retire_runs", break_down)

    done = manage("partitions", "--retire-before", "2025-02-01")

    assert done.status == 1
    assert "old" in _ids(tenant)
    assert check_index(tenant=tenant) == []
