"""What operators and their machines look at: is it up, is it ready, how is it doing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from core.observability.metrics import exposition
from feedback.selectors.corpora import installation_totals

log = structlog.get_logger("wisdom.ops")


@never_cache
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """Say that the process answers; nothing else is touched."""
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """Say whether questions can be answered, and how much there is to answer from; an empty corpus is ready."""
    try:
        body = {"status": "ready", **_totals()}
    except (DatabaseError, InterfaceError) as error:
        log.error("not ready", reason=str(error).partition("\n")[0])
        return JsonResponse({"status": "unavailable", "reason": "The database doesn't answer."}, status=503)
    return JsonResponse(body)


def _totals() -> dict[str, Any]:
    totals = installation_totals()
    with connection.cursor() as cursor:
        cursor.execute("SELECT answering_run_total()")
        (runs,) = cursor.fetchone()
    return {
        "corpus": totals.corpora,
        "documents": totals.documents,
        "vocabulary": totals.terms,
        "vectors": sum(totals.vectors.values()),
        "vectors_by_embedder": totals.vectors,
        "traces": runs,
        "shard_balance": round(totals.shard_balance, 4),
        "fusion_strategy": settings.WISDOM.fusion_strategy,
    }


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return the counters of all processes, and gauges of what is stored while the database answers."""
    registry = CollectorRegistry()
    registry.register(_Stored())
    return HttpResponse(exposition() + generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class _Stored:
    """Gauges that are read from the database when they are asked for: every process would say the same."""

    def describe(self) -> list[Metric]:
        """Name nothing ahead, so that registering asks the database nothing."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges, or none while the database is away."""
        try:
            totals = installation_totals()
        except (DatabaseError, InterfaceError) as error:
            log.error("no gauges", reason=str(error).partition("\n")[0])
            return
        yield GaugeMetricFamily("wa_corpus_documents", "Documents that can be found", value=totals.documents)
        yield GaugeMetricFamily("wa_corpus_terms", "Distinct words over all corpora", value=totals.terms)
        yield GaugeMetricFamily("wa_shard_balance", "Mean by maximum documents per shard", value=totals.shard_balance)
        yield GaugeMetricFamily(
            "wa_embedding_lag_documents", "Passages without the better vector", value=totals.embedding_lag
        )
        # Nothing waits to be published: events are read from the outbox itself.
        yield GaugeMetricFamily("wa_outbox_lag_seconds", "Age of the oldest unpublished event", value=0)
