"""REST: near-duplicates of a record, the largest clusters, and what people decide of them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.clock import utc_now
from core.errors import InvalidInput
from core.tenant_session import tenant_session
from feedback.selectors.clusters import cluster_totals, get_duplicates, list_clusters
from feedback.selectors.corpora import get_corpus
from feedback.services.clusters import merge_records, reset_record, unmerge_record
from tenants.api.authentication import caller_from
from tenants.domain.access import Role, Scope

PAGE = 20
MAX_PAGE = 100
_PAGED = [
    OpenApiParameter("corpus", str, default="feedback"),
    OpenApiParameter("offset", int, default=0),
    OpenApiParameter("limit", int, default=PAGE),
]


class MergeInput(serializers.Serializer[Any]):
    """Records that are the same; each stands for its whole cluster."""

    ids = serializers.ListField(child=serializers.CharField(max_length=256))
    corpus = serializers.CharField(default="feedback", max_length=63)


class RecordInput(serializers.Serializer[Any]):
    """A record to take out of its cluster, or whose decisions are taken back."""

    id = serializers.CharField(max_length=256)
    corpus = serializers.CharField(default="feedback", max_length=63)


class DuplicatesView(APIView):
    """The records that say nearly the same as one, the oldest first."""

    needs = {"GET": (Role.VIEWER, Scope.DOCUMENTS_READ)}

    @extend_schema(operation_id="document_duplicates", parameters=_PAGED, responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, doc_id: str) -> Response:
        caller = caller_from(request)
        limit, offset = _page(request)
        with tenant_session(caller.tenant):
            corpus = get_corpus(tenant=caller.tenant, slug=request.query_params.get("corpus", "feedback"))
            found = get_duplicates(corpus=corpus, doc_id=doc_id, limit=limit, offset=offset)
        following = offset + limit if offset + limit < found.cluster.records - 1 else None
        return Response({**found.as_json(), "next_offset": following})


class ClustersView(APIView):
    """The clusters of more than one record, the largest first."""

    needs = {"GET": (Role.VIEWER, Scope.DOCUMENTS_READ)}

    @extend_schema(operation_id="clusters", parameters=_PAGED, responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> Response:
        caller = caller_from(request)
        limit, offset = _page(request)
        with tenant_session(caller.tenant):
            corpus = get_corpus(tenant=caller.tenant, slug=request.query_params.get("corpus", "feedback"))
            totals = cluster_totals(corpus=corpus)
            clusters = list_clusters(corpus=corpus, limit=limit, offset=offset)
        return Response(
            {
                "records": totals.records,
                "distinct": totals.distinct,
                "total": totals.clusters,
                "lag": totals.lag,
                "clusters": [cluster.as_json() for cluster in clusters],
                "next_offset": offset + limit if offset + limit < totals.clusters else None,
            }
        )


class _DecisionView(APIView):
    """A decision of a curator; the reply is the cluster as it is now."""

    needs = {"POST": (Role.CURATOR, Scope.DOCUMENTS_WRITE)}
    shape: type[serializers.Serializer[Any]] = RecordInput

    def _decided(self, request: Request) -> Response:
        body = self.shape(data=request.data)
        body.is_valid(raise_exception=True)
        sent = body.validated_data
        caller = caller_from(request)
        with tenant_session(caller.tenant):
            corpus = get_corpus(tenant=caller.tenant, slug=sent["corpus"])
        self.decide(caller=caller, corpus=corpus, sent=sent)
        with tenant_session(caller.tenant):
            found = get_duplicates(corpus=corpus, doc_id=sent["ids"][0] if "ids" in sent else sent["id"])
        return Response(found.as_json())

    def decide(self, *, caller: Any, corpus: Any, sent: dict[str, Any]) -> None:
        """Do what was asked for: each view of a decision has its own."""
        raise NotImplementedError  # no view is routed that has none


class MergeView(_DecisionView):
    """Say that records are the same."""

    shape = MergeInput

    @extend_schema(operation_id="clusters_merge", request=MergeInput, responses={200: OpenApiTypes.OBJECT})
    def post(self, request: Request) -> Response:
        return self._decided(request)

    def decide(self, *, caller: Any, corpus: Any, sent: dict[str, Any]) -> None:
        merge_records(caller=caller, corpus=corpus, doc_ids=sent["ids"], now=utc_now())


class UnmergeView(_DecisionView):
    """Say that a record is like no other."""

    @extend_schema(operation_id="clusters_unmerge", request=RecordInput, responses={200: OpenApiTypes.OBJECT})
    def post(self, request: Request) -> Response:
        return self._decided(request)

    def decide(self, *, caller: Any, corpus: Any, sent: dict[str, Any]) -> None:
        unmerge_record(caller=caller, corpus=corpus, doc_id=sent["id"], now=utc_now())


class ResetView(_DecisionView):
    """Take back what was decided of a record."""

    @extend_schema(operation_id="clusters_reset", request=RecordInput, responses={200: OpenApiTypes.OBJECT})
    def post(self, request: Request) -> Response:
        return self._decided(request)

    def decide(self, *, caller: Any, corpus: Any, sent: dict[str, Any]) -> None:
        reset_record(caller=caller, corpus=corpus, doc_id=sent["id"], now=utc_now())


def _page(request: Request) -> tuple[int, int]:
    """Return (limit, offset). Raises: InvalidInput for what is no number or out of range."""
    found = []
    for name, default in (("limit", PAGE), ("offset", 0)):
        text = request.query_params.get(name, str(default))
        if not text.isascii() or not text.isdecimal() or len(text) > 9:
            raise InvalidInput(f"{name} is a whole number, not {text[:40]!r}.", field=name)
        found.append(int(text))
    if not 1 <= found[0] <= MAX_PAGE:
        raise InvalidInput(f"limit lies between 1 and {MAX_PAGE}.", field="limit")
    return found[0], found[1]
