"""REST: send documents, follow a large delivery, search."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.clock import utc_now
from core.errors import InvalidInput
from core.tenant_session import tenant_session
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Mode
from feedback.selectors.corpora import corpus_state, get_corpus, vocabulary_of
from feedback.selectors.retrieval import rerank_hits, retrieve, second_stage
from feedback.services.ingest import ingest_documents
from feedback.services.jobs import cluster_in_background, embed_in_background, get_job, job_json, submit_batch
from tenants.api.authentication import caller_from
from tenants.domain.access import Role, Scope

MAX_SYNCHRONOUS = 500
MAX_BATCH = 10_000


class BatchInput(serializers.Serializer[Any]):
    """A delivery of documents, each judged by itself; unknown keys of a document become facets."""

    documents = serializers.ListField(child=serializers.JSONField(allow_null=True))
    corpus = serializers.CharField(default="feedback", max_length=63)
    batch_id = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)


class DocumentsBatchView(APIView):
    """Store documents: up to 500 at once, up to 10,000 by a job."""

    needs = {"POST": (Role.ANALYST, Scope.DOCUMENTS_WRITE)}

    @extend_schema(
        operation_id="documents_batch",
        request=BatchInput,
        responses={200: OpenApiTypes.OBJECT, 202: OpenApiTypes.OBJECT},
        examples=[
            OpenApiExample(
                "One document",
                value={"documents": [{"id": "t-1", "text": "The parcel came nine days late.", "source": "survey"}]},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        body = BatchInput(data=request.data)
        body.is_valid(raise_exception=True)
        sent = body.validated_data
        caller = caller_from(request)
        documents = sent["documents"]
        if len(documents) > MAX_BATCH:
            raise InvalidInput(
                f"A delivery holds at most {MAX_BATCH:,} documents; this one has {len(documents):,}: split it.",
                code="batch_too_large",
                field="documents",
            )
        with tenant_session(caller.tenant):
            corpus = get_corpus(tenant=caller.tenant, slug=sent["corpus"])
        if len(documents) > MAX_SYNCHRONOUS:
            job = submit_batch(
                caller=caller, corpus=corpus, documents=documents, batch_id=sent["batch_id"], now=utc_now()
            )
            status_url = reverse("job", args=[job.id])
            return Response(
                {"job": str(job.id), "status_url": status_url}, status=202, headers={"Location": status_url}
            )
        result = ingest_documents(
            caller=caller,
            corpus=corpus,
            rows=list(enumerate(documents, start=1)),
            batch_id=sent["batch_id"],
            now=utc_now(),
        )
        embed_in_background(corpus=corpus)
        cluster_in_background(corpus=corpus)
        return Response(result.as_json())


class JobView(APIView):
    """How far a large delivery is, and what came of it."""

    needs = {"GET": (Role.ANALYST, Scope.DOCUMENTS_WRITE)}

    @extend_schema(operation_id="job", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, job_id: Any) -> Response:
        return Response(job_json(get_job(tenant=caller_from(request).tenant, job_id=job_id)))


class SearchView(APIView):
    """Search without answering: the records, with every score that ranked them."""

    needs = {"GET": (Role.VIEWER, Scope.DOCUMENTS_READ)}

    @extend_schema(
        operation_id="search",
        parameters=[
            OpenApiParameter("q", str, required=True),
            OpenApiParameter("corpus", str, default="feedback"),
            OpenApiParameter("top_k", int),
            OpenApiParameter("mode", str, enum=list(Mode), default=Mode.HYBRID.value),
            OpenApiParameter("filter", str, many=True, description="key=value; repeat it for alternatives"),
        ],
        responses={200: OpenApiTypes.OBJECT},
    )
    def get(self, request: Request) -> Response:
        caller = caller_from(request)
        asked = request.query_params
        with tenant_session(caller.tenant):
            corpus = get_corpus(tenant=caller.tenant, slug=asked.get("corpus", "feedback"))
            filters = FilterSet.from_pairs(asked.getlist("filter"), vocabulary=vocabulary_of(corpus))
            top_k = whole_number(asked.get("top_k"), "top_k")
            found = retrieve(
                corpus=corpus, query=asked.get("q", ""), filters=filters, top_k=top_k, mode=read_mode(asked.get("mode"))
            )
            found = second_stage(found, corpus=corpus, query=asked.get("q", ""))
            ranked = rerank_hits(found, top_k=top_k, as_of=corpus_state(corpus=corpus).as_of)
        return Response(
            {
                "query": asked.get("q", ""),
                "hits": [{**hit.as_json(), "title": hit.title, "text": hit.passage_text} for hit in ranked.hits],
                "strategy": ranked.strategy,
                "embedder": ranked.embedder,
                "embedding_lag": ranked.lag,
                "reranker": ranked.reranker,
                "notes": list(ranked.notes),
            }
        )


def whole_number(value: str | None, name: str) -> int | None:
    """Read an optional whole number. Raises: InvalidInput."""
    if value is None or not value.strip():
        return None
    try:
        return int(value)
    except ValueError as error:
        raise InvalidInput(f"{name} is a whole number, not {value[:40]!r}.", field=name) from error


def read_mode(value: str | None) -> Mode:
    """Read which arms take part, both by default. Raises: InvalidInput."""
    try:
        return Mode(value or Mode.HYBRID)
    except ValueError as error:
        raise InvalidInput(f"There is no mode {value!r}: use one of {', '.join(Mode)}.", field="mode") from error
