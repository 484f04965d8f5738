"""When nothing is found, what the question implied is given up step by step, told, and never what the caller set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings

from answering.domain.relaxing import filters_to_give_up, relax_order
from core.tenant_session import tenant_session
from feedback.domain.filters import FilterSet
from feedback.services.corpora import declare_facets
from tests import factories

FILINGS = [
    {"name": "ticker", "type": "text", "values": ["NVDA", "AAPL"], "relax": 5},
    {"name": "fiscal_year", "type": "integer", "normaliser": "fiscal_year", "relax": 4},
    {"name": "fiscal_quarter", "type": "integer", "normaliser": "fiscal_quarter", "values": [1, 2, 3, 4], "relax": 1},
    {"name": "content_type", "type": "text", "values": ["10-Q", "10-K"], "relax": 2},
    {"name": "event_type", "type": "text", "relax": 3},
]
TEXT = "Data centre revenue rose on demand for accelerators."


@pytest.fixture
def filings(tenant: Any, ingest: Callable[..., Any]) -> Any:
    corpus = factories.make_corpus(tenant=tenant, slug="filings", kind="filings")
    declare_facets(corpus=corpus, facets=FILINGS)
    shared = {"source": "filing", "ticker": "NVDA", "language": "en", "occurred_at": "2024-06-01"}
    ingest(
        {"id": "q1", "text": TEXT, "fiscal_year": "FY24", "fiscal_quarter": "Q1", "content_type": "10-Q", **shared},
        {"id": "fy", "text": TEXT + " For the year.", "fiscal_year": 2024, "content_type": "10-K", **shared},
        into=corpus,
    )
    return corpus


@pytest.fixture
def ask(client_of: Any, api_key: str) -> Callable[..., dict[str, Any]]:
    def post(question: str, **body: Any) -> dict[str, Any]:
        sent = {"question": question, "include": ["trace", "hits", "grounding"], **body}
        response = client_of(api_key).post("/api/v1/ask", sent, content_type="application/json")
        assert response.status_code == 200, response.content
        answer: dict[str, Any] = response.json()
        return answer

    return post


def relaxed(answer: dict[str, Any]) -> list[tuple[str, list[str]]]:
    return [(each["key"], each["dropped"]) for each in answer["relaxed"]]


def test_the_grid_that_a_question_names_is_a_filter(filings: Any, ask: Callable[..., Any]) -> None:
    answer = ask("What drove NVDA data centre revenue in Q1 FY24?", corpus="filings")

    assert answer["inferred_filters"] == {"facets": {"ticker": ["NVDA"], "fiscal_year": [2024], "fiscal_quarter": [1]}}
    assert {hit["doc_id"] for hit in answer["hits"]} == {"q1"}
    assert answer["relaxed"] == []


def test_the_quarter_is_given_up_first_and_named_in_trace_and_answer(filings: Any, ask: Callable[..., Any]) -> None:
    answer = ask("What drove NVDA data centre revenue in Q3 FY24?", corpus="filings")

    assert answer["outcome"] == "answered"
    assert relaxed(answer) == [("fiscal_quarter", ["3"])]
    assert answer["inferred_filters"] == {"facets": {"ticker": ["NVDA"], "fiscal_year": [2024]}}
    assert [step["step"] for step in answer["trace"]][:4] == ["plan", "retrieve", "relax", "rerank"]
    assert answer["trace"][2]["detail"]["relaxed"]["key"] == "fiscal_quarter"
    assert "fiscal quarter 3" in answer["markdown"]


def test_each_is_given_up_once_in_the_corpus_order_until_something_is_found(
    filings: Any, ask: Callable[..., Any]
) -> None:
    answer = ask("What drove NVDA data centre revenue in the Q3 FY21 10-Q?", corpus="filings")

    assert relaxed(answer) == [("fiscal_quarter", ["3"]), ("content_type", ["10-Q"]), ("fiscal_year", ["2021"])]
    assert [step["step"] for step in answer["trace"]].count("relax") == 3
    assert answer["outcome"] == "answered"


def test_a_filter_that_the_caller_set_stays_when_the_inferred_ones_go(filings: Any, ask: Callable[..., Any]) -> None:
    answer = ask(
        "What drove data centre revenue in Q3 FY21?",
        corpus="filings",
        filters={"tickers": ["nvda"], "content_types": ["10-K"]},
    )

    assert [key for key, _ in relaxed(answer)] == ["fiscal_quarter", "fiscal_year"]
    assert {hit["doc_id"] for hit in answer["hits"]} == {"fy"}


def test_what_the_caller_set_himself_is_not_given_up_though_the_question_names_it(
    filings: Any, ask: Callable[..., Any]
) -> None:
    answer = ask("What drove data centre revenue in Q3?", corpus="filings", filters={"fiscal_quarters": ["Q3"]})

    assert answer["outcome"] == "refused"
    assert answer["refusal"]["reason"] == "no_records"
    assert answer["relaxed"] == []


def test_nothing_even_then_is_insufficient_evidence(filings: Any, ask: Callable[..., Any]) -> None:
    answer = ask(
        "What drove AAPL data centre revenue in Q3 FY21?",
        corpus="filings",
        filters={"occurred_from": "2024-01-01", "event_types": ["call"]},
    )
    kept = ask("What drove AAPL revenue in Q3 FY21?", corpus="filings", filters={"ids": ["no-such-page"]})

    assert (answer["outcome"], answer["refusal"]["reason"]) == ("refused", "no_records")
    assert (kept["outcome"], kept["relaxed"]) == ("refused", [])


def test_a_misspelt_word_is_searched_as_the_corpus_spells_it(
    corpus: Any, ingest: Callable[..., Any], ask: Callable[..., Any]
) -> None:
    corpus.options = {**corpus.options, "embedder": "hashed"}
    with tenant_session(corpus.tenant):
        corpus.save(update_fields=["options"])
    ingest(
        factories.make_document("d1", "The accelerator overheated."),
        factories.make_document("d2", "Parking was free."),
    )
    with pytest.MonkeyPatch.context() as patch:
        # Vectors only order what the words have found.
        patch.setattr(settings, "WISDOM", settings.WISDOM.model_copy(update={"vector_scope": "lexical"}))
        answer = ask("xcelerator")

    assert [(each["key"], each["query"]) for each in answer["relaxed"]] == [("query", "accelerator")]
    assert [hit["doc_id"] for hit in answer["hits"]] == ["d1"]


def test_the_order_is_the_corpus_own_or_by_the_places_of_its_facets() -> None:
    places = {"ticker": 5, "quarter": 1, "plan": None}

    assert relax_order(places) == ("quarter", "ticker", "theme", "source")
    assert relax_order(places, ["period", "account"]) == ("period", "account")


def test_a_period_and_an_account_are_kept_unless_the_corpus_gives_them_up() -> None:
    inferred = FilterSet(account=("Hart",), source=("survey",))

    assert [each.key for each in filters_to_give_up(inferred, relax_order({}))] == ["source"]
    assert [each.key for each in filters_to_give_up(inferred, ("account", "source"))] == ["account", "source"]


BAD = [
    {"name": ""},
    {"name": "x", "type": "colour"},
    {"name": "x", "normaliser": "roman"},
    {"name": "x", "relax": 0},
    {"name": "x", "values": []},
    {"name": "x", "type": "integer", "values": ["one"]},
    {"name": "x", "normaliser": "fiscal_quarter", "values": [5]},
    {"name": "x", "colour": "red"},
]


@pytest.mark.parametrize("facet", BAD)
def test_a_facet_that_cannot_be_meant_is_not_declared(facet: dict[str, Any], corpus: Any) -> None:
    from core.errors import InvalidInput

    with pytest.raises(InvalidInput):
        declare_facets(corpus=corpus, facets=[facet])

    assert corpus.facets == []
