"""Decide what may be said of the evidence: gate 1, the draft, gates 2 and 3, the refusal."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from answering import facts, measures
from answering.domain.claims import ClaimKind, Draft
from answering.domain.entailment import Agreement, Decides, compare, decide
from answering.domain.gate import judge
from answering.domain.grounding import FailureCode, Grounding, GroundingContext, ground, repair
from answering.domain.outcome import Gate, RefusalReason, refuse
from answering.domain.planner import Tool
from answering.drafters.extractive import draft
from answering.drafters.quoting import is_quotable
from answering.evidence import evidence_of, relevance_of, weights_of
from answering.opinions import opinions_on
from answering.refusals import with_suggestions
from core.observability import metrics
from feedback.domain.instructions import asks_for_orders
from feedback.domain.near_duplicates import words
from feedback.domain.retrieval import Hit
from feedback.selectors.aggregates import count_admitted
from feedback.selectors.retrieval import (
    clamp_top_k,
    later_passes,
    rerank_hits,
    second_stage,
)
from feedback.selectors.words import near_words

if TYPE_CHECKING:
    pass

from answering.saga.progress import Progress
from answering.saga.retrieving import call_tool, plan_step, retrieve_step, topic_of
from answering.saga.scoping import discussion_of, part_the_topics, try_out, what_is_missing

# How far down the ranking an answer looks for records that can be quoted.
_DEPTH = 40
_OF_THE_SAME = 2
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
        ranked = rerank_hits(run.retrieved, as_of=run.as_of, cuts=False)
        wanted, _ = clamp_top_k(run.request.top_k)
        run.retrieved = replace(ranked, hits=ranked.hits[:wanted])
        ranking = ranked.hits[: wanted if run.request.top_k else max(wanted, _DEPTH)]
    else:
        ranking = run.retrieved.hits
    run.relevance = relevance_of(run.retrieved, plan=run.plan, filters=run.filters, passages=run.state.passages)
    found = run.retrieved
    part_the_topics(run)
    if run.retrieved is not found:
        ranking = run.retrieved.hits
    discussion = None if run.not_answered else discussion_of(run)
    run.read = _worth_reading(ranking, run)
    run.budget = run.budget.charge(at=time.monotonic(), evidence=len(run.read))
    run.evidence = evidence_of(run.read, relevance=run.relevance)
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


def _worth_reading(hits: Sequence[Hit], run: Progress) -> tuple[Hit, ...]:
    """Return the first hits that can be quoted, in order, and the others only where these are too few.

    Of records with the same words two are enough: how many there are is counted, not read.
    """
    limit = run.request.limits.evidence
    may_order = asks_for_orders(run.request.question)
    said: Counter[tuple[str, ...]] = Counter()
    chosen, others = list[Hit](), list[Hit]()
    for hit in hits:
        key = tuple(words(hit.passage_text))
        said[key] += 1
        is_new = said[key] <= _OF_THE_SAME
        is_worth = is_new and is_quotable(hit.passage_text, language=hit.language, may_order=may_order)
        (chosen if is_worth else others).append(hit)
    read = {hit.document_id for hit in (*chosen, *others)[:limit]}
    return tuple(hit for hit in hits if hit.document_id in read)


def draft_step(run: Progress) -> dict[str, Any]:
    """Compose claims from the evidence, led by what was measured."""
    _draft(run)
    run.budget = run.budget.charge(at=time.monotonic(), claims=len(run.draft.claims))
    return {"model": run.draft.model, "claims": len(run.draft.claims), "facts": len(run.facts)}


def _draft(run: Progress) -> None:
    assert run.plan is not None
    assert run.retrieved is not None
    weights = weights_of(run.retrieved)
    found = facts.findings_of(
        corpus=run.request.corpus,
        plan=run.plan,
        filters=run.filters,
        admitted=run.admitted,
        results=run.tool_results,
        evidence=run.read,
        weights=weights,
        as_of=run.as_of,
    )
    run.facts = found.facts
    run.draft = draft(
        run.plan,
        run.evidence,
        run.facts,
        run.request.limits,
        topics=found.topics,
        favoured=found.favoured,
        idf=weights,
    )


def ask_for_opinions(run: Progress) -> None:
    """Let the entailment model judge the draft, where there is one; outside of any transaction, and never a fault."""
    run.opinions, tokens = opinions_on(
        run.draft,
        run.evidence,
        seconds_left=run.budget.seconds_left(at=time.monotonic()),
        tokens_left=run.budget.limits.tokens - run.budget.tokens,
    )
    run.budget = replace(run.budget, tokens=run.budget.tokens + tokens)


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
    run.compared = compare(run.draft, run.evidence, run.grounding, run.opinions)
    if run.opinions.decides is Decides.BOTH:
        run.grounding = decide(run.grounding, run.compared, model=run.opinions.model, rules=run.request.rules)
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
        **_opinions(run),
    }


def _opinions(run: Progress) -> dict[str, Any]:
    """Return what the trace says of the entailment model, nothing where there is none."""
    if not run.opinions.model:
        return {}
    counted = [each.agreement for each in run.compared]
    return {
        "model": run.opinions.model,
        "opinions": {agreement.value: counted.count(agreement) for agreement in Agreement},
        "notes": [run.opinions.note] if run.opinions.note else [],
    }


def _checked(run: Progress) -> Grounding:
    counted = {
        claim.id: measures.run_again(
            corpus=run.request.corpus, query=claim.measure.query, denominator=claim.measure.denominator
        )
        for claim in run.draft.claims
        if claim.kind is ClaimKind.MEASURE and claim.measure is not None
    }
    return ground(
        run.draft,
        run.evidence,
        rules=run.request.rules,
        measure_results=counted,
        context=GroundingContext(
            question=run.request.question, near=near_words, names=(run.request.corpus.tenant.name,)
        ),
    )


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
