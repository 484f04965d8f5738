"""Work on a corpus that nobody waits for: large batches, and the vectors that follow the words."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import structlog
from django.db.models import F

from core.errors import NotFound
from core.queue import enqueue, waiting, working_alone
from core.tenant_session import tenant_session
from feedback.models import Corpus, IngestJob
from feedback.selectors.clusters import clustering_lag
from feedback.selectors.corpora import embedding_lag
from feedback.services.ingest import IngestResult, ingest_documents
from feedback.services.segments import has_retired, index_vectors, waiting_vectors
from feedback.services.vectors import embed_missing
from tenants.caller import Caller

if TYPE_CHECKING:
    from tenants.models import Tenant

log = structlog.get_logger("wisdom.jobs")

MAX_ATTEMPTS = 3
GIVEN_UP = f"The worker stopped {MAX_ATTEMPTS} times while it read this batch: send it again in smaller parts."
# A task gives its worker back after this long, so that one large corpus can't keep out the others.
EMBEDDING_SLICE_SECONDS = 30.0
# No build is begun after this long; the last may take some minutes more, well within the queue's own limit.
INDEXING_SLICE_SECONDS = 60.0
# With more than this waiting no task is added that the next sweep would add as well.
_BACKLOG = 100
_COUNTED = ("saved", "updated", "indexed")


def submit_batch(
    *, caller: Caller, corpus: Corpus, documents: Sequence[Any], batch_id: str, now: datetime
) -> IngestJob:
    """Take a batch that is too large to wait for; a worker reads it."""
    with tenant_session(caller.tenant):
        job = IngestJob(
            tenant=caller.tenant,
            corpus=corpus,
            batch_id=batch_id,
            actor=caller.label,
            documents=list(documents),
            total=len(documents),
            created_at=now,
        )
        job.save(force_insert=True)
        enqueue("feedback.tasks.run_ingest_job", caller.tenant.id, job.id)
    return job


def get_job(*, tenant: Tenant, job_id: UUID) -> IngestJob:
    """Return a job without its documents. Raises: NotFound."""
    with tenant_session(tenant):
        job = (
            IngestJob.objects.for_tenant(tenant)
            .select_related("corpus", "tenant")
            .defer("documents")
            .filter(pk=job_id)
            .first()
        )
    if job is None:
        raise NotFound
    return job


def job_json(job: IngestJob) -> dict[str, Any]:
    """Return how far a job is, and what came of it once it has ended."""
    return {
        "job": str(job.id),
        "status": job.status,
        "corpus": job.corpus.slug,
        "batch_id": job.batch_id,
        "total": job.total,
        "done": job.done,
        "attempts": job.attempts,
        "created_at": job.created_at.isoformat().replace("+00:00", "Z"),
        "finished_at": job.finished_at.isoformat().replace("+00:00", "Z") if job.finished_at else None,
        "result": job.result or None,
        "error": job.error or None,
    }


def run_job(*, tenant: Tenant, job_id: UUID, now: datetime) -> None:
    """Read a batch to its end, from wherever an earlier attempt was when its worker died.

    Nothing happens when the job has ended or another worker is at it. What was stored before is found
    unchanged, and counted as what it was the first time. Whatever the reading raises is noted on the job when
    there is no attempt left, and raised again.
    """
    started = time.monotonic()

    def ended() -> datetime:
        return now + timedelta(seconds=time.monotonic() - started)

    with working_alone(job_id) as is_ours:
        if not is_ours:
            return
        job = _claim(tenant, job_id, now)
        if job is None:
            return
        try:
            result = _read(tenant, job)
        except Exception:
            log.exception("batch failed", job=str(job_id), attempt=job.attempts)
            if job.attempts >= MAX_ATTEMPTS:
                # The reason may quote the database; the job's owner is told what to do.
                _end(tenant, job_id, ended(), status=IngestJob.Status.FAILED, error=GIVEN_UP)
            raise
        _end(tenant, job_id, ended(), status=IngestJob.Status.DONE, result=result, done=job.total)
    embed_in_background(corpus=job.corpus)
    cluster_in_background(corpus=job.corpus)


def _claim(tenant: Tenant, job_id: UUID, now: datetime) -> IngestJob | None:
    """Take the job by compare-and-set, counting the attempt before it can kill us."""
    with tenant_session(tenant):
        jobs = IngestJob.objects.for_tenant(tenant)
        job = jobs.select_related("corpus", "corpus__tenant", "tenant").filter(pk=job_id).first()
        if job is None or job.status not in (IngestJob.Status.WAITING, IngestJob.Status.RUNNING):
            return None
        if job.attempts >= MAX_ATTEMPTS:
            _end(tenant, job_id, now, status=IngestJob.Status.FAILED, error=GIVEN_UP)
            return None
        claimed = jobs.filter(pk=job_id, status=job.status, attempts=job.attempts).update(
            status=IngestJob.Status.RUNNING, attempts=F("attempts") + 1
        )
    if not claimed:
        return None
    job.attempts += 1
    return job


def _read(tenant: Tenant, job: IngestJob) -> dict[str, Any]:
    earlier = dict(job.result)

    def so_far(result: IngestResult) -> dict[str, Any]:
        answer = result.as_json()
        for name in _COUNTED:
            answer[name] += earlier.get(name, 0)
        answer["unchanged"] = max(0, answer["unchanged"] - earlier.get("saved", 0) - earlier.get("updated", 0))
        return answer

    def keep_progress(result: IngestResult) -> None:
        answer = so_far(result)
        done = result.saved + result.updated + result.unchanged + result.rejected
        with tenant_session(tenant):
            IngestJob.objects.for_tenant(tenant).filter(pk=job.pk).update(
                done=done,
                result={name: answer[name] for name in ("saved", "updated", "unchanged", "rejected", "indexed")},
            )

    result = ingest_documents(
        caller=Caller(tenant=tenant, label=job.actor),
        corpus=job.corpus,
        rows=enumerate(job.documents, start=1),
        # The moment of receipt, so that a second attempt dates undated records alike.
        now=job.created_at,
        batch_id=job.batch_id,
        progress=keep_progress,
    )
    return so_far(result)


def _end(tenant: Tenant, job_id: UUID, now: datetime, *, status: str, **fields: Any) -> None:
    with tenant_session(tenant):
        # The texts are in the corpus now, or will be sent again: no second copy that an erasure could forget.
        IngestJob.objects.for_tenant(tenant).filter(pk=job_id).update(
            status=status, finished_at=now, documents=[], **fields
        )


def take_up_jobs(*, tenant: Tenant, created_before: datetime) -> int:
    """Queue again the jobs that nobody is at although they were sent before that moment; return how many."""
    if waiting() > _BACKLOG:
        return 0
    with tenant_session(tenant):
        found = list(
            IngestJob.objects.for_tenant(tenant)
            .filter(status__in=[IngestJob.Status.WAITING, IngestJob.Status.RUNNING], created_at__lt=created_before)
            .values_list("id", flat=True)
        )
    idle = 0
    for job_id in found:
        with working_alone(job_id) as is_idle:
            if is_idle:
                enqueue("feedback.tasks.run_ingest_job", tenant.id, job_id)
                idle += 1
    return idle


def embed_in_background(*, corpus: Corpus) -> int:
    """Have the missing vectors of a corpus computed by a worker; return how many are missing."""
    with tenant_session(corpus.tenant):
        lag = embedding_lag(corpus=corpus)
    if lag and waiting() <= _BACKLOG:
        enqueue("feedback.tasks.embed_corpus", corpus.tenant_id, corpus.id)
    return lag


def cluster_in_background(*, corpus: Corpus) -> int:
    """Have the records of a corpus that wait clustered by a worker; return how many wait."""
    with tenant_session(corpus.tenant):
        lag = clustering_lag(corpus=corpus)
    if lag and waiting() <= _BACKLOG:
        enqueue("feedback.tasks.cluster_corpus", corpus.tenant_id, corpus.id)
    return lag


def index_in_background(*, corpus: Corpus) -> int:
    """Have graphs built over the vectors that wait for one, by a worker; return how many wait."""
    waits = waiting_vectors(corpus)
    if (waits or has_retired(corpus)) and waiting() <= _BACKLOG:
        enqueue("feedback.tasks.index_corpus", corpus.tenant_id, corpus.id)
    return waits


def index_slice(*, tenant: Tenant, corpus_id: UUID, now: datetime) -> int:
    """Build graphs for a while and queue the rest; return how many vectors still wait."""
    with tenant_session(tenant):
        corpus = Corpus.objects.for_tenant(tenant).select_related("tenant").filter(pk=corpus_id).first()
    if corpus is None:
        return 0
    done = index_vectors(corpus=corpus, now=now, time_limit_seconds=INDEXING_SLICE_SECONDS)
    if done.waiting and done.indexed:
        enqueue("feedback.tasks.index_corpus", tenant.id, corpus_id)
    return done.waiting


def embed_slice(*, tenant: Tenant, corpus_id: UUID) -> int:
    """Compute missing vectors for a while and queue the rest; return how many are still missing.

    Nothing happens while another worker is at the same corpus. When no vector could be stored, the next sweep
    tries again, and not this task at once.
    """
    with working_alone(corpus_id) as is_ours:
        if not is_ours:
            return 0
        with tenant_session(tenant):
            corpus = Corpus.objects.for_tenant(tenant).select_related("tenant").filter(pk=corpus_id).first()
        if corpus is None:
            return 0
        done = embed_missing(tenant=tenant, corpus=corpus, time_limit_seconds=EMBEDDING_SLICE_SECONDS)
    if done.lag and done.embedded:
        enqueue("feedback.tasks.embed_corpus", tenant.id, corpus_id)
    return done.lag
