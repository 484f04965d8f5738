"""Find the records that a question is about: two arms, fusion, and an order that can be explained."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson
from django.conf import settings
from django.db import connection

from core.clock import utc_now
from core.errors import InvalidInput
from core.observability import metrics
from feedback.clients.language_detector import detect
from feedback.domain.bm25 import idf, term_weight
from feedback.domain.exact_tokens import cjk_bigrams, exact_tokens, lexical_text
from feedback.domain.filters import FilterSet
from feedback.domain.fusion import reciprocal_rank_fusion, weighted_fusion
from feedback.domain.languages import text_search_configuration
from feedback.domain.partitions import shard_of
from feedback.domain.rerank import Candidate, RerankRules, coverage, rerank
from feedback.domain.retrieval import Hit, Mode, QuestionTerm, Retrieved
from feedback.embedding import embedders_of, query_vector, stored_name
from feedback.selectors.corpora import CorpusState, corpus_state

if TYPE_CHECKING:
    from feedback.models import Corpus

MAX_QUERY_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class _Found:
    """A row of one arm: a document by its best passage there."""

    document_id: UUID
    passage_id: UUID
    occurred_at: datetime
    score: float


def clamp_top_k(top_k: int | None) -> tuple[int, tuple[str, ...]]:
    """Return how many hits to give, with a note when more were asked for.

    Raises: InvalidInput for zero and below.
    """
    wisdom = settings.WISDOM
    if top_k is None:
        return wisdom.default_top_k, ()
    if top_k < 1:
        raise InvalidInput("top_k must be at least 1.", field="top_k")
    if top_k > wisdom.max_top_k:
        return wisdom.max_top_k, (f"top_k {top_k} was cut to {wisdom.max_top_k}",)
    return top_k, ()


def checked_query(text: str) -> str:
    """Return the query as it is searched. Raises: InvalidInput when it is blank, too long or no text."""
    if "\x00" in text or any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        raise InvalidInput(
            "The question holds a character that is no text (NUL or half a surrogate).", field="question"
        )
    if not text.strip():
        raise InvalidInput("Ask something: the question is blank.", code="blank_question", field="question")
    if len(text) > MAX_QUERY_CHARACTERS:
        raise InvalidInput(
            f"The question has {len(text):,} characters; ask in at most {MAX_QUERY_CHARACTERS:,}.",
            code="question_too_long",
            field="question",
        )
    return text.strip()


def question_terms(*, corpus: Corpus, query: str, language: str | None = None) -> tuple[QuestionTerm, ...]:
    """Return the words of a question as the index knows them, in ascending order.

    `language` is that of a few words from a longer question; else it is told from the words, or it is the corpus's.
    """
    configuration = text_search_configuration(language or detect(query, hint=corpus.language))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT l.lexeme, t.term_id, coalesce(t.document_frequency, 0),"
            " coalesce((SELECT passages FROM feedback_corpusstatistics WHERE tenant_id = %s AND corpus_id = %s), 0)"
            "  FROM feedback_lexemes(%s::regconfig, %s, %s) l LEFT JOIN feedback_term t"
            "    ON t.tenant_id = %s AND t.corpus_id = %s AND t.lexeme = l.lexeme AND t.document_frequency > 0"
            " ORDER BY l.lexeme",
            [
                corpus.tenant_id,
                corpus.id,
                configuration,
                lexical_text(query),
                exact_tokens(query) + cjk_bigrams(query),
                corpus.tenant_id,
                corpus.id,
            ],
        )
        rows = cursor.fetchall()
    return tuple(
        QuestionTerm(lexeme, term_id, frequency, idf(passages, frequency))
        for lexeme, term_id, frequency, passages in rows
    )


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
    lexical = _search_lexical(corpus, terms, filters, pool) if mode is not Mode.VECTOR else []
    semantic: list[_Found] = []
    name, lag = serving_embedder(corpus, state)
    if mode is not Mode.LEXICAL and name is not None:
        only = [row.document_id for row in lexical] if settings.WISDOM.vector_scope == "lexical" else None
        if mode is Mode.VECTOR or only is None or only:
            semantic = _search_vector(corpus, name, query, filters, pool, only if mode is Mode.HYBRID else None)
    fused = _fuse(corpus, mode, lexical, semantic)
    kept = fused[:pool]
    nearness = {row.document_id: row.score for row in semantic}
    beyond = [identity for identity, _ in kept if identity not in nearness]
    if beyond and mode is Mode.HYBRID and name is not None:
        # What only the words found has a cosine too: a reader compares the scores, and the relevance gate needs it.
        more = _search_vector(corpus, name, query, FilterSet(), len(beyond), beyond)
        nearness.update((row.document_id, row.score) for row in more)
    hits = _hits(corpus, kept, lexical, semantic, terms, nearness)
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


def _search_lexical(corpus: Corpus, terms: Sequence[QuestionTerm], filters: FilterSet, limit: int) -> list[_Found]:
    known = [term for term in terms if term.term_id is not None]
    if not known:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT document_id, passage_id, occurred_at, score FROM feedback_search_lexical(%s, %s, %s, %s::jsonb, %s)",
            [
                corpus.id,
                [term.term_id for term in known],
                [term.idf for term in known],
                _json(filters),
                limit,
            ],
        )
        return [_Found(*row) for row in cursor.fetchall()]


def _search_vector(
    corpus: Corpus, name: str, query: str, filters: FilterSet, limit: int, only: list[UUID] | None
) -> list[_Found]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT document_id, passage_id, occurred_at, score"
            "  FROM feedback_search_vector(%s, %s, %s, %s::halfvec, %s::jsonb, %s, %s)",
            [
                corpus.id,
                shard_of(corpus.tenant_id, settings.WISDOM.tenant_shards),
                stored_name(name),
                query_vector(name, query),
                _json(filters),
                limit,
                only,
            ],
        )
        return [_Found(*row) for row in cursor.fetchall()]


def _json(filters: FilterSet) -> str:
    return orjson.dumps(filters.as_json()).decode()


def _fuse(
    corpus: Corpus, mode: Mode, lexical: Sequence[_Found], semantic: Sequence[_Found]
) -> list[tuple[UUID, float]]:
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


def _hits(
    corpus: Corpus,
    fused: Sequence[tuple[UUID, float]],
    lexical: Sequence[_Found],
    semantic: Sequence[_Found],
    terms: Sequence[QuestionTerm],
    nearness: Mapping[UUID, float],
) -> list[Hit]:
    by_words = {row.document_id: row for row in lexical}
    by_vector = {row.document_id: row for row in semantic}
    # The passage that the words chose; a record without a shared word is shown by its nearest passage.
    chosen = {identity: by_words.get(identity) or by_vector[identity] for identity, _ in fused}
    rows = _rows(corpus, list(chosen.values()))
    hits = []
    for rank, (identity, score) in enumerate(fused, start=1):
        row = rows.get(chosen[identity].passage_id)
        if row is None:
            continue
        contributions = _contributions(row, terms)
        hits.append(
            Hit(
                doc_id=row["external_id"],
                document_id=identity,
                passage_id=chosen[identity].passage_id,
                revision=row["revision"],
                start=row["start"],
                end=row["end"],
                rank=rank,
                lexical_score=round(math.fsum(contributions.values()), 6) if contributions else None,
                vector_score=round(nearness[identity], 6) if identity in nearness else None,
                fused_score=score,
                rerank_score=score,
                title=row["title"],
                text=row["text"],
                source=row["source"],
                themes=tuple(row["themes"]),
                account=row["account"],
                author=row["author"],
                language=row["language"],
                occurred_at=row["occurred_at"],
                has_date=row["has_date"],
                attribution=row["attribution"],
                url=row["url"],
                facets=orjson.loads(row["facets"]),
                terms={lexeme: round(part, 6) for lexeme, part in contributions.items()},
            )
        )
    return hits


_COLUMNS = (
    "id", "external_id", "revision", "start", "end", "source", "themes", "account", "language", "occurred_at",
    "terms", "frequencies", "length", "facets", "title", "text", "author", "has_date", "attribution", "url",
    "average_length", "k1", "b",
)  # fmt: skip


def _rows(corpus: Corpus, found: Sequence[_Found]) -> dict[UUID, dict[str, Any]]:
    if not found:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.*, s.average_length, s.k1, s.b FROM feedback_passages(%s, %s) p"
            "  JOIN feedback_corpusstatistics s ON s.tenant_id = %s AND s.corpus_id = %s",
            [
                [row.passage_id for row in found],
                [row.occurred_at for row in found],
                corpus.tenant_id,
                corpus.id,
            ],
        )
        rows = [dict(zip(_COLUMNS, row, strict=True)) for row in cursor.fetchall()]
    return {row["id"]: row for row in rows}


def _contributions(row: Mapping[str, Any], terms: Sequence[QuestionTerm]) -> dict[str, float]:
    """Return what each word of the question adds to the passage's BM25 score."""
    frequencies = dict(zip(row["terms"], row["frequencies"], strict=True))
    return {
        term.lexeme: term.idf
        * term_weight(
            frequencies[term.term_id],
            row["length"],
            row["average_length"] or 1.0,
            k1=row["k1"],
            b=row["b"],
        )
        for term in terms
        if term.term_id in frequencies
    }


def rerank_hits(
    retrieved: Retrieved, *, top_k: int | None = None, as_of: datetime | None = None, rules: RerankRules | None = None
) -> Retrieved:
    """Order the candidates by explainable features and keep top_k; every contribution stays on the hit.

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
            for rank, item in enumerate(ranked[:wanted], start=1)
        ),
    )
