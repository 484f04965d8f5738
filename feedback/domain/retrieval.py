"""What a search found, with every score that led to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from feedback.domain.emphasis import Emphasis
from feedback.domain.filter_sets import SetRank
from feedback.domain.filters import FilterSet


class Mode(StrEnum):
    """Which arms of retrieval take part."""

    HYBRID = "hybrid"
    LEXICAL = "lexical"
    VECTOR = "vector"


@dataclass(frozen=True, slots=True)
class QuestionTerm:
    """A word of a question as the index knows it; `term_id` None: no record holds it.

    `idf` is BM25's, greater than 0; `document_frequency` counts passages.
    """

    lexeme: str
    term_id: int | None
    document_frequency: int
    idf: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A record that a search found, by its best passage.

    `lexical_score` is BM25, None without a shared word; `vector_score` a cosine in [-1, 1], None without a
    vector; `terms` what each word adds to the lexical score; `fused_score` and `rerank_score` order the
    list; `cross_encoder_score` is the second stage's, from 0 to 1, None where it didn't look. `start` and `end` are the passage's offsets into `text`, the whole text of that revision.
    """

    doc_id: str
    document_id: UUID
    passage_id: UUID
    revision: int
    start: int
    end: int
    rank: int
    lexical_score: float | None
    vector_score: float | None
    fused_score: float
    rerank_score: float
    title: str
    text: str
    source: str
    themes: tuple[str, ...]
    account: str | None
    author: str | None
    language: str
    occurred_at: datetime
    has_date: bool
    attribution: str | None
    url: str
    facets: Mapping[str, Any]
    features: Mapping[str, float] = field(default_factory=dict)
    terms: Mapping[str, float] = field(default_factory=dict)
    cross_encoder_score: float | None = None
    # In which sets of a request it came, and at which rank of each; none for a request without sets.
    sets: tuple[SetRank, ...] = ()

    @property
    def passage_text(self) -> str:
        """Return the passage itself."""
        return self.text[self.start : self.end]

    @property
    def described_text(self) -> str:
        """Return the passage below what the record is filed under: a question may name either."""
        filed = [self.title, self.account or "", *self.themes, *map(str, self.facets.values())]
        return "\n".join([*(line for line in filed if line), self.passage_text])

    @property
    def person(self) -> str | None:
        """Return whose voice it is: the account, else the author, else nobody."""
        return self.account or self.author

    def as_json(self) -> dict[str, Any]:
        """Return the shape of the contract's `hits`."""
        sets = {"sets": [{"name": place.name, "rank": place.rank} for place in self.sets]} if self.sets else {}
        return {
            "doc_id": self.doc_id,
            "rank": self.rank,
            "lexical_score": self.lexical_score,
            "vector_score": self.vector_score,
            "fused_score": self.fused_score,
            "rerank_score": self.rerank_score,
            "cross_encoder_score": self.cross_encoder_score,
            "features": dict(self.features),
            "terms": dict(self.terms),
            "revision": self.revision,
            "passage_id": str(self.passage_id),
            "start": self.start,
            "end": self.end,
            "source": self.source,
            "themes": list(self.themes),
            "account": self.account,
            "occurred_at": self.occurred_at.isoformat().replace("+00:00", "Z"),
            **sets,
        }


@dataclass(frozen=True, slots=True)
class SetFound:
    """What the search of one set gave."""

    name: str
    filters: FilterSet
    hits: int
    candidates: int

    def as_json(self) -> dict[str, Any]:
        """Return it as responses show it."""
        return {
            "name": self.name,
            "filters": self.filters.as_json(),
            "hits": self.hits,
            "candidates": self.candidates,
        }


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A ranked list and how it came about.

    `lag` counts passages that the better embedder lacks still; `searched` is the question without its frame, which
    is what both arms looked for; `lexical_weight` is what the words weighed in fusion, in [0, 1]; `slips` are words (as typed, as read) that no record holds as they were typed;
    `emphasis` is what it names.
    `reranker` names the model of the second stage, None where there was none; it judged `rerank_pairs` hits.
    """

    hits: tuple[Hit, ...]
    terms: tuple[QuestionTerm, ...]
    mode: Mode
    strategy: str
    embedder: str | None
    lag: int
    candidates: int
    notes: tuple[str, ...] = ()
    searched: str = ""
    lexical_weight: float = 0.5
    slips: tuple[tuple[str, str], ...] = ()
    emphasis: Emphasis = field(default_factory=Emphasis)
    reranker: str | None = None
    rerank_pairs: int = 0
    # Documents that were fused, in order, and cut with the pool: an explanation names their rank.
    beyond: tuple[str, ...] = ()
    # With filter sets: what each gave. The hits are ranked within their sets, and merged.
    sets: tuple[SetFound, ...] = ()


def slip_note(typed: str, read: str) -> str:
    """Tell a reader that a word was not searched for as it was typed."""
    return f"“{typed}” is in no record and was read as “{read}”"
