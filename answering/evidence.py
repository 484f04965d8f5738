"""Turn hits into the evidence that a draft may cite, and measure how far they discuss a question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from answering.domain.claims import Evidence
from answering.domain.planner import Intent, Plan
from answering.domain.relevance import asks_what_is_said, bearing, comparable_cosines, relevance
from answering.domain.render import record_label
from feedback.domain.bm25 import idf
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Hit, Retrieved
from feedback.domain.text import respelled

# "Who played the joker in the dark knight rises?" speaks of a rise and asks for none.
_HOW_IT_WENT: Final = re.compile(
    r"\W*(?:how\s+)?(?:did|do|does|has|have|is|are|was|were|wie|hat|haben|ist|sind|wird|werden|cómo|ha|han|está|están)\b",
    re.IGNORECASE,
)


def label_of(hit: Hit) -> str:
    """Name a record to a reader: "survey · NEAS · 30 Sep 2021"."""
    return record_label(
        source=hit.source,
        account=hit.account,
        occurred_at=hit.occurred_at,
        attribution=hit.attribution,
        is_dated=hit.has_date,
    )


def weights_of(retrieved: Retrieved) -> dict[str, float]:
    """Return the idf of the searched words."""
    # An exact token bears a mark in the index that the words of a text don't.
    return {term.lexeme.lstrip("=~"): term.idf for term in retrieved.terms}


def relevance_of(retrieved: Retrieved, *, plan: Plan, filters: FilterSet, passages: int) -> float:
    """Return how far the hits discuss what the plan asks, from 0 to 1; `passages` is the size of the corpus.

    From a question about all records that the filters of the search admit they cannot stray.
    """
    if plan.asks_about_all(filters.accounts):
        return 1.0
    cosines = [hit.vector_score for hit in retrieved.hits]
    asked = plan.topic or plan.question
    if plan.intent is Intent.COMPARE and plan.facets:
        # What is compared, without the two sides: these are told apart by filters.
        asked = " ".join(facet.text for facet in plan.facets)
    is_about_records = bool(plan.inferred.accounts) or (
        plan.intent is Intent.TREND and bool(_HOW_IT_WENT.match(plan.question))
    )
    return relevance(
        respelled(asked, retrieved.slips),
        [hit.described_text for hit in retrieved.hits],
        [cosine for cosine in cosines if cosine is not None] if None not in cosines else [],
        idf=weights_of(retrieved),
        rarest=idf(passages, 0),
        embedder=retrieved.embedder or "none",
        language=plan.language,
        # What is left of the question no longer shows how it was put.
        is_asked=asks_what_is_said(plan.question, language=plan.language) or is_about_records,
        is_bare=None if plan.intent in (Intent.WHAT, Intent.ACCOUNT_CONTEXT) or is_about_records else False,
    )


def bearing_of(retrieved: Retrieved, *, plan: Plan, passages: int) -> float:
    """Return how far the best hit bears out what the plan asks about, without the names of accounts that it names."""
    cosines = [hit.vector_score for hit in retrieved.hits]
    return bearing(
        respelled(" ".join(facet.text for facet in plan.facets), retrieved.slips),
        [hit.described_text for hit in retrieved.hits],
        comparable_cosines([c for c in cosines if c is not None], retrieved.embedder or "")
        if None not in cosines
        else [],
        idf=weights_of(retrieved),
        rarest=idf(passages, 0),
        language=plan.language,
    )


def evidence_of(hits: Sequence[Hit], *, relevance: float) -> tuple[Evidence, ...]:
    """Return the hits as evidence C1, C2, … in their order; their share of the relevance follows their score."""
    best = max((hit.rerank_score for hit in hits), default=0.0)
    return tuple(
        Evidence(
            citation_id=f"C{number}",
            document_id=hit.doc_id,
            revision=hit.revision,
            passage_id=str(hit.passage_id),
            text=hit.text,
            start=hit.start,
            end=hit.end,
            label=label_of(hit),
            source=hit.source,
            account=hit.account,
            occurred_at=hit.occurred_at,
            attribution=hit.attribution,
            page_no=_whole(hit.facets, "page"),
            page_uid=hit.facets.get("page_uid"),
            person=hit.person,
            language=hit.language,
            relevance=relevance * (hit.rerank_score / best if best > 0 else 0.0),
            nearness=hit.vector_score,
        )
        for number, hit in enumerate(hits, start=1)
    )


def _whole(facets: Mapping[str, Any], name: str) -> int | None:
    value = facets.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
