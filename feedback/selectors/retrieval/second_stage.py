"""Read the best candidates again, each together with the question: slower than the arms, and better at order.

Behind the setting `WA_RERANKER` and a corpus's own option. It never fails a search: where the model can't be used the
order stays as it was, and the notes say why.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import structlog
from django.conf import settings

from core.errors import WisdomError
from feedback.clients.language_detector import detect
from feedback.clients.rerankers.registry import OFF, get_reranker
from feedback.domain.rerank import SECOND_STAGE_DEPTH
from feedback.domain.retrieval import Hit, Retrieved

if TYPE_CHECKING:
    from feedback.clients.rerankers.protocol import Reranker
    from feedback.models import Corpus

log = structlog.get_logger("wisdom.second_stage")

# Measured on one core of a loaded machine, with some to spare: a short pair takes 6 to 10 ms, one that fills the
# model's window 60. A pair's characters tell which.
_SECONDS_PER_PAIR: Final = 0.01
_SECONDS_PER_CHARACTER: Final = 0.00006
_WINDOW_CHARACTERS: Final = 1_200
# Whatever is left of a budget: nobody waits longer for a better order.
_LONGEST_SECONDS: Final = 5.0
# The clock is looked at after so many pairs.
_SLICE: Final = 4


def second_stage(
    retrieved: Retrieved,
    *,
    corpus: Corpus,
    query: str,
    language: str | None = None,
    seconds_left: float | None = None,
) -> Retrieved:
    """Score the first 20 candidates with the corpus's reranker; `rerank_hits` then orders by it as well.

    `language` is the question's where it is known; `seconds_left` is what a budget still has. All candidates that the
    model reads are scored, or none: half of a list can't be compared with the other. Nothing is raised.
    """
    name = reranker_of(corpus)
    if name == OFF or not retrieved.hits:
        return retrieved
    reranker = get_reranker(name, threads=min(2, os.cpu_count() or 1))
    asked_in = language or detect(query, hint=corpus.language)
    if not reranker.reads(asked_in):
        return _without(retrieved, f"{name} left out: it does not read {asked_in}")
    read = [hit for hit in retrieved.hits[:SECOND_STAGE_DEPTH] if reranker.reads(hit.language)]
    if not read:
        return _without(retrieved, f"{name} left out: it does not read the languages of the records")
    allowed = _LONGEST_SECONDS if seconds_left is None else min(_LONGEST_SECONDS, seconds_left)
    if estimated_seconds(read) > allowed:
        return _without(retrieved, f"{name} left out: {len(read)} pairs don't fit into the time that is left")
    try:
        scores = _scores(reranker, query, read, allowed)
    except WisdomError as fault:
        log.warning("second stage left out", reranker=name, reason=fault.message)
        return _without(retrieved, f"{name} left out: {fault.message}")
    if scores is None:
        return _without(retrieved, f"{name} left out: it took longer than the {allowed:.1f} s that it may take")
    scored = {hit.document_id: score for hit, score in zip(read, scores, strict=True)}
    return replace(
        retrieved,
        hits=tuple(replace(hit, cross_encoder_score=scored.get(hit.document_id)) for hit in retrieved.hits),
        reranker=f"{name}@{reranker.version}",
        rerank_pairs=len(scored),
    )


def reranker_of(corpus: Corpus) -> str:
    """Return the corpus's own choice, else the installation's."""
    return str(corpus.options.get("reranker") or settings.WISDOM.reranker)


def estimated_seconds(hits: Sequence[Hit]) -> float:
    """Return how long the pairs of these hits take at most on an ordinary machine."""
    characters = sum(min(_WINDOW_CHARACTERS, hit.end - hit.start) for hit in hits)
    return _SECONDS_PER_PAIR * len(hits) + _SECONDS_PER_CHARACTER * characters


def _scores(reranker: Reranker, query: str, hits: Sequence[Hit], allowed: float) -> list[float] | None:
    """Return each hit's score, or None when the time was up before all had one."""
    started = time.monotonic()
    scores: list[float] = []
    for start in range(0, len(hits), _SLICE):
        if time.monotonic() - started > allowed:
            return None
        scores += reranker.score(query, [hit.passage_text for hit in hits[start : start + _SLICE]])
    return scores


def _without(retrieved: Retrieved, note: str) -> Retrieved:
    return replace(retrieved, notes=(*retrieved.notes, note))
