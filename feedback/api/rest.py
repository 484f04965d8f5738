"""REST: send documents, follow a large delivery, search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import QueryDict
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
from feedback.domain.filter_sets import Scope as Slices
from feedback.domain.filter_sets import read_json_sets
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Mode
from feedback.selectors.corpora import get_corpus, vocabulary_of
from feedback.selectors.retrieval import Pass
from feedback.services.ingest import ingest_documents
from feedback.services.jobs import cluster_in_background, embed_in_background, get_job, job_json, submit_batch
from feedback.services.search import explain_search, search
from tenants.api.authentication import caller_from
from tenants.domain.access import Role, Scope

if TYPE_CHECKING:
    from tenants.models import Tenant

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


class SearchInput(serializers.Serializer[Any]):
    """A search within one filter set or several; `q` and `query` are the same."""

    q = serializers.CharField(required=False, max_length=4000, trim_whitespace=False)
    query = serializers.CharField(required=False, max_length=4000, trim_whitespace=False)
    corpus = serializers.CharField(default="feedback", max_length=63)
    filters = serializers.DictField(required=False, allow_null=True)
    filter_sets = serializers.ListField(
        required=False,
        child=serializers.DictField(),
        help_text="At most 16 filter sets, each with an optional name and top_k; not together with filters. "
        "Their hits are merged by rank, and each says in which sets it came.",
    )
    top_k = serializers.IntegerField(required=False, allow_null=True, help_text="how many hits of each set")
    mode = serializers.CharField(required=False, default=Mode.HYBRID.value)
    passes = serializers.ListField(
        required=False, child=serializers.CharField(), help_text=f"what follows the neutral search: {', '.join(Pass)}"
    )


_FILTER = OpenApiParameter("filter", str, many=True, description="key=value; repeat it for alternatives")
_FILTER_SET = OpenApiParameter(
    "filter_set", str, many=True, description="a filter set as JSON, with an optional name; repeat it for more"
)


class SearchView(APIView):
    """Search without answering: the records, with every score that ranked them."""

    needs = {"GET": (Role.VIEWER, Scope.DOCUMENTS_READ), "POST": (Role.VIEWER, Scope.DOCUMENTS_READ)}

    @extend_schema(
        operation_id="search",
        parameters=[
            OpenApiParameter("q", str, required=True),
            OpenApiParameter("corpus", str, default="feedback"),
            OpenApiParameter("top_k", int),
            OpenApiParameter("mode", str, enum=list(Mode), default=Mode.HYBRID.value),
            _FILTER,
            _FILTER_SET,
            OpenApiParameter("passes", str, description=f"with commas: {', '.join(Pass)}"),
        ],
        responses={200: OpenApiTypes.OBJECT},
    )
    def get(self, request: Request) -> Response:
        caller = caller_from(request)
        asked = request.query_params
        passes = asked.get("passes")
        found = search(
            tenant=caller.tenant,
            query=asked.get("q", ""),
            **_slice_asked(caller.tenant, asked),
            top_k=whole_number(asked.get("top_k"), "top_k"),
            mode=read_mode(asked.get("mode")),
            passes=None if passes is None else passes.split(","),
        )
        return Response(found.as_json())

    @extend_schema(
        operation_id="search_sets",
        request=SearchInput,
        responses={200: OpenApiTypes.OBJECT},
        examples=[
            OpenApiExample(
                "Two slices side by side",
                value={
                    "q": "late delivery",
                    "filter_sets": [
                        {"name": "tickets", "source": ["support_ticket"]},
                        {"name": "this year", "occurred_from": "2026-01-01", "top_k": 5},
                    ],
                },
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        body = SearchInput(data=request.data)
        body.is_valid(raise_exception=True)
        asked = body.validated_data
        if ("q" in asked) == ("query" in asked):
            raise InvalidInput("Send the text to search for as q.", field="q")
        found = search(
            tenant=caller_from(request).tenant,
            query=asked.get("q", asked.get("query", "")),
            corpus=asked["corpus"],
            filters=asked.get("filters"),
            filter_sets=asked.get("filter_sets"),
            top_k=asked.get("top_k"),
            mode=read_mode(asked["mode"]),
            passes=asked.get("passes"),
        )
        return Response(found.as_json())


class SearchExplainView(APIView):
    """Why a record stands where it stands in a search, or at which stage it was lost."""

    needs = {"GET": (Role.VIEWER, Scope.DOCUMENTS_READ)}

    @extend_schema(
        operation_id="search_explain",
        parameters=[
            OpenApiParameter("q", str, required=True),
            OpenApiParameter("doc_id", str, description="the record; without it the first hit is explained"),
            OpenApiParameter("corpus", str, default="feedback"),
            OpenApiParameter("top_k", int),
            OpenApiParameter("mode", str, enum=list(Mode), default=Mode.HYBRID.value),
            _FILTER,
            _FILTER_SET,
        ],
        responses={200: OpenApiTypes.OBJECT},
    )
    def get(self, request: Request) -> Response:
        caller = caller_from(request)
        asked = request.query_params
        explained = explain_search(
            tenant=caller.tenant,
            query=asked.get("q", ""),
            doc_id=asked.get("doc_id"),
            **_slice_asked(caller.tenant, asked),
            top_k=whole_number(asked.get("top_k"), "top_k"),
            mode=read_mode(asked.get("mode")),
        )
        return Response({"query": asked.get("q", ""), **(explained.as_json() if explained else NOTHING_FOUND)})


# What is explained of a search that found nothing when no record is named.
NOTHING_FOUND: dict[str, Any] = {
    "doc_id": None,
    "found": False,
    "stage": None,
    "message": "Nothing was found.",
    "why": None,
}


def _slice_asked(tenant: Tenant, asked: QueryDict) -> dict[str, Any]:
    """Return the corpus and the slices that an address names. Raises: InvalidInput, NotFound."""
    slug, pairs, sets = asked.get("corpus", "feedback"), asked.getlist("filter"), asked.getlist("filter_set")
    if pairs and sets:
        raise InvalidInput("Send either filter or filter_set, not both.", field="filter_set")
    if sets:
        return {"corpus": slug, "filter_sets": read_json_sets(sets)}
    with tenant_session(tenant):
        corpus = get_corpus(tenant=tenant, slug=slug)
    return {"corpus": slug, "filters": Slices(FilterSet.from_pairs(pairs, vocabulary=vocabulary_of(corpus)))}


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
