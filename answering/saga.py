"""The answer saga: plan → retrieve → rerank → draft → verify → repair → finalise.

A gate that stops a run turns it into a refusal, and the saga goes straight to its last step; a repair is a
downgrade, never a rollback. Each step is written to the journal before it can fail.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from answering import facts, measures
from answering.domain.budget import Budget, BudgetExhausted
from answering.domain.claims import ClaimKind, Draft, Evidence
from answering.domain.grounding import FailureCode, Grounding, GroundingRules, ground, repair
from answering.domain.outcome import Outcome, Refusal, RefusalReason, refuse
from answering.domain.planner import Plan, Tool, ToolCall, Vocabulary, covered_facets, plan
from answering.domain.relaxing import Relaxation, filters_to_give_up, relax_order, without
from answering.drafters.extractive import MODEL, DraftLimits, draft
from answering.evidence import evidence_of, relevance_of, weights_of
from answering.loop import search_in_a_loop
from answering.models import RunStep
from answering.refusals import with_suggestions
from answering.tools import ToolResult, get_account_context, search_feedback, trend_over_time
from core.observability import metrics
from core.tenant_session import tenant_session
from feedback.domain.filter_sets import NamedSet, Scope
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Retrieved
from feedback.selectors.aggregates import Grouping, count_admitted
from feedback.selectors.corpora import CorpusState, corpus_state, vocabulary_of
from feedback.selectors.retrieval import (
    Pass,
    Passes,
    corrected_query,
    later_passes,
    question_language,
    rerank_hits,
    second_stage,
)

if TYPE_CHECKING:
    from answering.domain.facts import Fact
    from answering.journal import Journal
    from feedback.models import Corpus


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked, of which corpus, within which limits; `filters` are all that the `sets` admit, where there are some."""

    corpus: Corpus
    question: str
    filters: FilterSet
    top_k: int | None
    rules: GroundingRules
    limits: DraftLimits
    loops: bool = False
    sets: tuple[NamedSet, ...] = ()
    passes: frozenset[Pass] = frozenset()

    @property
    def scope(self) -> Scope:
        """Return the slices that the caller set."""
        return Scope(sets=self.sets) if self.sets else Scope(self.filters)


@dataclass(slots=True)
class Progress:
    """What the steps have found so far. A refusal ends the work; `finalise` still runs."""

    request: Request
    budget: Budget
    now: datetime
    state: CorpusState = field(default_factory=lambda: CorpusState(0, 0, 0, None, {}))
    plan: Plan | None = None
    query: str = ""
    inferred: FilterSet = field(default_factory=FilterSet)
    scope: Scope = field(default_factory=Scope)
    filters: FilterSet = field(default_factory=FilterSet)
    to_relax: list[Relaxation] = field(default_factory=list)
    relaxed: list[Relaxation] = field(default_factory=list)
    admitted: int = 0
    retrieved: Retrieved | None = None
    passes: Passes = field(default_factory=dict)
    tool_results: list[ToolResult[Any]] = field(default_factory=list)
    evidence: tuple[Evidence, ...] = ()
    relevance: float = 0.0
    facts: tuple[Fact, ...] = ()
    draft: Draft = field(default_factory=lambda: Draft((), MODEL))
    grounding: Grounding | None = None
    refusal: Refusal | None = None
    is_downgraded: bool = False
    repairs: list[dict[str, Any]] = field(default_factory=list)
    queries: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def as_of(self) -> datetime:
        """Return the moment that "recent" is measured from: the corpus's newest record."""
        return self.state.as_of or self.now

    @property
    def outcome(self) -> Outcome:
        """Return how the run ends, as things stand."""
        if self.refusal:
            return Outcome.REFUSED
        return Outcome.DOWNGRADED if self.is_downgraded else Outcome.ANSWERED

    @property
    def coverage(self) -> float:
        """Return the share of the question's facets that a claim of the answer speaks of."""
        if self.refusal or self.plan is None or not self.draft.claims:
            return 0.0
        said = [claim.text for claim in self.draft.claims]
        if not self.plan.facets:
            return 1.0
        return len(covered_facets(self.plan.facets, said, language=self.plan.language)) / len(self.plan.facets)


