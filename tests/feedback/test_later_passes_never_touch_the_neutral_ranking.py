"""The neutral ranking is by the question alone; who says otherwise comes beside it, by measured opposition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from core.tenant_session import tenant_session
from feedback.domain.filter_sets import Scope
from feedback.domain.filters import FilterSet
from feedback.selectors.retrieval import Pass
from feedback.services.corpora import declare_facets
from feedback.services.search import Search, search_corpus
from tests import factories

QUERY = "How do nurses on the ward treat patients?"
TEXTS = [
    "The nurses on the ward were rude to patients.",
    "Rude nurses on this ward, they ignored every patient.",
    "The ward nurses were dismissive and rude.",
    "The nurses on the ward were kind to patients.",
    "Patients waited for the ward nurses.",
    "The car park was full.",
]
METADATA: list[dict[str, Any]] = [
    {"record_kind": "claim", "source": "survey", "attribution": "Ward survey 2026", "path": "a/b"},
    {"record_kind": "note", "source": "complaint", "attribution": None, "path": "z"},
    {"record_kind": "summary", "source": "call", "attribution": "Dr Ash", "path": "a"},
    {"record_kind": "", "source": "social", "attribution": None, "path": "inbox/new"},
    {"record_kind": "claim", "source": "app_review", "attribution": "The Herald", "path": ""},
    {"record_kind": "note", "source": "survey", "attribution": None, "path": "b/c/d"},
]


def load(corpus: Any, ingest: Callable[..., Any], metadata: list[dict[str, Any]]) -> None:
    ingest(
        *(
            factories.make_document(f"n-{number}", text, **{key: value for key, value in filed.items() if value})
            for number, (text, filed) in enumerate(zip(TEXTS, metadata, strict=True))
        ),
        into=corpus,
    )


def find(corpus: Any, *passes: Pass, scope: Scope | None = None, query: str = QUERY) -> Search:
    with tenant_session(corpus.tenant):
        return search_corpus(corpus=corpus, query=query, scope=scope or Scope(), passes=passes)


def order(found: Search) -> list[tuple[Any, ...]]:
    return [(hit.doc_id, hit.rank, hit.lexical_score, hit.vector_score, hit.rerank_score) for hit in found.found.hits]


@pytest.mark.parametrize("passes", [(), tuple(Pass)], ids=["later passes off", "later passes on"])
@pytest.mark.parametrize("turned_by", [1, 2, 3, 5])
def test_permuting_kind_source_attribution_and_folder_leaves_neutral_order_identical(
    tenant: Any, ingest: Callable[..., Any], turned_by: int, passes: tuple[Pass, ...]
) -> None:
    as_filed = factories.make_corpus(tenant=tenant, slug="as-filed")
    permuted = factories.make_corpus(tenant=tenant, slug="permuted")
    load(as_filed, ingest, METADATA)
    load(permuted, ingest, METADATA[turned_by:] + METADATA[:turned_by])

    before, after = find(as_filed, *passes), find(permuted, *passes)

    assert order(before) == order(after)
    assert [hit.source for hit in before.found.hits] != [hit.source for hit in after.found.hits]


@pytest.mark.parametrize("passes", [(Pass.ATTRIBUTED,), (Pass.CONTRASTING,), tuple(Pass)])
def test_a_later_pass_leaves_the_neutral_hits_as_they_are(
    corpus: Any, ingest: Callable[..., Any], passes: tuple[Pass, ...]
) -> None:
    load(corpus, ingest, METADATA)

    assert find(corpus, *passes).found == find(corpus).found


def test_attributed_records_are_those_that_say_whose_they_are(corpus: Any, ingest: Callable[..., Any]) -> None:
    load(corpus, ingest, METADATA)

    found = find(corpus, Pass.ATTRIBUTED).passes[Pass.ATTRIBUTED]

    assert {each.hit.doc_id: each.hit.attribution for each in found} == {
        "n-0": "Ward survey 2026",
        "n-2": "Dr Ash",
        "n-4": "The Herald",
    }


def test_a_source_that_the_question_names_is_an_attributed_one(corpus: Any, ingest: Callable[..., Any]) -> None:
    load(corpus, ingest, [{**filed, "attribution": None} for filed in METADATA])

    found = find(corpus, Pass.ATTRIBUTED, query="nurses on the ward in complaints").passes[Pass.ATTRIBUTED]

    assert [each.hit.doc_id for each in found] == ["n-1"]


@pytest.fixture
def agreeing(corpus: Any, ingest: Callable[..., Any]) -> Any:
    """Give a corpus in which five records complain, one praises the same thing, and one is about something else."""
    ingest(
        *(
            factories.make_document(f"rude-{n}", f"The nurses on the ward were rude to patients, visit {n}.")
            for n in range(5)
        ),
        factories.make_document("kind", "The nurses on the ward were kind to patients."),
        factories.make_document("parking", "The car park is excellent and cheap."),
    )
    return corpus


def test_the_record_that_disagrees_is_found_and_says_by_how_much(agreeing: Any) -> None:
    found = find(agreeing, Pass.CONTRASTING, query="rude nurses on the ward")

    (hit,) = found.passes[Pass.CONTRASTING]
    assert hit.hit.doc_id == "kind"
    assert hit.most is not None
    assert hit.most.score == hit.most.topic * hit.most.polarity
    assert 0.25 <= (hit.disagreement or 0) <= 1
    assert str(hit.against).startswith("rude-")
    assert "praise against complaint" in hit.most.reason


def test_praise_of_something_else_is_no_contrast(agreeing: Any) -> None:
    found = find(agreeing, Pass.CONTRASTING, query="rude nurses on the ward")

    assert "parking" not in [each.hit.doc_id for each in found.passes[Pass.CONTRASTING]]


def test_records_that_agree_give_no_contrast(corpus: Any, ingest: Callable[..., Any]) -> None:
    ingest(*(factories.make_document(f"d{n}", f"The delivery was late again, order {n}.") for n in range(9)))

    assert find(corpus, Pass.CONTRASTING, query="late delivery").passes[Pass.CONTRASTING] == ()


def test_a_declared_rating_decides_where_both_records_have_one(corpus: Any, ingest: Callable[..., Any]) -> None:
    declare_facets(corpus=corpus, facets=[{"name": "rating", "type": "integer", "values": [1, 2, 3, 4, 5]}])
    ingest(
        *(factories.make_document(f"low-{n}", f"The app after the update, part {n}.", rating=1) for n in range(5)),
        factories.make_document("high", "The app after the update, my view.", rating=5),
        factories.make_document("middle", "The app after the update, again.", rating=2),
    )

    found = find(corpus, Pass.CONTRASTING, query="The app after the update, part").passes[Pass.CONTRASTING]

    assert [each.hit.doc_id for each in found] == ["high"]
    assert found[0].most is not None
    assert (found[0].most.polarity, found[0].most.reason) == (1.0, "rated 5 against 1")


def test_later_passes_keep_within_the_filters(agreeing: Any) -> None:
    confined = Scope(FilterSet(ids=tuple(f"rude-{n}" for n in range(5))))

    found = find(agreeing, Pass.CONTRASTING, scope=confined, query="rude nurses on the ward")

    assert found.passes[Pass.CONTRASTING] == ()


def test_a_search_that_finds_nothing_has_empty_passes(agreeing: Any) -> None:
    found = find(agreeing, *Pass, scope=Scope(FilterSet(ids=("nobody",))))

    assert found.passes == {Pass.ATTRIBUTED: (), Pass.CONTRASTING: ()}


def test_passes_come_over_http_when_they_are_asked_for(agreeing: Any, client_of: Any, api_key: str) -> None:
    client = client_of(api_key)

    asked = client.get("/api/v1/search", {"q": "rude nurses on the ward", "passes": "contrasting"}).json()
    not_asked = client.get("/api/v1/search", {"q": "rude nurses on the ward"}).json()

    (hit,) = asked["passes"]["contrasting"]
    assert (hit["doc_id"], hit["rank"]) == ("kind", 1)
    assert {"score", "topic", "polarity", "against", "reason"} == hit["opposition"].keys()
    assert asked["hits"] == not_asked["hits"]
    assert "passes" not in not_asked
