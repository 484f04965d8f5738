"""Measure what an answer leads with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, timedelta
from statistics import median
from typing import TYPE_CHECKING, Any

from answering.domain.facts import Fact, FactKind
from answering.domain.periods import Interval, interval_name, whole_intervals
from answering.domain.planner import Facet, Intent, Plan, Tool, ToolCall
from answering.domain.relevance import is_stance
from answering.measures import measured
from answering.tools import AccountContext, Breakdown, ToolResult, aggregate_by_theme
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Hit
from feedback.selectors.aggregates import (
    Selection,
    count_matching,
    first_and_last,
    group_matching,
    select_mentions_of_each,
)

if TYPE_CHECKING:
    from feedback.models import Corpus

MAX_FACTS = 3
_MAX_FACETS = 2
# An interval with fewer records than these, or than this part of the middling one, says nothing of a trend.
_LEAST_RECORDS = 5
_LEAST_SHARE = 0.25
# The share of the evidence that must mention a facet before it is what the answer is about.
_ABOUT = 0.4


def topic_facets(
    *, corpus: Corpus, plan: Plan, filters: FilterSet, evidence: Sequence[Hit], or_all: bool = False
) -> list[tuple[Facet, Selection]]:
    """Return the facets that the evidence is about, each with the records that mention it.

    A question says more than its topic ("compare the arguments about …"); the records that were found tell
    which of its words are the topic. With `or_all` every facet is one where the evidence is about none.
    """
    named = [facet for facet in plan.facets if not is_stance(facet.text)]
    selections = select_mentions_of_each(
        corpus=corpus, texts=[facet.text for facet in named], filters=filters, language=plan.language
    )
    facets = [(facet, selection) for facet, selection in zip(named, selections, strict=True) if selection.groups]
    about = [(facet, selection) for facet, selection in facets if _share(evidence, selection) >= _ABOUT]
    return about or (facets if or_all else [])


def topic(*, corpus: Corpus, plan: Plan, filters: FilterSet, evidence: Sequence[Hit]) -> str:
    """Return the words that are counted for a question; none for a question about everything."""
    about = [facet for facet, _ in topic_facets(corpus=corpus, plan=plan, filters=filters, evidence=evidence)]
    return " ".join(facet.text for facet in (about or plan.facets)[:_MAX_FACETS])


def aggregate(
    *, corpus: Corpus, query: str, call: ToolCall, filters: FilterSet, language: str
) -> ToolResult[Breakdown]:
    """Call `aggregate_by_theme` for what the question is about, within the call's own filters."""
    side = call.arguments.get("filters", {}).get("account")
    if side:
        # One side of a comparison: the account of this side, not all that the question names.
        # Of several slices those are counted that have this side in them.
        parts = [part for part in filters.slices if not part.ids and set(side) <= set(part.account)]
        if not parts:
            return ToolResult(Tool.AGGREGATE, None, f"the filters leave {side[0]} out")
        filters = FilterSet.union(replace(part, account=tuple(side)) for part in parts)
    limit = int(call.arguments.get("limit", 8))
    return aggregate_by_theme(corpus=corpus, query=query, filters=filters, limit=limit, language=language)


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
            found += _trend(corpus, result.value, admitted)
        elif result.tool is Tool.ACCOUNT:
            found += _account(result.value)
        elif result.tool is Tool.AGGREGATE:
            found += _themes(result.value)
    if plan.intent is Intent.COMPARE and len(plan.inferred.accounts) > 1:
        found = _sides(corpus, results)
    elif plan.intent not in (Intent.ACCOUNT_CONTEXT, Intent.TREND) or not found:
        found = _mentions(corpus, plan, filters, admitted, evidence) + found
    distinct = {fact.measure.query_id: fact for fact in reversed(found)}
    return tuple(fact for fact in found if distinct[fact.measure.query_id] is fact)[:MAX_FACTS]


