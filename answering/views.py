"""The pages on which people ask, read answers, and look behind a number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from answering import presentation
from answering.measures import (
    Stated,
    drift_since,
    get_stated,
    get_stored_query,
    has_denominator,
    list_records_of,
    lost_vocabulary,
    recount,
)
from answering.models import Run
from answering.question_form import FilterFields, address_of, fields_of, fields_sent, read_filters
from answering.reviews import count_open_reviews, decide_review, list_open_reviews
from answering.selectors import get_run, get_run_named, has_failed, list_recent_runs, list_steps
from answering.services import ask, explain_absence
from answering.suggestions import suggested_questions
from core.clock import utc_now
from core.errors import InvalidInput, NotFound
from core.tenant_session import tenant_session
from feedback.domain.filters import FilterSet
from feedback.selectors.corpora import corpus_state, get_corpus, list_corpora, vocabulary_of
from feedback.selectors.records import list_records
from tenants.domain.access import Role, Scope
from tenants.middleware import caller_of

if TYPE_CHECKING:
    from feedback.models import Corpus
    from tenants.caller import Caller

RECORDS_A_PAGE = 20
REVIEWS_A_PAGE = 10
_MOST_ACCOUNTS = 300


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def ask_page(request: HttpRequest) -> HttpResponse:
    """Show the question form, filled as the address says; a question that is sent leads to its answer."""
    caller = _asker(request)
    sent = request.POST if request.method == "POST" else request.GET
    error = None
    try:
        _refuse_nul(sent)
        if request.method == "POST":
            run = ask(
                caller=caller,
                question=sent.get("q", ""),
                corpus=sent.get("corpus", "feedback"),
                filters=read_filters(sent),
                # A reader should see who says otherwise; programs ask for it.
                passes=["contrasting"],
                now=utc_now(),
            )
            return HttpResponseRedirect(resolve_url("answer", run["run_id"]), status=303)
        fields = _checked_fields(caller, request)
    except InvalidInput as fault:
        error, fields = fault, fields_sent(sent)
    context = {**_asking(caller, sent.get("corpus"), fields), "question": sent.get("q", ""), "error": error}
    return render(request, "answering/ask.html", context, status=422 if error else 200)


@never_cache
@require_safe
def answer_page(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show an answer or a refusal with all that it rests on."""
    caller = _asker(request)
    with tenant_session(caller.tenant):
        run = get_run(tenant=caller.tenant, run_id=run_id)
        corpus = next((each for each in list_corpora(tenant=caller.tenant) if each.id == run.corpus_id), None)
        if corpus is None:
            raise NotFound
        steps = list_steps(tenant=caller.tenant, run_id=run.id)
        shown = presentation.shown_documents(run.answer)
        records = list_records(corpus=corpus, doc_ids=shown)
    absence, why_not_problem = _absence(caller, request, run)
    filters, sets = run.request.get("filters", {}), run.request.get("filter_sets", [])
    context = {
        **_form_choices(corpus, fields_of(filters)),
        "run": run,
        "is_finished": run.status == Run.Status.FINISHED,
        "has_failed": has_failed(run, now=utc_now()),
        "steps": presentation.trace(steps),
        "chips": presentation.set_chips(sets) if sets else presentation.chips(filters),
        "edit_address": address_of(filters, question=run.question, corpus=corpus.slug),
        "answer": presentation.shown_answer(run.answer, records) if run.answer else None,
        "why_not": request.GET.get("why_not", ""),
        "absence": absence,
        "why_not_problem": why_not_problem,
    }
    return render(request, "answering/answer.html", context, status=422 if why_not_problem else 200)


def _absence(caller: Caller, request: HttpRequest, run: Run) -> tuple[presentation.Absence | None, InvalidInput | None]:
    """Return what became of the record that the address asks about, if it does; else what is wrong with the id."""
    doc_id = request.GET.get("why_not", "").strip()
    if not doc_id or not run.answer:
        return None, None
    try:
        return presentation.shown_absence(explain_absence(caller=caller, run_id=run.id, doc_id=doc_id)), None
    except InvalidInput as fault:
        return None, fault


@never_cache
@require_safe
def measure_page(request: HttpRequest, query_id: str) -> HttpResponse:
    """Show what a number counts, counted again, and its records; beside what the run of the address stated."""
    caller = _asker(request)
    slug = request.GET.get("corpus", "feedback")
    if "\x00" in query_id + slug:
        raise NotFound
    page = _page_number(request)
    with tenant_session(caller.tenant):
        corpus = get_corpus(tenant=caller.tenant, slug=slug)
        query = get_stored_query(corpus=corpus, query_id=query_id)
        stated = _stated(caller, corpus, query_id, request.GET.get("run"))
        context = {
            "corpus": corpus,
            "query_id": query_id,
            "run_id": str(stated.run_id) if stated else "",
            "measure": presentation.counted(query),
        }
        lost = lost_vocabulary(corpus=corpus, query=query)
        if lost:
            context |= {"lost": lost, "drift": presentation.shown_stated(stated) if stated else None}
            return render(request, "answering/measure.html", context)
        now = recount(corpus=corpus, query=query, with_denominator=has_denominator(query))
        drift = drift_since(corpus=corpus, query=query, stated=stated, now=now) if stated else None
        doc_ids = list_records_of(corpus=corpus, query=query, limit=RECORDS_A_PAGE, offset=(page - 1) * RECORDS_A_PAGE)
        records = list_records(corpus=corpus, doc_ids=doc_ids)
    pages = max(1, math.ceil(now.count.value / RECORDS_A_PAGE))
    context |= {
        "count": now.count,
        "denominator": now.denominator,
        "undated": presentation.undated_text(now.count.undated, query),
        "points": presentation.points(query, now.components),
        "drift": presentation.shown_drift(stated, now, drift, query) if stated and drift else None,
        "records": presentation.listed(records),
        "first": (page - 1) * RECORDS_A_PAGE + 1,
        "page": page,
        "pages": pages,
        "earlier": page - 1 if page > 1 else None,
        "later": page + 1 if page < pages else None,
    }
    return render(request, "answering/measure.html", context)


