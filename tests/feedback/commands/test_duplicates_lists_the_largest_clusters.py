"""`duplicates` clusters what waits and lists the largest clusters, counted in records and people."""

from __future__ import annotations

import pytest

from tests.factories import make_document

pytestmark = pytest.mark.django_db

KETTLE = "The kettle that you sent me last week broke on the third day."


@pytest.fixture(autouse=True)
def _records(corpus, ingest):
    ingest(
        make_document("k1", KETTLE, account="Bell", themes=["quality"]),
        make_document("k2", KETTLE.upper(), account="Carr", themes=["quality"]),
        make_document("k3", KETTLE.replace("third", "fourth"), account="Carr", themes=["quality"]),
        make_document("n1", "Nothing"),
        make_document("n2", "nothing."),
        make_document("x", "Nothing at all"),
    )


def test_what_waits_is_clustered_and_counted(manage):
    done = manage("duplicates", "--tenant", "acme", "--json").document

    counts = {name: done[name] for name in ("clustered", "records", "distinct", "clusters", "lag")}
    assert counts == {"clustered": 6, "records": 6, "distinct": 4, "clusters": 2, "lag": 0}
    assert sorted(tuple(cluster["doc_ids"]) for cluster in done["largest"]) == [("k1", "k2"), ("n1", "n2")]


def test_a_second_run_finds_nothing_to_do(manage):
    manage("duplicates", "--tenant", "acme")

    again = manage("duplicates", "--tenant", "acme", "--json").document
    anew = manage("duplicates", "--tenant", "acme", "--anew", "--json").document

    assert (again["clustered"], anew["clustered"]) == (0, 6)
    assert again["largest"] == anew["largest"]


def test_people_read_a_line_a_cluster(manage):
    done = manage("duplicates", "--tenant", "acme", "--limit", "1")

    assert done.status == 0
    first, cluster = done.out.splitlines()
    assert first == "6 records, 4 without near-duplicates; 2 clusters of more than one, 0 records wait."
    assert cluster.split()[:2] == ["2", "records"]


def test_aggregate_counts_what_is_said_twice_once(manage):
    manage("duplicates", "--tenant", "acme")

    done = manage("aggregate", "--tenant", "acme", "--by", "theme", "--json").document

    assert (done["total"], done["distinct"]) == (6, 4)
    assert [(group["key"], group["count"], group["distinct"]) for group in done["groups"]] == [("quality", 3, 2)]


@pytest.mark.parametrize("arguments", [["--corpus", "nope"], ["--limit", "0"], ["--tenant", "nobody"]])
def test_what_isnt_there_is_refused(manage, arguments):
    done = manage("duplicates", *([] if "--tenant" in arguments else ["--tenant", "acme"]), *arguments)

    assert (done.status, done.out) == (2, "")
    assert done.err
