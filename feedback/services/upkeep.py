"""What has to be done for every corpus again and again, whether or not somebody asked for it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog
from django.conf import settings
from django.db import connection

from core.tenant_scope import across_tenants
from core.tenant_session import tenant_session
from feedback.selectors.corpora import list_corpora
from feedback.services.jobs import cluster_in_background, embed_in_background, index_in_background, take_up_jobs
from feedback.services.lexical_index import MAX_DRIFT, lock_statistics, reweight, save_statistics

if TYPE_CHECKING:
    from feedback.models import Corpus
    from tenants.models import Tenant

log = structlog.get_logger("wisdom.upkeep")

# A job as new as this has been queued a moment ago and will be taken from there.
_IDLE = timedelta(seconds=45)


def keep_up(*, now: datetime) -> None:
    """Look after all tenants: lost jobs, missing vectors and graphs over many of them, records to cluster, old weights.

    A tenant whose turn raises is logged, and the others have theirs.
    """
    for tenant in across_tenants(reason="upkeep: every tenant's corpora are looked after"):
        try:
            _keep_up_tenant(tenant, now)
        except Exception:
            log.exception("upkeep failed", tenant=tenant.slug)


def _keep_up_tenant(tenant: Tenant, now: datetime) -> None:
    taken_up = take_up_jobs(tenant=tenant, created_before=now - _IDLE)
    if taken_up:
        log.info("jobs taken up", tenant=tenant.slug, jobs=taken_up)
    with tenant_session(tenant):
        corpora = list_corpora(tenant=tenant)
    for corpus in corpora:
        if reweight_if_due(corpus=corpus):
            log.info("corpus reweighted", tenant=tenant.slug, corpus=corpus.slug)
        embed_in_background(corpus=corpus)
        cluster_in_background(corpus=corpus)
        index_in_background(corpus=corpus)


def reweight_if_due(*, corpus: Corpus) -> bool:
    """Bake the settings' k1 and b and the true mean length into the corpus's weights, where others are.

    Returns whether they were. A mean length is due when it has drifted by more than `MAX_DRIFT`, as after
    records were retired.
    """
    wanted = (settings.WISDOM.bm25_k1, settings.WISDOM.bm25_b)
    with tenant_session(corpus.tenant):
        if not _is_due(corpus, wanted):
            return False
        with connection.cursor() as cursor:
            # As long as it takes: a large corpus is written anew.
            cursor.execute("SET LOCAL statement_timeout = 0")
        statistics = lock_statistics(corpus)
        statistics.k1, statistics.b = wanted
        if statistics.passages:
            statistics.average_length = statistics.total_length / statistics.passages
        reweight(corpus, statistics)
        save_statistics(corpus, statistics)
    return True


def _is_due(corpus: Corpus, wanted: tuple[float, float]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT k1, b, passages, total_length, average_length FROM feedback_corpusstatistics"
            " WHERE tenant_id = %s AND corpus_id = %s",
            [corpus.tenant_id, corpus.id],
        )
        row = cursor.fetchone()
    if row is None:
        return False
    k1, b, passages, total_length, average_length = row
    if (k1, b) != wanted:
        return True
    return bool(passages and average_length) and abs(total_length / passages / average_length - 1) > MAX_DRIFT