@never_cache
@require_safe
def reviews_page(request: HttpRequest) -> HttpResponse:
    """Show the claims on which the checker and the entailment model disagree, each beside the text that it cites."""
    caller = _asker(request)
    page = _page_number(request)
    with tenant_session(caller.tenant):
        waiting = count_open_reviews(tenant=caller.tenant)
        reviews = list_open_reviews(tenant=caller.tenant, limit=REVIEWS_A_PAGE, offset=(page - 1) * REVIEWS_A_PAGE)
    pages = max(1, math.ceil(waiting / REVIEWS_A_PAGE))
    context = {
        "reviews": [presentation.shown_review(review) for review in reviews],
        "waiting": waiting,
        "page": page,
        "pages": pages,
        "newer": page - 1 if 1 < page <= pages else None,
        "older": page + 1 if page < pages else None,
        "is_off": settings.WISDOM.entailment == "off",
    }
    return render(request, "answering/reviews.html", context)


@require_POST
def decide(request: HttpRequest) -> HttpResponse:
    """Take a decision about a claim, and show the queue again."""
    caller = caller_of(request)
    try:
        review_id = UUID(request.POST.get("id", ""))
    except ValueError:
        raise NotFound from None
    decide_review(
        caller=caller,
        review_id=review_id,
        decision=request.POST.get("decision", ""),
        note=request.POST.get("note", ""),
        now=utc_now(),
    )
    return HttpResponseRedirect(resolve_url("reviews"), status=303)


def _stated(caller: Caller, corpus: Corpus, query_id: str, run_id: str | None) -> Stated | None:
    """Return the number as the run stated it, where the address names one. Raises: NotFound."""
    if run_id is None:
        return None
    return get_stated(run=get_run_named(tenant=caller.tenant, run_id=run_id), corpus=corpus, query_id=query_id)


def _asker(request: HttpRequest) -> Caller:
    caller = caller_of(request)
    caller.require(role=Role.VIEWER, scope=Scope.ASK)
    return caller


def _refuse_nul(sent: Any) -> None:
    if any("\x00" in value for _, values in sent.lists() for value in values):
        raise InvalidInput("The question holds a character that is no text (NUL).", field="question")


def _checked_fields(caller: Caller, request: HttpRequest) -> FilterFields:
    """Return the filters of the address. Raises: InvalidInput for one that the corpus doesn't know."""
    filters = read_filters(request.GET)
    if not filters:
        return FilterFields()
    with tenant_session(caller.tenant):
        corpus = get_corpus(tenant=caller.tenant, slug=request.GET.get("corpus", "feedback"))
    return fields_of(FilterSet.from_json(filters, vocabulary=vocabulary_of(corpus)).as_json())


def _asking(caller: Caller, slug: str | None, fields: FilterFields) -> dict[str, Any]:
    """Return what the ask page shows of a corpus; without one named it is the first.

    Raises: NotFound for an unknown corpus.
    """
    with tenant_session(caller.tenant):
        corpora = list_corpora(tenant=caller.tenant)
        if not corpora:
            return {"corpora": [], "corpus": None}
        if slug:
            corpus = get_corpus(tenant=caller.tenant, slug=slug.replace("\x00", ""))
        else:
            corpus = corpora[0]
        state = corpus_state(corpus=corpus)
        return {
            **_form_choices(corpus, fields),
            "corpora": corpora,
            "state": state,
            "suggestions": suggested_questions(corpus=corpus, state=state, now=utc_now()),
            "history": list_recent_runs(corpus=corpus),
        }


def _form_choices(corpus: Corpus, fields: FilterFields) -> dict[str, Any]:
    return {
        "corpus": corpus,
        "fields": fields,
        "sources": [(source, source.replace("_", " ")) for source in sorted(corpus.sources)],
        "themes": sorted(corpus.themes),
        "languages": sorted(corpus.languages),
        "accounts": sorted(corpus.accounts)[:_MOST_ACCOUNTS],
    }


def _page_number(request: HttpRequest) -> int:
    text = request.GET.get("page", "1")
    if not (text.isascii() and text.isdecimal() and int(text[:9]) > 0 and len(text) <= 6):
        raise InvalidInput("page is a whole number from 1.", field="page")
    return int(text)