def plan_step(run: Progress) -> dict[str, Any]:
    """Read the question: what it asks, and the filters that its own words imply."""
    corpus = run.request.corpus
    run.state = corpus_state(corpus=corpus)
    known = Vocabulary(
        sources=tuple(corpus.sources),
        accounts=tuple(corpus.accounts),
        themes=tuple(corpus.themes),
        # A question is read in its own language: its stop words and stems are not the corpus's.
        language=question_language(corpus=corpus, query=run.request.question),
        facets={name: facet for name, facet in vocabulary_of(corpus).facets.items() if facet.relax is not None},
    )
    run.plan = plan(run.request.question, vocabulary=known, as_of=run.as_of.date())
    run.query = run.plan.topic or run.request.question
    _confine(run, FilterSet.from_json(run.plan.inferred.as_filters(), vocabulary=vocabulary_of(corpus)))
    return {
        "intent": run.plan.intent.value,
        "facets": [facet.text for facet in run.plan.facets],
        "tools": [call.tool.value for call in run.plan.tools],
        "inferred": run.plan.inferred.as_filters(),
    }


def _confine(run: Progress, inferred: FilterSet) -> None:
    """Set what the run may see: the caller's slices, and what the question implies where they leave it open."""
    run.inferred = inferred
    run.scope = run.request.scope.merged_with(inferred)
    run.filters = run.scope.admitted


def retrieve_step(run: Progress) -> dict[str, Any]:
    """Call the tools of the plan; refuse when the filters or the search leave nothing to read.

    What the question implied may be given up then, a step at a time, and never what the caller set.
    """
    detail = _retrieve(run)
    if run.refusal and run.refusal.reason in (RefusalReason.NO_RECORDS, RefusalReason.INSUFFICIENT_EVIDENCE):
        run.to_relax = _relaxations(run)
        if run.to_relax:
            run.refusal = None
    return detail


def relax_step(run: Progress) -> dict[str, Any]:
    """Give up one thing that the caller did not ask for, and search again."""
    given_up = run.to_relax.pop(0)
    if given_up.query is not None:
        run.query = given_up.query
    else:
        _confine(run, without(run.inferred, given_up.key))
    run.relaxed.append(given_up)
    run.retrieved, run.tool_results = None, []
    detail = {"relaxed": given_up.as_json(), **_retrieve(run, is_charged=False)}
    if not run.refusal:
        run.to_relax = []
    elif run.refusal.reason is not RefusalReason.RETRIEVAL_DEGRADED:
        run.refusal = None if run.to_relax else refuse(RefusalReason.INSUFFICIENT_EVIDENCE, value=0, floor=1)
    return detail


def _relaxations(run: Progress) -> list[Relaxation]:
    """Return what can be given up, in order: the wording once, then each inferred filter that makes a difference."""
    assert run.plan is not None
    corpus = run.request.corpus
    found = []
    if run.admitted:
        other = corrected_query(corpus=corpus, query=run.query, language=run.plan.language)
        if other is not None:
            found.append(Relaxation("query", (run.query,), other))
    elif not count_admitted(corpus=corpus, filters=run.request.filters):
        return []
    declared = {name: facet.relax for name, facet in vocabulary_of(corpus).facets.items()}
    order = relax_order(declared, corpus.options.get("relax_order"))
    # Where the caller set a key himself the inferred one was never used, and giving it up would change nothing.
    used = run.request.scope.merged_with(run.inferred)
    return found + [
        each
        for each in filters_to_give_up(run.inferred, order)
        if run.request.scope.merged_with(without(run.inferred, each.key)) != used
    ]


