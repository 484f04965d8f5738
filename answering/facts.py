"""Measure what an answer leads with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

from answering.domain.facts import Fact, FactKind
from answering.domain.planner import Intent, Plan, Tool, ToolCall
from answering.measures import measured
from answering.tools import AccountContext, Breakdown, ToolResult, aggregate_by_theme
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Hit
from feedback.selectors.aggregates import Grouping, Selection, count_matching, select_mentions

if TYPE_CHECKING:
    from feedback.models import Corpus

MAX_FACTS = 3
_MAX_FACETS = 2
# The share of the evidence that must mention a facet before it is what the answer is about.
_ABOUT = 0.4


def lead_facet(plan: Plan) -> str:
    """Return the words that the question is mainly about; none for a question about everything."""
    return " ".join(facet.text for facet in plan.facets[:_MAX_FACETS])


def aggregate(*, corpus: Corpus, plan: Plan, call: ToolCall, filters: FilterSet) -> ToolResult[Breakdown]:
    """Call `aggregate_by_theme` for what the question is about, within the call's own filters."""
    side = call.arguments.get("filters", {}).get("account")
    if side and not filters.ids:
        # One side of a comparison: the account of this side, not all that the question names.
        filters = replace(filters, account=tuple(side))
    limit = int(call.arguments.get("limit", 8))
    return aggregate_by_theme(corpus=corpus, query=lead_facet(plan), filters=filters, limit=limit)


def facts_of(
    *,
    corpus: Corpus,
    plan: Plan,
    filters: FilterSet,
    admitted: int,
    results: Sequence[ToolResult[Any]],
    evidence: Sequence[Hit],
) -> tuple[Fact, ...]:
    """Return up to three measured facts, the one that the question asks for first; none counts to zero."""
    found: list[Fact] = []
    for result in results:
        if result.value is None:
            continue
        if result.tool is Tool.TREND:
            found += _trend(result.value, admitted)
        elif result.tool is Tool.ACCOUNT:
            found += _account(result.value)
        elif result.tool is Tool.AGGREGATE:
            found += _themes(result.value)
    if plan.intent not in (Intent.ACCOUNT_CONTEXT, Intent.TREND) or not found:
        found = _mentions(corpus, plan, filters, admitted, evidence) + found
    distinct = {fact.measure.query_id: fact for fact in reversed(found)}
    return tuple(fact for fact in found if distinct[fact.measure.query_id] is fact)[:MAX_FACTS]


def _mentions(corpus: Corpus, plan: Plan, filters: FilterSet, admitted: int, evidence: Sequence[Hit]) -> list[Fact]:
    """Count the records that mention a facet of the question, where the evidence is about that facet.

    A question says more than its topic ("compare the arguments about …"); the records that were found tell
    which of its words are the topic.
    """
    facts = []
    for facet in plan.facets:
        selection = select_mentions(corpus=corpus, text=facet.text, filters=filters)
        if not selection.groups or _share(evidence, selection) < _ABOUT:
            continue
        count = count_matching(corpus=corpus, selection=selection)
        if count.value:
            facts.append(Fact(FactKind.MENTIONS, facet.text, measured(count, selection, denominator=admitted)))
    return facts[:_MAX_FACETS]


def _share(evidence: Sequence[Hit], selection: Selection) -> float:
    """Return the share of the evidence that holds a word of every group."""
    holding = sum(all(any(word in hit.terms for word in group) for group in selection.groups) for hit in evidence)
    return holding / len(evidence) if evidence else 0.0


def _themes(breakdown: Breakdown) -> list[Fact]:
    """Name the two largest themes, for a question about everything that the filters admit."""
    if breakdown.selection.groups:
        return []
    return [
        Fact(
            FactKind.THEME,
            group.key,
            measured(
                group.count,
                Selection((), breakdown.selection.filters, (breakdown.by, group.key)),
                denominator=breakdown.total.value,
            ),
        )
        for group in breakdown.groups[:2]
    ]


def _trend(breakdown: Breakdown, admitted: int) -> list[Fact]:
    """Compare the first whole interval with the last one."""
    points = breakdown.groups
    if len(points) < 2 or not breakdown.query:
        return []
    first, last = points[0], points[-1]
    ends = {
        name: (
            point.count,
            Selection(breakdown.selection.groups, breakdown.selection.filters, (breakdown.by, point.key)),
        )
        for name, point in (("first", first), ("last", last))
    }
    measure = measured(breakdown.total, breakdown.selection, denominator=admitted, ends=ends)
    return [
        Fact(
            FactKind.TREND,
            breakdown.query,
            measure,
            first_label=_interval_label(first.key, breakdown.by),
            last_label=_interval_label(last.key, breakdown.by),
        )
    ]


def _account(context: AccountContext) -> list[Fact]:
    if not context.total.value:
        return []
    measure = measured(context.total, context.selection, denominator=None)
    return [Fact(FactKind.ACCOUNT, context.account, measure)]


def _interval_label(key: str, by: Grouping) -> str:
    day = date.fromisoformat(key)
    if by is Grouping.YEAR:
        return str(day.year)
    if by is Grouping.QUARTER:
        return f"Q{(day.month - 1) // 3 + 1} {day.year}"
    if by is Grouping.MONTH:
        return f"{day:%B %Y}"
    return f"{day.day} {day:%B %Y}" if by is Grouping.DAY else f"the week of {day.day} {day:%B %Y}"
