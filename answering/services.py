"""Ask a question."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.conf import settings

from answering.calibrations import calibrations_of, grounding_rules
from answering.domain.answer import (
    DEFAULT_PROJECTIONS,
    PROJECTIONS,
    citations_json,
    claims_json,
    confidence,
    grounding_json,
    moment,
    numbered_claims,
    points_json,
    refusal_json,
    select,
    text_json,
)
from answering.domain.budget import Budget, BudgetLimits
from answering.domain.claims import query_id_of
from answering.domain.entailment import Decides, with_opinions
from answering.domain.outcome import RefusalReason
from answering.domain.planner import loop_score
from answering.domain.relaxing import remaining
from answering.drafters.extractive import DraftLimits
from answering.journal import Journal
from answering.measures import specification, store_queries
from answering.models import Run
from answering.reviews import record_reviews
from answering.saga import FIRST, Progress, Request, run_saga
from answering.selectors import get_run
from core.errors import InvalidInput
from core.ids import new_id
from core.observability import metrics
from core.outbox import record_event
from core.tenant_session import tenant_session
from feedback.domain.explanation import Explanation, Stage, beside_evidence, since_then
from feedback.domain.filter_sets import read_scope
from feedback.domain.retrieval import slip_note
from feedback.embedding import embedders_of, stored_name
from feedback.selectors.aggregates import Selection
from feedback.selectors.corpora import corpus_state, get_corpus, get_corpus_of, vocabulary_of
from feedback.selectors.retrieval import checked_query, clamp_top_k, explain_record, read_passes
from feedback.services.partitions import ensure_partitions_of
from feedback.services.search import passes_json

if TYPE_CHECKING:
    from uuid import UUID

    from tenants.caller import Caller

CODE_VERSION = "0.1.0"


def ask(
    *,
    caller: Caller,
    question: str,
    now: datetime,
    corpus: str = "feedback",
    filters: Mapping[str, Any] | None = None,
    filter_sets: Iterable[object] | None = None,
    top_k: int | None = None,
    passes: Iterable[str] | None = None,
    include: Iterable[str] | None = None,
    session: str | None = None,
    loops: bool = False,
) -> dict[str, Any]:
    """Answer a question with checked, cited claims, or refuse and say why; both are a success.

    `filter_sets` are searched side by side, `top_k` of each, and merged; that is one search. `passes` follow the
    neutral search and never change it. `loops` searches again for what the first search left open. `session` names the
    conversation.
    Returns `AnswerOut` of the contract with the chosen projections.
    Raises: InvalidInput for a question, filter, top_k, pass or projection that can't be used; NotFound for an
    unknown corpus. What a step raises leaves a failed run with its trace behind.
    """
    projections = read_projections(include)
    checked = checked_query(question)
    clamp_top_k(top_k)
    chosen = read_passes(passes)
    ensure_partitions_of("answering_run", now)
    # What the journal says may be lost with the whole machine; the answer is kept before it goes out.
    with tenant_session(caller.tenant, durable=False):
        body = get_corpus(tenant=caller.tenant, slug=corpus)
        scope = read_scope(filters, filter_sets, vocabulary=vocabulary_of(body))
        asked = scope.admitted
        journal = Journal(tenant=caller.tenant, corpus=body, run_id=new_id(), now=now)
        journal.open_run(
            question=checked,
            actor=caller.label,
            request={
                "filters": asked.as_json(),
                "filter_sets": [named.as_json() for named in scope.sets],
                "top_k": top_k,
                "passes": sorted(chosen),
                "session": session,
                "loops": loops,
            },
            first=FIRST,
        )
    journal.committed()
    request = Request(
        corpus=body,
        question=checked,
        filters=asked,
        top_k=top_k,
        rules=grounding_rules(body),
        limits=DraftLimits(claims=settings.WISDOM.max_claims, evidence=settings.WISDOM.evidence_limit),
        loops=loops,
        sets=scope.sets,
        passes=chosen,
    )
    progress = Progress(request=request, budget=Budget(_limits(), started_at=time.monotonic()), now=now)
    answer: dict[str, Any] = {}

    def store(run: Progress) -> None:
        answer.update(_answer(run, caller, journal))
        _store(run, answer, journal)

    run_saga(progress, journal, store)
    _count(progress, journal)
    return select({**answer, "trace": journal.as_json(), "budget": _budget_json(progress.budget)}, projections)


def explain_absence(*, caller: Caller, run_id: UUID, doc_id: str) -> Explanation:
    """Say at which stage of an answer a record was lost, or which citations rest on it.

    The search is made again as it was made, in the corpus as it is now; what was read and cited is the run's.
    Raises: NotFound for an unknown run; InvalidInput for what can't be an id. An unknown record is an answer.
    """
    with tenant_session(caller.tenant):
        run = get_run(tenant=caller.tenant, run_id=run_id)
        body = get_corpus_of(tenant=caller.tenant, corpus_id=run.corpus_id)
        searched = run.answer.get("searched") or {"query": run.question, "filters": run.request.get("filters")}
        sets = searched.get("filter_sets") or None
        explained = explain_record(
            corpus=body,
            query=searched["query"],
            doc_id=doc_id,
            scope=read_scope(None if sets else searched.get("filters"), sets, vocabulary=vocabulary_of(body)),
            top_k=searched.get("top_k"),
            language=searched.get("language"),
            as_of=corpus_state(corpus=body).as_of,
        )
    if explained.stage in (Stage.UNKNOWN_ID, Stage.DELETED):
        return explained
    hit = next((hit for hit in run.answer.get("hits", ()) if hit["doc_id"] == doc_id), None)
    matching = run.answer["matching"]
    was_read = doc_id in matching.get("doc_ids", (doc_id,))
    if hit is None and not (was_read and "doc_ids" in matching):
        return since_then(explained) if explained.stage is Stage.FOUND else explained
    citations = [citation["id"] for citation in run.answer["citations"] if citation["doc_id"] == doc_id]
    rank = hit["rank"] if hit else explained.numbers.get("rerank_rank")
    rank = rank if isinstance(rank, int) else None
    return beside_evidence(explained, rank=rank, limit=matching["read"], was_read=was_read, citations=citations)


def read_projections(include: Iterable[str] | None) -> frozenset[str]:
    """Return the chosen projections, `grounding` by default. Raises: InvalidInput for an unknown one."""
    if include is None:
        return DEFAULT_PROJECTIONS
    chosen = frozenset(name.strip() for name in include if name.strip())
    unknown = sorted(chosen - set(PROJECTIONS))
    if unknown:
        raise InvalidInput(
            f"There is no projection {unknown[0]!r}: include any of {', '.join(PROJECTIONS)}.",
            field="include",
            detail={"projections": list(PROJECTIONS)},
        )
    return chosen


def _limits() -> BudgetLimits:
    wisdom = settings.WISDOM
    return BudgetLimits(
        steps=wisdom.agent_max_steps,
        tokens=wisdom.agent_max_tokens,
        wall_seconds=wisdom.agent_max_wall_clock_seconds,
        calls_per_tool=wisdom.agent_max_calls_per_tool,
        repairs=wisdom.agent_max_repairs,
        claims=wisdom.max_claims,
        evidence=wisdom.evidence_limit,
    )


def _answer(run: Progress, caller: Caller, journal: Journal) -> dict[str, Any]:
    numbered = numbered_claims(run.draft.claims)
    hits = [hit.as_json() for hit in run.retrieved.hits] if run.retrieved else []
    dropped = [each.key for each in run.relaxed]
    slips = run.retrieved.slips if run.retrieved else ()
    notes = [*(slip_note(typed, read) for typed, read in slips), *(each.text for each in run.relaxed)]
    if run.opinions.note and run.opinions.decides is Decides.BOTH:
        notes.append(run.opinions.note)
    grounding = grounding_json(run.grounding, numbered, coverage=run.coverage, repairs=run.repairs)
    notes += [f"Not answered: {each.message}." for each in run.not_answered]
    return {
        "run_id": str(journal.run_id),
        "question": run.request.question,
        "tenant": caller.tenant.slug,
        "corpus": run.request.corpus.slug,
        "as_of": moment(run.as_of),
        "outcome": run.outcome.value,
        **text_json(run.draft.claims, run.evidence, run.refusal, points=run.draft.kept_points, notes=notes),
        "model": run.draft.model,
        "score": loop_score(run.coverage),
        "confidence": 0.0
        if run.refusal
        else confidence(run.draft.claims, run.grounding, calibrations_of(run.request.corpus)),
        "claims": claims_json(numbered, run.grounding),
        "blocks": _blocks(run),
        "points": points_json(run.draft),
        "citations": citations_json(numbered, run.evidence),
        "refusal": refusal_json(run.refusal) if run.refusal else None,
        "not_answered": [each.as_json() for each in run.not_answered],
        "filters": run.request.filters.as_json(),
        "inferred_filters": remaining(run.plan.inferred.as_filters(), dropped) if run.plan else {},
        "read_as": [{"typed": typed, "read": read} for typed, read in slips],
        "relaxed": [each.as_json() for each in run.relaxed],
        "filter_sets": [each.as_json() for each in run.retrieved.sets] if run.retrieved else [],
        "searched": _searched(run),
        "matching": {
            "records": run.admitted,
            "query_id": query_id_of(_admitting(run)) if _has_counted(run) else None,
            "read": len(run.evidence),
            "doc_ids": [source.document_id for source in run.evidence],
            "relevance": run.relevance,
        },
        "grounding": with_opinions(grounding, run.compared, run.opinions),
        "hits": hits,
        "rerank": [
            {"doc_id": hit["doc_id"], "rank": hit["rank"], "score": hit["rerank_score"], "features": hit["features"]}
            for hit in hits
        ],
        "documents": _documents(run),
        "passes": passes_json(run.passes),
    }


def _searched(run: Progress) -> dict[str, Any]:
    """Return the search that the answer rests on, so that it can be explained and made again."""
    return {
        "query": run.query,
        "language": run.plan.language if run.plan else None,
        "filters": run.filters.as_json(),
        "filter_sets": [named.as_json() for named in run.scope.sets],
        "top_k": run.request.top_k,
    }


def _has_counted(run: Progress) -> bool:
    """Tell whether the run came as far as counting what its filters admit."""
    return run.retrieved is not None or (run.refusal is not None and run.refusal.reason is RefusalReason.NO_RECORDS)


def _admitting(run: Progress) -> dict[str, Any]:
    """Return the query of all records that the filters admit."""
    return specification(Selection(filters=run.filters))


def _blocks(run: Progress) -> list[dict[str, Any]]:
    """Name each claim's part: a summary rests on one record, a synthesis on several; measures rest on a query."""
    return [
        {"kind": "summary" if len({c.evidence_id for c in claim.citations}) == 1 else "synthesis", "claims": [claim.id]}
        for claim in run.draft.claims
    ]


