"""The contract of POST /api/v1/ask, as a program sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError

from tests import factories


@pytest.fixture
def loaded(corpus: Any, ingest: Callable[..., Any]) -> None:
    ingest(
        *(
            factories.make_document(f"p{number}", text, account=account)
            for number, (text, account) in enumerate(
                [
                    ("Parking near the clinic is too expensive.", "North"),
                    ("Parking near the clinic was too expensive!", "South"),
                    ("I could not find any parking this morning.", "North"),
                    ("The nurse was very kind and explained everything.", None),
                ]
            )
        )
    )


def post(client: Any, body: Any, **extra: Any) -> Any:
    return client.post("/api/v1/ask", body, content_type="application/json", **extra)


@pytest.mark.usefixtures("loaded")
def test_an_answer_has_every_field_of_the_contract(client_of: Any, api_key: str) -> None:
    answer = post(client_of(api_key), {"question": "What do people say about parking?"}).json()

    expected = {
        "run_id", "question", "tenant", "corpus", "as_of", "outcome", "answer", "markdown", "model", "score",
        "confidence", "claims", "blocks", "citations", "refusal", "grounding", "budget",
    }  # fmt: skip
    assert expected <= answer.keys()
    assert answer["outcome"] == "answered"
    assert {"id", "kind", "text", "support", "citations", "measure"} <= answer["claims"][0].keys()
    assert {
        "id", "doc_id", "revision", "passage_id", "start", "end", "quote", "doc_label", "page_no", "page_uid",
        "lines", "source", "account", "occurred_at", "attribution",
    } <= answer["citations"][0].keys()  # fmt: skip
    assert answer["as_of"] == "2026-03-10T00:00:00Z"
    assert not {"hits", "documents", "trace", "rerank"} & answer.keys()


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize(("question", "read_as"), [("What about parkng?", "parking"), ("What about parking?", None)])
def test_a_slip_is_answered_as_it_was_meant_and_told(
    client_of: Any, api_key: str, question: str, read_as: str | None
) -> None:
    answer = post(client_of(api_key), {"question": question}).json()

    assert answer["outcome"] == "answered"
    assert answer["question"] == question
    assert answer["read_as"] == ([{"typed": "parkng", "read": "parking"}] if read_as else [])
    assert ("was read as" in answer["markdown"]) is (read_as is not None)


@pytest.mark.usefixtures("loaded")
def test_near_duplicates_are_one_claim_that_counts_its_records(client_of: Any, api_key: str) -> None:
    answer = post(client_of(api_key), {"question": "Is parking expensive?"}).json()

    merged = next(claim for claim in answer["claims"] if claim["kind"] == "quote" and len(claim["citations"]) > 1)
    assert merged["measure"]["value"] == 2
    assert merged["measure"]["accounts"] == 2
    assert {citation["doc_id"] for citation in answer["citations"] if citation["id"] in merged["citations"]} == {
        "p0",
        "p1",
    }


@pytest.mark.usefixtures("loaded")
def test_projections_are_chosen(client_of: Any, api_key: str) -> None:
    answer = post(
        client_of(api_key), {"question": "parking?", "include": ["hits", "trace", "rerank", "documents"]}
    ).json()

    assert "grounding" not in answer
    assert {"doc_id", "rank", "lexical_score", "vector_score", "fused_score", "rerank_score", "features"} <= answer[
        "hits"
    ][0].keys()
    assert answer["trace"][0]["step"] == "plan"
    assert answer["documents"][0]["text"]


@pytest.mark.usefixtures("loaded")
def test_a_refusal_is_200_and_has_no_error(client_of: Any, api_key: str) -> None:
    reply = post(client_of(api_key), {"question": "When does the lunar rover dock at the space station?"})

    answer = reply.json()
    assert reply.status_code == 200
    assert "error" not in answer
    assert answer["outcome"] == "refused"
    assert answer["refusal"]["reason"] == "off_topic"
    assert answer["refusal"]["gate"] == "evidence_relevance"
    assert answer["refusal"]["value"] < answer["refusal"]["floor"]
    assert answer["refusal"]["message"].startswith("the retrieved feedback does not discuss this topic (relevance ")


def test_an_empty_corpus_refuses_for_want_of_records(corpus: Any, client_of: Any, api_key: str) -> None:
    answer = post(client_of(api_key), {"question": "What do people say about parking?"}).json()

    assert answer["refusal"]["reason"] == "no_records"
    assert answer["refusal"]["message"] == "no indexed feedback matched"


BAD = {
    "no question": ({}, 422, "question"),
    "a blank question": ({"question": "  "}, 422, "question"),
    "a question that is no text": ({"question": ["a"]}, 422, "question"),
    "a question beyond all bounds": ({"question": "why " * 2000}, 422, "question"),
    "a question with a NUL": ({"question": "a\x00b"}, 422, "question"),
    "top_k of zero": ({"question": "parking?", "top_k": 0}, 422, "top_k"),
    "a negative top_k": ({"question": "parking?", "top_k": -3}, 422, "top_k"),
    "an unknown projection": ({"question": "parking?", "include": ["everything"]}, 422, "include"),
    "an unknown filter": ({"question": "parking?", "filters": {"colour": ["red"]}}, 422, "filters"),
    "filters and sets": ({"question": "parking?", "filters": {}, "filter_sets": [{}]}, 422, "filter_sets"),
    "a corpus that isn't there": ({"question": "parking?", "corpus": "nope"}, 404, "corpus"),
    "a body that is a list": ([], 422, ""),
}


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize(("body", "status", "named"), BAD.values(), ids=BAD.keys())
def test_bad_input_says_what_to_do(body: Any, status: int, named: str, client_of: Any, api_key: str) -> None:
    reply = post(client_of(api_key), body)

    assert reply.status_code == status
    error = reply.json()["error"]
    assert set(error) == {"code", "message", "detail", "request_id"}
    assert named in str(error)
    assert error["request_id"] == reply.headers["X-Correlation-Id"]


@pytest.mark.usefixtures("loaded")
def test_a_body_that_is_no_json_is_told_so(client_of: Any, api_key: str) -> None:
    reply = post(client_of(api_key), "{question:")

    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "bad_json"


@pytest.mark.usefixtures("loaded")
def test_a_top_k_beyond_the_limit_is_cut_and_told(client_of: Any, api_key: str) -> None:
    answer = post(client_of(api_key), {"question": "parking?", "top_k": 5000, "include": ["trace"]}).json()

    retrieve = next(step for step in answer["trace"] if step["step"] == "retrieve")
    assert retrieve["detail"]["notes"] == ["top_k 5000 was cut to 100"]


def test_without_a_key_the_door_is_closed(corpus: Any, client: Any) -> None:
    reply = post(client, {"question": "parking?"})

    assert reply.status_code == 401
    assert reply.headers["WWW-Authenticate"].startswith("Bearer")
    assert reply.json()["error"]["code"] == "not_authenticated"


def test_a_wrong_key_is_told_nothing_more(corpus: Any, client: Any) -> None:
    for key in ("wsk_aaaaaaaa_" + "x" * 43, "nonsense"):
        reply = post(client, {"question": "parking?"}, headers={"Authorization": f"Bearer {key}"})

        assert reply.status_code == 401
        assert reply.json()["error"]["code"] == "bad_api_key"


def test_a_get_is_405(corpus: Any, client_of: Any, api_key: str) -> None:
    assert client_of(api_key).get("/api/v1/ask").status_code == 405


def test_a_session_needs_the_csrf_token(corpus: Any, member: Any) -> None:
    from django.test import Client

    client = Client(enforce_csrf_checks=True)
    client.force_login(member, backend="django.contrib.auth.backends.ModelBackend")

    assert post(client, {"question": "parking?"}).status_code == 403


@pytest.mark.usefixtures("loaded")
def test_the_callers_correlation_id_comes_back(client_of: Any, api_key: str) -> None:
    reply = post(client_of(api_key), {"question": "parking?"}, headers={"X-Correlation-Id": "abc-123"})
    hostile = post(client_of(api_key), {"question": "parking?"}, headers={"X-Correlation-Id": "a b\tc"})

    assert reply.headers["X-Correlation-Id"] == "abc-123"
    assert hostile.headers["X-Correlation-Id"] != "a b\tc"


@pytest.mark.usefixtures("loaded")
def test_the_records_behind_a_number_can_be_listed(client_of: Any, api_key: str) -> None:
    client = client_of(api_key)
    answer = post(client, {"question": "What do people say about parking?"}).json()
    measure = next(claim["measure"] for claim in answer["claims"] if claim["measure"])

    listed = client.get(f"/api/v1/measures/{measure['query_id']}").json()
    page = client.get(f"/api/v1/measures/{measure['query_id']}", {"limit": 2}).json()

    assert listed["value"] == measure["value"] == len(listed["doc_ids"]) == 3
    assert page["doc_ids"] == listed["doc_ids"][:2]
    assert page["next_offset"] == 2
    assert client.get("/api/v1/measures/q_unknown").status_code == 404
    assert client.get(f"/api/v1/measures/{measure['query_id']}", {"limit": "x"}).status_code == 422


@pytest.mark.usefixtures("loaded")
def test_asking_costs_a_bounded_number_of_queries(
    client_of: Any, api_key: str, django_assert_max_num_queries: Any
) -> None:
    client = client_of(api_key)
    post(client, {"question": "What do people say about parking?"})

    # Half of them are the savepoints and session marks of 14 short transactions within the test's own.
    with django_assert_max_num_queries(110):
        post(client, {"question": "What do people say about parking?"})


@pytest.mark.parametrize(
    "path",
    ["/api/v1/measures/%00", "/api/v1/measures/q_x?corpus=%00", "/api/v1/search?q=kettle&corpus=%00"],
)
def test_a_nul_in_an_address_is_refused(client_of: Any, api_key: str, path: str) -> None:
    response = client_of(api_key).get(path)

    assert response.status_code == 422
    assert "NUL" in response.json()["error"]["message"]


def test_a_body_that_is_nested_too_deeply_is_no_json(client_of: Any, api_key: str) -> None:
    response = client_of(api_key).post("/api/v1/ask", "[" * 100_000, content_type="application/json")

    assert response.status_code == 400
    assert response.json()["error"]["code"] == "bad_json"


def test_a_null_among_documents_is_rejected_by_itself(client_of: Any, api_key: str, corpus: Any) -> None:
    documents = [None, 1, "x", [], factories.make_document("good", "A kettle.", occurred_at="2026-03-01")]

    result = client_of(api_key).post("/api/v1/documents:batch", {"documents": documents}, "application/json").json()

    assert (result["saved"], result["rejected"]) == (1, 4)
    assert [rejection["row"] for rejection in result["rejections"]] == [1, 2, 3, 4]


@pytest.mark.parametrize("place", ["answering.api.rest.ask", "tenants.middleware.get_caller_of_key"])
def test_a_database_that_is_away_is_worth_another_try(
    client_of: Any, api_key: str, monkeypatch: Any, place: str
) -> None:
    def away(**_: Any) -> None:
        raise OperationalError("terminating connection due to unexpected postmaster exit")

    monkeypatch.setattr(place, away)

    response = post(client_of(api_key), {"question": "Is parking expensive?"})

    assert response.status_code == 503
    assert response.json()["error"]["code"] == "database_unavailable"
    assert "postmaster" not in response.content.decode()
