"""Cluster the records that say the same in nearly the same words, behind the writers.

A record that was stored or edited waits; a pass reads what waits, reduces it to fingerprints outside any transaction,
and finds each text's leader under the lock of the corpus's one writer. The clusters are those that clustering all
records anew would give (see `leaders`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson
from django.db import connection

from core.queue import enqueue, working_alone
from core.tenant_session import tenant_session
from feedback.domain.fingerprints import Fingerprint, fingerprints
from feedback.domain.leaders import Leaders, Text
from feedback.domain.near_duplicates import words
from feedback.models import Corpus
from feedback.selectors.clusters import clustering_lag
from feedback.services.clusters import apply_decisions, set_apart
from feedback.services.lexical_index import lock_statistics

if TYPE_CHECKING:
    from tenants.models import Tenant

# A task gives its worker back after this long, so that one large corpus can't keep out the others.
SLICE_SECONDS = 30.0
_BATCH = 1000


@dataclass(frozen=True, slots=True)
class ClusterResult:
    """What a pass did: records clustered, those that still wait, how long it took."""

    clustered: int
    lag: int
    seconds: float


@dataclass(frozen=True, slots=True)
class _Record:
    """A record that waits: its current revision and what that says."""

    document_id: UUID
    revision_id: UUID
    revision: int
    text: str


def cluster_waiting(
    *,
    tenant: Tenant,
    corpus: Corpus,
    time_limit_seconds: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> ClusterResult:
    """Cluster the records of a corpus that wait, in batches that each commit.

    Two at once do no harm: the later one finds nothing left to do. Stops early at the time limit.
    """
    started = time.monotonic()
    total = 0
    while time_limit_seconds is None or time.monotonic() - started < time_limit_seconds:
        with tenant_session(tenant):
            waiting = _waiting(corpus)
            if not waiting and not _due(corpus):
                break
        # The costly part, while writers may write.
        prints = fingerprints(
            [words(record.text) for record in waiting],
            salts=[record.document_id.bytes for record in waiting],
            corpus=corpus.id,
        )
        with tenant_session(tenant):
            lock_statistics(corpus, changes_records=False)
            total += _cluster(corpus, list(zip(waiting, prints, strict=True)))
        if progress:
            progress(total)
    with tenant_session(tenant):
        lag = clustering_lag(corpus=corpus)
    return ClusterResult(clustered=total, lag=lag, seconds=round(time.monotonic() - started, 3))


def cluster_slice(*, tenant: Tenant, corpus_id: UUID) -> int:
    """Cluster what waits for a while and queue the rest; return how many records wait still.

    Nothing happens while another worker clusters the same corpus.
    """
    # Beside the one that computes its vectors, which holds the lock of the corpus itself.
    with working_alone(UUID(int=corpus_id.int ^ 1)) as is_ours:
        if not is_ours:
            return 0
        with tenant_session(tenant):
            corpus = Corpus.objects.for_tenant(tenant).select_related("tenant").filter(pk=corpus_id).first()
        if corpus is None:
            return 0
        done = cluster_waiting(tenant=tenant, corpus=corpus, time_limit_seconds=SLICE_SECONDS)
    if done.lag and done.clustered:
        enqueue("feedback.tasks.cluster_corpus", tenant.id, corpus_id)
    return done.lag


def recluster(*, corpus: Corpus) -> None:
    """Forget the clusters of a corpus, so that all its records wait; what people decided is kept.

    For a new definition of similarity, or a library that signs otherwise.
    """
    with tenant_session(corpus.tenant):
        lock_statistics(corpus, changes_records=False)
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 0")
            scope = [corpus.tenant_id, corpus.id]
            cursor.execute("DELETE FROM feedback_distincttext WHERE tenant_id = %s AND corpus_id = %s", scope)
            cursor.execute(
                "UPDATE feedback_clustermember SET text_id = NULL, position = NULL, cluster_id = NULL"
                " WHERE tenant_id = %s AND corpus_id = %s AND text_id IS NOT NULL",
                scope,
            )
        apply_decisions(corpus)


def _waiting(corpus: Corpus) -> list[_Record]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT w.id, r.id, r.number, r.title, r.text FROM (SELECT m.id FROM feedback_clustermember m"
            "   WHERE m.tenant_id = %s AND m.corpus_id = %s AND m.text_id IS NULL ORDER BY m.id LIMIT %s) w"
            "  JOIN feedback_documentkey k ON k.tenant_id = %s AND k.id = w.id"
            "  JOIN feedback_documentrevision r ON r.tenant_id = %s AND r.document_id = k.id AND r.number = k.revision"
            " ORDER BY w.id",
            [corpus.tenant_id, corpus.id, _BATCH, corpus.tenant_id, corpus.tenant_id],
        )
        return [
            _Record(document_id, revision_id, revision, f"{title}\n{text}" if title else text)
            for document_id, revision_id, revision, title, text in cursor.fetchall()
        ]


def _due(corpus: Corpus) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM feedback_distincttext WHERE tenant_id = %s AND corpus_id = %s AND is_due ORDER BY id LIMIT %s",
            [corpus.tenant_id, corpus.id, _BATCH],
        )
        return [row[0] for row in cursor.fetchall()]


def _cluster(corpus: Corpus, read: Sequence[tuple[_Record, Fingerprint]]) -> int:
    """Cluster what was read and still waits with the text that was read; return how many records that were."""
    current = _current_revisions(corpus, [record.document_id for record, _ in read])
    found = [(record, each) for record, each in read if current.get(record.document_id) == record.revision]
    due = set(_due(corpus))
    firsts: dict[UUID, UUID] = {}
    for record, each in found:
        firsts[each.identity] = min(record.revision_id, firsts.get(each.identity, record.revision_id))
    stored = {text.id: text for text in _texts(corpus, {*firsts, *due})}
    remaining = _first_positions(corpus, due)
    leaders = Leaders(_StoredTexts(corpus))
    removed, moved = [], {}
    for identity, text in stored.items():
        candidates = [remaining.get(identity) if identity in due else text.position, firsts.get(identity)]
        position = min((candidate for candidate in candidates if candidate), default=None)
        if position is None:
            leaders.remove(text)
            removed.append(identity)
        elif position != text.position:
            leaders.move(text, position)
            moved[identity] = text
    placed = {}
    for _, each in found:
        if each.identity not in stored and each.identity not in placed:
            text = Text(each.identity, firsts[each.identity], frozenset(each.shingles), each.bands)
            leaders.place(text)
            placed[each.identity] = text
    changed = {text.id: text for text in leaders.settle()}
    _remove_texts(corpus, removed)
    _insert_texts(corpus, list(placed.values()))
    kept = {**{identity: stored[identity] for identity in due - set(removed)}, **moved, **changed}
    _update_texts(corpus, [text for identity, text in kept.items() if identity not in placed])
    followed = {identity: text.leader for identity, text in {**stored, **placed, **changed}.items()}
    _join_clusters(corpus, found, followed)
    apply_decisions(corpus)
    return len(found)


def _current_revisions(corpus: Corpus, documents: Sequence[UUID]) -> dict[UUID, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT m.id, k.revision FROM feedback_clustermember m"
            "  JOIN feedback_documentkey k ON k.tenant_id = %s AND k.id = m.id"
            " WHERE m.tenant_id = %s AND m.id = ANY (%s) AND m.text_id IS NULL",
            [corpus.tenant_id, corpus.tenant_id, list(documents)],
        )
        return dict(cursor.fetchall())


_COLUMNS = "id, position, leader_id, shingles, bands"


def _text(row: tuple[Any, ...]) -> Text:
    identity, position, leader, shingles, bands = row
    return Text(identity, position, frozenset(shingles), tuple(bands), leader)


def _texts(corpus: Corpus, identities: Iterable[UUID]) -> list[Text]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {_COLUMNS} FROM feedback_distincttext WHERE tenant_id = %s AND id = ANY (%s) ORDER BY id",
            [corpus.tenant_id, list(identities)],
        )
        return [_text(row) for row in cursor.fetchall()]


def _first_positions(corpus: Corpus, identities: Iterable[UUID]) -> dict[UUID, UUID]:
    """Return where texts stand by the records that say them still."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT ON (text_id) text_id, position FROM feedback_clustermember"
            " WHERE tenant_id = %s AND text_id = ANY (%s) ORDER BY text_id, position",
            [corpus.tenant_id, list(identities)],
        )
        return dict(cursor.fetchall())


