"""A claim that waits for a decision, as the queue shows it: beside the text that it cites, with both verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from feedback.domain.marked_text import Piece, excerpt, pieces

if TYPE_CHECKING:
    from answering.reviews import CitedText, Review


@dataclass(frozen=True, slots=True)
class ShownCitation:
    """A cited span, marked in some of the words round it; no pieces when its record is gone."""

    doc_id: str
    revision: int
    start: int
    end: int
    pieces: tuple[Piece, ...]
    is_cut_before: bool
    is_cut_after: bool
    is_gone: bool


@dataclass(frozen=True, slots=True)
class ShownVerdict:
    """What one of the two says; `score` lies in [0, 1]."""

    by: str
    is_supported: bool
    score_name: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class ShownReview:
    """A claim that waits. It is withheld when a record is gone that it rests on."""

    id: UUID
    run_id: UUID
    number: int
    corpus: str
    created_at: datetime
    is_quote: bool
    is_withheld: bool
    claim: tuple[Piece, ...]
    citations: tuple[ShownCitation, ...]
    verdicts: tuple[ShownVerdict, ...]


def shown_review(review: Review) -> ShownReview:
    """Return a review as the queue shows it."""
    return ShownReview(
        id=review.id,
        run_id=review.run_id,
        number=review.number,
        corpus=review.corpus,
        created_at=review.created_at,
        is_quote=review.is_quote,
        is_withheld=review.claim is None,
        claim=pieces(review.claim or "", []),
        citations=tuple(_citation(cited) for cited in review.cited),
        verdicts=(_checker(review.checker), _model(review.model)),
    )


def _citation(cited: CitedText) -> ShownCitation:
    text = cited.text or ""
    span = (cited.start, cited.end)
    shown = excerpt(text, [span])
    return ShownCitation(
        doc_id=cited.doc_id,
        revision=cited.revision,
        start=cited.start,
        end=cited.end,
        pieces=pieces(text, [span], within=shown),
        is_cut_before=shown[0] > 0,
        is_cut_after=shown[1] < len(text),
        is_gone=cited.text is None,
    )


def _checker(said: dict[str, Any]) -> ShownVerdict:
    return ShownVerdict("The checker", said["supported"], "support", said["support"], said["reason"] or "")


def _model(said: dict[str, Any]) -> ShownVerdict:
    label = said["label"] if said["label"] not in (None, "entailment") else ""
    return ShownVerdict(said["name"], said["entailed"], "probability", said["probability"], label)
