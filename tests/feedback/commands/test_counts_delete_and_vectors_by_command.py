"""`aggregate` counts records and people, `delete` takes a record out, `embed` computes what is missing."""

from __future__ import annotations

import pytest

from core.tenant_session import tenant_session
from feedback.models import Corpus
from tests.factories import make_document

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _records(corpus, ingest):
    ingest(
        make_document("a", "The parcel came late.", themes=["Delivery"], account="Bell"),
        make_document("b", "Late, and the box was torn.", themes=["Delivery", "Packing"], account="Bell"),
        make_document("c", "Lovely box.", themes=["Packing"], account="Carr", occurred_at="2026-02-01"),
    )


def test_a_total_counts_a_record_once(manage):
    done = manage("aggregate", "--tenant", "acme", "--by", "theme", "--json").document

    assert (done["total"], done["people"]) == (3, 2)
    assert {group["key"]: (group["count"], group["people"]) for group in done["groups"]} == {
        "Delivery": (2, 1),
        "Packing": (2, 2),
    }
    assert sorted(done["groups"][0]["doc_ids"]) == ["a", "b"]


def test_months_come_in_the_order_of_time(manage):
    done = manage("aggregate", "--tenant", "acme", "--by", "month", "--json").document

    assert [group["key"] for group in done["groups"]] == ["2026-02-01", "2026-03-01"]


def test_a_query_and_a_filter_narrow_the_count(manage):
    done = manage("aggregate", "--tenant", "acme", "--query", "box", "--filter", "theme=Delivery", "--json").document

    assert done["total"] == 1


def test_an_unknown_grouping_is_refused(manage):
    done = manage("aggregate", "--tenant", "acme", "--by", "mood")

    assert (done.status, done.out) == (2, "")
    assert "theme" in done.err


def test_a_deleted_document_is_out_of_search(manage):
    done = manage("delete", "--tenant", "acme", "--doc", "a", "--json")
    found = manage("search", "late", "--tenant", "acme", "--mode", "lexical", "--json")

    assert done.document == {"deleted": 1}
    assert [hit["doc_id"] for hit in found.document["hits"]] == ["b"]


def test_a_document_is_deleted_once(manage):
    manage("delete", "--tenant", "acme", "--doc", "a")

    again = manage("delete", "--tenant", "acme", "--doc", "a")

    assert again.status == 2
    assert "'a'" in again.complaint


def test_another_tenants_document_is_as_absent_as_none(manage, other_corpus):
    theirs = manage("delete", "--tenant", "globex", "--doc", "a")
    nobodys = manage("delete", "--tenant", "globex", "--doc", "z")

    assert theirs.status == nobodys.status == 2
    assert theirs.complaint == nobodys.complaint.replace("'z'", "'a'")


def test_embed_computes_what_is_missing_and_then_nothing(manage, tenant, corpus, embedders):
    with tenant_session(tenant):
        Corpus.objects.for_tenant(tenant).update(options={"embedder": "static+minilm"})

    first = manage("embed", "--tenant", "acme", "--json").document
    second = manage("embed", "--tenant", "acme", "--json").document

    assert first["embedded"] >= 3
    assert (first["lag"], second["embedded"], second["lag"]) == (0, 0, 0)


def test_embed_without_a_tenant_is_for_all(manage, other_corpus, ingest, embedders):
    ingest(make_document("a"), into=other_corpus)
    for each in (other_corpus.tenant,):
        with tenant_session(each):
            Corpus.objects.for_tenant(each).update(options={"embedder": "static+minilm"})

    done = manage("embed", "--json").document

    assert done["lag"] == 0
    assert done["embedded"] >= 1


def test_embed_for_nobody_is_refused(manage):
    done = manage("embed", "--tenant", "nobody")

    assert done.status == 2
    assert "nobody" in done.complaint
