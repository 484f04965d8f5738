"""Of any record a search can say why it stands where it stands, or at which stage it was lost, and by how much."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from core.tenant_session import tenant_session
from feedback.domain.explanation import Stage
from feedback.domain.filter_sets import Scope
from feedback.domain.filters import FilterSet, InvalidFilter
from feedback.domain.retrieval import Mode
from feedback.selectors.retrieval import explain_record, retrieve
from feedback.services.deletion import delete_document
from feedback.services.ingest import ingest_documents
from tenants.caller import operator
from tests import factories
from tests.commands import Shell
from tests.feedback.test_filters_admit_what_they_say import DOCUMENTS, NARROW

QUERY = "late delivery"
_names = count()


@pytest.fixture
def explain(small_corpus: Any, client_of: Any, api_key: str) -> Callable[..., dict[str, Any]]:
    client = client_of(api_key)

    def get(doc_id: str | None = None, **asked: Any) -> dict[str, Any]:
        named = {} if doc_id is None else {"doc_id": doc_id}
        response = client.get("/api/v1/search/explain", {"q": QUERY, **named, **asked})
        assert response.status_code == 200, response.content
        shown: dict[str, Any] = response.json()
        return shown

    return get


@pytest.fixture
def many(corpus: Any, ingest: Callable[..., Any]) -> Iterator[Any]:
    """Give a corpus of sixty records that share the question's words in falling number."""
    ingest(
        *(
            factories.make_document(f"d-{n:02d}", "delivery " * (61 - n) + "was discussed " * n + f"case {n}")
            for n in range(1, 61)
        )
    )
    return corpus


def test_the_parts_of_the_first_hit_add_up(explain: Callable[..., Any]) -> None:
    shown = explain()

    why = shown["why"]
    assert (shown["stage"], shown["found"], why["rank"]) == ("found", True, 1)
    assert math.isclose(math.fsum(why["features"].values()), why["score"], abs_tol=1e-9)
    assert math.isclose(math.fsum(why["terms"].values()), why["lexical_score"], abs_tol=1e-5)
    ahead = why["ahead_of"]
    assert ahead["by"] >= 0
    assert math.isclose(math.fsum(ahead["features"].values()), ahead["by"], abs_tol=1e-9)


def test_an_id_that_nobody_has_is_unknown(explain: Callable[..., Any]) -> None:
    shown = explain("no-such-record")

    assert (shown["stage"], shown["found"], shown["why"]) == ("unknown_id", False, None)


def test_another_tenants_id_is_explained_as_one_that_nobody_has(
    small_corpus: Any, other_corpus: Any, client_of: Any, stranger_key: str
) -> None:
    client = client_of(stranger_key)

    theirs, nobodys = (
        client.get("/api/v1/search/explain", {"q": QUERY, "doc_id": doc_id}).json() for doc_id in ("r-01", "r-99")
    )

    assert {**theirs, "doc_id": ""} == {**nobodys, "doc_id": ""}
    assert theirs["stage"] == "unknown_id"


def test_a_deleted_record_is_told_as_such(small_corpus: Any, explain: Callable[..., Any], caller: Any) -> None:
    delete_document(caller=caller, corpus=small_corpus, external_id="r-01", now=factories.NOW)

    shown = explain("r-01")

    assert shown["stage"] == "deleted"
    assert shown["numbers"]["deleted_at"] == "2026-03-15T12:00:00Z"


def test_a_filter_is_named_with_what_the_record_has_and_what_was_wanted(explain: Callable[..., Any]) -> None:
    shown = explain("r-01", filter=["source=survey", "occurred_from=2026-03-01"])

    assert shown["stage"] == "excluded_by_filter"
    assert shown["filters"] == [
        {"key": "source", "value": "support_ticket", "wanted": ["survey"]},
        {"key": "occurred_from", "value": "2026-01-12T00:00:00Z", "wanted": ["2026-03-01T00:00:00Z"]},
    ]


def test_with_sets_each_is_explained_and_the_furthest_leads(explain: Callable[..., Any]) -> None:
    shown = explain(
        "r-01",
        filter_set=['{"name": "surveys", "source": ["survey"]}', '{"name": "harbour", "account": ["Harbour Cafe"]}'],
    )

    assert shown["stage"] == "found"
    assert shown["message"].startswith("harbour: ")
    assert [(each["name"], each["stage"]) for each in shown["sets"]] == [
        ("surveys", "excluded_by_filter"),
        ("harbour", "found"),
    ]


