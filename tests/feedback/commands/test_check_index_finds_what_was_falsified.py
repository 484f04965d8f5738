"""`check_index` counts anew: silent while all is right, exit 1 and the difference when a number is not."""

from __future__ import annotations

import pytest
from django.db import connection

from core.tenant_session import tenant_session
from feedback.services.clustering import cluster_waiting
from feedback.services.index_check import check_index
from tests.factories import make_document

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _records(corpus, ingest):
    ingest(make_document("a", "The parcel came late."), make_document("b", "Late, and the box was torn."))
    cluster_waiting(tenant=corpus.tenant, corpus=corpus)


def _falsify(tenant, statement):
    with tenant_session(tenant), connection.cursor() as cursor:
        cursor.execute(statement, [tenant.id])
        assert cursor.rowcount > 0


def test_right_numbers_have_no_difference(manage):
    done = manage("check_index", "--tenant", "acme", "--json")

    assert (done.status, done.document) == (0, {"differences": []})


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE feedback_corpusstatistics SET documents = documents + 1 WHERE tenant_id = %s", "documents"),
        ("UPDATE feedback_corpusstatistics SET passages = 0 WHERE tenant_id = %s", "passages"),
        ("UPDATE feedback_corpusstatistics SET total_length = 1 WHERE tenant_id = %s", "total_length"),
        ("UPDATE feedback_corpusstatistics SET newest_at = NULL WHERE tenant_id = %s", "newest_at"),
        ("UPDATE feedback_corpusstatistics SET vectors = '{}' WHERE tenant_id = %s", "vectors of static@"),
        (
            "UPDATE feedback_term SET document_frequency = 9 WHERE tenant_id = %s AND lexeme = 'late'",
            "document frequencies",
        ),
        ("DELETE FROM feedback_document WHERE tenant_id = %s AND external_id = 'a'", "documents without a record"),
        ("DELETE FROM feedback_documentrevision WHERE tenant_id = %s", "documents without their text"),
        ("DELETE FROM feedback_passage WHERE tenant_id = %s AND external_id = 'a'", "documents that can't be found"),
        ("DELETE FROM feedback_documentkey WHERE tenant_id = %s AND external_id = 'a'", "passages of no document"),
        ("DELETE FROM feedback_passage WHERE tenant_id = %s AND external_id = 'b'", "vectors of no passage"),
        (
            "UPDATE feedback_passagevector SET source = 'call' WHERE tenant_id = %s",
            "vectors filed otherwise than their passage",
        ),
        ("DELETE FROM feedback_clustermember WHERE tenant_id = %s", "records without a place among the clusters"),
        (
            "UPDATE feedback_clustermember SET cluster_id = gen_random_uuid() WHERE tenant_id = %s",
            "records clustered by a text that they don't say",
        ),
        ("UPDATE feedback_clustermember SET text_id = NULL WHERE tenant_id = %s", "texts that no record says"),
        (
            "UPDATE feedback_distincttext SET leader_id = gen_random_uuid() WHERE tenant_id = %s",
            "texts whose leader follows another",
        ),
    ],
)
def test_a_falsified_row_is_found(tenant, statement, what):
    _falsify(tenant, statement)

    found = check_index(tenant=tenant)

    assert any(difference.what.startswith(what) for difference in found), found


def test_a_difference_is_told_with_status_one(manage, tenant):
    _falsify(tenant, "UPDATE feedback_term SET document_frequency = 9 WHERE tenant_id = %s AND lexeme = 'late'")

    done = manage("check_index", "--tenant", "acme", "--json")

    assert done.status == 1
    (difference,) = done.document["differences"]
    assert (difference["corpus"], difference["stored"] - difference["counted"]) == ("feedback", 7)
    assert difference["examples"] == ["late: 9, counted 2"]


def test_another_tenants_faults_are_not_ours(tenant, other_tenant, other_corpus, ingest):
    ingest(make_document("a"), into=other_corpus)
    _falsify(tenant, "UPDATE feedback_corpusstatistics SET documents = 0 WHERE tenant_id = %s")

    assert check_index(tenant=tenant)
    assert check_index(tenant=other_tenant) == []