def _mentions(corpus: Corpus, plan: Plan, filters: FilterSet, admitted: int, evidence: Sequence[Hit]) -> list[Fact]:
    """Count the records that mention a facet of the question, where the evidence is about that facet.

    Who asks how many is given a number in any case.
    """
    if plan.asks_for_what_is_not:
        return []
    is_asked = plan.intent is Intent.HOW_MANY
    facts: list[Fact] = []
    for facet, selection in topic_facets(corpus=corpus, plan=plan, filters=filters, evidence=evidence, or_all=is_asked):
        count = count_matching(corpus=corpus, selection=selection)
        if count.value:
            facts.append(Fact(FactKind.MENTIONS, facet.text, measured(count, selection, denominator=admitted)))
        if len(facts) == _MAX_FACETS:
            break
    return facts


def _sides(corpus: Corpus, results: Sequence[ToolResult[Any]]) -> list[Fact]:
    """Name what was counted of each side of a comparison, beside all the records of that side."""
    facts = []
    for breakdown in (result.value for result in results if result.tool is Tool.AGGREGATE and result.value):
        selection: Selection = breakdown.selection
        (account,) = selection.filters.accounts
        if selection.groups:
            denominator = count_matching(corpus=corpus, selection=Selection(filters=selection.filters)).value
            measure = measured(breakdown.total, selection, denominator=denominator)
            facts.append(Fact(FactKind.MENTIONS, breakdown.query, measure))
        else:
            facts.append(Fact(FactKind.ACCOUNT, account, measured(breakdown.total, selection, denominator=None)))
    return facts


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


def _trend(corpus: Corpus, breakdown: Breakdown, admitted: int) -> list[Fact]:
    """Compare the shares of the first and the last whole interval of what the filters admit, and the largest between.

    Fewer complaints among fewer records are no fall. Intervals with few records for this corpus say nothing.
    """
    if not breakdown.query or not breakdown.total.value:
        return []
    by, mentions = breakdown.by, breakdown.selection
    everything = Selection(filters=mentions.filters)
    days = _covered_days(corpus, mentions.filters)
    whole = whole_intervals(*days, Interval(by.value)) if days else None
    if whole is None:
        return []
    found = {group.key: group.count.value for group in breakdown.groups}
    records = {
        group.key: group.count.value
        for group in group_matching(corpus=corpus, selection=everything, by=by)
        if whole[0] <= date.fromisoformat(group.key) <= whole[1]
    }
    enough = max(_LEAST_RECORDS, median(records.values()) * _LEAST_SHARE) if records else 0
    records = {key: value for key, value in records.items() if value >= enough}
    if len(records) < 2:
        return []
    shares = {key: found.get(key, 0) / value for key, value in records.items()}
    keys = {"first": min(records), "last": max(records)}
    peak = max(sorted(shares), key=shares.__getitem__)
    if shares[peak] > max(shares[key] for key in keys.values()):
        keys = {"first": keys["first"], "peak": peak, "last": keys["last"]}
    parts = {}
    for name, key in keys.items():
        parts[name] = found.get(key, 0), replace(mentions, within=(by, key))
        parts[f"{name}_of"] = records[key], replace(everything, within=(by, key))
    measure = measured(breakdown.total, mentions, denominator=admitted, parts=parts)
    labels = {name: interval_name(date.fromisoformat(key), Interval(by.value)) for name, key in keys.items()}
    return [Fact(FactKind.TREND, breakdown.query, measure, labels)]


def _covered_days(corpus: Corpus, filters: FilterSet) -> tuple[date, date] | None:
    """Return the first and the last day of the filters' period on which there could be records."""
    anytime = Selection(filters=filters.narrowed(occurred_from=None, occurred_to=None))
    oldest, newest = first_and_last(corpus=corpus, selection=anytime)
    if oldest is None or newest is None:
        return None
    begins = [part.occurred_from for part in filters.slices]
    ends = [part.occurred_to for part in filters.slices]
    # Several slices cover what any of them does: one without a bound is open there.
    if None not in begins:
        oldest = max(oldest, min(moment for moment in begins if moment))
    if None not in ends:
        newest = min(newest, max(moment for moment in ends if moment) - timedelta(microseconds=1))
    return oldest.astimezone(UTC).date(), newest.astimezone(UTC).date()


def _account(context: AccountContext) -> list[Fact]:
    if not context.total.value:
        return []
    measure = measured(context.total, context.selection, denominator=None)
    return [Fact(FactKind.ACCOUNT, context.account, measure)]
