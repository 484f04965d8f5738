"""A share of the searches by graph is compared with the exact scan; what was exact anyway is not counted."""

from __future__ import annotations

import pytest
from django.conf import settings

from core.observability import metrics
from core.tenant_session import tenant_session
from feedback.domain import segments as policy
from feedback.domain.filters import FilterSet
from feedback.selectors.retrieval import arms, recall, retrieve
from feedback.services.segments import index_vectors
from tests.factories import NOW, make_document


@pytest.fixture
def observed(monkeypatch):
    """Give the list of recalls that are measured; comparisons run at once instead of in their thread."""
    seen = []
    monkeypatch.setattr(metrics.RETRIEVAL_RECALL, "observe", seen.append)
    monkeypatch.setattr(recall._worker, "submit", lambda task, *arguments: task(*arguments))
    monkeypatch.setattr(recall.connection, "close", lambda: None)
    return seen


@pytest.fixture
def many(corpus, ingest, monkeypatch):
    """Give a corpus that is searched by graph, of which every search is sampled."""
    wisdom = settings.WISDOM.model_copy(update={"vector_exact_limit": 20, "recall_sample_share": 1.0})
    monkeypatch.setattr(settings, "WISDOM", wisdom)
    monkeypatch.setattr(policy, "MIN_WAITING", 10)
    ingest(*(make_document(f"d-{n}", f"Customer {n} waited {n} days for a refund.") for n in range(40)))
    index_vectors(corpus=corpus, now=NOW)
    return corpus


def _search(corpus, capture):
    with capture(execute=True), tenant_session(corpus.tenant):
        return arms.search_vector(corpus, "static", "a refund", FilterSet(), 10, None)


def test_a_search_by_graph_is_compared_after_its_commit(many, observed, django_capture_on_commit_callbacks):
    found = _search(many, django_capture_on_commit_callbacks)

    assert len(found) == 10
    assert observed == [1.0]


def test_so_is_one_by_both_arms(many, observed, django_capture_on_commit_callbacks):
    many.options = {**many.options, "embedder": "static"}
    with django_capture_on_commit_callbacks(execute=True), tenant_session(many.tenant):
        found = retrieve(corpus=many, query="a refund", top_k=10)

    assert found.embedder == "static"
    assert observed == [1.0]


def test_an_exact_search_is_not_counted(many, observed, monkeypatch, django_capture_on_commit_callbacks):
    monkeypatch.setattr(settings, "WISDOM", settings.WISDOM.model_copy(update={"vector_exact_limit": 100}))

    _search(many, django_capture_on_commit_callbacks)

    assert observed == []


def test_a_share_of_nothing_compares_nothing(many, observed, monkeypatch, django_capture_on_commit_callbacks):
    monkeypatch.setattr(settings, "WISDOM", settings.WISDOM.model_copy(update={"recall_sample_share": 0.0}))

    _search(many, django_capture_on_commit_callbacks)

    assert observed == []


def test_a_scan_that_fails_counts_nothing_and_the_next_is_compared(observed):
    recall._compare_later([0.5], lambda: 1 / 0)
    recall._compare_later([0.5], lambda: [0.5])

    assert observed == [1.0]


def test_a_search_that_is_chosen_during_a_comparison_is_left_out(observed):
    def chosen_meanwhile():
        recall._compare_later([0.1], lambda: [0.9])
        return [0.5]

    recall._compare_later([0.5], chosen_meanwhile)

    assert observed == [1.0]


@pytest.mark.parametrize(
    ("found", "exact", "share"),
    [
        ([], [], 1.0),
        ([0.9, 0.8], [0.9, 0.8], 1.0),
        ([0.9, 0.7], [0.9, 0.8], 0.5),
        ([], [0.9, 0.8], 0.0),
        # Three records with the same score stand for each other.
        ([0.8, 0.8], [0.8, 0.8, 0.8], 2 / 3),
    ],
)
def test_recall_is_the_share_of_the_exact_ranking(found, exact, share):
    assert recall.recall(found, exact) == pytest.approx(share)


def test_the_chosen_share_is_the_asked_for_and_a_replay_chooses_alike():
    chosen = [n for n in range(20_000) if recall.is_sampled("Why?", n, 0.05)]

    assert 800 < len(chosen) < 1_200
    assert chosen == [n for n in range(20_000) if recall.is_sampled("Why?", n, 0.05)]
