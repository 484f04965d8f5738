"""The page of one record, and what a curator decides there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from core.clock import utc_now
from core.errors import InvalidInput, NotFound
from core.tenant_session import tenant_session
from feedback.domain.facets import facet_text
from feedback.domain.marked_text import pieces
from feedback.selectors.clusters import get_duplicates
from feedback.selectors.corpora import get_corpus
from feedback.selectors.records import get_record
from feedback.services.clusters import reset_record, unmerge_record
from tenants.domain.access import Role, Scope
from tenants.middleware import caller_of

_LISTED_DUPLICATES = 10
_WHOLE_NUMBER = re.compile(r"[0-9]{1,9}")


@never_cache
@require_safe
def record_page(request: HttpRequest, doc_id: str) -> HttpResponse:
    """Show a record as it was sent, in the revision and with the span that the address names."""
    caller = caller_of(request)
    caller.require(role=Role.VIEWER, scope=Scope.DOCUMENTS_READ)
    slug = request.GET.get("corpus", "feedback")
    if "\x00" in doc_id + slug:
        raise NotFound
    with tenant_session(caller.tenant):
        corpus = get_corpus(tenant=caller.tenant, slug=slug)
        record = get_record(corpus=corpus, doc_id=doc_id)
        duplicates = get_duplicates(corpus=corpus, doc_id=doc_id, limit=_LISTED_DUPLICATES)
    shown = record.revision(_number(request, "revision"))
    start, end = _number(request, "start"), _number(request, "end")
    span = None if start is None or end is None or not start < end <= len(shown.text) else (start, end)
    context = {
        "corpus": corpus,
        "record": record,
        "shown": shown,
        "source": record.source.replace("_", " "),
        "pieces": pieces(shown.text, [span] if span else []),
        "span": span,
        "has_lost_span": span is None and (start is not None or end is not None),
        "duplicates": duplicates,
        "unlisted": duplicates.cluster.records - 1 - len(duplicates.others),
        "may_curate": caller.role is not None and caller.role.includes(Role.CURATOR),
        "facets": [(name, _written(value)) for name, value in record.facets.items()],
    }
    return render(request, "feedback/record.html", context)


@require_POST
def unmerge(request: HttpRequest) -> HttpResponse:
    """Take a record out of its cluster, and show its page again."""
    return _decide(request, unmerge_record)


@require_POST
def reset(request: HttpRequest) -> HttpResponse:
    """Take back what was decided of a record, and show its page again."""
    return _decide(request, reset_record)


def _decide(request: HttpRequest, decide: Callable[..., None]) -> HttpResponse:
    caller = caller_of(request)
    caller.require(role=Role.CURATOR, scope=Scope.DOCUMENTS_WRITE)
    doc_id, slug = request.POST.get("id", ""), request.POST.get("corpus", "feedback")
    if "\x00" in doc_id + slug:
        raise NotFound
    with tenant_session(caller.tenant):
        corpus = get_corpus(tenant=caller.tenant, slug=slug)
    decide(caller=caller, corpus=corpus, doc_id=doc_id, now=utc_now())
    return HttpResponseRedirect(f"{resolve_url('record', doc_id)}?{urlencode({'corpus': slug})}", status=303)


def _number(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name)
    if text is None:
        return None
    if not _WHOLE_NUMBER.fullmatch(text):
        raise InvalidInput(f"{name} is a whole number, not {text[:20]!r}.", field=name)
    return int(text)


def _written(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_written(member) for member in value)
    return facet_text(value) if isinstance(value, str | int | float) else str(value)
