"""What a curator decides of near-duplicates wins, outlives what happens to the records, is on record and can be undone."""

from __future__ import annotations

import pytest

from core.errors import Conflict, Forbidden, InvalidInput, NotFound
from core.tenant_session import tenant_session
from feedback.selectors.aggregates import Grouping, Selection, count_matching, group_matching
from feedback.selectors.clusters import get_duplicates, list_clusters
from feedback.services.clustering import cluster_waiting, recluster
from feedback.services.clusters import MAX_MERGED, merge_records, reset_record, unmerge_record
from feedback.services.deletion import delete_document, restore_document
from feedback.services.index_check import check_index
from tenants.caller import Caller
from tenants.domain.access import Role
from tenants.models import AuditEntry
from tests.factories import NOW, make_document

pytestmark = pytest.mark.django_db

KETTLE = "The kettle that you sent me last week broke on the third day."
SAME = "The kettle that you sent me last week broke on the third day again."
PARCEL = "Our parcel was left in the rain and the box was soaked through."


@pytest.fixture
def records(corpus, ingest):
    """Give the corpus with two near-identical records, one equal to the first, and one of another matter."""
    ingest(
        make_document("a", KETTLE, account="Bell", themes=["quality"]),
        make_document("b", SAME, account="Carr", themes=["quality"]),
        make_document("c", KETTLE, author="ann", themes=["quality"]),
        make_document("d", PARCEL, account="Bell", themes=["delivery"]),
    )
    cluster_waiting(tenant=corpus.tenant, corpus=corpus)
    return corpus


@pytest.fixture
def clusters(records):
    """Give the function that clusters what waits and returns the clusters of more than one record."""

    def read():
        cluster_waiting(tenant=records.tenant, corpus=records)
        with tenant_session(records.tenant):
            return sorted(sorted(cluster.doc_ids) for cluster in list_clusters(corpus=records, limit=50))

    return read


@pytest.fixture
def decide(caller, records):
    """Give the function that carries out a decision on records by their ids."""

    def run(service, *doc_ids, by=caller):
        named = {"doc_ids": list(doc_ids)} if service is merge_records else {"doc_id": doc_ids[0]}
        service(caller=by, corpus=records, now=NOW, **named)

    return run


def test_clusters_are_counted_in_records_people_and_accounts(records):
    with tenant_session(records.tenant):
        (cluster,) = list_clusters(corpus=records, limit=5)

    assert (cluster.records, cluster.people, cluster.accounts) == (3, 3, 2)
    assert (cluster.doc_ids, cluster.text) == (("a", "b", "c"), KETTLE)


def test_merging_records_joins_their_clusters_and_those_that_come_later(decide, clusters, ingest):
    decide(merge_records, "b", "d")
    ingest(make_document("e", PARCEL))

    assert clusters() == [["a", "b", "c", "d", "e"]]


def test_counts_follow_what_was_merged(decide, records):
    def distinct():
        with tenant_session(records.tenant):
            total = count_matching(corpus=records, selection=Selection(), with_distinct=True)
            groups = group_matching(corpus=records, selection=Selection(), by=Grouping.THEME, with_distinct=True)
        return total.value, total.distinct, [(group.key, group.count.distinct) for group in groups]

    before = distinct()
    decide(merge_records, "a", "d")
    merged = distinct()
    decide(unmerge_record, "c")

    assert before == (4, 2, [("quality", 1), ("delivery", 1)])
    assert merged == (4, 1, [("quality", 1), ("delivery", 1)])
    assert distinct() == (4, 2, [("quality", 2), ("delivery", 1)])


def test_a_record_that_was_set_apart_stays_out(decide, clusters, records, ingest):
    decide(unmerge_record, "a")
    ingest(make_document("e", KETTLE))

    assert clusters() == [["b", "c", "e"]]
    recluster(corpus=records)
    assert clusters() == [["b", "c", "e"]]
    ingest(make_document("a", SAME))
    assert clusters() == [["b", "c", "e"]]


def test_unmerging_one_of_two_merged_records_parts_them(decide, clusters):
    decide(merge_records, "a", "d")

    decide(unmerge_record, "d")

    assert clusters() == [["a", "b", "c"]]


def test_what_was_set_apart_goes_back_when_it_is_merged_with_its_cluster(decide, clusters):
    decide(unmerge_record, "a")

    decide(merge_records, "a", "c")

    assert clusters() == [["a", "b", "c"]]


