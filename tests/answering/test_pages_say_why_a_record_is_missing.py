"""The page of an answer says why a record is not in it, why the others are in this order, and who says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from answering.services import ask, explain_absence
from feedback.domain.explanation import Stage
from feedback.services.deletion import delete_document
from tests import factories

QUESTION = "Are the nurses on the ward rude?"
HOSTILE = "The nurses on the ward were kind to patients on visit <script>."


@pytest.fixture
def loaded(corpus: Any, ingest: Callable[..., Any]) -> Any:
    ingest(
        *(
            factories.make_document(f"rude-{n:02d}", f"The nurses on the ward were rude to patients on visit {n}.")
            for n in range(12)
        ),
        factories.make_document("kind", HOSTILE),
        factories.make_document("survey-only", "The nurses were rude.", source="call"),
        *(factories.make_document(f"far-{n:02d}", f"Parking bay {n} was full.") for n in range(60)),
    )
    return corpus


@pytest.fixture
def run_id(loaded: Any, caller: Any, now: Any) -> UUID:
    answer = ask(caller=caller, question=QUESTION, filters={"source": ["survey"]}, passes=["contrasting"], now=now)
    return UUID(answer["run_id"])


@pytest.fixture
def page(run_id: UUID, client_of: Any, viewer: Any) -> Callable[..., Any]:
    client = client_of(viewer)
    return lambda **asked: client.get(f"/answers/{run_id}", asked)


@pytest.fixture
def far_away(run_id: UUID, caller: Any) -> str:
    """Give the id of a record that neither arm has among its candidates."""
    stages = {
        f"far-{n:02d}": explain_absence(caller=caller, run_id=run_id, doc_id=f"far-{n:02d}").stage for n in range(60)
    }
    return next(doc_id for doc_id, stage in stages.items() if stage is Stage.BEYOND_CANDIDATES)


def test_the_form_is_there_and_works_without_a_script(page: Callable[..., Any], far_away: str) -> None:
    plain = page().content.decode()
    asked = page(why_not=far_away).content.decode()

    assert 'name="why_not"' in plain
    assert "Too far from the question" not in plain
    assert "Too far from the question" in asked
    assert "By meaning (cosine)" in asked


STAGES = {
    "nobody": "No such record",
    "survey-only": "Left out by a filter",
}


@pytest.mark.parametrize(("doc_id", "head"), STAGES.items())
def test_each_stage_has_its_words(doc_id: str, head: str, page: Callable[..., Any]) -> None:
    response = page(why_not=doc_id)

    assert response.status_code == 200
    assert head in response.content.decode()


def test_the_filter_at_fault_is_shown_with_both_values(page: Callable[..., Any]) -> None:
    shown = page(why_not="survey-only").content.decode()

    assert "<td><bdi>call</bdi></td><td><bdi>survey</bdi></td>" in shown


def test_a_record_that_was_read_is_cited_or_said_not_to_be(loaded: Any, run_id: UUID, caller: Any, now: Any) -> None:
    answer = ask(caller=caller, question=QUESTION, filters={"source": ["survey"]}, include=["hits"], now=now)
    cited = {citation["doc_id"] for citation in answer["citations"]}
    read = [hit["doc_id"] for hit in answer["hits"]][: answer["matching"]["read"]]

    stages = {
        hit["doc_id"]: explain_absence(caller=caller, run_id=UUID(answer["run_id"]), doc_id=hit["doc_id"]).stage.value
        for hit in answer["hits"]
    }

    assert {doc_id for doc_id, stage in stages.items() if stage == "cited"} == cited
    assert {doc_id for doc_id, stage in stages.items() if stage == "beyond_evidence"} == set(stages) - set(read) - cited
    assert set(stages.values()) <= {"cited", "not_cited", "beyond_evidence"}


def test_a_record_deleted_since_is_told_as_deleted(
    loaded: Any, page: Callable[..., Any], caller: Any, now: Any
) -> None:
    delete_document(caller=caller, corpus=loaded, external_id="rude-01", now=now)

    assert "Deleted" in page(why_not="rude-01").content.decode()


def test_a_record_that_came_since_is_told_as_new(
    loaded: Any, page: Callable[..., Any], ingest: Callable[..., Any]
) -> None:
    ingest(factories.make_document("new", "Are the nurses on the ward rude? Rude nurses on the ward."))

    assert "when the answer was made the search did not have it" in page(why_not="new").content.decode()


def test_an_id_that_cannot_be_is_refused_on_the_page(page: Callable[..., Any]) -> None:
    response = page(why_not="x" * 1001)

    assert response.status_code == 422
    assert "1 to 1,000 characters" in response.content.decode()


def test_a_hostile_id_is_shown_as_text(page: Callable[..., Any]) -> None:
    shown = page(why_not="<script>alert(1)</script>").content.decode()

    assert "<script>alert(1)" not in shown
    assert "&lt;script&gt;alert(1)" in shown


def test_a_stranger_gets_404_whatever_is_asked(run_id: UUID, client_of: Any, stranger: Any) -> None:
    assert client_of(stranger).get(f"/answers/{run_id}", {"why_not": "rude-01"}).status_code == 404


def test_records_that_say_otherwise_stand_below_the_evidence_as_text(page: Callable[..., Any]) -> None:
    shown = page().content.decode()

    assert shown.index("Records that say otherwise") > shown.index('id="evidence"')
    otherwise = shown[shown.index("Records that say otherwise") :]
    assert "opposition" in otherwise
    assert "on visit &lt;script&gt;." in otherwise
    assert "visit <script>" not in shown


def test_every_hit_says_why_it_stands_before_the_next(page: Callable[..., Any]) -> None:
    shown = page().content.decode()

    assert "Why this order? Rank 1" in shown
    assert "before rude-" in shown


def test_a_question_from_the_page_looks_for_those_who_say_otherwise(loaded: Any, client_of: Any, viewer: Any) -> None:
    answered = client_of(viewer).post("/", {"q": QUESTION, "corpus": "feedback"}, follow=True)

    assert "Records that say otherwise" in answered.content.decode()
