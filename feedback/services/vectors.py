"""Store the vectors of passages; compute those that are missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson
import structlog
from django.conf import settings
from django.db import connection

from core.errors import NotFound
from core.ids import new_id
from core.tenant_session import tenant_session
from feedback.domain.partitions import shard_of
from feedback.embedding import embedder, embedders_of, stored_name
from feedback.models import Corpus
from feedback.selectors.corpora import embedding_lag
from feedback.services.corpora import end_switch
from feedback.services.lexical_index import count_vectors, lock_statistics

if TYPE_CHECKING:
    import numpy.typing as npt

    from tenants.models import Tenant

log = structlog.get_logger("wisdom.embedding")
_BATCH = 256


@dataclass(frozen=True, slots=True)
class VectorRow:
    """A vector to store, for a passage that exists."""

    passage_id: UUID
    index_hash: bytes
    literal: str


def vector_literals(vectors: npt.NDArray[Any]) -> list[str]:
    """Return each row as pgvector reads it; five decimals are more than a half-precision number keeps."""
    return [orjson.dumps(row.tolist()).decode() for row in vectors.astype("float64").round(5)]


def known_vectors(tenant_id: UUID, stored: str, hashes: Iterable[bytes]) -> dict[bytes, str]:
    """Return the vectors that the tenant's texts with these hashes have already."""
    wanted = list(set(hashes))
    if not wanted:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT ON (index_hash) index_hash, vector::text FROM feedback_passagevector"
            " WHERE tenant_id = %s AND shard = %s AND embedder = %s AND index_hash = ANY (%s) ORDER BY index_hash",
            [tenant_id, shard_of(tenant_id, settings.WISDOM.tenant_shards), stored, wanted],
        )
        return {bytes(row[0]): row[1] for row in cursor.fetchall()}


def store_vectors(corpus: Corpus, stored: str, rows: Sequence[VectorRow]) -> int:
    """Store vectors beside the filter columns of their passages; one whose passage has gone is dropped.

    The caller holds the corpus's statistics row: a passage that another writer is about to delete could
    otherwise leave its vector behind. Returns how many were stored.
    """
    if not rows:
        return 0
    tenant_id = corpus.tenant_id
    shard = shard_of(tenant_id, settings.WISDOM.tenant_shards)
    sent: list[dict[str, Any]] = [
        {
            "id": str(new_id()),
            "passage_id": str(row.passage_id),
            "vector": row.literal,
            "hash": row.index_hash.hex(),
        }
        for row in rows
    ]
    for number, row in enumerate(sent, start=_take_numbers(corpus, len(sent))):
        row["number"] = number
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO feedback_passagevector (id, tenant_id, shard, corpus_id, passage_id, document_id, external_id,"
            " embedder, source, themes, account, language, facets, occurred_at, index_hash, number, vector)"
            " SELECT x.id, p.tenant_id, %s, p.corpus_id, p.id, p.document_id, p.external_id, %s, p.source, p.themes,"
            " p.account, p.language, p.facets, p.occurred_at, p.index_hash, x.number, x.vector::halfvec"
            "  FROM jsonb_to_recordset(%s::jsonb) AS x(id uuid, passage_id uuid, vector text, hash text, number bigint)"
            "  JOIN feedback_passage p ON p.tenant_id = %s AND p.id = x.passage_id AND p.index_hash = decode(x.hash, 'hex')"
            " WHERE NOT EXISTS (SELECT FROM feedback_passagevector v WHERE v.tenant_id = %s AND v.shard = %s"
            "   AND v.passage_id = x.passage_id AND v.embedder = %s AND v.document_id = p.document_id)",
            [shard, stored, orjson.dumps(sent).decode(), tenant_id, tenant_id, shard, stored],
        )
        count = int(cursor.rowcount)
    count_vectors(corpus, {stored: count})
    return count


def _take_numbers(corpus: Corpus, count: int) -> int:
    """Take the next `count` numbers of the corpus's vectors; return the first.

    The row stays locked until the commit: whoever sees a vector sees all those with lower numbers that are left.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE feedback_corpusstatistics SET last_vector = last_vector + %s"
            " WHERE tenant_id = %s AND corpus_id = %s RETURNING last_vector",
            [count, corpus.tenant_id, corpus.id],
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound
    return int(row[0]) - count + 1


def missing_passages(corpus: Corpus, stored: str, limit: int) -> list[tuple[UUID, bytes, str]]:
    """Return up to `limit` passages without a vector of this name, as (id, hash, text to embed), oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.id, p.index_hash, r.title, r.text, p.ordinal, p.start, p.end FROM feedback_passage p"
            "  JOIN feedback_documentrevision r ON r.tenant_id = %s AND r.document_id = p.document_id AND r.number = p.revision"
            " WHERE p.tenant_id = %s AND p.corpus_id = %s AND NOT EXISTS (SELECT FROM feedback_passagevector v"
            "   WHERE v.tenant_id = %s AND v.shard = %s AND v.document_id = p.document_id AND v.passage_id = p.id"
            "     AND v.embedder = %s)"
            " ORDER BY p.id LIMIT %s",
            [
                corpus.tenant_id,
                corpus.tenant_id,
                corpus.id,
                corpus.tenant_id,
                shard_of(corpus.tenant_id, settings.WISDOM.tenant_shards),
                stored,
                limit,
            ],
        )
        rows = cursor.fetchall()
    found = []
    for identity, digest, title, text, ordinal, start, end in rows:
        body = text[start:end]
        found.append((identity, bytes(digest), f"{title}\n{body}" if title and ordinal == 0 else body))
    return found


@dataclass(frozen=True, slots=True)
class EmbedResult:
    """What a pass over the missing vectors did: stored, still missing, how long it took."""

    embedded: int
    lag: int
    seconds: float


def embed_missing(
    *,
    tenant: Tenant,
    corpus: Corpus,
    time_limit_seconds: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> EmbedResult:
    """Compute the vectors that a corpus lacks, in batches that each commit; equal texts are embedded once.

    Two at once do no harm: the later one stores nothing. Stops early at the time limit.
    """
    started = time.monotonic()
    total = 0
    for name in embedders_of(corpus).names:
        stored = stored_name(name)
        while time_limit_seconds is None or time.monotonic() - started < time_limit_seconds:
            with tenant_session(tenant):
                missing = missing_passages(corpus, stored, _BATCH)
                known = known_vectors(tenant.id, stored, (digest for _, digest, _ in missing))
            if not missing:
                break
            texts = {digest: text for _, digest, text in missing if digest not in known}
            if texts:
                vectors = embedder(name).encode_passages(list(texts.values()))
                known.update(zip(texts, vector_literals(vectors), strict=True))
            with tenant_session(tenant):
                lock_statistics(corpus)
                total += store_vectors(
                    corpus,
                    stored,
                    [VectorRow(identity, digest, known[digest]) for identity, digest, _ in missing],
                )
            if progress:
                progress(total)
    with tenant_session(tenant):
        lag = embedding_lag(corpus=corpus)
    if not lag:
        end_switch(corpus=corpus)
    return EmbedResult(embedded=total, lag=lag, seconds=round(time.monotonic() - started, 3))
