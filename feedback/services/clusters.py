"""Merge records that are the same, and take out one that isn't: what people decide wins over what was computed.

A decision is kept by record, so that it outlives edits, deletion and re-clustering. Merging joins the clusters of the
named records; a record that is set apart stays out of the cluster of its text, whatever comes later. Each decision
is on the audit log and can be taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import connection

from core.errors import Conflict, InvalidInput, NotFound
from core.ids import new_id
from core.tenant_session import tenant_session
from feedback.domain.merges import joined
from feedback.models import ClusterDecision, DocumentKey
from feedback.services.lexical_index import lock_statistics
from tenants.domain.access import Role, Scope
from tenants.services import audit

if TYPE_CHECKING:
    from feedback.models import Corpus
    from tenants.caller import Caller

MAX_MERGED = 100


def merge_records(*, caller: Caller, corpus: Corpus, doc_ids: Sequence[str], now: datetime) -> None:
    """Say that records are the same: their clusters are one from now on.

    A record that was apart goes back to its cluster when it is merged with one of that cluster.
    Raises: Forbidden below a curator; InvalidInput for fewer than two records or more than 100; NotFound when one of
    them isn't there.
    """
    caller.require(role=Role.CURATOR, scope=Scope.DOCUMENTS_WRITE)
    wanted = list(dict.fromkeys(doc_ids))
    if not 2 <= len(wanted) <= MAX_MERGED:
        raise InvalidInput(f"Name two to {MAX_MERGED} different records that are the same.", field="ids")
    with tenant_session(caller.tenant):
        lock_statistics(corpus, changes_records=False)
        ids = _records(corpus, wanted)
        _return_to_clusters(corpus, _standings(corpus, ids))
        decisions = ClusterDecision.objects.for_tenant(caller.tenant).filter(corpus_id=corpus.id)
        named = decisions.filter(id__in=ids).values_list("merge_id", flat=True)
        merges = {merge_id for merge_id in named if merge_id is not None}
        merge_id = min(merges) if merges else new_id()
        if len(merges) > 1:
            decisions.filter(merge_id__in=merges).update(merge_id=merge_id)
        for identity in ids:
            _decide(caller, corpus, identity, now, merge_id=merge_id)
        apply_decisions(corpus)
        subject = f"{corpus.slug}/{wanted[0]}"
        audit(caller=caller, action="records.merged", subject=subject, now=now, detail={"records": wanted})


def unmerge_record(*, caller: Caller, corpus: Corpus, doc_id: str, now: datetime) -> None:
    """Say that a record is like no other: it stands alone from now on, whatever its text is like.

    Clusters that were merged only by naming this record are apart again as well.
    Raises: Forbidden below a curator; NotFound; Conflict when it is apart already.
    """
    caller.require(role=Role.CURATOR, scope=Scope.DOCUMENTS_WRITE)
    with tenant_session(caller.tenant):
        lock_statistics(corpus, changes_records=False)
        (identity,) = _records(corpus, [doc_id])
        decisions = ClusterDecision.objects.for_tenant(caller.tenant).filter(corpus_id=corpus.id)
        before = decisions.filter(id=identity).first()
        if before is not None and before.is_apart and before.merge_id is None:
            raise Conflict("This record stands apart already.", code="already_apart")
        _decide(caller, corpus, identity, now, merge_id=None, is_apart=True)
        _dissolve(corpus, before)
        _set_clusters(corpus, [(identity, identity)])
        apply_decisions(corpus)
        audit(caller=caller, action="record.unmerged", subject=f"{corpus.slug}/{doc_id}", now=now)


def reset_record(*, caller: Caller, corpus: Corpus, doc_id: str, now: datetime) -> None:
    """Take back what was decided of a record: it belongs to the cluster of its text again, and to no merge.

    Raises: Forbidden below a curator; NotFound; Conflict when nothing was decided.
    """
    caller.require(role=Role.CURATOR, scope=Scope.DOCUMENTS_WRITE)
    with tenant_session(caller.tenant):
        lock_statistics(corpus, changes_records=False)
        (identity,) = _records(corpus, [doc_id])
        decisions = ClusterDecision.objects.for_tenant(caller.tenant).filter(corpus_id=corpus.id)
        before = decisions.filter(id=identity).first()
        if before is None:
            raise Conflict("Nobody decided anything about this record.", code="not_decided")
        decisions.filter(id=identity).delete()
        _dissolve(corpus, before)
        _set_clusters(corpus, [(each.id, each.leader) for each in _standings(corpus, [identity]) if each.leader])
        apply_decisions(corpus)
        detail = {"was_apart": before.is_apart, "was_merged": before.merge_id is not None}
        audit(caller=caller, action="record.reset", subject=f"{corpus.slug}/{doc_id}", now=now, detail=detail)


def apply_decisions(corpus: Corpus) -> None:
    """Derive anew which clusters are merged, from what was decided of records that are there.

    The caller holds the corpus's statistics row.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT d.merge_id, array_agg(coalesce(m.cluster_id, m.id)) FROM feedback_clusterdecision d"
            "  JOIN feedback_clustermember m ON m.tenant_id = %s AND m.id = d.id"
            " WHERE d.tenant_id = %s AND d.corpus_id = %s AND d.merge_id IS NOT NULL GROUP BY d.merge_id",
            [corpus.tenant_id, corpus.tenant_id, corpus.id],
        )
        merged = joined(row[1] for row in cursor.fetchall())
        cursor.execute(
            "DELETE FROM feedback_mergedcluster WHERE tenant_id = %s AND corpus_id = %s AND NOT id = ANY (%s)",
            [corpus.tenant_id, corpus.id, list(merged)],
        )
        cursor.execute(
            "INSERT INTO feedback_mergedcluster AS j (id, tenant_id, corpus_id, merged_id)"
            " SELECT x.id, %s, %s, x.merged_id FROM unnest(%s::uuid[], %s::uuid[]) AS x(id, merged_id)"
            " ON CONFLICT (tenant_id, id) DO UPDATE SET merged_id = excluded.merged_id WHERE j.merged_id <> excluded.merged_id",
            [corpus.tenant_id, corpus.id, list(merged), list(merged.values())],
        )


