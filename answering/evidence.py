"""Turn hits into the evidence that a draft may cite, and measure how far they discuss a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from answering.domain.claims import Evidence
from answering.domain.planner import Intent, Plan
from answering.domain.relevance import relevance
from answering.domain.render import record_label
from feedback.domain.bm25 import idf
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Hit, Retrieved
from feedback.domain.text import respelled


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
    return relevance(
        respelled(asked, retrieved.slips),
        [hit.described_text for hit in retrieved.hits],
        [cosine for cosine in cosines if cosine is not None] if None not in cosines else [],
        idf=weights_of(retrieved),
        rarest=idf(passages, 0),
        embedder=retrieved.embedder or "none",
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
