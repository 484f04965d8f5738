"""Store the vectors of passages; compute those that are missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
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
# What a vector's row has in common with its passage's.
_COPIED = ("document_id", "external_id", "source", "themes", "account", "language", "facets", "occurred_at")


@dataclass(frozen=True, slots=True)
class VectorRow:
    """A vector to store, for a passage that exists; its moment finds the partition."""

    passage_id: UUID
    occurred_at: datetime
    index_hash: bytes
    literal: str


def vector_literals(vectors: npt.NDArray[Any]) -> list[str]:
    """Return each row as pgvector reads it; five decimals are more than a half-precision number keeps."""
    return [orjson.dumps(row.tolist()).decode() for row in vectors.astype("float64").round(5)]


def known_vectors(tenant_id: UUID, stored: str, hashes: Iterable[bytes]) -> dict[bytes, str]:
    """Return the vectors that the tenant's texts with these hashes have already."""
    wanted = list({digest.hex() for digest in hashes})
    if not wanted:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT ON (index_hash) index_hash, vector::text FROM feedback_passagevector"
            " WHERE tenant_id = %s AND shard = %s AND embedder = %s"
            " AND index_hash = ANY (ARRAY(SELECT decode(h, 'hex') FROM json_array_elements_text(%s::json) h))"
            " ORDER BY index_hash",
            [tenant_id, shard_of(tenant_id, settings.WISDOM.tenant_shards), stored, orjson.dumps(wanted).decode()],
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
            "moment": row.occurred_at.isoformat(),
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
            "  FROM jsonb_to_recordset(%s::jsonb) AS x(id uuid, passage_id uuid, moment timestamptz, vector text, hash text, number bigint)"
            # LIMIT holds the planner to a look-up for each: as a join it read every month once for each batch.
            " CROSS JOIN LATERAL (SELECT * FROM feedback_passage WHERE tenant_id = %s AND occurred_at = x.moment"
            "   AND id = x.passage_id LIMIT 1) p"
            " WHERE p.index_hash = decode(x.hash, 'hex') AND NOT EXISTS (SELECT FROM feedback_passagevector v"
            "   WHERE v.tenant_id = %s AND v.shard = %s AND v.document_id = p.document_id AND v.passage_id = x.passage_id"
            "     AND v.embedder = %s)",
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


def store_new_vectors(
    corpus: Corpus, stored: str, rows: Sequence[Mapping[str, Any]], vectors: Mapping[bytes, str]
) -> None:
    """Store the vectors of passages that this transaction has made, as far as their texts have one.

    `rows` are what the passages were made from. Nobody else has seen these passages: nothing is looked up.
    """
    sent = [
        {
            **{name: row[name] for name in _COPIED},
            "id": str(new_id()),
            "passage_id": row["id"],
            "hash": row["index_hash"],
            "vector": vectors[digest],
        }
        for row in rows
        if (digest := bytes.fromhex(row["index_hash"])) in vectors
    ]
    if not sent:
        return
    first = _take_numbers(corpus, len(sent))
    for number, each in enumerate(sent, start=first):
        each["number"] = number
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO feedback_passagevector (id, tenant_id, shard, corpus_id, passage_id, document_id, external_id,"
            " embedder, source, themes, account, language, facets, occurred_at, index_hash, number, vector)"
            " SELECT x.id, %s, %s, %s, x.passage_id, x.document_id, x.external_id, %s, x.source, x.themes, x.account,"
            " x.language, x.facets, x.occurred_at, decode(x.hash, 'hex'), x.number, x.vector::halfvec"
            "  FROM json_to_recordset(%s::json) AS x(id uuid, passage_id uuid, document_id uuid, external_id text, source text,"
            "    themes text[], account text, language text, facets jsonb, occurred_at timestamptz, hash text, vector text, number bigint)",
            [
                corpus.tenant_id,
                shard_of(corpus.tenant_id, settings.WISDOM.tenant_shards),
                corpus.id,
                stored,
                orjson.dumps(sent).decode(),
            ],
        )
    count_vectors(corpus, {stored: len(sent)})


def missing_passages(corpus: Corpus, stored: str, limit: int) -> list[tuple[UUID, datetime, bytes, str]]:
    """Return up to `limit` passages without a vector of this name, as (id, moment, hash, text to embed), oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.id, p.occurred_at, p.index_hash, r.title, r.text, p.ordinal, p.start, p.end FROM feedback_passage p"
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
    for identity, moment, digest, title, text, ordinal, start, end in rows:
        body = text[start:end]
        found.append((identity, moment, bytes(digest), f"{title}\n{body}" if title and ordinal == 0 else body))
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
                known = known_vectors(tenant.id, stored, (digest for _, _, digest, _ in missing))
            if not missing:
                break
            texts = {digest: text for _, _, digest, text in missing if digest not in known}
            if texts:
                vectors = embedder(name).encode_passages(list(texts.values()))
                known.update(zip(texts, vector_literals(vectors), strict=True))
            with tenant_session(tenant):
                lock_statistics(corpus, changes_records=False)
                total += store_vectors(
                    corpus,
                    stored,
                    [VectorRow(identity, moment, digest, known[digest]) for identity, moment, digest, _ in missing],
                )
            if progress:
                progress(total)
    with tenant_session(tenant):
        lag = embedding_lag(corpus=corpus)
    if not lag:
        end_switch(corpus=corpus)
    return EmbedResult(embedded=total, lag=lag, seconds=round(time.monotonic() - started, 3))
