"""What a refusal proposes has been tried: asked again with those filters, the question is answered."""

from __future__ import annotations

import pytest

from answering.services import ask
from tests.factories import SMALL_CORPUS


@pytest.fixture
def loaded(corpus, ingest):
    ingest(*SMALL_CORPUS)
    return corpus


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
    assert suggestions

    for suggestion in suggestions:
        answer = ask(caller=caller, question=question, filters=suggestion["filters"], now=now)
        assert answer["outcome"] == "answered", suggestion
        assert set(suggestion["filters"]) < set(filters)


def test_what_no_filter_stands_in_the_way_of_gets_none(loaded, caller, now):
    for filters in (None, {"source": ["survey"]}):
        refused = ask(caller=caller, question="Do llamas like the moon?", filters=filters, now=now)
        assert refused["outcome"] == "refused"
        assert refused["refusal"]["suggestions"] == []


def test_a_period_that_the_question_names_is_not_proposed_away(loaded, caller, now):
    """Asked again, the question would name it again: the kettle broke in January."""
    question = "Which kettle broke in March 2026?"

    refused = ask(caller=caller, question=question, filters={"source": ["complaint"]}, now=now)

    assert refused["outcome"] == "refused"
    assert refused["inferred_filters"]["occurred_from"].startswith("2026-03-01")
    assert refused["refusal"]["suggestions"] == []