def _retrieve(run: Progress, *, is_charged: bool = True) -> dict[str, Any]:
    assert run.plan is not None
    corpus = run.request.corpus
    run.admitted = count_admitted(corpus=corpus, filters=run.filters)
    if not run.admitted:
        run.refusal = refuse(RefusalReason.NO_RECORDS, value=0, floor=1)
        return {"admitted": 0}
    turns: list[dict[str, Any]] = []
    result: ToolResult[Any]
    topic: str | None = None
    # The search goes first: what it finds tells which of the question's words are its topic.
    for call in sorted(run.plan.tools, key=lambda call: call.tool is not Tool.SEARCH):
        # A search in other words or without a filter is the same call; so is one over several sets.
        run.budget = run.budget.charge(at=time.monotonic(), tool=call.tool.value if is_charged else None)
        if call.tool is Tool.SEARCH:
            result = _search(run, run.plan, turns)
            run.retrieved = result.value
        else:
            topic = _topic(run) if topic is None else topic
            result = _call(run, call, topic)
        run.tool_results.append(result)
    detail: dict[str, Any] = {
        "admitted": run.admitted,
        "tools": [
            {"tool": result.tool.value, "ok": result.ok, **({"reason": result.reason} if result.reason else {})}
            for result in run.tool_results
        ],
    }
    if turns:
        detail["loop"] = turns
    if run.retrieved and run.retrieved.sets:
        detail["filter_sets"] = [{"name": each.name, "hits": each.hits} for each in run.retrieved.sets]
    if run.retrieved is None:
        run.refusal = refuse(RefusalReason.RETRIEVAL_DEGRADED)
    elif not run.retrieved.hits:
        run.refusal = refuse(RefusalReason.INSUFFICIENT_EVIDENCE, value=0, floor=1)
    else:
        detail |= {
            "hits": len(run.retrieved.hits),
            "strategy": run.retrieved.strategy,
            "embedder": run.retrieved.embedder,
            "lag": run.retrieved.lag,
            "notes": list(run.retrieved.notes),
        }
    return detail


def _call(run: Progress, call: ToolCall, topic: str) -> ToolResult[Any]:
    """Call a tool that counts, for the words that the question's numbers are about."""
    assert run.plan is not None
    corpus = run.request.corpus
    if call.tool is Tool.TREND:
        interval = Grouping(run.plan.interval.value)
        return trend_over_time(
            corpus=corpus, query=topic, filters=run.filters, interval=interval, language=run.plan.language
        )
    if call.tool is Tool.ACCOUNT:
        return get_account_context(corpus=corpus, account=str(call.arguments["account"]), filters=run.filters)
    return facts.aggregate(corpus=corpus, query=topic, call=call, filters=run.filters, language=run.plan.language)


def _topic(run: Progress) -> str:
    """Return the words of the question that its numbers are about."""
    assert run.plan is not None
    read = run.retrieved.hits[: run.request.limits.evidence] if run.retrieved else ()
    return facts.topic(corpus=run.request.corpus, plan=run.plan, filters=run.filters, evidence=read)