def _documents(run: Progress) -> list[dict[str, Any]]:
    if run.retrieved is None:
        return []
    return [
        {
            "doc_id": hit.doc_id,
            "revision": hit.revision,
            "title": hit.title,
            "text": hit.text,
            "source": hit.source,
            "themes": list(hit.themes),
            "account": hit.account,
            "language": hit.language,
            "occurred_at": moment(hit.occurred_at),
            "url": hit.url,
            "facets": dict(hit.facets),
        }
        for hit in run.retrieved.hits
    ]


def _store(run: Progress, answer: dict[str, Any], journal: Journal) -> None:
    corpus = run.request.corpus
    queries = {claim.measure.query_id: claim.measure.query for claim in run.draft.claims if claim.measure is not None}
    admitting = [_admitting(run)] if _has_counted(run) else []
    queries |= {query_id_of(query): query for query in admitting}
    store_queries(corpus=corpus, queries={**queries, **run.queries}, now=run.now)
    # The texts of records stay where they are; a run keeps what it said and what it cited.
    kept = {name: value for name, value in answer.items() if name not in ("documents", "passes")}
    kept["passes"] = {
        name: [{key: value for key, value in hit.items() if key != "text"} for hit in hits]
        for name, hits in answer["passes"].items()
    }
    Run.objects.for_tenant(corpus.tenant).filter(pk=journal.run_id, created_at=run.now).update(
        status=Run.Status.FINISHED,
        finished_at=run.now,
        outcome=run.outcome.value,
        answer=kept,
        fingerprint=_fingerprint(run),
    )
    record_reviews(corpus=corpus, run_id=journal.run_id, compared=run.compared, model=run.opinions.model, now=run.now)
    record_event(
        tenant=corpus.tenant,
        type="run.completed",
        data={
            "run_id": str(journal.run_id),
            "corpus": corpus.slug,
            "outcome": run.outcome.value,
            "reason": run.refusal.reason.value if run.refusal else None,
        },
        now=run.now,
    )


