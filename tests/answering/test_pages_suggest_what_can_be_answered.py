"""A suggested question is one that the gates let through: nobody is led into a refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from answering import suggestions
from answering.models import Run
from answering.suggestions import suggested_questions
from core.tenant_session import tenant_session
from feedback.selectors.corpora import corpus_state
from tests.factories import NOW, make_document


@pytest.fixture
def loaded(corpus: Any, ingest: Callable[..., Any]) -> Any:
    ingest(
        *(make_document(f"p{number}", f"Parking is bad, part {number}.", themes=["Parking"]) for number in range(3)),
        *(make_document(f"n{number}", f"The nurse was kind, part {number}.", themes=["Staff"]) for number in range(2)),
    )
    return corpus


def suggest(corpus: Any) -> list[str]:
    with tenant_session(corpus.tenant):
        return suggested_questions(corpus=corpus, state=corpus_state(corpus=corpus), now=NOW)


def test_only_questions_that_pass_are_suggested_the_largest_theme_first(
    loaded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suggestions, "passes", lambda *, question, **_: "over time" not in question)

    assert suggest(loaded) == ["What do people say about parking?", "What do people say about staff?"]


def test_a_corpus_that_can_answer_none_suggests_none(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestions, "passes", lambda **_: False)

    assert suggest(loaded) == []


def test_they_are_tried_once_for_each_state_of_the_corpus(
    loaded: Any, ingest: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    monkeypatch.setattr(suggestions, "passes", lambda *, question, **_: bool(tried.append(question)))

    suggest(loaded)
    once = len(tried)
    suggest(loaded)
    again = len(tried)
    ingest(make_document("new", "Parking is worse now.", themes=["Parking"]))
    suggest(loaded)

    assert 0 < once == again < len(tried)


def test_trying_a_question_stores_no_run(loaded: Any) -> None:
    suggest(loaded)

    with tenant_session(loaded.tenant):
        assert not Run.objects.for_tenant(loaded.tenant).exists()


def test_an_empty_corpus_suggests_nothing(corpus: Any) -> None:
    assert suggest(corpus) == []
