"""Measure what an answer leads with: the records that mention what the question is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from answering.domain.facts import Fact, FactKind
from answering.domain.periods import Interval, interval_name
from answering.domain.planner import Facet, Intent, Plan, Tool, ToolCall
from answering.domain.relevance import is_stance
from answering.measures import measured
from answering.tools import Breakdown, ToolResult, aggregate_by_theme
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Hit
from feedback.domain.text import TokenKind, content_tokens, fold
from feedback.selectors.aggregates import (
    Grouping,
    Selection,
    count_matching,
    first_and_last,
    select_mentions_of_each,
)

if TYPE_CHECKING:
    from feedback.models import Corpus

Counted = tuple[tuple[str, ...], Selection]

_MAX_FACETS = 2
# The share of the evidence that must mention a facet before it is what the answer is about.
_ABOUT = 0.4
# A word of a phrase that the records don't hold as a whole speaks for the phrase only where more of them hold it.
_SINGLE_WORD = 0.5
# The share that must mention two facets before it is the two together that the answer is about.
_TOGETHER = 0.6
# Two facets whose records overlap as far as this are one topic; those that overlap less are two sides of the question.
_ONE_TOPIC = 0.34
# How many records stand for the first.
_FIRST = 3
# Words that are in a question for its grammar: a number of records that mention them says nothing.
_WORDLESS = frozenset(
    "wanted want wants able got getting made making used using come came coming go went going put take taken took keep kept"
    " back away again still send sending sent find found something anything someone anyone somebody anybody nuevo nueva nuevos nuevas neu neue neuen new old last first".split()
)
# What a "recent" count needs before it tells something: days that the records span, records that are counted.
_LONG_ENOUGH_DAYS = 180
_ENOUGH_RECORDS = 5
# A quarter with less than this part of the records of a middling one has only begun, or was hardly asked about.
_LEAST_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Lead:
    """A leading count with what it selects and which of the retrieved records it counts."""

    fact: Fact
    selection: Selection
    documents: frozenset[str]


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


def mentions(
    *,
    corpus: Corpus,
    plan: Plan,
    filters: FilterSet,
    admitted: int,
    evidence: Sequence[Hit],
    weights: Mapping[str, float],
    as_of: datetime,
) -> list[Lead]:
    """Count the records that mention what the question is about, where the evidence is about it; none counts to zero.

    Two facets that the same records mention are counted together, two that different records mention each by itself.
    Who asks how many is given a number in any case.
    """
    if plan.asks_for_what_is_not:
        return []
    # Records in other languages than the question don't share its words, whatever they are about.
    spoken = [hit for hit in evidence if hit.language == plan.language]
    evidence = spoken if len(spoken) > 1 else evidence
    about: list[Counted] = [
        ((facet.text,), selection)
        for facet, selection in topic_facets(corpus=corpus, plan=plan, filters=filters, evidence=evidence)
        if not all(fold(word) in _WORDLESS for word in facet.text.split())
    ]
    about = (
        _codes(corpus, plan, filters)
        or _joined(about, evidence)
        or _single_words(corpus, plan, filters, evidence, weights)
        or _of_the_first(corpus, plan, filters, evidence, weights)
    )
    if not about and plan.intent is Intent.HOW_MANY:
        named = topic_facets(corpus=corpus, plan=plan, filters=filters, evidence=evidence, or_all=True)
        about = [((facet.text,), selection) for facet, selection in named[:_MAX_FACETS]]
    found = []
    for texts, selection in about:
        count = count_matching(corpus=corpus, selection=selection)
        if not count.value:
            continue
        parts: dict[str, tuple[int, Selection]] = {}
        labels: dict[str, str] = {}
        if len(about) == 1 and count.value >= _ENOUGH_RECORDS:
            recent = _recent(corpus, plan, selection, as_of)
            if recent:
                parts, labels = {"recent": recent[0]}, {"recent": recent[1]}
        measure = measured(count, selection, denominator=admitted, parts=parts)
        fact = Fact(FactKind.MENTIONS, texts[0], measure, labels, texts[1:])
        found.append(Lead(fact, selection, _holding(evidence, selection)))
    return found


def _joined(
    about: Sequence[Counted], evidence: Sequence[Hit], *, together: float = _TOGETHER, rarest_first: bool = False
) -> list[Counted]:
    """Count two facets of the same records together; of two that overlap less, both, else the first only."""
    if len(about) < _MAX_FACETS:
        return list(about)
    (one, first), (other, second) = about[:_MAX_FACETS]
    both = replace(first, groups=(*first.groups, *(group for group in second.groups if group not in first.groups)))
    if _share(evidence, both) >= together:
        return [((*one, *other), both)]
    holds = _holding(evidence, first), _holding(evidence, second)
    overlap = len(holds[0] & holds[1]) / max(len(holds[0] | holds[1]), 1)
    if overlap < _ONE_TOPIC:
        return [(one, first), (other, second)]
    return [about[0] if rarest_first else max(about[:2], key=lambda each: _share(evidence, each[1]))]


def _codes(corpus: Corpus, plan: Plan, filters: FilterSet) -> list[Counted]:
    """Count by each code that the question names: who asks about an error code means that one."""
    codes = list(
        dict.fromkeys(t.surface for t in content_tokens(plan.question, plan.language) if t.kind is TokenKind.CODE)
    )
    selections = select_mentions_of_each(corpus=corpus, texts=codes, filters=filters, language=plan.language)
    counted: list[Counted] = [((code,), each) for code, each in zip(codes, selections, strict=True) if each.groups]
    return counted[:_MAX_FACETS]


def _of_the_first(
    corpus: Corpus, plan: Plan, filters: FilterSet, evidence: Sequence[Hit], weights: Mapping[str, float]
) -> list[Counted]:
    """Count by what the very first records hold, where too few of the others do."""
    first = evidence[:_FIRST]
    named: list[Counted] = [
        ((facet.text,), selection)
        for facet, selection in topic_facets(corpus=corpus, plan=plan, filters=filters, evidence=first)
        if len(facet.terms) > 1
    ]
    return named[:1] or _single_words(corpus, plan, filters, first, weights)


def _single_words(
    corpus: Corpus, plan: Plan, filters: FilterSet, evidence: Sequence[Hit], weights: Mapping[str, float]
) -> list[Counted]:
    """Count by the rarest word of the question that half of the evidence holds, with the next that as many hold beside it."""
    words = {
        token.stem: token.surface
        for facet in plan.facets
        for token in content_tokens(facet.text, plan.language)
        if not is_stance(token.surface) and fold(token.surface) not in _WORDLESS and token.kind is not TokenKind.BIGRAM
    }
    selections = select_mentions_of_each(
        corpus=corpus, texts=list(words.values()), filters=filters, language=plan.language
    )
    shared = [
        ((surface,), selection)
        for surface, selection in zip(words.values(), selections, strict=True)
        if selection.groups and _share(evidence, selection) >= _SINGLE_WORD
    ]
    shared.sort(
        key=lambda each: -max(weights.get(lexeme.lstrip("=~"), 0.0) for group in each[1].groups for lexeme in group)
    )
    return _joined(shared, evidence, together=_ABOUT, rarest_first=True)[:1]


def _holding(evidence: Sequence[Hit], selection: Selection) -> frozenset[str]:
    """Return which of the evidence holds a word of every group."""
    return frozenset(
        hit.doc_id for hit in evidence if all(any(word in hit.terms for word in group) for group in selection.groups)
    )


def _share(evidence: Sequence[Hit], selection: Selection) -> float:
    return len(_holding(evidence, selection)) / len(evidence) if evidence else 0.0


def _recent(
    corpus: Corpus, plan: Plan, selection: Selection, as_of: datetime
) -> tuple[tuple[int, Selection], str] | None:
    """Count those of the present quarter, or of the last one while this one is young, with the words for it.

    A question that names its own period is told of that one; a few weeks of records have no "recent".
    """
    if plan.inferred.period or any(
        part.occurred_from or part.occurred_to or part.ids for part in selection.filters.slices
    ):
        return None
    oldest, newest = first_and_last(corpus=corpus, selection=Selection(filters=selection.filters))
    if oldest is None or newest is None or (newest - oldest).days < _LONG_ENOUGH_DAYS:
        return None
    today = as_of.astimezone(UTC).date()
    present = date(today.year, 3 * ((today.month - 1) // 3) + 1, 1)
    quarters = max((newest - oldest).days / 91, 1)
    admitted = count_matching(corpus=corpus, selection=Selection(filters=selection.filters)).value
    for begins in (present, date(present.year - (present.month == 1), (present.month - 4) % 12 + 1, 1)):
        quarter = (Grouping.QUARTER, begins.isoformat())
        everything = Selection(filters=selection.filters, within=quarter)
        if count_matching(corpus=corpus, selection=everything).value < _LEAST_SHARE * admitted / quarters:
            continue
        within = replace(selection, within=quarter)
        count = count_matching(corpus=corpus, selection=within).value
        is_present = begins == present
        said = f"since {begins.day} {begins:%B %Y}" if is_present else f"in {interval_name(begins, Interval.QUARTER)}"
        return ((count, within), said) if count else None
    return None


def sides(corpus: Corpus, results: Sequence[ToolResult[Any]], evidence: Sequence[Hit]) -> list[Lead]:
    """Name what was counted of each side of a comparison, beside all the records of that side."""
    leads = []
    for breakdown in (result.value for result in results if result.tool is Tool.AGGREGATE and result.value):
        selection: Selection = breakdown.selection
        (account,) = selection.filters.accounts
        if selection.groups:
            denominator = count_matching(corpus=corpus, selection=Selection(filters=selection.filters)).value
            measure = measured(breakdown.total, selection, denominator=denominator)
            fact = Fact(FactKind.MENTIONS, breakdown.query, measure)
        else:
            fact = Fact(FactKind.ACCOUNT, account, measured(breakdown.total, selection, denominator=None))
        leads.append(Lead(fact, selection, frozenset(hit.doc_id for hit in evidence if hit.account == account)))
    return leads
