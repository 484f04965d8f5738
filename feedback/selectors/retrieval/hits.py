"""Turn what the arms found into hits that show where each score came from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson
from django.db import connection

from feedback.domain.bm25 import term_weight
from feedback.domain.retrieval import Hit, QuestionTerm
from feedback.selectors.retrieval.arms import Candidates, Found

if TYPE_CHECKING:
    from feedback.models import Corpus


def hits_of(
    corpus: Corpus,
    fused: Sequence[tuple[str, float]],
    found: Candidates,
    terms: Sequence[QuestionTerm],
) -> list[Hit]:
    by_words = {row.document_id: row for row in found.lexical}
    by_vector = {row.document_id: row for row in found.semantic}
    # The passage that the words chose; a record without a shared word is shown by its nearest passage.
    chosen = {identity: by_words.get(identity) or by_vector[identity] for identity, _ in fused}
    rows = _rows(corpus, list(chosen.values()))
    hits = []
    for rank, (identity, score) in enumerate(fused, start=1):
        row = rows.get(passage_id := UUID(chosen[identity].passage_id))
        if row is None:
            continue
        contributions = _contributions(row, terms)
        hits.append(
            Hit(
                doc_id=row["external_id"],
                document_id=UUID(identity),
                passage_id=passage_id,
                revision=row["revision"],
                start=row["start"],
                end=row["end"],
                rank=rank,
                lexical_score=round(math.fsum(contributions.values()), 6) if contributions else None,
                vector_score=round(found.cosines[identity], 6) if identity in found.cosines else None,
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


def _rows(corpus: Corpus, found: Sequence[Found]) -> dict[UUID, dict[str, Any]]:
    if not found:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.*, s.average_length, s.k1, s.b FROM feedback_passages(%s::uuid[], %s::timestamptz[]) p"
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
