"""Read the question and find its evidence, giving up only what the caller didn't ask for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from answering import facts
from answering.domain.outcome import RefusalReason, refuse
from answering.domain.planner import Plan, Tool, ToolCall, Vocabulary, plan
from answering.domain.relaxing import Relaxation, filters_to_give_up, relax_order, without
from answering.loop import search_in_a_loop
from answering.tools import ToolResult, get_account_context, search_feedback, trend_over_time
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Retrieved
from feedback.selectors.aggregates import Grouping, count_admitted
from feedback.selectors.corpora import corpus_state, vocabulary_of
from feedback.selectors.retrieval import (
    corrected_query,
    question_language,
)

if TYPE_CHECKING:
    pass

from answering.saga.progress import Progress


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
            topic = topic_of(run) if topic is None else topic
            result = call_tool(run, call, topic)
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


def call_tool(run: Progress, call: ToolCall, topic: str) -> ToolResult[Any]:
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


def topic_of(run: Progress) -> str:
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
        # Among more than the first top_k are those that can be quoted; who sets it wants no more to be read.
        only_contenders=request.top_k is not None,
    )
