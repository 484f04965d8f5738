"""Near-duplicates through the API and the record's page: counted, paged, decided by curators, hidden from strangers."""

from __future__ import annotations

import pytest
from django.test import Client

from feedback.services.clustering import cluster_waiting
from tests.factories import make_document

pytestmark = pytest.mark.django_db

KETTLE = "The kettle that you sent me last week broke on the third day."


@pytest.fixture
def records(corpus, ingest):
    ingest(
        *(make_document(f"k/{n}", KETTLE, account=f"account {n % 2}") for n in range(3)),
        make_document("n1", "Nothing"),
        make_document("n2", "nothing."),
        make_document("x", "Our parcel was left in the rain."),
    )
    cluster_waiting(tenant=corpus.tenant, corpus=corpus)
    return corpus


def post(client, word, **body):
    return client.post(f"/api/v1/clusters:{word}", body, content_type="application/json")


def test_the_largest_clusters_come_first_a_page_at_a_time(records, reading_key, client_of):
    first = client_of(reading_key).get("/api/v1/clusters", {"limit": 1}).json()
    second = client_of(reading_key).get("/api/v1/clusters", {"limit": 1, "offset": first["next_offset"]}).json()

    assert (first["records"], first["distinct"], first["total"], first["lag"]) == (6, 3, 2, 0)
    (cluster,) = first["clusters"]
    assert (cluster["records"], cluster["people"], cluster["accounts"]) == (3, 2, 2)
    assert cluster["doc_ids"] == ["k/0", "k/1", "k/2"]
    assert second["clusters"][0]["doc_ids"] == ["n1", "n2"]
    assert second["next_offset"] is None


def test_a_record_names_those_that_are_like_it(records, reading_key, client_of):
    found = client_of(reading_key).get("/api/v1/documents/k/1/duplicates", {"limit": 1}).json()

    assert [other["doc_id"] for other in found["others"]] == ["k/0"]
    assert (found["cluster"]["records"], found["next_offset"]) == (3, 1)
    assert (found["is_waiting"], found["is_apart"], found["is_merged"]) == (False, False, False)


def test_a_curator_merges_unmerges_and_takes_back(records, curator, client_of):
    client = client_of(curator)

    merged = post(client, "merge", ids=["k/0", "n1"]).json()
    apart = post(client, "unmerge", id="k/0").json()
    reset = post(client, "reset", id="k/0").json()

    assert (merged["cluster"]["records"], merged["is_merged"]) == (5, True)
    assert (apart["cluster"]["records"], apart["is_apart"], apart["others"]) == (1, True, [])
    assert (reset["cluster"]["records"], reset["is_apart"]) == (3, False)


@pytest.mark.parametrize(
    ("word", "body"), [("merge", {"ids": ["k/0", "x"]}), ("unmerge", {"id": "k/0"}), ("reset", {"id": "k/0"})]
)
def test_only_a_curator_decides(records, member, reading_key, client_of, word, body):
    for who in (member, reading_key):
        assert post(client_of(who), word, **body).status_code == 403


@pytest.mark.parametrize(
    ("word", "body"), [("merge", {"ids": ["k/0", "x"]}), ("unmerge", {"id": "k/0"}), ("reset", {"id": "k/0"})]
)
def test_a_stranger_is_told_what_anybody_is_of_an_absent_record(
    records, other_corpus, stranger_key, client_of, word, body
):
    client = client_of(stranger_key)
    absent = {"ids": ["nope", "neither"]} if "ids" in body else {"id": "nope"}

    theirs, missing = post(client, word, **body), post(client, word, **absent)

    assert theirs.status_code == missing.status_code == 404
    assert {**theirs.json()["error"], "request_id": ""} == {**missing.json()["error"], "request_id": ""}


@pytest.mark.parametrize(
    ("word", "body"),
    [("merge", {}), ("merge", {"ids": "k/0"}), ("merge", {"ids": ["k/0"]}), ("unmerge", {}), ("reset", {"id": ""})],
)
def test_bad_input_is_refused(records, curator, client_of, word, body):
    assert post(client_of(curator), word, **body).status_code == 422


@pytest.mark.parametrize("page", [{"limit": "0"}, {"limit": "101"}, {"limit": "x"}, {"offset": "-1"}])
def test_a_page_out_of_range_is_refused(records, reading_key, client_of, page):
    assert client_of(reading_key).get("/api/v1/clusters", page).status_code == 422
    assert client_of(reading_key).get("/api/v1/documents/x/duplicates", page).status_code == 422


def test_the_page_of_a_record_lists_those_that_are_like_it(records, member, client_of):
    page = client_of(member).get("/records/k/1").content.decode()

    assert "3 near-identical records from 2 accounts" in page
    assert 'href="/records/k/0?corpus=feedback"' in page
    assert "Unmerge" not in page


def test_a_curator_unmerges_and_takes_back_on_the_page(records, curator, client_of):
    client = client_of(curator)

    before = client.get("/records/k/1").content.decode()
    sent = client.post("/clusters/unmerge", {"id": "k/1", "corpus": "feedback"})
    apart = client.get(sent["Location"]).content.decode()
    client.post("/clusters/reset", {"id": "k/1", "corpus": "feedback"})
    after = client.get("/records/k/1").content.decode()

    assert "Unmerge" in before
    assert (sent.status_code, sent["Location"]) == (303, "/records/k/1?corpus=feedback")
    assert "set apart by hand" in apart
    assert "3 near-identical records" in after


def test_the_forms_of_the_page_are_closed_to_analysts_and_without_a_token(records, curator, member, client_of):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(curator, backend="django.contrib.auth.backends.ModelBackend")

    assert client_of(member).post("/clusters/unmerge", {"id": "k/1"}).status_code == 403
    assert strict.post("/clusters/unmerge", {"id": "k/1"}).status_code == 403
    assert client_of(curator).get("/clusters/unmerge").status_code == 405
    assert client_of(curator).post("/clusters/unmerge", {"id": "k/1\x00"}).status_code == 404


def test_what_a_hostile_record_says_is_shown_as_text(corpus, ingest, member, client_of):
    ingest(make_document("<b>1", KETTLE, account="<script>x</script>"), make_document("2", KETTLE))
    cluster_waiting(tenant=corpus.tenant, corpus=corpus)

    page = client_of(member).get("/records/2").content.decode()

    assert "<script>x" not in page
    assert "<b>1" not in page
    assert "&lt;script&gt;x" in page