class _StoredTexts:
    """The texts of a corpus in the database."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def leaders(self, bands: Iterable[int]) -> list[Text]:
        return self._sharing(bands, everything=False)

    def sharing(self, bands: Iterable[int]) -> list[Text]:
        return self._sharing(bands, everything=True)

    def _sharing(self, bands: Iterable[int], *, everything: bool) -> list[Text]:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT {_COLUMNS} FROM feedback_sharing_bands(%s, %s::integer[], %s)",
                [self._corpus.id, sorted(bands), everything],
            )
            return [_text(row) for row in cursor.fetchall()]

    def followers(self, leaders: Iterable[UUID]) -> list[Text]:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT {_COLUMNS} FROM feedback_distincttext"
                " WHERE tenant_id = %s AND leader_id = ANY (%s) AND leader_id <> id",
                [self._corpus.tenant_id, list(leaders)],
            )
            return [_text(row) for row in cursor.fetchall()]

    def last_position(self) -> UUID | None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT position FROM feedback_distincttext WHERE tenant_id = %s AND corpus_id = %s"
                " ORDER BY position DESC LIMIT 1",
                [self._corpus.tenant_id, self._corpus.id],
            )
            row = cursor.fetchone()
        return row[0] if row else None


def _remove_texts(corpus: Corpus, identities: Sequence[UUID]) -> None:
    if not identities:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM feedback_distincttext WHERE tenant_id = %s AND id = ANY (%s)",
            [corpus.tenant_id, list(identities)],
        )


def _insert_texts(corpus: Corpus, texts: Sequence[Text]) -> None:
    rows = [
        {
            "id": str(text.id),
            "position": str(text.position),
            "leader_id": str(text.leader),
            "shingles": sorted(text.shingles),
            "bands": text.bands,
        }
        for text in texts
    ]
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO feedback_distincttext (id, tenant_id, corpus_id, position, leader_id, shingles, bands, is_due)"
            " SELECT x.id, %s, %s, x.position, x.leader_id, x.shingles, x.bands, false"
            "   FROM jsonb_to_recordset(%s::jsonb) AS x(id uuid, position uuid, leader_id uuid, shingles bigint[], bands integer[])",
            [corpus.tenant_id, corpus.id, orjson.dumps(rows).decode()],
        )


def _update_texts(corpus: Corpus, texts: Sequence[Text]) -> None:
    """Write where texts stand and whom they follow, to them and to the records that say them."""
    if not texts:
        return
    ids = [text.id for text in texts]
    followed = [text.leader for text in texts]
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE feedback_distincttext t SET position = x.position, leader_id = x.leader_id, is_due = false"
            "  FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[]) AS x(id, position, leader_id)"
            " WHERE t.tenant_id = %s AND t.id = x.id",
            [ids, [text.position for text in texts], followed, corpus.tenant_id],
        )
        cursor.execute(
            "UPDATE feedback_clustermember m SET cluster_id = x.leader_id"
            "  FROM unnest(%s::uuid[], %s::uuid[]) AS x(id, leader_id)"
            # Set apart, a record is its own cluster.
            " WHERE m.tenant_id = %s AND m.text_id = x.id AND m.cluster_id <> x.leader_id AND m.cluster_id <> m.id",
            [ids, followed, corpus.tenant_id],
        )


def _join_clusters(
    corpus: Corpus, found: Sequence[tuple[_Record, Fingerprint]], followed: Mapping[UUID, UUID | None]
) -> None:
    if not found:
        return
    apart = set_apart(corpus, [record.document_id for record, _ in found])
    rows = [
        (
            record.document_id,
            each.identity,
            record.revision_id,
            record.document_id if record.document_id in apart else followed[each.identity],
        )
        for record, each in found
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE feedback_clustermember m SET text_id = x.text_id, position = x.position, cluster_id = x.cluster_id"
            "  FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::uuid[]) AS x(id, text_id, position, cluster_id)"
            " WHERE m.tenant_id = %s AND m.id = x.id",
            [*map(list, zip(*rows, strict=True)), corpus.tenant_id],
        )