@pytest.fixture
def small_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep four candidates for each hit wanted, and no more."""
    monkeypatch.setattr("feedback.selectors.retrieval.search.REFERENCE_RANK", 1)


@pytest.mark.usefixtures("small_pool")
def test_every_record_is_lost_at_one_stage_with_the_rank_that_the_arms_give_it(many: Any) -> None:
    with tenant_session(many.tenant):
        by_words = retrieve(corpus=many, query="delivery", mode=Mode.LEXICAL, top_k=60).hits
        by_meaning = retrieve(corpus=many, query="delivery", mode=Mode.VECTOR, top_k=60).hits
        explained = [explain_record(corpus=many, query="delivery", doc_id=f"d-{n:02d}", top_k=2) for n in range(1, 61)]

    lexical = {hit.doc_id: rank for rank, hit in enumerate(by_words, start=1)}
    semantic = {hit.doc_id: rank for rank, hit in enumerate(by_meaning, start=1)}
    for each in explained:
        assert each.numbers["lexical_rank"] == lexical[each.doc_id]
        assert each.numbers["vector_rank"] == semantic[each.doc_id]
        assert (each.numbers["lexical_of"], each.numbers["vector_of"]) == (60, 60)
        is_candidate = min(lexical[each.doc_id], semantic[each.doc_id]) <= 8
        assert is_candidate == (each.stage is not Stage.BEYOND_CANDIDATES), each
    stages = [each.stage for each in explained]
    assert stages.count(Stage.FOUND) == 2
    assert stages.count(Stage.BELOW_TOP_K) == 6
    assert stages.count(Stage.BEYOND_POOL) == len({*list(lexical)[:8], *list(semantic)[:8]}) - 8


@pytest.mark.usefixtures("small_pool")
def test_a_record_below_what_was_asked_for_names_the_score_to_beat(many: Any) -> None:
    with tenant_session(many.tenant):
        explained = [explain_record(corpus=many, query="delivery", doc_id=f"d-{n:02d}", top_k=2) for n in range(1, 61)]

    below = [each for each in explained if each.stage is Stage.BELOW_TOP_K]
    assert sorted(each.numbers["rerank_rank"] for each in below) == [3, 4, 5, 6, 7, 8]
    assert all(each.numbers["rerank_score"] <= each.numbers["last_score"] for each in below)
    assert all(each.why and each.why["terms"] for each in below)


def test_a_record_that_shares_no_word_says_so(many: Any, ingest: Callable[..., Any]) -> None:
    ingest(factories.make_document("other", "Xylophone zeppelin."))

    with tenant_session(many.tenant):
        explained = explain_record(corpus=many, query="delivery", doc_id="other", top_k=1)

    assert explained.stage is Stage.BEYOND_CANDIDATES
    assert explained.numbers["lexical_rank"] is None
    assert "shares no word" in explained.message
    assert explained.numbers["vector_rank"] > 4


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(document=DOCUMENTS, fields=NARROW)
def test_a_filter_is_blamed_just_when_it_keeps_the_record_out(tenant: Any, document: Any, fields: Any) -> None:
    try:
        filters = FilterSet(**fields)
    except InvalidFilter:
        assume(False)
    corpus = factories.make_corpus(tenant=tenant, slug=f"blamed-{next(_names)}")
    sent = {"id": "doc-1", "text": "kettle", **document}
    assert ingest_documents(caller=operator(tenant), corpus=corpus, rows=factories.rows(sent), now=factories.NOW).saved

    with tenant_session(tenant):
        found = {hit.doc_id for hit in retrieve(corpus=corpus, query="kettle", filters=filters).hits}
        explained = explain_record(corpus=corpus, query="kettle", doc_id="doc-1", scope=Scope(filters))

    assert (explained.stage is Stage.FOUND) == (found == {"doc-1"})
    assert (explained.stage is Stage.EXCLUDED_BY_FILTER) == bool(explained.mismatches) == (not found)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"doc_id": "x" * 1001}, "doc_id"),
        ({"doc_id": ""}, "doc_id"),
        ({"doc_id": "r-01", "q": " "}, "question"),
        ({"doc_id": "r-01", "top_k": "0"}, "top_k"),
        ({"doc_id": "r-01", "filter": "source=fax"}, "source"),
        ({"doc_id": "r-01", "filter": "source=survey", "filter_set": "{}"}, "filter_set"),
    ],
)
def test_what_cannot_be_explained_is_refused(
    asked: dict[str, str], field: str, small_corpus: Any, client_of: Any, api_key: str
) -> None:
    response = client_of(api_key).get("/api/v1/search/explain", {"q": QUERY, **asked})

    assert response.status_code == 422, response.content
    assert response.json()["error"]["detail"]["field"] == field


def test_a_search_that_finds_nothing_has_no_first_hit_to_explain(explain: Callable[..., Any]) -> None:
    shown = explain(filter="ids=no-such-record")

    assert (shown["found"], shown["why"]) == (False, None)


def test_the_command_says_why_not(
    small_corpus: Any, explain: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = explain("r-07")

    told = Shell(monkeypatch)("search", QUERY, "--tenant", "acme", "--why-not", "r-07", "--json")
    plain = Shell(monkeypatch)("search", QUERY, "--tenant", "acme", "--why-not", "r-07")

    assert told.document == sent
    assert plain.out.startswith(f"r-07: {sent['message']}")
