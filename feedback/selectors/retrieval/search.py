"""Find the records that a question is about: two arms, fusion, and an order that can be explained."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from django.conf import settings

from core.clock import utc_now
from core.observability import metrics
from feedback.clients.rerankers.registry import OFF
from feedback.domain.emphasis import emphasis_of
from feedback.domain.filters import FilterSet
from feedback.domain.fusion import REFERENCE_RANK, ArmBalance, adaptive_fusion, reciprocal_rank_fusion, weighted_fusion
from feedback.domain.question_frames import without_frame
from feedback.domain.rerank import (
    SECOND_STAGE_DEPTH,
    Candidate,
    RerankRules,
    contenders,
    coverage,
    neutral_rules,
    rerank,
)
from feedback.domain.retrieval import Mode, Retrieved, slip_note
from feedback.domain.text import respelled
from feedback.embedding import balance_of, embedder, embedders_of, stored_name
from feedback.selectors.corpora import CorpusState, corpus_state
from feedback.selectors.retrieval.alternative import read_slips
from feedback.selectors.retrieval.arms import Candidates, Found, search_arms
from feedback.selectors.retrieval.hits import hits_of
from feedback.selectors.retrieval.question import checked_query, clamp_top_k, question_language, question_terms
from feedback.selectors.retrieval.second_stage import reranker_of

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
    only_contenders: bool = False,
) -> Retrieved:
    """Search both arms within the filters and fuse; ordered by the fused score.

    `language` is the query's where it is known. Candidates are top-k times the multiplier; `rerank_hits` orders them
    anew and cuts. With `only_contenders` those are left out that it could not bring among the first top_k, whatever
    they hold: none is read in vain.
    Raises: InvalidInput for a blank or oversized query or a bad top_k.
    """
    query = checked_query(query)
    wanted, notes = clamp_top_k(top_k)
    filters = filters or FilterSet()
    state = corpus_state(corpus=corpus)
    language = language or question_language(corpus=corpus, query=query)
    searched = without_frame(query, language=language)
    terms = question_terms(corpus=corpus, query=searched, language=language)
    slips = read_slips(corpus=corpus, query=searched, terms=terms, language=language)
    if slips:
        searched = respelled(searched, slips)
        terms = question_terms(corpus=corpus, query=searched, language=language)
        notes += tuple(slip_note(typed, read) for typed, read in slips)
    pool = pool_of(wanted)
    # Asked for vectors alone, even those mean more than nothing that the model hardly reads.
    name, lag = serving_embedder(corpus, state, searched if mode is Mode.HYBRID else None)
    if mode is Mode.HYBRID and name is None:
        notes = (*notes, "no embedder of the corpus reads this script: found by words alone")
    # What one arm found is scored by the other, too: fusion weighs scores, a reader compares them, and the relevance
    # gate needs a cosine of every hit.
    found = search_arms(
        corpus,
        terms,
        (name, searched) if mode is not Mode.LEXICAL and name is not None else None,
        filters,
        pool,
        by_words=mode is not Mode.VECTOR,
        by_vectors=settings.WISDOM.vector_scope if mode is Mode.HYBRID else "corpus",
    )
    strategy = _strategy(corpus) if mode is Mode.HYBRID else mode.value
    balance = balance_of(name, language)
    fused = _fuse(corpus, strategy, found, balance)
    lexical_weight = _lexical_weight(corpus, strategy, found.semantic, balance)
    named = emphasis_of(searched, language=language)
    read = fused[:pool]
    # A second stage reads more of them, and weighs the others anew.
    if only_contenders and reranker_of(corpus) == OFF:
        weights = {term.lexeme: term.idf for term in terms}
        places = contenders(
            _relevance([score for _, score in read]),
            [coverage(found.held.get(identity, ()), weights) for identity, _ in read],
            top_k=wanted,
            rules=neutral_rules(lexical_weight),
            named=named.features,
        )
        read = [read[place] for place in places]
    hits = hits_of(corpus, read, found, terms)
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
        searched=searched,
        lexical_weight=lexical_weight,
        slips=slips,
        emphasis=named,
        beyond=tuple(identity for identity, _ in fused[pool:]),
    )


def serving_embedder(corpus: Corpus, state: CorpusState, query: str | None = None) -> tuple[str | None, int]:
    """Return the best embedder whose vectors are complete, and how many the best of all still lacks.

    The slow embedder takes over at the commit that completes it: an answer never mixes two scales. One that doesn't
    read the script of a query leaves it to the next; None when none does: vectors of such a text mean nothing, and
    fusion would take half of its list from them.
    """
    names = embedders_of(corpus).serving
    lags = {name: state.lag(stored_name(name)) for name in names}
    # Where nothing is complete, the one that lacks least finds most.
    usable = [name for name in names if lags[name] == 0] or [min(names, key=lambda name: lags[name])]
    reading = (name for name in usable if query is None or embedder(name).reads(query))
    return next(reading, None), lags[names[0]]


def pool_of(wanted: int) -> int:
    """Return how many candidates each arm gives and fusion keeps for so many hits."""
    return max(REFERENCE_RANK, wanted * settings.WISDOM.candidate_multiplier)


def _strategy(corpus: Corpus) -> str:
    return str(corpus.options.get("fusion_strategy", settings.WISDOM.fusion_strategy))


def _fuse(
    corpus: Corpus,
    strategy: str,
    found: Candidates,
    balance: ArmBalance,
) -> list[tuple[str, float]]:
    wisdom = settings.WISDOM
    if strategy == Mode.LEXICAL:
        return [(row.document_id, row.score) for row in found.lexical]
    if strategy == Mode.VECTOR:
        return [(row.document_id, row.score) for row in found.semantic]
    if strategy == "weighted":
        return weighted_fusion(
            {row.document_id: row.score for row in found.lexical},
            {row.document_id: row.score for row in found.semantic},
            lam=float(corpus.options.get("fusion_lambda", wisdom.fusion_lambda)),
        )
    if strategy == "adaptive":
        return adaptive_fusion(
            found.words, found.cosines, semantic_ranking=[row.score for row in found.semantic], balance=balance
        )
    return reciprocal_rank_fusion(
        [row.document_id for row in found.lexical],
        [row.document_id for row in found.semantic],
        k=int(corpus.options.get("rrf_k", wisdom.rrf_k)),
    )


def _lexical_weight(corpus: Corpus, strategy: str, semantic: Sequence[Found], balance: ArmBalance) -> float:
    """Return what the words weighed beside the vectors, in [0, 1]; ranks weigh the same."""
    if strategy == Mode.VECTOR:
        return 0.0
    if strategy == Mode.LEXICAL or not semantic:
        return 1.0
    if strategy == "adaptive":
        return balance.lexical_weight(semantic[0].score)
    if strategy == "weighted":
        return float(corpus.options.get("fusion_lambda", settings.WISDOM.fusion_lambda))
    return 0.5


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
    relevance = _relevance([hit.fused_score for hit in retrieved.hits])
    weights = {term.lexeme: term.idf for term in retrieved.terms}
    named = retrieved.emphasis
    ranked = rerank(
        [
            Candidate(
                key=place,
                relevance=of_best,
                coverage=coverage(hit.terms.keys(), weights),
                source=hit.source,
                occurred_at=hit.occurred_at if hit.has_date else None,
                exact=named.exact_share(hit.described_text) if named.is_exact else None,
                name=named.name_share(hit.described_text) if named.names else None,
                phrase=named.phrase_share(hit.passage_text) if named.pairs else None,
                cross_encoder=opinion,
            )
            for place, (hit, of_best, opinion) in enumerate(
                zip(retrieved.hits, relevance, _second_opinions(retrieved), strict=True)
            )
        ],
        rules=rules or neutral_rules(retrieved.lexical_weight),
        as_of=as_of or utc_now(),
    )
    return replace(
        retrieved,
        hits=tuple(
            replace(retrieved.hits[item.key], rank=rank, rerank_score=item.score, features=dict(item.features))
            for rank, item in enumerate(ranked[: wanted if cuts else None], start=1)
        ),
    )


def _relevance(fused: Sequence[float]) -> list[float]:
    """Return each fused score as a share of the best, in [0, 1]; a cosine may be below 0."""
    best = max(fused, default=0.0)
    return [max(0.0, score / best) if best > 0 else 0.0 for score in fused]


def _second_opinions(retrieved: Retrieved) -> list[float | None]:
    """Return what the second stage thinks of each hit.

    One in a language that it can't read counts as its average, so that it neither gains nor loses by that; those that
    it had no time for stay behind those that it judged.
    """
    scores = [hit.cross_encoder_score for hit in retrieved.hits]
    judged = [score for score in scores if score is not None]
    if not judged:
        return scores
    average = math.fsum(judged) / len(judged)
    return [
        score if score is not None else average if position < SECOND_STAGE_DEPTH else 0.0
        for position, score in enumerate(scores)
    ]
