"""`search` answers in the contract's shape, one query or a file of them."""

from __future__ import annotations

import json

import pytest

from tests.factories import make_document

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _records(corpus, ingest):
    ingest(
        make_document("late", "The parcel came two weeks late.", source="survey"),
        make_document("cold", "The soup was cold when it came.", source="call", themes=["Food"]),
    )


def test_a_hit_has_its_scores_and_text(manage):
    done = manage("search", "late parcel", "--tenant", "acme", "--json")

    hit = done.document["hits"][0]
    assert (hit["doc_id"], hit["rank"], hit["text"]) == ("late", 1, "The parcel came two weeks late.")
    assert hit["lexical_score"] > 0
    assert hit["rerank_score"] > 0
    assert set(hit["features"]) >= {"relevance", "recency", "source", "coverage"}


def test_top_k_limits_the_hits(manage):
    done = manage("search", "came", "--tenant", "acme", "--top-k", "1", "--json")

    assert len(done.document["hits"]) == 1


def test_a_repeated_filter_is_an_alternative(manage):
    words = ["search", "came", "--tenant", "acme", "--mode", "lexical", "--json"]

    one = manage(*words, "--filter", "source=call")
    both = manage(*words, "--filter", "source=call", "--filter", "source=survey")

    assert [hit["doc_id"] for hit in one.document["hits"]] == ["cold"]
    assert len(both.document["hits"]) == 2


def test_explain_says_what_each_word_added(manage):
    done = manage("search", "late parcel", "--tenant", "acme", "--mode", "lexical", "--explain", "--json")

    assert set(done.document["hits"][0]["terms"]) == {"late", "parcel"}
    assert done.document["explain"]["mode"] == "lexical"


def test_a_batch_answers_line_by_line(manage, ndjson):
    path = ndjson({"id": 1, "text": "late"}, {"id": "two", "text": "came", "filters": {"source": ["call"]}})

    done = manage("search", "--batch", path, "--tenant", "acme", "--mode", "lexical")

    assert [(line["id"], [hit["doc_id"] for hit in line["hits"]]) for line in done.lines] == [
        (1, ["late"]),
        ("two", ["cold"]),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "{broken",
        "[]",
        '{"text": "no id"}',
        '{"id": "x"}',
        '{"id": "x", "text": " "}',
        '{"id": "x", "text": "y", "filters": {"source": ["nowhere"]}}',
    ],
)
def test_a_bad_line_is_told_with_its_number_before_anything_is_searched(manage, ndjson, line):
    done = manage("search", "--batch", ndjson({"id": 1, "text": "late"}, line), "--tenant", "acme")

    assert (done.status, done.out) == (2, "")
    assert "Line 2" in done.complaint


def test_an_unknown_value_comes_with_the_vocabulary(manage):
    done = manage("search", "late", "--tenant", "acme", "--filter", "theme=Fod", "--json")

    assert (done.status, done.out) == (2, "")
    assert "theme: Food" in done.complaint


def test_an_unknown_key_comes_with_the_vocabulary(manage):
    done = manage("search", "late", "--tenant", "acme", "--filter", "sauce=survey")

    assert done.status == 2
    assert "source" in done.complaint


@pytest.mark.parametrize(
    "words", [["late", "--top-k", "0"], [" "], [], ["late", "--batch", "-"], ["--batch", "/absent"]]
)
def test_what_cant_be_searched_is_refused_in_one_line(manage, words):
    done = manage("search", *words, "--tenant", "acme")

    assert (done.status, done.out) == (2, "")
    assert done.complaint


def test_another_tenants_corpus_is_as_absent_as_one_that_nobody_has(manage, other_tenant):
    theirs = manage("search", "late", "--tenant", "globex")
    nobodys = manage("search", "late", "--tenant", "globex", "--corpus", "nobodys")

    assert theirs.status == nobodys.status == 2
    assert theirs.complaint == nobodys.complaint.replace("nobodys", "feedback")


def test_text_that_no_encoding_knows_is_refused(manage):
    done = manage("search", "caf\udce9", "--tenant", "acme")

    assert done.status == 2
    assert json.dumps(done.err)
