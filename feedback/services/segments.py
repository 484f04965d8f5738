"""Build the graphs over a large corpus's vectors, beside the searches that go on.

Storing a vector never waits for a graph: new vectors are scanned until a worker has built a segment over them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

import structlog
from django.conf import settings
from django.db import OperationalError, connection

from core.ids import new_id
from core.observability import metrics
from core.queue import working_alone
from core.tenant_session import tenant_session
from feedback.domain import segments as policy
from feedback.domain.partitions import shard_of
from feedback.domain.segments import Span
from feedback.embedding import embedder, embedders_of, stored_name
from feedback.models import VectorSegment
from feedback.selectors.corpora import corpus_state
from feedback.services.lexical_index import lock_statistics

if TYPE_CHECKING:
    from feedback.models import Corpus

log = structlog.get_logger("wisdom.segments")

# A search that began before a segment was retired has ended by then: statements end after a minute.
_READ_STILL = timedelta(minutes=2)
# pgvector's greatest number of dimensions of a halfvec in a graph.
_MAX_DIMENSIONS = 4_000


@dataclass(frozen=True, slots=True)
class IndexResult:
    """What a pass did: rows of the graphs that were built, and vectors that are still scanned though many."""

    indexed: int
    waiting: int
    seconds: float


def index_vectors(*, corpus: Corpus, now: datetime, time_limit_seconds: float | None = None) -> IndexResult:
    """Build the segments that a corpus is due, for each embedder in use, and drop those that were replaced.

    A corpus that the exact scan serves has none. One process at a time works on a corpus: another returns at once.
    No further build is begun after the time limit.
    """
    started = time.monotonic()
    indexed = 0
    # A lock of its own: vectors of the same corpus may be computed meanwhile.
    with working_alone(uuid5(corpus.id, "segments")) as is_ours:
        if is_ours:
            _drop_retired(corpus, now)
            for name in embedders_of(corpus).names:
                if embedder(name).dimensions > _MAX_DIMENSIONS:
                    continue
                while time_limit_seconds is None or time.monotonic() - started < time_limit_seconds:
                    rows = _build_next(corpus, name, now)
                    if not rows:
                        break
                    indexed += rows
    return IndexResult(indexed, waiting_vectors(corpus), round(time.monotonic() - started, 3))


def waiting_vectors(corpus: Corpus) -> int:
    """Return how many vectors a worker has to move into graphs; 0 while too few wait or the corpus needs none."""
    total = 0
    with tenant_session(corpus.tenant):
        for name in embedders_of(corpus).names:
            stored = stored_name(name)
            if embedder(name).dimensions <= _MAX_DIMENSIONS and _is_large(corpus, stored):
                rows = _waiting(corpus, stored, _serving(corpus, stored), policy.MAX_ROWS).rows
                total += rows if rows >= policy.MIN_WAITING else 0
    return total


def has_retired(corpus: Corpus) -> bool:
    """Say whether there are segments that no search chooses any more."""
    with tenant_session(corpus.tenant):
        return VectorSegment.objects.for_tenant(corpus.tenant).filter(corpus=corpus, is_serving=False).exists()


def _is_large(corpus: Corpus, stored: str) -> bool:
    return corpus_state(corpus=corpus).vectors.get(stored, 0) > settings.WISDOM.vector_exact_limit


def _serving(corpus: Corpus, stored: str) -> list[VectorSegment]:
    return list(
        VectorSegment.objects.for_tenant(corpus.tenant)
        .filter(corpus=corpus, embedder=stored, is_serving=True)
        .order_by("above")
    )


def _most_rows(name: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_size_bytes(current_setting('maintenance_work_mem'))")
        return policy.most_rows(cursor.fetchone()[0], embedder(name).dimensions)


def _waiting(corpus: Corpus, stored: str, serving: Sequence[VectorSegment], most: int) -> Span:
    above = serving[-1].upto if serving else 0
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*), max(x.number) FROM (SELECT number FROM feedback_passagevector WHERE tenant_id = %s"
            " AND shard = %s AND corpus_id = %s AND embedder = %s AND number > %s ORDER BY number LIMIT %s) x",
            [
                corpus.tenant_id,
                shard_of(corpus.tenant_id, settings.WISDOM.tenant_shards),
                corpus.id,
                stored,
                above,
                most,
            ],
        )
        rows, upto = cursor.fetchone()
    return Span(above, above if upto is None else upto, rows)


def _build_next(corpus: Corpus, name: str, now: datetime) -> int:
    """Build one segment if it is due; return its rows."""
    stored = stored_name(name)
    started = time.monotonic()
    with tenant_session(corpus.tenant):
        serving = _serving(corpus, stored)
        if not _is_large(corpus, stored):
            _retire(corpus, serving, now)
            return 0
        spans = [Span(segment.above, segment.upto, segment.rows) for segment in serving]
        most = _most_rows(name)
        span = policy.next_segment(spans, _waiting(corpus, stored, serving, most), max_rows=most)
        if span is None:
            return 0
        segment = _build(corpus, stored, embedder(name).dimensions, span)
    with tenant_session(corpus.tenant):
        lock_statistics(corpus, changes_records=False)
        _sweep(segment)
        _retire(corpus, [old for old in serving if old.above >= span.above], now)
        VectorSegment.objects.for_tenant(corpus.tenant).filter(pk=segment.pk).update(is_serving=True)
    seconds = time.monotonic() - started
    metrics.INDEX_BUILD.observe(seconds)
    log.info("segment built", corpus=corpus.slug, embedder=stored, rows=segment.rows, seconds=round(seconds, 1))
    return segment.rows


def _build(corpus: Corpus, stored: str, dimensions: int, span: Span) -> VectorSegment:
    segment = VectorSegment(
        id=new_id(),
        tenant=corpus.tenant,
        corpus=corpus,
        embedder=stored,
        dimensions=dimensions,
        above=span.above,
        upto=span.upto,
    )
    with connection.cursor() as cursor:
        # As long as it takes: about two minutes for 100,000 vectors.
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(
            "SELECT feedback_build_segment(%s, %s, %s, %s, %s, %s)",
            [segment.id, corpus.id, stored, dimensions, span.above, span.upto],
        )
        segment.rows = cursor.fetchone()[0]
    segment.save(force_insert=True)
    return segment


def _sweep(segment: VectorSegment) -> None:
    """Take out the vectors that were deleted while the segment was built; the caller holds the writers' lock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM feedback_segmentvector g WHERE g.tenant_id = %s AND g.segment_id = %s AND NOT EXISTS"
            " (SELECT FROM feedback_passagevector v WHERE v.tenant_id = %s AND v.shard = %s AND v.id = g.id)",
            [
                segment.tenant_id,
                segment.id,
                segment.tenant_id,
                shard_of(segment.tenant_id, settings.WISDOM.tenant_shards),
            ],
        )


def _retire(corpus: Corpus, segments: Sequence[VectorSegment], now: datetime) -> None:
    if segments:
        VectorSegment.objects.for_tenant(corpus.tenant).filter(pk__in=[segment.pk for segment in segments]).update(
            is_serving=False, retired_at=now
        )


def _drop_retired(corpus: Corpus, now: datetime) -> None:
    """Drop what no search reads any more, and what a builder left that died between its two commits."""
    with tenant_session(corpus.tenant):
        idle = VectorSegment.objects.for_tenant(corpus.tenant).filter(corpus=corpus, is_serving=False)
        found: list[UUID] = [
            segment.id for segment in idle if segment.retired_at is None or segment.retired_at <= now - _READ_STILL
        ]
    for segment_id in found:
        try:
            with tenant_session(corpus.tenant), connection.cursor() as cursor:
                # Whoever waits for this lock keeps searches waiting behind it.
                cursor.execute("SET LOCAL lock_timeout = '1s'")
                cursor.execute("SELECT feedback_drop_segment(%s)", [segment_id])
        except OperationalError:
            log.warning("segment is in use; the next pass drops it", segment=str(segment_id))
