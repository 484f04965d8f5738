"""A number belongs to what was asked: an account, each side of a comparison, a slice; also while records come in."""

from __future__ import annotations

from typing import Any

import pytest

from answering import saga
from answering.services import ask
from feedback.services.ingest import ingest_documents
from tenants.caller import operator
from tests.factories import NOW, SMALL_CORPUS, make_document, rows


@pytest.fixture
def loaded(corpus, ingest):
    ingest(
        *SMALL_CORPUS,
        make_document("r-13", "The kettle leaks.", account="Nolan's Deli", source="survey"),
        make_document("r-14", "The kettle hums.", account="Nolan's Deli", source="complaint"),
    )
    return corpus


def numbers(answer: dict[str, Any]) -> list[str]:
    assert answer["outcome"] == "answered", answer["refusal"]
    return [claim["text"] for claim in answer["claims"] if claim["kind"] == "measure"]


@pytest.mark.parametrize(
    ("question", "lead"),
    [
        ("Tell me about Harbour Cafe", "3 records are from “Harbour Cafe”."),
        ("Harbour Cafe", "3 records are from “Harbour Cafe”."),
        ("How is Harbour Cafe doing?", "3 records are from “Harbour Cafe”."),
        ("What's going on with Nolan’s Deli?", "2 records are from “Nolan's Deli”."),
        ("What's going on with Nolan's Deli?", "2 records are from “Nolan's Deli”."),
        ("How many records are from Mill Lane Hotel?", "3 records are from “Mill Lane Hotel”."),
        (
            "How many records from Mill Lane Hotel in February 2026?",
            "2 records are from “Mill Lane Hotel” (from 1 February 2026; before 1 March 2026).",
        ),
    ],
)
def test_a_question_about_an_account_is_answered_from_its_records(loaded, caller, now, question, lead):
    assert numbers(ask(caller=caller, question=question, now=now))[0] == lead


def test_what_an_account_never_spoke_of_is_refused(loaded, caller, now):
    answer = ask(caller=caller, question="Tell me about the swimming pool of Harbour Cafe", now=now)

    assert answer["outcome"] == "refused"


def test_each_side_of_a_comparison_is_counted_by_itself(loaded, caller, now):
    found = numbers(ask(caller=caller, question="Compare Harbour Cafe and Mill Lane Hotel on late deliveries", now=now))
    bare = numbers(ask(caller=caller, question="Compare Harbour Cafe and Mill Lane Hotel", now=now))

    assert len(found) == 2
    assert [text.partition(" (")[2] for text in found] == ["account “Harbour Cafe”).", "account “Mill Lane Hotel”)."]
    assert bare == ["3 records are from “Harbour Cafe”.", "3 records are from “Mill Lane Hotel”."]


def test_who_asks_how_many_is_given_a_number(loaded, caller, now):
    (lead, *_) = numbers(ask(caller=caller, question="How many records mention a voucher?", now=now))

    assert lead == "1 of 14 records mentions “voucher”."


def test_a_number_that_changes_while_it_is_checked_is_counted_anew(loaded, caller, now, monkeypatch):
    """Another writer's records come in between the draft and the check, once."""
    more = [make_document("late-1", "Late delivery."), make_document("late-2", "A kettle.")]

    def draft_and_let_records_in(run: saga.Progress) -> dict[str, Any]:
        detail = saga.draft_step(run)
        ingest_documents(caller=operator(loaded.tenant), corpus=loaded, rows=rows(*more), now=NOW)
        return detail

    steps = tuple((name, draft_and_let_records_in if name == "draft" else step) for name, step in saga.STEPS)
    monkeypatch.setattr(saga, "STEPS", steps)

    answer = ask(caller=caller, question="How many records mention delivery?", now=now)

    assert answer["outcome"] == "answered"
    assert numbers(answer) == ["3 of 16 records from 1 account mention “delivery”."]


def test_words_that_say_how_people_stand_are_not_counted(loaded, caller, now):
    answer = ask(caller=caller, question="Do people actually like the kettle?", now=now)

    assert "“kettle”" in numbers(answer)[0]
    assert not any(word in text for text in numbers(answer) for word in ("“actually”", "“like”"))


@pytest.mark.parametrize(
    "question",
    [
        "How many records do not mention delivery?",
        "How many customers don't mention the kettle?",
        "Who never mentions the kettle?",
    ],
)
def test_the_records_that_say_something_are_not_the_number_of_those_that_dont(loaded, caller, now, question):
    answer = ask(caller=caller, question=question, now=now)

    assert not [claim for claim in answer["claims"] if claim["kind"] == "measure"]


def test_a_question_in_another_language_is_counted_in_that_language(loaded, ingest, caller, now):
    ingest(make_document("de-2", "Zwei Lieferungen kamen beschädigt an.", language="de"))

    (lead, *_) = numbers(ask(caller=caller, question="Wie viele Kunden erwähnen eine Lieferung?", now=now))

    # One record has the singular and the other the plural: both are stemmed as German.
    assert lead == "2 of 15 records mention “Lieferung”."


@pytest.mark.parametrize("filters", [{"account": ["Mill Lane Hotel"]}, {"ids": ["r-05", "r-06"]}])
def test_an_account_outside_the_callers_filter_is_not_answered_from_anothers_records(loaded, caller, now, filters):
    answer = ask(caller=caller, question="Tell me about Harbour Cafe", filters=filters, now=now)

    assert answer["outcome"] == "refused"


def test_a_side_outside_the_callers_filter_is_not_counted(loaded, caller, now):
    answer = ask(
        caller=caller,
        question="Compare Harbour Cafe and Mill Lane Hotel",
        filters={"account": ["Harbour Cafe"]},
        now=now,
    )

    assert numbers(answer) == ["3 records are from “Harbour Cafe”."]