def set_apart(corpus: Corpus, documents: Iterable[UUID]) -> set[UUID]:
    """Return those of the documents that people set apart."""
    decisions = ClusterDecision.objects.for_tenant(corpus.tenant).filter(corpus_id=corpus.id, is_apart=True)
    return set(decisions.filter(id__in=list(documents)).values_list("id", flat=True))


def _records(corpus: Corpus, doc_ids: Sequence[str]) -> list[UUID]:
    """Return the ids of live records, in the order given. Raises: NotFound."""
    keys = DocumentKey.objects.for_tenant(corpus.tenant).filter(corpus_id=corpus.id, deleted_at__isnull=True)
    found = dict(keys.filter(external_id__in=doc_ids).values_list("external_id", "id"))
    if len(found) < len(doc_ids):
        raise NotFound
    return [found[doc_id] for doc_id in doc_ids]


@dataclass(frozen=True, slots=True)
class _Standing:
    """A record, the cluster that it is in and the leader of its text; None while it waits."""

    id: UUID
    cluster: UUID | None
    leader: UUID | None


def _standings(corpus: Corpus, documents: Sequence[UUID]) -> list[_Standing]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT m.id, m.cluster_id, t.leader_id FROM feedback_clustermember m"
            "  LEFT JOIN feedback_distincttext t ON t.tenant_id = %s AND t.id = m.text_id"
            " WHERE m.tenant_id = %s AND m.id = ANY (%s)",
            [corpus.tenant_id, corpus.tenant_id, list(documents)],
        )
        return [_Standing(*row) for row in cursor.fetchall()]


def _return_to_clusters(corpus: Corpus, records: Sequence[_Standing]) -> None:
    """Let records that are apart be in the cluster of their text again where another of the records is in it."""
    clusters = {record.cluster for record in records}
    back = [(each.id, each.leader) for each in records if each.cluster == each.id and each.leader in clusters]
    _set_clusters(corpus, [(identity, leader) for identity, leader in back if leader])
    decisions = ClusterDecision.objects.for_tenant(corpus.tenant).filter(corpus_id=corpus.id)
    decisions.filter(id__in=[identity for identity, _ in back]).update(is_apart=False)


def _set_clusters(corpus: Corpus, clusters: Sequence[tuple[UUID, UUID]]) -> None:
    """Move records, given as (id, cluster); one that waits has no cluster yet."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE feedback_clustermember m SET cluster_id = x.cluster_id"
            "  FROM unnest(%s::uuid[], %s::uuid[]) AS x(id, cluster_id)"
            " WHERE m.tenant_id = %s AND m.id = x.id AND m.text_id IS NOT NULL",
            [[identity for identity, _ in clusters], [cluster for _, cluster in clusters], corpus.tenant_id],
        )


def _decide(
    caller: Caller,
    corpus: Corpus,
    identity: UUID,
    now: datetime,
    *,
    merge_id: UUID | None,
    is_apart: bool | None = None,
) -> None:
    decided: dict[str, Any] = {"merge_id": merge_id, "made_by": caller.label, "made_at": now}
    if is_apart is not None:
        decided["is_apart"] = is_apart
    ClusterDecision.objects.for_tenant(caller.tenant).update_or_create(
        id=identity,
        defaults=decided,
        create_defaults={**decided, "tenant_id": corpus.tenant_id, "corpus_id": corpus.id},
    )


def _dissolve(corpus: Corpus, before: ClusterDecision | None) -> None:
    """End the merge that a record has left when only one is left in it."""
    if before is None or before.merge_id is None:
        return
    decisions = ClusterDecision.objects.for_tenant(corpus.tenant).filter(corpus_id=corpus.id)
    left = decisions.filter(merge_id=before.merge_id)
    if left.count() > 1:
        return
    left.filter(is_apart=False).delete()
    left.update(merge_id=None)