@pytest.mark.parametrize(
    ("service", "doc_ids"), [(unmerge_record, ["a"]), (merge_records, ["a", "d"])], ids=["unmerged", "merged"]
)
def test_a_decision_can_be_taken_back(decide, clusters, service, doc_ids):
    before = clusters()
    decide(service, *doc_ids)
    changed = clusters()

    decide(reset_record, "a")

    assert changed != before
    assert clusters() == before


def test_a_decision_outlives_deletion_and_return(decide, clusters, caller, records):
    decide(merge_records, "b", "d")

    delete_document(caller=caller, corpus=records, external_id="d", now=NOW)
    while_deleted = clusters()
    restore_document(caller=caller, corpus=records, external_id="d", now=NOW)

    assert while_deleted == [["a", "b", "c"]]
    assert clusters() == [["a", "b", "c", "d"]]


def test_clusters_part_at_once_when_the_record_that_joined_them_goes(decide, caller, records, ingest):
    ingest(make_document("e", PARCEL))
    cluster_waiting(tenant=records.tenant, corpus=records)
    decide(merge_records, "b", "d")

    delete_document(caller=caller, corpus=records, external_id="d", now=NOW)

    with tenant_session(records.tenant):
        assert get_duplicates(corpus=records, doc_id="e").cluster.records == 1
    assert check_index(tenant=records.tenant) == []


def test_an_edit_leaves_the_cluster_in_the_same_commit(records, ingest):
    ingest(make_document("a", "Something else altogether, and now much more of it."))

    with tenant_session(records.tenant):
        edited = get_duplicates(corpus=records, doc_id="a")
        other = get_duplicates(corpus=records, doc_id="c")
    assert (edited.is_waiting, edited.cluster.records) == (True, 1)
    assert other.cluster.records == 2


def test_decisions_are_on_the_audit_log(decide, tenant):
    decide(merge_records, "a", "d")
    decide(unmerge_record, "a")
    decide(reset_record, "a")

    with tenant_session(tenant):
        found = list(
            AuditEntry.objects.for_tenant(tenant)
            .filter(action__startswith="record")
            .order_by("id")
            .values_list("action", "subject", "detail")
        )
    assert found == [
        ("records.merged", "feedback/a", {"records": ["a", "d"]}),
        ("record.unmerged", "feedback/a", {}),
        ("record.reset", "feedback/a", {"was_apart": True, "was_merged": False}),
    ]


@pytest.mark.parametrize("service", [merge_records, unmerge_record, reset_record])
def test_an_analyst_may_not_decide(decide, clusters, tenant, service):
    analyst = Caller(tenant=tenant, label="ann", role=Role.ANALYST)

    with pytest.raises(Forbidden):
        decide(service, "a", "d", by=analyst)

    assert clusters() == [["a", "b", "c"]]


@pytest.mark.parametrize("service", [merge_records, unmerge_record, reset_record])
def test_a_record_that_is_not_there_changes_nothing(decide, clusters, service):
    with pytest.raises(NotFound):
        decide(service, "missing", "a")

    assert clusters() == [["a", "b", "c"]]


@pytest.mark.parametrize("doc_ids", [["a"], ["a", "a"], [], [f"r{n}" for n in range(MAX_MERGED + 1)]])
def test_a_merge_of_too_few_or_too_many_is_refused(decide, doc_ids):
    with pytest.raises(InvalidInput, match="two to 100"):
        decide(merge_records, *doc_ids)


def test_deciding_what_is_decided_already_is_a_conflict(decide):
    decide(unmerge_record, "a")

    with pytest.raises(Conflict):
        decide(unmerge_record, "a")
    with pytest.raises(Conflict):
        decide(reset_record, "b")


def test_two_tenants_with_equal_texts_share_no_cluster(decide, records, other_corpus, ingest):
    ingest(make_document("a", KETTLE), make_document("z", KETTLE), into=other_corpus)
    cluster_waiting(tenant=other_corpus.tenant, corpus=other_corpus)

    decide(merge_records, "a", "d")

    with tenant_session(other_corpus.tenant):
        (theirs,) = list_clusters(corpus=other_corpus, limit=5)
        assert get_duplicates(corpus=other_corpus, doc_id="a").cluster == theirs
    with tenant_session(records.tenant):
        (ours,) = list_clusters(corpus=records, limit=5)
    assert theirs.doc_ids == ("a", "z")
    assert ours.doc_ids == ("a", "b", "c", "d")
    assert theirs.id != ours.id
