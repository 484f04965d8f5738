"""The two arms of retrieval: one statement each, filters inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

import orjson
from django.conf import settings
from django.db import connection

from feedback.domain.filters import FilterSet
from feedback.domain.partitions import shard_of
from feedback.domain.retrieval import QuestionTerm
from feedback.embedding import query_vector, stored_name

if TYPE_CHECKING:
    from feedback.models import Corpus


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
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT document_id, passage_id, occurred_at, score"
            "  FROM feedback_search_vector(%s, %s, %s, %s::halfvec, %s::jsonb, %s, %s)",
            [
                corpus.id,
                shard_of(corpus.tenant_id, settings.WISDOM.tenant_shards),
                stored_name(name),
                query_vector(name, query),
                filters_json(filters),
                limit,
                only,
            ],
        )
        return [Found(*row) for row in cursor.fetchall()]


def filters_json(filters: FilterSet) -> str:
    if filters.any_of:
        # The search functions read one slice; a key that they don't know would admit everything.
        raise ValueError("several slices are searched one by one")
    return orjson.dumps(filters.as_json()).decode()
