"""What the worker processes run; each task may come twice."""

from __future__ import annotations

from uuid import UUID

from core.clock import utc_now
from core.partitions import ensure_ahead
from feedback.services import jobs, upkeep
from tenants.selectors import get_tenant_by_id

_MONTHS_AHEAD = 3


def embed_corpus(tenant_id: UUID, corpus_id: UUID) -> int:
    """Compute vectors that a corpus lacks, for half a minute; return how many it lacks still."""
    return jobs.embed_slice(tenant=get_tenant_by_id(tenant_id=tenant_id), corpus_id=corpus_id)


def cluster_corpus(tenant_id: UUID, corpus_id: UUID) -> int:
    """Cluster records of a corpus that wait, for half a minute; return how many wait still."""
    from feedback.services import clustering  # numpy is for those who cluster

    return clustering.cluster_slice(tenant=get_tenant_by_id(tenant_id=tenant_id), corpus_id=corpus_id)


def index_corpus(tenant_id: UUID, corpus_id: UUID) -> int:
    """Build graphs over a corpus's vectors; return how many wait still."""
    return jobs.index_slice(tenant=get_tenant_by_id(tenant_id=tenant_id), corpus_id=corpus_id, now=utc_now())


def run_ingest_job(tenant_id: UUID, job_id: UUID) -> None:
    """Read a large batch."""
    jobs.run_job(tenant=get_tenant_by_id(tenant_id=tenant_id), job_id=job_id, now=utc_now())


def every_minute() -> None:
    """Look after all corpora, and after the partitions of the months to come."""
    now = utc_now()
    ensure_ahead(now=now, months=_MONTHS_AHEAD)
    upkeep.keep_up(now=now)
