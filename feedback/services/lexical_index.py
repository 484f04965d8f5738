"""Keep terms, their document frequencies and the corpus's statistics exact at every commit.

Every function runs in a session of the tenant, in the transaction of the writer that holds the corpus's
statistics row: one writer per corpus at a time, so counts need no deltas and writers no retries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson
from django.conf import settings
from django.db import connection

from core.errors import NotFound
from core.ids import new_id
from core.tenant_session import forget_what_was_seen
from feedback.domain.partitions import shard_of
from feedback.models import TERM_DIMENSIONS
from feedback.services.segment_nodes import forget_nodes

if TYPE_CHECKING:
    from feedback.models import Corpus

# The mean length may drift this far from the one that is baked into the weights.
MAX_DRIFT = 0.05


@dataclass(slots=True)
class Statistics:
    """The locked row of a corpus, as it will be written back."""

    documents: int
    passages: int
    total_length: int
    average_length: float
    k1: float
    b: float
    term_base: int
    terms: int
    newest_at: datetime | None


_STATISTICS = "documents, passages, total_length, average_length, k1, b, term_base, terms, newest_at"


def lock_statistics(corpus: Corpus, *, changes_records: bool = True) -> Statistics:
    """Become the corpus's one writer until the transaction ends; what was counted before has to be counted again.

    Counts stay where `changes_records` is False: for vectors, graphs and clusters.
    Raises: NotFound when the corpus has gone.
    """
    forget_what_was_seen()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE feedback_corpusstatistics SET changes = changes + 1 WHERE tenant_id = %s AND corpus_id = %s"
            f" RETURNING {_STATISTICS}"
            if changes_records
            else f"SELECT {_STATISTICS} FROM feedback_corpusstatistics WHERE tenant_id = %s AND corpus_id = %s FOR UPDATE",
            [corpus.tenant_id, corpus.id],
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound
    return Statistics(*row)


def save_statistics(corpus: Corpus, statistics: Statistics) -> None:
    """Write the row back; reweight the corpus when its mean length has drifted too far."""
    if statistics.passages and statistics.average_length:
        mean = statistics.total_length / statistics.passages
        if abs(mean / statistics.average_length - 1) > MAX_DRIFT:
            statistics.average_length = mean
            reweight(corpus, statistics)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE feedback_corpusstatistics SET documents = %s, passages = %s, total_length = %s,"
            " average_length = %s, k1 = %s, b = %s, terms = %s, newest_at = %s WHERE tenant_id = %s AND corpus_id = %s",
            [
                statistics.documents,
                statistics.passages,
                statistics.total_length,
                statistics.average_length,
                statistics.k1,
                statistics.b,
                statistics.terms,
                statistics.newest_at,
                corpus.tenant_id,
                corpus.id,
            ],
        )


def term_ids(corpus: Corpus, lexemes: Iterable[str]) -> dict[str, int]:
    """Return the ids of the lexemes that the corpus knows."""
    wanted = sorted(set(lexemes))
    if not wanted:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT lexeme, term_id FROM feedback_term WHERE tenant_id = %s AND corpus_id = %s"
            # JSON, here and below: written and read several times as fast as an array's literal.
            " AND lexeme = ANY (ARRAY(SELECT json_array_elements_text(%s::json)))",
            [corpus.tenant_id, corpus.id, orjson.dumps(wanted).decode()],
        )
        return dict(cursor.fetchall())


def ensure_terms(corpus: Corpus, statistics: Statistics, lexemes: Iterable[str]) -> dict[str, int]:
    """Return the id of every lexeme, giving new ones the next numbers of the corpus."""
    wanted = set(lexemes)
    known = term_ids(corpus, wanted)
    new = sorted(wanted - known.keys())
    if new:
        first = statistics.term_base + statistics.terms + 1
        numbers = list(range(first, first + len(new)))
        rows = [
            {"id": str(new_id()), "lexeme": lexeme, "term_id": number}
            for lexeme, number in zip(new, numbers, strict=True)
        ]
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO feedback_term (id, tenant_id, corpus_id, lexeme, term_id, document_frequency, max_weight)"
                " SELECT x.id, %s, %s, x.lexeme, x.term_id, 0, 0"
                "   FROM json_to_recordset(%s::json) AS x(id uuid, lexeme text, term_id integer)",
                [corpus.tenant_id, corpus.id, orjson.dumps(rows).decode()],
            )
        statistics.terms += len(new)
        known.update(zip(new, numbers, strict=True))
    return known


def change_frequencies(
    corpus: Corpus, changes: Mapping[int, int], *, weights: Mapping[int, float] | None = None
) -> None:
    """Add to the number of passages that hold each term, and raise the most that it weighs to that of `weights`.

    What goes lowers no maximum: which passage had it isn't kept. A bound that is too large costs a search some reading.
    """
    weights = weights or {}
    rows = [
        {"term_id": term, "change": change, "weight": weights.get(term, 0.0)}
        for term, change in changes.items()
        if change
    ]
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE feedback_term t SET document_frequency = t.document_frequency + x.change,"
            " max_weight = greatest(t.max_weight, x.weight)"
            "  FROM json_to_recordset(%s::json) AS x(term_id integer, change integer, weight double precision)"
            " WHERE t.tenant_id = %s AND t.corpus_id = %s AND t.term_id = x.term_id",
            [orjson.dumps(rows).decode(), corpus.tenant_id, corpus.id],
        )


def count_terms(rows: Iterable[Sequence[int]]) -> Counter[int]:
    """Count in how many of the rows each term stands; a row holds a term once."""
    counted: Counter[int] = Counter()
    for row in rows:
        counted.update(row)
    return counted


def term_weights(frequencies: Sequence[int], *, length: int, statistics: Statistics) -> list[float]:
    """Return the BM25 weight of each term of a passage: tf (k1 + 1) / (tf + k1 (1 - b + b dl / avgdl))."""
    norm = statistics.k1 * (1 - statistics.b + statistics.b * length / (statistics.average_length or 1.0))
    gain = statistics.k1 + 1
    return [frequency * gain / (frequency + norm) for frequency in frequencies]


def weights_literal(terms: Sequence[int], weights: Sequence[float]) -> str:
    """Return the weights of a passage's terms as a `sparsevec` literal."""
    pairs = ",".join(f"{term}:{weight:.7g}" for term, weight in zip(terms, weights, strict=True))
    return f"{{{pairs}}}/{TERM_DIMENSIONS}"


