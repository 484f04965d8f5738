"""A question over several filter sets is one search; what the sets gave stays named, and counts are of their union."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests import factories
from tests.commands import Shell

QUESTION = "What do people say about parking?"
NORTH = {"name": "north", "account": ["North"]}
SOUTH = {"name": "south", "account": ["South"]}


@pytest.fixture
def loaded(corpus: Any, ingest: Callable[..., Any]) -> Any:
    ingest(
        factories.make_document("n1", "Parking near the clinic is too expensive.", account="North"),
        factories.make_document("n2", "I could not find any parking this morning.", account="North"),
        factories.make_document("s1", "Parking at the clinic was easy to find.", account="South"),
        factories.make_document("w1", "Parking is free on Sundays.", account="West"),
        factories.make_document("w2", "The nurse was very kind.", account="West"),
    )
    return corpus


@pytest.fixture
def ask(loaded: Any, client_of: Any, api_key: str) -> Callable[..., Any]:
    client = client_of(api_key)
    return lambda **body: client.post(
        "/api/v1/ask",
        {"question": QUESTION, "include": ["hits", "trace", "grounding"], **body},
        content_type="application/json",
    )


def test_evidence_comes_from_the_sets_and_each_hit_names_its_own(ask: Callable[..., Any]) -> None:
    answer = ask(filter_sets=[NORTH, SOUTH]).json()

    assert answer["outcome"] == "answered"
    assert {hit["doc_id"]: [place["name"] for place in hit["sets"]] for hit in answer["hits"]} == {
        "n1": ["north"], "n2": ["north"], "s1": ["south"],
    }  # fmt: skip
    assert [(each["name"], each["hits"]) for each in answer["filter_sets"]] == [("north", 2), ("south", 1)]
    assert {citation["account"] for citation in answer["citations"]} == {"North", "South"}


def test_several_sets_count_as_one_search(ask: Callable[..., Any]) -> None:
    answer = ask(filter_sets=[{"name": f"set-{n}", "account": ["North"]} for n in range(16)]).json()

    assert answer["budget"]["tool_calls"]["search_feedback"] == 1
    assert answer["outcome"] == "answered"


def test_numbers_count_the_union_and_their_records_can_be_listed(
    ask: Callable[..., Any], client_of: Any, api_key: str
) -> None:
    answer = ask(
        question="How many people mention parking?", filter_sets=[NORTH, SOUTH, {**NORTH, "name": "again"}]
    ).json()

    measure = next(claim["measure"] for claim in answer["claims"] if claim["measure"])
    assert (measure["value"], measure["denominator"]) == (3, 3)
    listed = client_of(api_key).get(f"/api/v1/measures/{measure['query_id']}").json()
    assert sorted(listed["doc_ids"]) == ["n1", "n2", "s1"]


def test_sets_that_admit_nothing_refuse_and_are_never_widened(ask: Callable[..., Any]) -> None:
    answer = ask(filter_sets=[{"account": ["Nobody"]}, {"ids": ["no-such-record"]}]).json()

    assert answer["outcome"] == "refused"
    assert answer["refusal"]["reason"] == "no_records"
    assert answer["relaxed"] == []


def test_a_question_in_a_loop_keeps_to_the_sets(loaded: Any, caller: Any, now: Any) -> None:
    from answering.services import ask as ask_service

    answer = ask_service(
        caller=caller,
        question="parking price and nurse",
        filter_sets=[NORTH, SOUTH],
        loops=True,
        include=["hits"],
        now=now,
    )

    assert {hit["doc_id"] for hit in answer["hits"]} <= {"n1", "n2", "s1"}


@pytest.mark.parametrize(
    "body",
    [
        {"filters": {"account": ["North"]}, "filter_sets": [NORTH]},
        {"filter_sets": [{"name": f"s{n}"} for n in range(17)]},
        {"filter_sets": [{"source": ["fax"]}]},
        {"filter_sets": [{"top_k": 0}]},
        {"filter_sets": [NORTH], "top_k": -3},
        {"passes": ["friendly"]},
    ],
)
def test_what_cannot_be_used_is_refused_without_a_run(
    body: dict[str, Any], ask: Callable[..., Any], tenant: Any
) -> None:
    from answering.models import Run
    from core.tenant_session import tenant_session

    response = ask(**body)

    assert response.status_code == 422, response.content
    with tenant_session(tenant):
        assert not Run.objects.for_tenant(tenant).exists()


def test_the_command_takes_sets_by_option_and_by_line(
    loaded: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = tmp_path / "questions.jsonl"
    lines.write_text(
        json.dumps({"id": 1, "question": QUESTION, "filter_sets": [SOUTH]})
        + "\n"
        + json.dumps({"id": 2, "question": QUESTION})
    )

    done = Shell(monkeypatch)(
        "ask", "--batch", lines, "--tenant", "acme", "--json", "--include", "hits", "--filter-set", json.dumps(NORTH)
    )

    found = {line["id"]: {hit["doc_id"] for hit in line["hits"]} for line in done.lines}
    assert found == {1: {"s1"}, 2: {"n1", "n2"}}


def test_the_page_of_such_a_run_shows_its_sets_and_can_be_asked_again(
    ask: Callable[..., Any], client_of: Any, member: Any
) -> None:
    run_id = ask(filter_sets=[NORTH, SOUTH]).json()["run_id"]
    client = client_of(member)

    page = client.get(f"/answers/{run_id}").content.decode()

    assert "<bdi>account North</bdi>" in page
    assert "In the filter sets <bdi>north at 1</bdi>" in page
    again = re.search(r'href="(/\?[^"]*)">Edit this question', page)
    assert again is not None
    form = client.get(html.unescape(again[1]))
    assert form.status_code == 200
    assert "2 slices" in form.content.decode()