def _fingerprint(run: Progress) -> dict[str, Any]:
    """Say what the answer depended on: equal fingerprints and questions give equal answers."""
    return {
        "settings": _settings_digest(),
        "thresholds": dict(run.request.corpus.thresholds),
        "embedder": run.retrieved.embedder if run.retrieved else None,
        "embedders": [stored_name(name) for name in embedders_of(run.request.corpus).names],
        "embedding_lag": run.retrieved.lag if run.retrieved else None,
        "reranker": run.retrieved.reranker if run.retrieved else None,
        "drafter": run.draft.model,
        "entailment": run.opinions.model or None,
        "code": CODE_VERSION,
        "corpus": {
            "documents": run.state.documents,
            "passages": run.state.passages,
            "terms": run.state.terms,
            "as_of": moment(run.state.as_of),
        },
    }


@lru_cache(maxsize=1)
def _settings_digest() -> str:
    described = settings.WISDOM.describe()
    kept = {name: value for name, value in described.items() if not name.endswith(("_DIR", "_HOST", "_PORT", "_DSN"))}
    return hashlib.sha256(repr(sorted(kept.items())).encode()).hexdigest()[:16]


def _count(run: Progress, journal: Journal) -> None:
    metrics.QUESTIONS.labels(outcome=run.outcome.value).inc()
    if run.refusal:
        metrics.REFUSALS.labels(reason=run.refusal.reason.value).inc()
    if run.grounding:
        metrics.GROUNDEDNESS.observe(run.grounding.groundedness)
        metrics.CITATION_PRECISION.observe(run.grounding.citation_precision)
    for each in run.compared:
        metrics.VERIFIER_CHECKS.labels(agreement=each.agreement.value).inc()
    metrics.AGENT_STEPS.observe(len(journal.entries))
    metrics.AGENT_TOKENS.observe(run.budget.tokens)


def _budget_json(budget: Budget) -> dict[str, Any]:
    return {
        "steps": budget.steps,
        "tokens": budget.tokens,
        "wall_seconds": round(budget.wall_seconds, 4),
        "tool_calls": dict(budget.tool_calls),
        "rerank_pairs": budget.rerank_pairs,
    }