def heaviest(rows: Iterable[tuple[Sequence[int], Sequence[float]]]) -> dict[int, float]:
    """Return the most that each term weighs in any of the passages, given as (terms, weights)."""
    found: dict[int, float] = {}
    for terms, weights in rows:
        for term, weight in zip(terms, weights, strict=True):
            if weight > found.get(term, 0.0):
                found[term] = weight
    return found


# The weight of a term that a passage holds, from its columns and the statistics.
WEIGHT = "u.frequency * (%(k1)s + 1) / (u.frequency + %(k1)s * (1 - %(b)s + %(b)s * p.length / %(mean)s))"


def weight_parameters(corpus: Corpus, *, k1: float, b: float, average_length: float) -> dict[str, Any]:
    """Return what statements with `WEIGHT` about a corpus are filled with."""
    return {"k1": k1, "b": b, "mean": average_length or 1.0, "tenant": corpus.tenant_id, "corpus": corpus.id}


def reweight(corpus: Corpus, statistics: Statistics) -> None:
    """Bake the statistics' mean length, k1 and b into the weights of every passage of the corpus, and their maxima."""
    parameters = weight_parameters(corpus, k1=statistics.k1, b=statistics.b, average_length=statistics.average_length)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE feedback_passage p SET weights = coalesce((SELECT '{' || string_agg("
            f"u.term || ':' || ({WEIGHT})::real,"
            f" ',' ORDER BY u.term) || '}}/{TERM_DIMENSIONS}'"
            f" FROM unnest(p.terms, p.frequencies) AS u(term, frequency)), '{{}}/{TERM_DIMENSIONS}')::sparsevec"
            " WHERE p.tenant_id = %(tenant)s AND p.corpus_id = %(corpus)s",
            parameters,
        )
        cursor.execute(
            f"UPDATE feedback_term t SET max_weight = x.weight FROM (SELECT u.term, max({WEIGHT}) AS weight"
            "    FROM feedback_passage p, unnest(p.terms, p.frequencies) AS u(term, frequency)"
            "   WHERE p.tenant_id = %(tenant)s AND p.corpus_id = %(corpus)s GROUP BY u.term) x"
            " WHERE t.tenant_id = %(tenant)s AND t.corpus_id = %(corpus)s AND t.term_id = x.term",
            parameters,
        )


def remove_passages(corpus: Corpus, statistics: Statistics, documents: Sequence[tuple[UUID, datetime]]) -> None:
    """Take the passages and vectors of documents, given as (id, occurred_at), out of both indexes."""
    if not documents:
        return
    ids = [identity for identity, _ in documents]
    moments = sorted({moment for _, moment in documents})
    with connection.cursor() as cursor:
        cursor.execute(
            # The moments prune the partitions that are touched.
            "DELETE FROM feedback_passage WHERE tenant_id = %s AND document_id = ANY (%s)"
            " AND occurred_at = ANY (%s) RETURNING terms, length",
            [corpus.tenant_id, ids, moments],
        )
        removed = cursor.fetchall()
        cursor.execute(
            "DELETE FROM feedback_passagevector WHERE tenant_id = %s AND shard = %s"
            " AND document_id = ANY (%s) RETURNING embedder, id",
            [corpus.tenant_id, shard_of(corpus.tenant_id, settings.WISDOM.tenant_shards), ids],
        )
        vectors = cursor.fetchall()
        forget_nodes(
            cursor, tenant_id=corpus.tenant_id, corpus_id=corpus.id, vectors=[identity for _, identity in vectors]
        )
    count_vectors(corpus, {name: -count for name, count in Counter(name for name, _ in vectors).items()})
    change_frequencies(corpus, {term: -count for term, count in count_terms(row[0] for row in removed).items()})
    statistics.passages -= len(removed)
    statistics.total_length -= sum(row[1] for row in removed)


def count_vectors(corpus: Corpus, changes: Mapping[str, int]) -> None:
    """Add to the number of passages that have a vector, by stored name."""
    with connection.cursor() as cursor:
        for stored, change in changes.items():
            cursor.execute(
                "UPDATE feedback_corpusstatistics SET vectors ="
                " vectors || jsonb_build_object(%s::text, coalesce((vectors->>%s)::integer, 0) + %s)"
                " WHERE tenant_id = %s AND corpus_id = %s",
                [stored, stored, change, corpus.tenant_id, corpus.id],
            )


def newest_dated(corpus: Corpus) -> datetime | None:
    """Return the moment of the newest record that has a date of its own."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT max(occurred_at) FROM feedback_document"
            " WHERE tenant_id = %s AND corpus_id = %s AND has_date AND deleted_at IS NULL",
            [corpus.tenant_id, corpus.id],
        )
        found: datetime | None = cursor.fetchone()[0]
    return found
