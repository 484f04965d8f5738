"""Store documents: idempotent per id, a rejection per bad row, searchable in the commit that stores them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from core.ids import new_id
from core.observability import metrics
from core.outbox import record_event
from core.tenant_session import tenant_session
from feedback.clients.language_detector import detect
from feedback.domain.records import DocumentInput, Rejection, read_documents
from feedback.models import Corpus
from feedback.selectors.corpora import corpus_state, get_corpus, rules_of
from feedback.services.lexical_index import lock_statistics
from feedback.services.partitions import ensure_partitions
from feedback.services.writing import Change, known_documents, write_changes
from tenants.services import audit

if TYPE_CHECKING:
    from tenants.caller import Caller

CHUNK = 1000
# Rejections are counted without bound and listed up to here: a wrong file has as many as rows.
MAX_LISTED_REJECTIONS = 1000


@dataclass(slots=True)
class IngestResult:
    """What became of a delivery, in documents; `indexed` are those whose words or vectors were written."""

    saved: int = 0
    updated: int = 0
    unchanged: int = 0
    rejected: int = 0
    indexed: int = 0
    corpus_size: int = 0
    seconds: float = 0.0
    rejections: list[Rejection] = field(default_factory=list)
    new_sources: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the shape of the contract."""
        return {
            "saved": self.saved,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "rejected": self.rejected,
            "indexed": self.indexed,
            "corpus_size": self.corpus_size,
            "seconds": round(self.seconds, 3),
            "rejections": [
                {
                    "row": rejection.row,
                    "column": rejection.column,
                    "value": rejection.value,
                    "code": rejection.code,
                    "message": rejection.message,
                }
                for rejection in self.rejections
            ],
            "new_sources": self.new_sources,
        }


def ingest_documents(
    *,
    caller: Caller,
    corpus: Corpus,
    rows: Iterable[tuple[int, object]],
    now: datetime,
    batch_id: str = "",
    declares_sources: bool = False,
    dry_run: bool = False,
    day_first: bool | None = None,
    progress: Callable[[IngestResult], None] | None = None,
) -> IngestResult:
    """Store rows, given as (row number, what was sent), in chunks that each commit.

    A chunk is whole or absent: stopped half-way, a replay completes the rest. Embedding "behind" is not
    waited for. A dry run resolves every row exactly so, and writes nothing.
    """
    started = time.monotonic()
    result = IngestResult()
    seen: dict[str, tuple[int, bytes]] = {}
    for chunk in _chunks(rows, CHUNK):
        rules = rules_of(corpus, declares_sources=declares_sources)
        documents, rejections = read_documents(chunk, rules=rules, now=now, day_first=day_first)
        documents, repeated = _drop_repeated(documents, seen)
        for rejection in rejections + repeated:
            result.rejected += 1
            if len(result.rejections) < MAX_LISTED_REJECTIONS:
                result.rejections.append(rejection)
        if not dry_run:
            for code in (rejection.code for rejection in rejections + repeated):
                metrics.DOCUMENTS_REJECTED.labels(reason=code).inc()
        corpus = _store_chunk(caller, corpus, documents, result, now=now, batch_id=batch_id, dry_run=dry_run)
        if progress:
            progress(result)
    with tenant_session(caller.tenant):
        result.corpus_size = corpus_state(corpus=corpus).documents
        if not dry_run:
            counts = {"saved": result.saved, "updated": result.updated, "rejected": result.rejected}
            audit(
                caller=caller,
                action="documents.ingested",
                subject=f"corpus {corpus.slug}",
                now=now,
                detail={**counts, "batch_id": batch_id},
            )
    result.seconds = time.monotonic() - started
    return result


def _chunks(rows: Iterable[tuple[int, object]], size: int) -> Iterator[list[tuple[int, object]]]:
    chunk: list[tuple[int, object]] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _drop_repeated(
    documents: list[DocumentInput], seen: dict[str, tuple[int, bytes]]
) -> tuple[list[DocumentInput], list[Rejection]]:
    """Hold an id of this chunk against the earlier chunks of the same delivery."""
    kept, rejections = [], []
    for document in documents:
        earlier = seen.setdefault(document.external_id, (document.row, document.sent_hash))
        if earlier[0] == document.row:
            kept.append(document)
        elif earlier[1] != document.sent_hash:
            rejections.append(
                Rejection(
                    row=document.row,
                    column="id",
                    value=document.external_id[:80],
                    code="duplicate_id",
                    message=f"Row {earlier[0]} has the same id with other content; keep one of the two.",
                )
            )
    return kept, rejections


def _store_chunk(
    caller: Caller,
    corpus: Corpus,
    documents: list[DocumentInput],
    result: IngestResult,
    *,
    now: datetime,
    batch_id: str,
    dry_run: bool,
) -> Corpus:
    started = time.monotonic()
    if not documents:
        return corpus
    if not dry_run:
        ensure_partitions(document.occurred_at or now for document in documents)
    with tenant_session(caller.tenant):
        statistics = lock_statistics(corpus)
        corpus = get_corpus(tenant=caller.tenant, slug=corpus.slug)
        changes = _decide(corpus, documents, now)
        saved = sum(change.is_new for change in changes)
        indexed = sum(change.reindexes for change in changes)
        new_sources = sorted({change.document.source for change in changes} - set(corpus.sources))
        if changes and not dry_run:
            write_changes(corpus, statistics, changes, now=now, batch_id=batch_id)
            record_event(
                tenant=caller.tenant,
                type="documents.indexed",
                data={
                    "corpus": corpus.slug,
                    "batch_id": batch_id,
                    "documents": [change.document.external_id for change in changes],
                },
                now=now,
            )
    result.saved += saved
    result.updated += len(changes) - saved
    result.unchanged += len(documents) - len(changes)
    result.indexed += indexed
    result.new_sources = sorted({*result.new_sources, *new_sources})
    if not dry_run and changes:
        metrics.DOCUMENTS_INDEXED.inc(indexed)
        metrics.INDEX_BUILD.observe(time.monotonic() - started)
    return corpus


def _decide(corpus: Corpus, documents: Sequence[DocumentInput], now: datetime) -> list[Change]:
    """Return what has to be written; a document that was sent before, exactly so, is not in it."""
    known = known_documents(corpus, [document.external_id for document in documents])
    changes = []
    for document in documents:
        before = known.get(document.external_id)
        if before and not before.is_deleted and before.sent_hash == document.sent_hash:
            continue
        makes_revision = before is None or before.text_hash != document.text_hash
        changes.append(
            Change(
                document=document,
                id=before.id if before else new_id(),
                known=before,
                revision=1 if before is None else before.revision + makes_revision,
                # Without a date of its own a record keeps the moment that it was first received.
                occurred_at=document.occurred_at or (before.occurred_at if before else now),
                language=document.language or detect(document.text),
            )
        )
    return changes
