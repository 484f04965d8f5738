"""Decide what may be said of the evidence: gate 1, the draft, gates 2 and 3, the refusal."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from answering import facts, measures
from answering.domain.claims import ClaimKind, Draft
from answering.domain.gate import judge
from answering.domain.grounding import FailureCode, Grounding, ground, repair
from answering.domain.outcome import Gate, RefusalReason, refuse
from answering.domain.planner import Tool
from answering.drafters.extractive import draft
from answering.evidence import evidence_of, relevance_of, weights_of
from answering.refusals import with_suggestions
from core.observability import metrics
from feedback.selectors.aggregates import count_admitted
from feedback.selectors.retrieval import (
    later_passes,
    rerank_hits,
    second_stage,
)

if TYPE_CHECKING:
    pass

from answering.saga.progress import Progress
from answering.saga.retrieving import call_tool, plan_step, retrieve_step, topic_of
from answering.saga.scoping import discussion_of, part_the_topics, try_out, what_is_missing

# How often a number is counted anew that changes while it is counted.
_COUNTS = 3


def rerank_step(run: Progress) -> dict[str, Any]:
    """Order by explainable features, keep the evidence, and ask whether it discusses the question at all (gate 1)."""
    assert run.plan is not None
    assert run.retrieved is not None
    if run.request.loops or not run.retrieved.sets:
        run.retrieved = second_stage(
            run.retrieved,
            corpus=run.request.corpus,
            query=run.request.question,
            language=run.plan.language,
            seconds_left=run.budget.seconds_left(at=time.monotonic()),
        )
        run.budget = run.budget.charge(at=time.monotonic(), rerank_pairs=run.retrieved.rerank_pairs)
        run.retrieved = rerank_hits(run.retrieved, top_k=run.request.top_k, as_of=run.as_of)
    run.relevance = relevance_of(run.retrieved, plan=run.plan, filters=run.filters, passages=run.state.passages)
    part_the_topics(run)
    discussion = None if run.not_answered else discussion_of(run)
    read = run.retrieved.hits[: run.request.limits.evidence]
    run.budget = run.budget.charge(at=time.monotonic(), evidence=len(read))
    run.evidence = evidence_of(read, relevance=run.relevance)
    floor = run.request.rules.min_evidence_relevance
    stopped = run.stopped = judge(discussion, floor=floor) if discussion else None
    if stopped:
        run.refusal = refuse(
            stopped.reason,
            value=stopped.value,
            floor=stopped.floor,
            gate=stopped.gate,
            detail=what_is_missing(run, stopped),
        )
    detail: dict[str, Any] = {
        "relevance": run.relevance,
        **({"discussed": asdict(discussion)} if discussion else {}),
        "evidence": [source.document_id for source in run.evidence],
        "reranker": run.retrieved.reranker,
        "rerank_pairs": run.retrieved.rerank_pairs,
        "notes": list(run.retrieved.notes),
    }
    if run.request.passes:
        run.passes = later_passes(
            corpus=run.request.corpus,
            query=run.query,
            scope=run.scope,
            neutral=run.retrieved,
            chosen=run.request.passes,
            language=run.plan.language,
            as_of=run.as_of,
        )
        detail["passes"] = {each.value: len(hits) for each, hits in run.passes.items()}
    return detail


def draft_step(run: Progress) -> dict[str, Any]:
    """Compose claims from the evidence, led by what was measured."""
    _draft(run)
    run.budget = run.budget.charge(at=time.monotonic(), claims=len(run.draft.claims))
    return {"model": run.draft.model, "claims": len(run.draft.claims), "facts": len(run.facts)}


def _draft(run: Progress) -> None:
    assert run.plan is not None
    assert run.retrieved is not None
    run.facts = facts.facts_of(
        corpus=run.request.corpus,
        plan=run.plan,
        filters=run.filters,
        admitted=run.admitted,
        results=run.tool_results,
        evidence=run.retrieved.hits[: run.request.limits.evidence],
    )
    run.draft = draft(run.plan, run.evidence, run.facts, run.request.limits, idf=weights_of(run.retrieved))


def verify_step(run: Progress) -> dict[str, Any]:
    """Check every claim by the verifier of its kind; count every number again (gates 2 and 3).

    A number that has changed since it was counted, as while records come in, is counted anew.
    """
    run.grounding = _checked(run)
    for _ in range(_COUNTS):
        numbers = {claim.id for claim in run.draft.claims if claim.kind is ClaimKind.MEASURE}
        if not any(v.id in numbers and v.code is FailureCode.MEASURE_MISMATCH for v in run.grounding.claims):
            break
        _draft_anew(run)
        run.grounding = _checked(run)
    failed = [verdict for verdict in run.grounding.claims if not verdict.supported]
    metrics.UNSUPPORTED_CLAIMS.inc(len(failed))
    if not run.grounding.accepted:
        reason = run.grounding.failure_reason
        run.refusal = refuse(
            RefusalReason.UNSUPPORTED,
            value=run.grounding.groundedness,
            floor=run.request.rules.min_groundedness,
            detail=reason,
        )
    return {
        "groundedness": run.grounding.groundedness,
        "citation_precision": run.grounding.citation_precision,
        "failed": [{"claim": verdict.id, "reason": verdict.reason} for verdict in failed],
    }


def _checked(run: Progress) -> Grounding:
    counted = {
        claim.id: measures.run_again(
            corpus=run.request.corpus, query=claim.measure.query, denominator=claim.measure.denominator
        )
        for claim in run.draft.claims
        if claim.kind is ClaimKind.MEASURE and claim.measure is not None
    }
    return ground(run.draft, run.evidence, rules=run.request.rules, measure_results=counted)


def _draft_anew(run: Progress) -> None:
    """Count and draft again from the same evidence."""
    assert run.plan is not None
    run.admitted = count_admitted(corpus=run.request.corpus, filters=run.filters)
    searched = [result for result in run.tool_results if result.tool is Tool.SEARCH]
    topic = topic_of(run)
    run.tool_results = searched + [
        call_tool(run, call, topic) for call in run.plan.tools if call.tool is not Tool.SEARCH
    ]
    _draft(run)


def repair_step(run: Progress) -> dict[str, Any]:
    """Take out what failed and citations that don't support; that downgrades the answer."""
    assert run.grounding is not None
    repaired = repair(run.draft, run.grounding)
    if not repaired.is_downgrade:
        return {"dropped": 0}
    run.budget = run.budget.charge(at=time.monotonic(), repairs=1)
    run.draft = repaired.draft
    run.is_downgraded = True
    metrics.REPAIRS.labels(outcome="repaired").inc()
    run.repairs = [
        {"claim": claim.claim_id, "code": claim.code.value if claim.code else None, "reason": claim.reason}
        for claim in repaired.dropped_claims
    ] + [
        {"claim": citation.claim_id, "citation": citation.evidence_id, "support": citation.support}
        for citation in repaired.dropped_citations
    ]
    return {"dropped": len(run.repairs), "repairs": run.repairs}


def finalise_step(run: Progress) -> dict[str, Any]:
    """Make a refusal a plan; what is stored of the run is the service's part of this step."""
    if run.refusal:
        run.draft = Draft((), run.draft.model)
        run.not_answered = ()
        run.refusal, run.queries = with_suggestions(
            run.refusal,
            corpus=run.request.corpus,
            plan=run.plan,
            asked=run.request.filters,
            filters=run.filters,
            retrieved=run.retrieved,
            # A slice without any record stands in the way as one without evidence does.
            is_scope=run.stopped.is_scope if run.stopped else run.refusal.gate is not Gate.GROUNDEDNESS,
            is_answered=lambda question, filters: try_out(run.request, question, filters, run=run, steps=_TRIED),
        )
    return {"outcome": run.outcome.value}


# The steps that a question has to pass that a refusal proposes.
_TRIED = (plan_step, retrieve_step, rerank_step, draft_step, verify_step)
