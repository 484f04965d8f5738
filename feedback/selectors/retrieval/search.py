"""Find the records that a question is about: two arms, fusion, and an order that can be explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.conf import settings

from core.clock import utc_now
from core.observability import metrics
from feedback.domain.filters import FilterSet
from feedback.domain.fusion import reciprocal_rank_fusion, weighted_fusion
from feedback.domain.rerank import Candidate, RerankRules, coverage, rerank
from feedback.domain.retrieval import Mode, Retrieved
from feedback.embedding import embedders_of, stored_name
from feedback.selectors.corpora import CorpusState, corpus_state
from feedback.selectors.retrieval.arms import Found, search_lexical, search_vector
from feedback.selectors.retrieval.hits import hits_of
from feedback.selectors.retrieval.question import checked_query, clamp_top_k, question_terms

if TYPE_CHECKING:
    from feedback.models import Corpus


def retrieve(
    *,
    corpus: Corpus,
    query: str,
    filters: FilterSet | None = None,
    top_k: int | None = None,
    mode: Mode = Mode.HYBRID,
    language: str | None = None,
) -> Retrieved:
    """Search both arms within the filters and fuse; ordered by the fused score.

    `language` is the query's where it is known. Candidates are top-k times the multiplier; `rerank_hits` orders them anew and cuts.
    Raises: InvalidInput for a blank or oversized query or a bad top_k.
    """
    query = checked_query(query)
    wanted, notes = clamp_top_k(top_k)
    filters = filters or FilterSet()
    state = corpus_state(corpus=corpus)
    terms = question_terms(corpus=corpus, query=query, language=language)
    pool = wanted * settings.WISDOM.candidate_multiplier
    lexical = search_lexical(corpus, terms, filters, pool) if mode is not Mode.VECTOR else []
    semantic: list[Found] = []
    name, lag = serving_embedder(corpus, state)
    if mode is not Mode.LEXICAL and name is not None:
        only = [row.document_id for row in lexical] if settings.WISDOM.vector_scope == "lexical" else None
        if mode is Mode.VECTOR or only is None or only:
            semantic = search_vector(corpus, name, query, filters, pool, only if mode is Mode.HYBRID else None)
    fused = _fuse(corpus, mode, lexical, semantic)
    kept = fused[:pool]
    nearness = {row.document_id: row.score for row in semantic}
    beyond = [identity for identity, _ in kept if identity not in nearness]
    if beyond and mode is Mode.HYBRID and name is not None:
        # What only the words found has a cosine too: a reader compares the scores, and the relevance gate needs it.
        more = search_vector(corpus, name, query, FilterSet(), len(beyond), beyond)
        nearness.update((row.document_id, row.score) for row in more)
    hits = hits_of(corpus, kept, lexical, semantic, terms, nearness)
    strategy = settings.WISDOM.fusion_strategy if mode is Mode.HYBRID else mode.value
    metrics.SEARCHES.labels(strategy=strategy).inc()
    metrics.SEARCH_HITS.observe(min(wanted, len(hits)))
    return Retrieved(
        hits=tuple(hits),
        terms=terms,
        mode=mode,
        strategy=strategy,
        embedder=name if mode is not Mode.LEXICAL else None,
        lag=lag,
        candidates=len(fused),
        notes=notes,
        beyond=tuple(identity for identity, _ in fused[pool:]),
    )


def serving_embedder(corpus: Corpus, state: CorpusState) -> tuple[str | None, int]:
    """Return the best embedder whose vectors are complete, and how many the best of all still lacks.

    The slow embedder takes over at the commit that completes it: an answer never mixes two scales.
    """
    names = embedders_of(corpus).names
    lags = {name: state.lag(stored_name(name)) for name in names}
    complete = [name for name in names if lags[name] == 0]
    if complete:
        return complete[0], lags[names[0]]
    # Nothing is complete: the one that lacks least finds most.
    return min(names, key=lambda name: lags[name]), lags[names[0]]


def _fuse(corpus: Corpus, mode: Mode, lexical: Sequence[Found], semantic: Sequence[Found]) -> list[tuple[UUID, float]]:
    wisdom = settings.WISDOM
    if mode is Mode.LEXICAL:
        return [(row.document_id, row.score) for row in lexical]
    if mode is Mode.VECTOR:
        return [(row.document_id, row.score) for row in semantic]
    if corpus.options.get("fusion_strategy", wisdom.fusion_strategy) == "weighted":
        return weighted_fusion(
            {row.document_id: row.score for row in lexical},
            {row.document_id: row.score for row in semantic},
            lam=float(corpus.options.get("fusion_lambda", wisdom.fusion_lambda)),
        )
    return reciprocal_rank_fusion(
        [row.document_id for row in lexical],
        [row.document_id for row in semantic],
        k=int(corpus.options.get("rrf_k", wisdom.rrf_k)),
    )


def rerank_hits(
    retrieved: Retrieved,
    *,
    top_k: int | None = None,
    as_of: datetime | None = None,
    rules: RerankRules | None = None,
    cuts: bool = True,
) -> Retrieved:
    """Order the candidates by explainable features and keep top_k, or all if it doesn't cut; every contribution stays on the hit.

    `as_of` is the corpus's newest record. Ties keep the fused order.
    """
    wanted, _ = clamp_top_k(top_k)
    hits = {hit.document_id: hit for hit in retrieved.hits}
    best = max((hit.fused_score for hit in retrieved.hits), default=0.0)
    weights = {term.lexeme: term.idf for term in retrieved.terms}
    ranked = rerank(
        [
            Candidate(
                key=hit.document_id,
                relevance=hit.fused_score / best if best > 0 else 0.0,
                coverage=coverage(hit.terms.keys(), weights),
                source=hit.source,
                occurred_at=hit.occurred_at if hit.has_date else None,
            )
            for hit in retrieved.hits
        ],
        rules=rules or RerankRules(),
        as_of=as_of or utc_now(),
    )
    return replace(
        retrieved,
        hits=tuple(
            replace(hits[item.key], rank=rank, rerank_score=item.score, features=dict(item.features))
            for rank, item in enumerate(ranked[: wanted if cuts else None], start=1)
        ),
    )
