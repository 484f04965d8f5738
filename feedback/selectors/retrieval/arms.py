"""The two arms of retrieval: one statement each, filters inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING
from uuid import UUID

import orjson
from django.conf import settings
from django.db import connection

from core.tenant_session import tenant_session
from feedback.domain.filters import FilterSet
from feedback.domain.partitions import shard_of
from feedback.domain.retrieval import QuestionTerm
from feedback.embedding import query_vector, stored_name
from feedback.selectors.retrieval import recall

if TYPE_CHECKING:
    from feedback.models import Corpus


# As the limit of an exact scan: whatever the corpus holds.
EXACTLY = 2**31 - 1


class VectorPath(StrEnum):
    """How the nearest vectors were found."""

    EXACT = "exact"
    GRAPH = "graph"


@dataclass(frozen=True, slots=True)
class Found:
    """A row of one arm: a document by its best passage there."""

    document_id: UUID
    passage_id: UUID
    occurred_at: datetime
    score: float


def search_lexical(corpus: Corpus, terms: Sequence[QuestionTerm], filters: FilterSet, limit: int) -> list[Found]:
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
                filters_json(filters),
                limit,
            ],
        )
        return [Found(*row) for row in cursor.fetchall()]


def search_vector(
    corpus: Corpus, name: str, query: str, filters: FilterSet, limit: int, only: list[UUID] | None
) -> list[Found]:
    """Return the nearest documents: exact up to WA_VECTOR_EXACT_LIMIT vectors, else nearly so, by graphs.

    min(limit, documents within the filters) rows either way. A share of the searches by graph is compared with the
    exact scan afterwards.
    """
    rows, path = scan_vectors(corpus, name, query, filters, limit, only, settings.WISDOM.vector_exact_limit)
    if path is VectorPath.GRAPH:

        def exact_scores() -> list[float]:
            with tenant_session(corpus.tenant):
                return [row.score for row in scan_vectors(corpus, name, query, filters, limit, only, EXACTLY)[0]]

        recall.sample(query, [row.score for row in rows], exact_scores)
    return rows


def scan_vectors(
    corpus: Corpus, name: str, query: str, filters: FilterSet, limit: int, only: list[UUID] | None, exact_limit: int
) -> tuple[list[Found], VectorPath]:
    """Search by meaning and say by which path; `exact_limit` is the most vectors that are scanned one by one."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT document_id, passage_id, occurred_at, score, path"
            "  FROM feedback_search_vector(%s, %s, %s, %s::halfvec, %s::jsonb, %s, %s, %s)",
            [
                corpus.id,
                shard_of(corpus.tenant_id, settings.WISDOM.tenant_shards),
                stored_name(name),
                query_vector(name, query),
                filters_json(filters),
                limit,
                only,
                exact_limit,
            ],
        )
        rows = cursor.fetchall()
    path = VectorPath(rows[0][4]) if rows else VectorPath.EXACT
    return [Found(*row[:4]) for row in rows], path


def score_lexical(terms: Sequence[QuestionTerm], found: Sequence[Found]) -> dict[UUID, float]:
    """Return the BM25 score of the passages that the other arm found, by document; 0 without a shared word."""
    known = [term for term in terms if term.term_id is not None]
    if not known or not found:
        return {}
    documents = {row.passage_id: row.document_id for row in found}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, score FROM feedback_passage_scores(%s, %s, %s, %s)",
            [
                list(documents),
                [row.occurred_at for row in found],
                [term.term_id for term in known],
                [term.idf for term in known],
            ],
        )
        return {documents[identity]: score for identity, score in cursor.fetchall()}


def filters_json(filters: FilterSet) -> str:
    if filters.any_of:
        # The search functions read one slice; a key that they don't know would admit everything.
        raise ValueError("several slices are searched one by one")
    return orjson.dumps(filters.as_json()).decode()