def _search(run: Progress, planned: Plan, turns: list[dict[str, Any]]) -> ToolResult[Retrieved]:
    """Search once, or in a loop that adds its turns; the loop counts as one call."""
    request = run.request
    if request.loops:
        result, made = search_in_a_loop(
            corpus=request.corpus,
            plan=planned,
            query=run.query,
            scope=run.scope,
            rules=request.rules,
            limits=request.limits,
        )
        turns += made
        return result
    return search_feedback(
        corpus=request.corpus,
        query=run.query,
        scope=run.scope,
        top_k=request.top_k,
        language=planned.language,
        as_of=run.as_of,
        # Passes search for themselves, and nothing else reads further than the first top_k.
        only_contenders=True,
    )


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
    read = run.retrieved.hits[: run.request.limits.evidence]
    run.budget = run.budget.charge(at=time.monotonic(), evidence=len(read))
    run.relevance = relevance_of(run.retrieved, plan=run.plan, filters=run.filters, passages=run.state.passages)
    run.evidence = evidence_of(read, relevance=run.relevance)
    if run.relevance < run.request.rules.min_evidence_relevance:
        run.refusal = refuse(
            RefusalReason.OFF_TOPIC, value=run.relevance, floor=run.request.rules.min_evidence_relevance
        )
    detail: dict[str, Any] = {
        "relevance": run.relevance,
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
    topic = _topic(run)
    run.tool_results = searched + [_call(run, call, topic) for call in run.plan.tools if call.tool is not Tool.SEARCH]
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
        run.refusal, run.queries = with_suggestions(
            run.refusal,
            corpus=run.request.corpus,
            plan=run.plan,
            asked=run.request.filters,
            filters=run.filters,
            retrieved=run.retrieved,
            top_k=run.request.top_k,
            floor=run.request.rules.min_evidence_relevance,
        )
    return {"outcome": run.outcome.value}


# How often a number is counted anew that changes while it is counted.
_COUNTS = 3
Step = Callable[[Progress], dict[str, Any]]
STEPS: tuple[tuple[str, Step], ...] = (
    ("plan", plan_step),
    ("retrieve", retrieve_step),
    ("rerank", rerank_step),
    ("draft", draft_step),
    ("verify", verify_step),
    ("repair", repair_step),
    ("finalise", finalise_step),
)
FIRST, LAST = STEPS[0][0], STEPS[-1][0]
# Between retrieve and what follows it, as often as there is something to give up.
RELAX, _AFTER_RELAXING = "relax", "retrieve"


def run_saga(run: Progress, journal: Journal, store: Callable[[Progress], None]) -> Progress:
    """Run the steps in order, each in a transaction of its own; `store` keeps the result in the last one.

    The journal holds the first step as begun.
    Raises: whatever a step raised; the journal then says which step it was, and the run is marked failed.
    """
    steps = dict(STEPS)
    following = dict(pairwise(steps))
    following[RELAX], steps[RELAX] = following[_AFTER_RELAXING], relax_step
    name: str | None = FIRST
    while name:
        is_last = name not in following
        try:
            # Only the last commit has to reach the disk before the answer goes out.
            with tenant_session(run.request.corpus.tenant, durable=is_last):
                # However much is given up, relaxing counts as one step.
                outcome, detail = _work(
                    run, steps[name], is_charged=not is_last and not (name == RELAX and run.relaxed)
                )
                if is_last:
                    store(run)
                after = LAST if run.refusal and not is_last else RELAX if run.to_relax else following.get(name)
                journal.turn(outcome, detail, to=after)
        except BaseException as error:
            journal.fail_run(_outcome_of(error), {"error": type(error).__name__})
            raise
        journal.committed()
        name = after
    return run


def _work(run: Progress, step: Step, *, is_charged: bool) -> tuple[str, dict[str, Any]]:
    """Do a step; one that finds the budget spent makes the run a refusal. Return its outcome and detail."""
    try:
        if is_charged:
            # A run that is out of budget still ends properly: its last step is free.
            run.budget = run.budget.charge(at=time.monotonic(), steps=1)
        return RunStep.Outcome.OK, step(run)
    except BudgetExhausted as exhausted:
        run.refusal = _exhausted(exhausted)
        return _outcome_of(exhausted), {"reason": str(exhausted)}


def _exhausted(exhausted: BudgetExhausted) -> Refusal:
    return refuse(RefusalReason.BUDGET_EXHAUSTED, value=exhausted.wanted, floor=exhausted.limit, detail=str(exhausted))


def _outcome_of(error: BaseException) -> str:
    """Return how a step ended that raised: out of time, out of budget, or failed."""
    from django.db.utils import OperationalError

    if isinstance(error, BudgetExhausted):
        return RunStep.Outcome.TIMED_OUT if error.resource == "wall_seconds" else RunStep.Outcome.EXHAUSTED
    if isinstance(error, TimeoutError) or (isinstance(error, OperationalError) and "timeout" in str(error)):
        return RunStep.Outcome.TIMED_OUT
    return RunStep.Outcome.FAILED
