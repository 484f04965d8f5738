"""Gather what was measured for an answer: the facts that lead, and the points that follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from answering.domain.claims import PointKind
from answering.domain.facts import Fact, FactKind, Topic
from answering.domain.planner import Intent, Plan, Tool
from answering.facts.lead import Lead, mentions, sides
from answering.facts.points import clusters_of, leanings_of, otherwise, themes_of_all, topics_among
from answering.facts.trends import trend_of
from answering.measures import measured
from answering.tools import AccountContext, ToolResult
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Hit
from feedback.selectors.aggregates import Grouping, Selection, count_matching, group_matching

if TYPE_CHECKING:
    from feedback.models import Corpus

_NAMED_ACCOUNTS = 5
# These are answered by a number and a few examples.
_WITHOUT_POINTS = frozenset({Intent.HOW_MANY, Intent.TREND})


@dataclass(frozen=True, slots=True)
class Findings:
    """What was measured: `facts` lead, each of the `topics` heads a point of its own.

    `favoured` are the ids of retrieved records that praise or complain, where that is what the question asks for.
    """

    facts: tuple[Fact, ...] = ()
    topics: tuple[Topic, ...] = ()
    favoured: frozenset[str] = frozenset()


def findings_of(
    *,
    corpus: Corpus,
    plan: Plan,
    filters: FilterSet,
    admitted: int,
    results: Sequence[ToolResult[Any]],
    evidence: Sequence[Hit],
    weights: Mapping[str, float],
    as_of: datetime,
) -> Findings:
    """Return the facts that lead an answer and the topics of its points; none counts to zero.

    `weights` are the idf of the question's words.
    """
    found = {tool: [each.value for each in results if each.tool is tool and each.value is not None] for tool in Tool}
    if plan.intent is Intent.COMPARE and len(plan.inferred.accounts) > 1:
        return Findings(topics=_sides(sides(corpus, results, evidence)))
    if plan.intent is Intent.TREND:
        trends = [fact for each in found[Tool.TREND] for fact in trend_of(corpus, each, admitted)]
        if trends:
            return Findings(facts=tuple(trends))
    confined = filters.accounts if not filters.any_of else ()
    if found[Tool.ACCOUNT]:
        leads = [lead for context in found[Tool.ACCOUNT] for lead in _account(context, evidence)]
    elif len(confined) == 1 and admitted <= len(evidence) and not plan.asks_for_what_is_not:
        # All that the account ever said was read: what is asked of it is told from all of that.
        leads = _admitted(corpus, filters, admitted, evidence)
    else:
        leads = mentions(
            corpus=corpus,
            plan=plan,
            filters=filters,
            admitted=admitted,
            evidence=evidence,
            weights=weights,
            as_of=as_of,
        )
    if plan.asks_for_what_is_not:
        return Findings()
    if plan.intent in _WITHOUT_POINTS:
        leads = leads or _admitted(corpus, filters, admitted, evidence)
        return Findings(facts=tuple(lead.fact for lead in leads))
    repeated = clusters_of(corpus, filters, evidence)
    about = frozenset[str]().union(*(lead.documents for lead in leads))
    leans = leanings_of(plan, [hit for hit in evidence if hit.doc_id in about or not leads])
    against = otherwise(plan, leans, evidence)
    if len(leads) > 1:
        return Findings((), (*_sides(leads), *repeated, *against), leans.favoured)
    breakdown = next((each for each in found[Tool.AGGREGATE] if not each.selection.groups), None)
    if not leads and breakdown is not None:
        return Findings((), (*themes_of_all(breakdown, leans.asked, evidence), *repeated, *against), leans.favoured)
    if not leads:
        leads = _admitted(corpus, filters, admitted, evidence)
    facts = [lead.fact for lead in leads]
    if plan.intent is Intent.WHO:
        facts += [fact for lead in leads for fact in _accounts(corpus, lead)]
        return Findings(tuple(facts), (*repeated, *against), leans.favoured)
    parts = [topic for lead in leads for topic in topics_among(corpus, plan, lead, evidence)]
    if leans.asked > 0 and leans.favoured:
        # Who asks for praise is not told of what nobody praises.
        parts = [topic for topic in parts if topic.documents & leans.favoured]
    return Findings(tuple(facts), (*repeated, *parts, *against), leans.favoured)


def _sides(leads: Sequence[Lead]) -> tuple[Topic, ...]:
    return tuple(Topic(PointKind.SIDE, lead.documents, lead.fact) for lead in leads)


def _account(context: AccountContext, evidence: Sequence[Hit]) -> list[Lead]:
    if not context.total.value:
        return []
    fact = Fact(FactKind.ACCOUNT, context.account, measured(context.total, context.selection, denominator=None))
    documents = frozenset(hit.doc_id for hit in evidence if hit.account == context.account)
    return [Lead(fact, context.selection, documents)]


def _admitted(corpus: Corpus, filters: FilterSet, admitted: int, evidence: Sequence[Hit]) -> list[Lead]:
    """Count what a confined question is answered from, where no word of it can be counted."""
    if filters.is_empty or any(part.ids for part in filters.slices):
        return []
    selection = Selection(filters=filters)
    count = count_matching(corpus=corpus, selection=selection)
    if len(filters.accounts) == 1 and not filters.any_of:
        fact = Fact(FactKind.ACCOUNT, filters.accounts[0], measured(count, selection, denominator=None))
    else:
        fact = Fact(FactKind.ADMITTED, "", measured(count, selection, denominator=None))
    return [Lead(fact, selection, frozenset(hit.doc_id for hit in evidence))]


def _accounts(corpus: Corpus, lead: Lead) -> list[Fact]:
    """Name the accounts with most of the records that lead, for who asks who."""
    groups = group_matching(corpus=corpus, selection=lead.selection, by=Grouping.ACCOUNT, limit=_NAMED_ACCOUNTS)
    if not groups:
        return []
    labels = {f"account_{place}": group.key for place, group in enumerate(groups, 1)}
    parts = {
        name: (
            group.count.value,
            Selection(lead.selection.groups, lead.selection.filters, (Grouping.ACCOUNT, group.key)),
        )
        for name, group in zip(labels, groups, strict=True)
    }
    count = count_matching(corpus=corpus, selection=lead.selection)
    return [Fact(FactKind.ACCOUNTS, "", measured(count, lead.selection, denominator=None, parts=parts), labels)]
