"""Explain a search by one record: why it stands where it stands, or at which stage it was lost, with exact ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings
from django.db import connection

from core.errors import InvalidInput
from feedback.domain import explanation
from feedback.domain.explanation import Explanation, Stage
from feedback.domain.filter_sets import Scope
from feedback.domain.filters import FilterSet
from feedback.domain.partitions import shard_of
from feedback.domain.retrieval import Mode, QuestionTerm, Retrieved
from feedback.embedding import query_vector, stored_name
from feedback.models import Document, DocumentKey
from feedback.selectors.retrieval.arms import filters_json
from feedback.selectors.retrieval.question import checked_query, clamp_top_k
from feedback.selectors.retrieval.search import pool_of, rerank_hits, retrieve
from feedback.selectors.retrieval.second_stage import second_stage

if TYPE_CHECKING:
    from feedback.models import Corpus

_LONGEST_ID = 1_000


def explain_record(
    *,
    corpus: Corpus,
    query: str,
    doc_id: str,
    scope: Scope | None = None,
    top_k: int | None = None,
    mode: Mode = Mode.HYBRID,
    language: str | None = None,
    as_of: datetime | None = None,
) -> Explanation:
    """Say what became of the record in this search; with several sets in each, led by the one in which it came furthest.

    Ranks are exact: the arms' are counted anew among all records that the filters admit. An id that another tenant
    has gets the words of one that nobody has.
    Raises: InvalidInput for a bad query, top_k or id.
    """
    query = checked_query(query)
    checked_id(doc_id)
    clamp_top_k(top_k)
    scope = scope or Scope()
    key = DocumentKey.objects.for_tenant(corpus.tenant).filter(corpus_id=corpus.id, external_id=doc_id).first()
    if key is None:
        return explanation.unknown(doc_id)
    if key.deleted_at is not None:
        return Explanation(
            doc_id,
            Stage.DELETED,
            f"The record was deleted on {key.deleted_at:%Y-%m-%d} and is in no index since.",
            {"deleted_at": key.deleted_at.isoformat().replace("+00:00", "Z")},
        )
    # The date finds the partition: an id alone would be looked up in all of them.
    record = Document.objects.for_tenant(corpus.tenant).get(pk=key.pk, occurred_at=key.occurred_at)
    search = _Search(corpus, query, mode, language, as_of)
    if not scope.sets:
        return search.explain(record, scope.filters, top_k)
    by_set = [(each.name, search.explain(record, each.filters, each.top_k or top_k)) for each in scope.sets]
    return explanation.furthest(doc_id, by_set)


def checked_id(doc_id: str) -> str:
    """Return an external id that a record can have. Raises: InvalidInput."""
    if not doc_id or len(doc_id) > _LONGEST_ID:
        raise InvalidInput(f"doc_id is the id of a record, 1 to {_LONGEST_ID:,} characters.", field="doc_id")
    if "\x00" in doc_id or any(0xD800 <= ord(character) <= 0xDFFF for character in doc_id):
        raise InvalidInput("doc_id holds a character that is no text (NUL or half a surrogate).", field="doc_id")
    return doc_id


class _Filed:
    """A stored record as filters ask for it."""

    def __init__(self, record: Document) -> None:
        self.doc_id = record.external_id
        self.source = record.source
        self.themes: Sequence[str] = record.themes
        self.account = record.account
        self.language = record.language
        self.occurred_at = record.occurred_at
        self.facets: Mapping[str, Any] = record.facets


class _Search:
    """One question, asked of one slice after the other."""

    def __init__(self, corpus: Corpus, query: str, mode: Mode, language: str | None, as_of: datetime | None) -> None:
        self._corpus, self._query, self._mode = corpus, query, mode
        self._language, self._as_of = language, as_of

    def explain(self, record: Document, filters: FilterSet, top_k: int | None) -> Explanation:
        mismatches = filters.mismatches(_Filed(record))
        if mismatches:
            return explanation.excluded(record.external_id, mismatches)
        wanted, _ = clamp_top_k(top_k)
        retrieved = retrieve(
            corpus=self._corpus,
            query=self._query,
            filters=filters,
            top_k=top_k,
            mode=self._mode,
            language=self._language,
        )
        retrieved = second_stage(retrieved, corpus=self._corpus, query=self._query, language=self._language)
        numbers = {
            "candidates": pool_of(wanted),
            "top_k": wanted,
            **self._arms(record, filters, retrieved),
        }
        pool = [hit.document_id for hit in retrieved.hits]
        if str(record.id) in retrieved.beyond:
            numbers["fused_rank"] = len(pool) + retrieved.beyond.index(str(record.id)) + 1
            numbers["fused_of"] = len(pool) + len(retrieved.beyond)
            return explanation.beyond_pool(record.external_id, numbers)
        if record.id not in pool:
            return explanation.beyond_candidates(record.external_id, numbers)
        numbers["fused_rank"] = pool.index(record.id) + 1
        numbers["fused_of"] = len(pool) + len(retrieved.beyond)
        return _ranked(record, retrieved, numbers, wanted, self._as_of)

    def _arms(self, record: Document, filters: FilterSet, retrieved: Retrieved) -> dict[str, Any]:
        numbers: dict[str, Any] = {}
        if self._mode is not Mode.VECTOR:
            rank, of, score = _lexical_place(self._corpus, record.id, retrieved.terms, filters)
            numbers |= {"lexical_rank": rank, "lexical_of": of, "lexical_score": score}
        else:
            numbers |= {"lexical_rank": None, "lexical_of": 0, "lexical_score": None}
        if retrieved.embedder is not None:
            rank, of, score = _vector_place(self._corpus, record, retrieved.embedder, retrieved.searched, filters)
            numbers |= {"vector_rank": rank, "vector_of": of, "vector_score": score}
        return numbers


def _ranked(
    record: Document, retrieved: Retrieved, numbers: dict[str, Any], wanted: int, as_of: datetime | None
) -> Explanation:
    ordered = rerank_hits(retrieved, as_of=as_of, cuts=False).hits
    place = next(index for index, hit in enumerate(ordered) if hit.document_id == record.id)
    hit = ordered[place]
    why = explanation.why_ranked(hit, ordered[place + 1] if place + 1 < len(ordered) else None)
    numbers |= {"rerank_rank": hit.rank, "rerank_of": len(ordered), "rerank_score": hit.rerank_score}
    if hit.rank <= wanted:
        return explanation.found(record.external_id, numbers, why)
    numbers["last_score"] = ordered[wanted - 1].rerank_score
    return explanation.below_top_k(record.external_id, numbers, why)


def _lexical_place(
    corpus: Corpus, document_id: UUID, terms: Sequence[QuestionTerm], filters: FilterSet
) -> tuple[int | None, int, float | None]:
    """Return (rank, how many share a word, score): the function is exact for as many as there are."""
    known = [term for term in terms if term.term_id is not None]
    if not known:
        return None, 0, None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT max(f.place) FILTER (WHERE f.document_id = %s), count(*), max(f.score) FILTER (WHERE f.document_id = %s)"
            "  FROM feedback_search_lexical(%s, %s, %s, %s::jsonb,"
            "    (SELECT documents FROM feedback_corpusstatistics WHERE tenant_id = %s AND corpus_id = %s) + 1)"
            "  WITH ORDINALITY f(document_id, passage_id, occurred_at, score, place)",
            [
                document_id,
                document_id,
                corpus.id,
                [term.term_id for term in known],
                [term.idf for term in known],
                filters_json(filters),
                corpus.tenant_id,
                corpus.id,
            ],
        )
        rank, of, score = cursor.fetchone()
    return rank, of, score


def _vector_place(
    corpus: Corpus, record: Document, embedder: str, query: str, filters: FilterSet
) -> tuple[int | None, int, float | None]:
    """Return (rank, how many have a vector, cosine), by a scan of all: an index may be approximate."""
    scope: list[Any] = [
        corpus.tenant_id,
        shard_of(corpus.tenant_id, settings.WISDOM.tenant_shards),
        corpus.id,
        stored_name(embedder),
    ]
    vector = query_vector(embedder, query)
    with connection.cursor() as cursor:
        # The condition comes quoted from the function that the search uses; it holds no parameter.
        cursor.execute("SELECT feedback_filter_condition(%s::jsonb)", [filters_json(filters)])
        condition = cursor.fetchone()[0].replace("%", "%%")
        cursor.execute(
            "WITH scored AS MATERIALIZED ("
            "  SELECT p.external_id, max(-(p.vector <#> %s::halfvec)) AS score FROM feedback_passagevector p"
            f"  WHERE p.tenant_id = %s AND p.shard = %s AND p.corpus_id = %s AND p.embedder = %s{condition}"
            "   GROUP BY p.external_id),"
            " mine AS (SELECT score FROM scored WHERE external_id = %s)"
            " SELECT (SELECT score FROM mine), count(*), count(*) FILTER (WHERE s.score > (SELECT score FROM mine)"
            "     OR (s.score = (SELECT score FROM mine) AND s.external_id < %s))"
            "  FROM scored s",
            [vector, *scope, record.external_id, record.external_id],
        )
        score, of, better = cursor.fetchone()
    return (None, of, None) if score is None else (better + 1, of, score)
