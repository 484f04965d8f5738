"""The two arms of retrieval, filters inside: one statement for both, or one for each alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
# A rank behind every other.
_LAST = EXACTLY


class VectorPath(StrEnum):
    """How the nearest vectors were found."""

    EXACT = "exact"
    GRAPH = "graph"


@dataclass(frozen=True, slots=True)
class Found:
    """A row of one arm: a document by its best passage there.

    Ids are as the database writes them, hundreds of them for ten that become hits; so is `occurred_at`, which finds the
    passage's partition.
    """

    document_id: str
    passage_id: str
    occurred_at: str
    score: float


@dataclass(frozen=True, slots=True)
class Candidates:
    """What both arms found, best first, and what is known of each document before it is read.

    `cosines` and `words` (BM25 scores) are of all, whichever arm found them; a document without a vector has no cosine.
    `held` are the question's words in the passage that stands for it.
    """

    lexical: list[Found]
    semantic: list[Found]
    cosines: dict[str, float]
    words: dict[str, float]
    held: dict[str, tuple[str, ...]]


def search_arms(
    corpus: Corpus,
    terms: Sequence[QuestionTerm],
    embedding: tuple[str, str] | None,
    filters: FilterSet,
    limit: int,
    *,
    by_words: bool = True,
    by_vectors: str = "corpus",
) -> Candidates:
    """Search by words and by an `embedding`, which is (embedder, text), in one statement; score each by the other.

    Without `by_words` the words only score; `by_vectors` is "corpus", "lexical" (only what the words found) or "no".
    """
    known = [term for term in terms if term.term_id is not None]
    by_vectors = by_vectors if embedding else "no"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT document_id::text, passage_id::text, occurred_at::text, word_rank, words, vector_rank, cosine, held, path"
            "  FROM feedback_search(%s, %s, %s, %s::halfvec, %s::integer[], %s::double precision[], %s::jsonb, %s, %s, %s, %s)",
            [
                corpus.id,
                shard_of(corpus.tenant_id, settings.WISDOM.tenant_shards),
                stored_name(embedding[0]) if embedding else "",
                query_vector(*embedding) if embedding else None,
                [term.term_id for term in known],
                [term.idf for term in known],
                filters_json(filters),
                limit,
                settings.WISDOM.vector_exact_limit,
                by_words,
                by_vectors,
            ],
        )
        rows = cursor.fetchall()
    # Scores that are equal are ordered by where they stand here.
    by_word_rank = sorted(rows, key=lambda row: (row[3] or _LAST, row[5] or _LAST))
    by_vector_rank = sorted(rows, key=lambda row: (row[5] or _LAST, row[3] or _LAST))
    semantic = [Found(row[0], row[1], row[2], row[6]) for row in by_vector_rank if row[5]]
    if embedding and any(row[8] == VectorPath.GRAPH for row in rows):
        _sample_recall(corpus, *embedding, filters, limit, None, [found.score for found in semantic])
    return Candidates(
        lexical=[Found(row[0], row[1], row[2], row[4]) for row in by_word_rank if row[3]],
        semantic=semantic,
        cosines={row[0]: row[6] for row in by_vector_rank if row[6] is not None},
        words={row[0]: row[4] for row in by_word_rank if row[4] is not None},
        held={row[0]: tuple(known[place - 1].lexeme for place in row[7]) for row in rows},
    )


def search_lexical(corpus: Corpus, terms: Sequence[QuestionTerm], filters: FilterSet, limit: int) -> list[Found]:
    known = [term for term in terms if term.term_id is not None]
    if not known:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT document_id::text, passage_id::text, occurred_at::text, score"
            "  FROM feedback_search_lexical(%s, %s, %s, %s::jsonb, %s)",
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
        _sample_recall(corpus, name, query, filters, limit, only, [row.score for row in rows])
    return rows


def _sample_recall(
    corpus: Corpus, name: str, query: str, filters: FilterSet, limit: int, only: list[UUID] | None, scores: list[float]
) -> None:
    def exact_scores() -> list[float]:
        with tenant_session(corpus.tenant):
            return [row.score for row in scan_vectors(corpus, name, query, filters, limit, only, EXACTLY)[0]]

    recall.sample(query, scores, exact_scores)


def scan_vectors(
    corpus: Corpus, name: str, query: str, filters: FilterSet, limit: int, only: list[UUID] | None, exact_limit: int
) -> tuple[list[Found], VectorPath]:
    """Search by meaning and say by which path; `exact_limit` is the most vectors that are scanned one by one."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT document_id::text, passage_id::text, occurred_at::text, score, path"
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


def filters_json(filters: FilterSet) -> str:
    if filters.any_of:
        # The search functions read one slice; a key that they don't know would admit everything.
        raise ValueError("several slices are searched one by one")
    return orjson.dumps(filters.as_json()).decode()
