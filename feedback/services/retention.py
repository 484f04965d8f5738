"""Drop what is older than a tenant has to keep, month by month, with every number that counted it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson
from django.conf import settings

from core.ids import new_id
from core.partitions import drop_before
from feedback.domain.partitions import shard_of
from feedback.services.partitions import TABLES
from feedback.services.segment_nodes import forget_nodes

if TYPE_CHECKING:
    from tenants.models import Tenant


@dataclass(frozen=True, slots=True)
class Retired:
    """What is gone: partitions by name, and documents."""

    partitions: list[str]
    documents: int


def retire_records(*, cursor: Any, tenants: Iterable[Tenant], before: datetime, now: datetime) -> Retired:
    """Drop all records that occurred before a moment, which is the start of a partition.

    As the owner of the tables, in the caller's transaction: statistics, keys, revisions and vectors go with
    the partitions or not at all. Writers wait; so do readers, for the time of the drop.
    """
    held = list(tenants)
    # The writers' locks first, and only then the tables': a writer takes them in this order as well.
    corpora = [(tenant, corpus_id) for tenant in held for corpus_id in _lock_corpora(cursor, tenant)]
    documents = 0
    for tenant, corpus_id in corpora:
        _become(cursor, tenant)
        gone = _forget(cursor, tenant.id, corpus_id, before)
        if gone:
            _record(cursor, tenant.id, corpus_id, before=before, documents=gone, now=now)
        documents += gone
    partitions = [
        name
        for table in TABLES
        for name in drop_before(cursor=cursor, table=table, column="occurred_at", before=before)
    ]
    return Retired(partitions, documents)


def _become(cursor: Any, tenant: Tenant) -> None:
    # An owner need not bypass the policies that are forced on it.
    cursor.execute(f"SET LOCAL app.tenant_id = '{UUID(str(tenant.id))}'")


def _lock_corpora(cursor: Any, tenant: Tenant) -> list[UUID]:
    _become(cursor, tenant)
    cursor.execute(
        "SELECT corpus_id FROM feedback_corpusstatistics WHERE tenant_id = %s ORDER BY corpus_id FOR UPDATE",
        [tenant.id],
    )
    return [row[0] for row in cursor.fetchall()]


def _forget(cursor: Any, tenant_id: UUID, corpus_id: UUID, before: datetime) -> int:
    """Take a corpus's old records out of everything but the partitions; return how many documents those were."""
    where = "tenant_id = %s AND corpus_id = %s AND occurred_at < %s"
    scope = [tenant_id, corpus_id, before]
    cursor.execute(
        "UPDATE feedback_term t SET document_frequency = t.document_frequency - x.held"
        f"  FROM (SELECT u.term, count(*) AS held FROM feedback_passage, unnest(terms) AS u(term) WHERE {where} GROUP BY 1) x"
        " WHERE t.tenant_id = %s AND t.corpus_id = %s AND t.term_id = x.term",
        [*scope, tenant_id, corpus_id],
    )
    cursor.execute(f"SELECT count(*), coalesce(sum(length), 0) FROM feedback_passage WHERE {where}", scope)
    passages, length = cursor.fetchone()
    cursor.execute(
        f"DELETE FROM feedback_passagevector WHERE {where} AND shard = %s RETURNING embedder, id",
        [*scope, shard_of(tenant_id, settings.WISDOM.tenant_shards)],
    )
    gone = cursor.fetchall()
    vectors = Counter(name for name, _ in gone)
    forget_nodes(cursor, tenant_id=tenant_id, corpus_id=corpus_id, vectors=[identity for _, identity in gone])
    # What they said may be said by others still.
    cursor.execute(
        "UPDATE feedback_distincttext t SET is_due = true FROM feedback_clustermember m"
        "  JOIN feedback_documentkey k ON k.tenant_id = %s AND k.id = m.id"
        " WHERE m.tenant_id = %s AND m.corpus_id = %s AND k.occurred_at < %s AND t.tenant_id = %s AND t.id = m.text_id",
        [tenant_id, tenant_id, corpus_id, before, tenant_id],
    )
    # The revisions, the places in clusters and what was decided of them hang on the keys.
    cursor.execute(
        f"WITH gone AS (DELETE FROM feedback_documentkey WHERE {where} RETURNING deleted_at)"
        " SELECT count(*), count(*) FILTER (WHERE deleted_at IS NULL) FROM gone",
        scope,
    )
    keys, documents = cursor.fetchone()
    cursor.execute(
        "SELECT vectors FROM feedback_corpusstatistics WHERE tenant_id = %s AND corpus_id = %s", [tenant_id, corpus_id]
    )
    stored = cursor.fetchone()[0]
    left: dict[str, int] = orjson.loads(stored) if isinstance(stored, str) else dict(stored)
    for embedder, count in vectors.items():
        left[embedder] = left.get(embedder, 0) - count
    cursor.execute(
        "UPDATE feedback_corpusstatistics SET changes = changes + 1, documents = documents - %s, passages = passages - %s,"
        " total_length = total_length - %s, vectors = %s::jsonb,"
        " newest_at = CASE WHEN newest_at < %s THEN NULL ELSE newest_at END WHERE tenant_id = %s AND corpus_id = %s",
        [documents, passages, length, orjson.dumps(left).decode(), before, tenant_id, corpus_id],
    )
    return int(keys)


def _record(cursor: Any, tenant_id: UUID, corpus_id: UUID, *, before: datetime, documents: int, now: datetime) -> None:
    data = orjson.dumps({"corpus_id": str(corpus_id), "before": before.isoformat(), "count": documents}).decode()
    cursor.execute(
        "INSERT INTO core_outboxevent (id, tenant_id, type, at, data) VALUES (%s, %s, 'documents.retired', %s, %s::jsonb)",
        [new_id(), tenant_id, now, data],
    )
    cursor.execute(
        "INSERT INTO tenants_auditentry (id, tenant_id, at, actor, action, subject, detail, address, correlation_id)"
        " VALUES (%s, %s, %s, 'command line', 'documents.retired', %s, %s::jsonb, '', '')",
        [new_id(), tenant_id, now, f"corpus {corpus_id}", data],
    )
