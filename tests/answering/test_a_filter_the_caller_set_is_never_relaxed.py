"""The wrong segment and the wrong period refuse, however well the rest of the corpus would answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests import factories

QUESTION = "Why are deliveries late?"


@pytest.fixture
def loaded(corpus: Any, ingest: Callable[..., Any]) -> None:
    ingest(
        *(
            factories.make_document(
                f"late-{number}",
                f"The delivery was late by {number} days and nobody told us why it was late.",
                account="Oakfield",
                occurred_at="2026-02-10",
            )
            for number in range(2, 8)
        ),
        factories.make_document(
            "review",
            "The new search page finds every recipe.",
            source="app_review",
            account="Hart",
            occurred_at="2025-06-01",
        ),
    )


def ask(client: Any, **body: Any) -> dict[str, Any]:
    response = client.post("/api/v1/ask", {"question": QUESTION, **body}, content_type="application/json")
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


@pytest.mark.usefixtures("loaded")
def test_without_filters_the_question_is_answered(client_of: Any, api_key: str) -> None:
    answer = ask(client_of(api_key))

    assert answer["outcome"] == "answered"
    assert {citation["doc_id"][:4] for citation in answer["citations"]} == {"late"}


WRONG = {
    "another source": {"source": ["app_review"]},
    "another account": {"account": ["Hart"]},
    "an account that nobody has": {"account": ["Nobody & Sons"]},
    "a period in which it did not happen": {"occurred_from": "2025-05-01", "occurred_to": "2025-07-01"},
    "a period without any record": {"occurred_from": "2024-01-01", "occurred_to": "2024-02-01"},
    "one record that says something else": {"ids": ["review"]},
    "an id that does not exist": {"ids": ["no-such-record"]},
    "a source and a period that exclude each other": {"source": ["app_review"], "occurred_from": "2026-01-01"},
}


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("filters", WRONG.values(), ids=WRONG.keys())
def test_a_filter_the_caller_set_is_never_relaxed(filters: dict[str, Any], client_of: Any, api_key: str) -> None:
    answer = ask(client_of(api_key), filters=filters)

    assert answer["outcome"] == "refused"
    assert answer["claims"] == []
    assert answer["citations"] == []
    assert answer["confidence"] == 0
    assert answer["answer"] == "I cannot answer that from the indexed feedback."
    assert answer["refusal"]["reason"] in {"no_records", "insufficient_evidence", "off_topic"}


@pytest.mark.usefixtures("loaded")
def test_the_refusal_says_which_filter_would_let_evidence_in(client_of: Any, api_key: str) -> None:
    answer = ask(client_of(api_key), filters={"account": ["Hart"], "occurred_from": "2020-01-01"})

    suggestions = answer["refusal"]["suggestions"]
    assert {"filters": {"occurred_from": "2020-01-01T00:00:00Z"}, "count": 6} in [
        {"filters": suggestion["filters"], "count": suggestion["count"]} for suggestion in suggestions
    ]
    assert all(suggestion["doc_ids"] and suggestion["query_id"] for suggestion in suggestions)


@pytest.mark.usefixtures("loaded")
def test_a_suggestion_can_be_asked_and_is_answered(client_of: Any, api_key: str) -> None:
    client = client_of(api_key)
    refusal = ask(client, filters={"source": ["app_review"]})["refusal"]

    answer = ask(client, filters=refusal["suggestions"][0]["filters"])

    assert answer["outcome"] == "answered"


@pytest.mark.usefixtures("loaded")
def test_a_period_in_the_question_is_not_relaxed_either(client_of: Any, api_key: str) -> None:
    answer = ask(client_of(api_key), question="Why were deliveries late in June 2025?")

    assert answer["outcome"] == "refused"
    assert answer["inferred_filters"] == {"occurred_from": "2025-06-01", "occurred_to": "2025-07-01"}


@pytest.mark.usefixtures("loaded")
def test_an_unknown_value_is_told_with_the_vocabulary(client_of: Any, api_key: str) -> None:
    response = client_of(api_key).post(
        "/api/v1/ask", {"question": QUESTION, "filters": {"source": ["fax"]}}, content_type="application/json"
    )

    assert response.status_code == 422
    error = response.json()["error"]
    assert error["code"] == "invalid_filter"
    assert "app_review" in error["detail"]["vocabulary"]["sources"]
