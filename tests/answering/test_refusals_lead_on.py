"""What a refusal proposes has been tried: asked again as it stands, it is answered, and its count is right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from answering.measures import count_of, get_stored_query
from answering.services import ask
from core.tenant_session import tenant_session
from feedback.selectors.corpora import get_corpus
from tests.factories import SMALL_CORPUS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def loaded(corpus, ingest):
    ingest(*SMALL_CORPUS)
    return corpus


@pytest.fixture
def demo(corpus, ingest):
    lines = (ROOT / "feedback" / "fixtures" / "demo" / "feedback.jsonl").read_text(encoding="utf-8").split("\n")
    ingest(*(json.loads(line) for line in lines if line))
    return corpus


def executed(suggestion, *, caller, question, now):
    """Ask what a suggestion says, as it stands."""
    return ask(
        caller=caller, question=suggestion.get("question") or question, filters=suggestion["filters"] or None, now=now
    )


@pytest.mark.parametrize(
    ("question", "filters"),
    [
        ("Why are deliveries late?", {"source": ["app_review"]}),
        ("Why are deliveries late?", {"source": ["app_review"], "theme": ["price"]}),
        ("Which kettle broke?", {"occurred_from": "2026-03-01"}),
        ("What happened with the voucher SAVE20?", {"account": ["Harbour Cafe"]}),
    ],
)
def test_its_filters_lead_to_an_answer(loaded, caller, now, question, filters):
    refused = ask(caller=caller, question=question, filters=filters, now=now)
    assert refused["outcome"] == "refused"
    suggestions = refused["refusal"]["suggestions"]
    assert any(set(each["filters"]) < set(filters) and "question" not in each for each in suggestions)

    for suggestion in suggestions:
        answer = executed(suggestion, caller=caller, question=question, now=now)
        assert answer["outcome"] != "refused", suggestion


@pytest.mark.slow
def test_every_suggestion_over_the_demo_is_answered_and_its_count_is_right(demo, caller, now):
    lines = (ROOT / "evals" / "fixtures" / "demo" / "questions.jsonl").read_text(encoding="utf-8").split("\n")
    cases = [case for case in map(json.loads, filter(None, lines)) if case["expected"]["outcome"] == "refused"]
    refusals = [
        (case["question"], answer["refusal"])
        for case in cases
        if (answer := ask(caller=caller, question=case["question"], filters=case.get("filters"), now=now))["refusal"]
    ]
    assert len(refusals) >= 12

    suggested = [(question, each) for question, refusal in refusals for each in refusal["suggestions"]]
    assert len(suggested) >= 12
    for question, suggestion in suggested:
        answer = executed(suggestion, caller=caller, question=question, now=now)
        assert answer["outcome"] != "refused", (question, suggestion)
        with tenant_session(demo.tenant):
            corpus = get_corpus(tenant=demo.tenant, slug=demo.slug)
            query = get_stored_query(corpus=corpus, query_id=suggestion["query_id"])
            assert count_of(corpus=corpus, query=query).value == suggestion["count"] > 0


def test_what_no_filter_stands_in_the_way_of_gets_none(loaded, caller, now):
    for filters in (None, {"source": ["survey"]}):
        refused = ask(caller=caller, question="Do llamas like the moon?", filters=filters, now=now)
        assert refused["outcome"] == "refused"
        assert refused["refusal"]["suggestions"] == []


def test_a_period_that_the_question_names_is_proposed_away_with_other_words(loaded, caller, now):
    """Asked again as it was, the question would name it again: the kettle broke in January."""
    question = "Which kettle broke in March 2026?"

    refused = ask(caller=caller, question=question, now=now)

    assert refused["outcome"] == "refused"
    assert refused["inferred_filters"]["occurred_from"].startswith("2026-03-01")
    suggestions = refused["refusal"]["suggestions"]
    assert suggestions
    for suggestion in suggestions:
        assert "March" not in suggestion["question"]
        assert executed(suggestion, caller=caller, question=question, now=now)["outcome"] != "refused"


def test_the_message_says_what_the_records_discuss_and_where_not(loaded, caller, now):
    refused = ask(caller=caller, question="What is said about the voucher?", filters={"source": ["survey"]}, now=now)

    assert refused["refusal"]["reason"] == "insufficient_evidence"
    assert refused["refusal"]["message"] == (
        "no indexed feedback matched: the records discuss “voucher”, but not within source survey"
    )


def test_one_of_two_topics_is_answered_and_the_other_named(loaded, caller, now):
    question = "What do customers say about the kettle and about drone parachutes?"

    answer = ask(caller=caller, question=question, now=now)

    assert answer["outcome"] != "refused"
    assert {citation["doc_id"] for citation in answer["citations"]} <= {"r-02", "r-07"}
    assert [(each["facet"], each["reason"]) for each in answer["not_answered"]] == [("drone parachutes", "off_topic")]
    assert "Not answered: nothing in the records about “drone parachutes”." in answer["markdown"]


@pytest.mark.parametrize(
    "question", ["What do customers say about the kettle?", "What do customers say about the kettle and the refund?"]
)
def test_topics_that_are_answered_are_not_named_as_missing(loaded, caller, now, question):
    answer = ask(caller=caller, question=question, now=now)

    assert answer["outcome"] != "refused"
    assert answer["not_answered"] == []
