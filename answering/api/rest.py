"""REST: ask a question, and list the records behind a number."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from answering.measures import (
    drift_since,
    get_stated,
    get_stored_query,
    has_denominator,
    list_records_of,
    lost_vocabulary,
    recount,
)
from answering.presentation import drift_json
from answering.selectors import get_run_named
from answering.services import ask
from core.clock import utc_now
from core.errors import InvalidInput
from core.tenant_session import tenant_session
from feedback.selectors.corpora import get_corpus
from tenants.api.authentication import caller_from
from tenants.domain.access import Role, Scope

PAGE = 100


class AskInput(serializers.Serializer[Any]):
    """A question and the slice of the corpus that it is about."""

    question = serializers.CharField(max_length=2000, trim_whitespace=False)
    corpus = serializers.CharField(default="feedback", max_length=63)
    filters = serializers.DictField(required=False, allow_null=True)
    filter_sets = serializers.ListField(
        child=serializers.DictField(),
        required=False,
        help_text="At most 16 filter sets, each with an optional name and top_k; not together with filters. They are "
        "searched side by side, which counts as one search, and each hit says in which sets it came.",
    )
    top_k = serializers.IntegerField(required=False, allow_null=True, help_text="how many hits of each set")
    passes = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="what follows the neutral search in lists of its own: attributed, contrasting",
    )
    include = serializers.ListField(child=serializers.CharField(), required=False)
    session = serializers.CharField(required=False, allow_null=True, max_length=100)


class AskView(APIView):
    """Answer with checked, cited claims, or refuse and say why; both are 200."""

    needs = {"POST": (Role.VIEWER, Scope.ASK)}

    @extend_schema(
        operation_id="ask",
        request=AskInput,
        responses={200: OpenApiTypes.OBJECT},
        examples=[OpenApiExample("A question", value={"question": "Why are deliveries late?"}, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        body = AskInput(data=request.data)
        body.is_valid(raise_exception=True)
        asked = body.validated_data
        answer = ask(
            caller=caller_from(request),
            question=asked["question"],
            corpus=asked["corpus"],
            filters=asked.get("filters"),
            filter_sets=asked.get("filter_sets"),
            top_k=asked.get("top_k"),
            passes=asked.get("passes"),
            include=asked.get("include", _listed(request.query_params.get("include"))),
            session=asked.get("session"),
            now=utc_now(),
        )
        return Response(answer)


def _listed(value: str | None) -> list[str] | None:
    return None if value is None else value.split(",")


class MeasureView(APIView):
    """The records that a number of an answer counts, the count as it is now, and how far it has moved since.

    `run` names the answer that stated the number: `then`, `now` and `drift` compare the two. A query that names what
    the corpus no longer knows has no count; `problem` says what is gone.
    """

    needs = {"GET": (Role.VIEWER, Scope.ASK)}

    @extend_schema(
        operation_id="measure_records",
        parameters=[
            OpenApiParameter("corpus", str, default="feedback"),
            OpenApiParameter("run", str, description="the run that stated the number"),
            OpenApiParameter("offset", int, default=0),
            OpenApiParameter("limit", int, default=PAGE),
        ],
        responses={200: OpenApiTypes.OBJECT},
    )
    def get(self, request: Request, query_id: str) -> Response:
        caller = caller_from(request)
        limit, offset = _page(request)
        run_id = request.query_params.get("run")
        with tenant_session(caller.tenant):
            corpus = get_corpus(tenant=caller.tenant, slug=request.query_params.get("corpus", "feedback"))
            query = get_stored_query(corpus=corpus, query_id=query_id)
            run = None if run_id is None else get_run_named(tenant=caller.tenant, run_id=run_id)
            stated = None if run is None else get_stated(run=run, corpus=corpus, query_id=query_id)
            lost = lost_vocabulary(corpus=corpus, query=query)
            now = drift = None
            doc_ids: list[str] = []
            if lost is None:
                now = recount(corpus=corpus, query=query, with_denominator=has_denominator(query), with_distinct=True)
                drift = drift_since(corpus=corpus, query=query, stated=stated, now=now) if stated else None
                doc_ids = list_records_of(corpus=corpus, query=query, limit=limit, offset=offset)
        count = now.count if now else None
        body = {
            "query_id": query_id,
            "query": query,
            "value": count and count.value,
            "people": count and count.people,
            "accounts": count and count.accounts,
            "denominator": now and now.denominator,
            "components": dict(now.components) if now else {},
            "undated": count and count.undated,
            "distinct": count and count.distinct,
            "doc_ids": doc_ids,
            "next_offset": offset + limit if count and offset + limit < count.value else None,
            "problem": lost and {"code": "vocabulary_gone", "message": lost},
        }
        if stated:
            body |= drift_json(query_id, stated, now, drift, at=utc_now())
        return Response(body)


def _page(request: Request) -> tuple[int, int]:
    """Return (limit, offset). Raises: InvalidInput for what is no number or out of range."""
    try:
        limit = int(request.query_params.get("limit", PAGE))
        offset = int(request.query_params.get("offset", 0))
    except ValueError as error:
        raise InvalidInput("limit and offset are whole numbers.", field="offset") from error
    if not 1 <= limit <= 1000 or not 0 <= offset <= 10_000_000:
        raise InvalidInput("limit lies between 1 and 1000, offset from 0 to 10,000,000.", field="limit")
    return limit, offset
