"""Draft an answer from the records' own words, without a language model.

The draft reads like an analyst's note: measured facts lead, then come a few points, each with its count and one or two
telling quotes of different people, at last what says otherwise. Records that say the same are one claim, no two claims
are alike, and all of it is shorter than a page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from answering.domain.claims import (
    LISTED_DOC_IDS,
    Claim,
    ClaimKind,
    Draft,
    Evidence,
    Measure,
    Point,
    PointKind,
    cite,
    query_id_of,
)
from answering.domain.facts import Fact, FactKind, Topic, fact_text
from answering.domain.grounding import check_claim
from answering.domain.grounding.quantities import quantities
from answering.domain.planner import Intent, Plan
from answering.domain.relevance import is_stance
from answering.drafters.quoting import Quote, QuoteLimits, likeness, quotes_of
from feedback.domain.instructions import asks_for_orders
from feedback.domain.polarity import affirmation
from feedback.domain.text import content_tokens

MODEL: Final = "extractive"


@dataclass(frozen=True, slots=True)
class DraftLimits:
    """How much a draft may hold; lengths in characters. `page` bounds the claims' texts together."""

    claims: int = 12
    evidence: int = 8
    facts: int = 3
    shortest_quote: int = 15
    longest_quote: int = 300
    page: int = 2300
    points: int = 5
    quotes_of_point: int = 2
    quotes_beside_a_number: int = 3


_DEFAULT_LIMITS: Final = DraftLimits()
_SAME_WORDS: Final = 0.6
_DIVERSITY: Final = 0.35
_FAR_BEHIND: Final = 0.5
_SAME_VOICE: Final = 0.08
_FAVOUR: Final = 0.15
# Of so few words two quotes that share half say the same.
_FEW_WORDS: Final = 5
_SAME_FEW: Final = 0.5
_NEAR: Final = 0.8
# Where some quote says most of what the question asks in its own words, one in other words must come nearer.
_NAMED: Final = 0.6
_NEARER: Final = 0.92
# Quotes that no point counts are padding once the points have as many as these.
_ENOUGH_QUOTES: Final = 5
_WITHOUT_POINTS: Final = 6
# These numbers are what was asked for, with or without an example.
_ASKED_FOR: Final = frozenset({FactKind.THEME, FactKind.MENTIONS, FactKind.ACCOUNT})
_CHANGE: Final = re.compile(
    r"\b(?:recent(?:ly)?|lately|latest|newest|nowadays|currently|these\s+days|at\s+the\s+moment|again\s+this|becoming|getting\s+\w+er|"
    r"neueste\w*|zuletzt|aktuell\w*|kürzlich|neuerdings|reciente\w*|últimamente|actualmente|récemment|dernièrement)\b",
    re.IGNORECASE,
)
_ORDER: Final = {
    PointKind.SIDE: 0, PointKind.THEME: 1, PointKind.WORD: 1, PointKind.NEAR_DUPLICATES: 2, PointKind.OTHERWISE: 3
}  # fmt: skip
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class _Page:
    """The claims written so far and what room they leave."""

    limits: DraftLimits
    claims: list[Claim] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)

    @property
    def room(self) -> int:
        return self.limits.page - sum(len(claim.text) for claim in self.claims)

    def write(
        self, kind: PointKind, fact: Fact | None, groups: Sequence[list[Quote]], *, needs_quote: bool = True
    ) -> None:
        """Write a point with as many of its quotes as there is room for; none without a quote if it needs one."""
        heading = None if fact is None else fact_text(fact)
        room = self.room - len(heading or "")
        free = self.limits.claims - len(self.claims) - (heading is not None)
        kept = []
        for group in groups[: max(0, free)]:
            if len(group[0].text) <= room:
                kept.append(group)
                room -= len(group[0].text)
        if free < 0 or room < 0 or (needs_quote and not kept):
            return
        first = len(self.claims) + 1
        if fact is not None and heading is not None:
            self.claims.append(Claim(first, ClaimKind.MEASURE, heading, measure=fact.measure))
        for group in kept:
            self.claims.append(_quote_claim(len(self.claims) + 1, group, is_counted=kind is PointKind.NEAR_DUPLICATES))
        ids = tuple(range(first, len(self.claims) + 1))
        self.points.append(Point(kind, ids, first if fact is not None else None))


def draft(
    plan: Plan,
    evidence: Sequence[Evidence],
    facts: Sequence[Fact] = (),
    limits: DraftLimits = _DEFAULT_LIMITS,
    *,
    topics: Sequence[Topic] = (),
    favoured: frozenset[str] = frozenset(),
    idf: Mapping[str, float] | None = None,
) -> Draft:
    """Draft an answer to a planned question; no evidence and no facts give a draft without claims.

    `evidence` is best first, `facts` lead, each of the `topics` may head a point, the words of the `favoured`
    records go first. Equal arguments give equal drafts.
    """
    page = _Page(limits)
    for fact in facts[: limits.facts]:
        page.write(PointKind.LEAD, fact, (), needs_quote=False)
    quotes = [
        replace(quote, score=quote.score + _FAVOUR) if quote.evidence.document_id in favoured else quote
        for quote in _candidates(plan, evidence[: limits.evidence], limits, idf)
    ]
    # What is asked about an account or a slice as a whole is what its records say, in whatever words.
    is_about_all = any(fact.kind in (FactKind.ACCOUNT, FactKind.ADMITTED) for fact in facts)
    groups = _merged(_ranked(quotes) if is_about_all else _telling(quotes))
    if plan.intent is Intent.HOW_MANY and facts:
        page.write(PointKind.QUOTES, None, _diverse(groups, limits.quotes_beside_a_number, ()))
    elif _is_about_change(plan) and not any(topic.kind is PointKind.SIDE for topic in topics):
        newest = sorted(_diverse(groups, _ENOUGH_QUOTES, ()), key=lambda group: _moment(group[0]), reverse=True)
        page.write(PointKind.QUOTES, None, newest)
    else:
        _write_points(page, groups, topics, limits)
    return Draft(tuple(page.claims), MODEL, tuple(page.points))


def _write_points(page: _Page, groups: Sequence[list[Quote]], topics: Sequence[Topic], limits: DraftLimits) -> None:
    """Write the largest points first, what no point counts after them, what says otherwise last."""
    opposed = frozenset[str]().union(*(topic.documents for topic in topics if topic.kind is PointKind.OTHERWISE))
    left = [group for group in groups if group[0].evidence.document_id not in opposed]
    chosen: dict[int, list[list[Quote]]] = {}
    used: list[list[Quote]] = []
    # The words of near-duplicates belong to the point that counts them; then the largest chooses first.
    for place in sorted(
        range(len(topics)), key=lambda n: (topics[n].kind is not PointKind.NEAR_DUPLICATES, -_size(topics[n]), n)
    ):
        topic = topics[place]
        # A comparison shows what each side says, whichever way it leans.
        pool = left if topic.kind not in (PointKind.SIDE, PointKind.OTHERWISE) else groups
        count = 1 if topic.kind is PointKind.NEAR_DUPLICATES else limits.quotes_of_point
        mine = [own for group in pool if (own := _within(group, topic.documents))]
        chosen[place] = _diverse(mine, count, used)
        used += chosen[place]
    has_sides = any(topic.kind is PointKind.SIDE for topic in topics)
    # What belongs to neither side of a comparison is beside the question.
    spare = (0 if has_sides else _ENOUGH_QUOTES - len(used)) if used else _WITHOUT_POINTS
    rest = _diverse(left, spare, used)
    for place in sorted(chosen, key=lambda place: (_ORDER[topics[place].kind], -_size(topics[place]), place)):
        topic = topics[place]
        if topic.kind is PointKind.OTHERWISE:
            page.write(PointKind.QUOTES, None, rest)
            rest = []
        elif len(page.points) > limits.points:
            continue
        is_asked = topic.fact is not None and topic.fact.kind in _ASKED_FOR
        page.write(topic.kind, topic.fact, chosen[place], needs_quote=not is_asked)
    page.write(PointKind.QUOTES, None, rest)


def _size(topic: Topic) -> float:
    return topic.fact.measure.value if topic.fact else 0.0


def _within(group: list[Quote], documents: frozenset[str]) -> list[Quote]:
    """Return a group without the records that a point doesn't count; those that stay bear out the first of them."""
    counted = [quote for quote in group if quote.evidence.document_id in documents]
    if not counted or counted[0] is group[0]:
        return counted
    return [counted[0], *(quote for quote in counted[1:] if _says(counted[0], quote))]


def _is_about_change(plan: Plan) -> bool:
    return plan.intent is Intent.TREND or bool(_CHANGE.search(plan.question))


def _moment(quote: Quote) -> datetime:
    return quote.evidence.occurred_at or _NEVER


def _candidates(
    plan: Plan, evidence: Sequence[Evidence], limits: DraftLimits, idf: Mapping[str, float] | None
) -> list[Quote]:
    weights = _question_weights(plan, idf)
    lengths = QuoteLimits(limits.shortest_quote, limits.longest_quote)
    may_order = asks_for_orders(plan.question)
    found = [quote for source in evidence for quote in quotes_of(source, weights, lengths, may_order=may_order)]
    # Where nobody says more than two words, these are what there is to quote.
    brief = replace(lengths, fewest_terms=2)
    return found or [quote for source in evidence for quote in quotes_of(source, weights, brief, may_order=may_order)]


def _question_weights(plan: Plan, idf: Mapping[str, float] | None) -> dict[str, float]:
    facets = [facet for facet in plan.facets if not is_stance(facet.text)] or plan.facets
    terms = [term for facet in facets for term in facet.terms]
    terms = terms or [t.stem for t in content_tokens(plan.topic, plan.language)]
    rarest = max(idf.values(), default=1.0) if idf else 1.0
    return {term: idf.get(term, rarest) if idf else 1.0 for term in terms}


def _telling(quotes: Sequence[Quote]) -> list[Quote]:
    """Leave out what is far behind the best in both fit and coverage: it would be padding."""
    if not quotes:
        return []
    coverage = max(max(q.coverage for q in quotes) * _FAR_BEHIND, 1e-9)
    near = max(q.evidence.nearness or 0.0 for q in quotes)
    relevance = max(q.evidence.relevance for q in quotes)
    is_named = coverage >= _NAMED * _FAR_BEHIND
    kept = [
        q for q in quotes if q.coverage >= coverage or _is_near(q, near * (_NEARER if is_named else _NEAR), relevance)
    ]
    return _ranked(kept)


def _ranked(quotes: Sequence[Quote]) -> list[Quote]:
    return sorted(quotes, key=lambda q: (-q.score, q.evidence.citation_id, q.start))


def _is_near(quote: Quote, near: float, relevance: float) -> bool:
    """Tell whether a record that shares few words with the question comes about as near to it as the best."""
    if quote.evidence.nearness is None or near <= 0:
        return quote.evidence.relevance >= relevance * _FAR_BEHIND
    return quote.evidence.nearness >= near


def _merged(quotes: Sequence[Quote]) -> list[list[Quote]]:
    """Group quotes that say the same; the first of a group is the one that all others bear out.

    Alike in words is not enough: each must bear out the first's numbers, names and negations. A quote with an
    order number of its own joins the one without. One record stands once in a group.
    """
    groups: list[list[Quote]] = []
    for quote in quotes:
        for number, group in enumerate(groups):
            joined = _joined(group, quote)
            if joined:
                groups[number] = joined
                break
        else:
            groups.append([quote])
    return groups


def _joined(group: list[Quote], quote: Quote) -> list[Quote] | None:
    first = group[0]
    if any(q.evidence.document_id == quote.evidence.document_id for q in group):
        return None
    if likeness(first.stems, quote.stems) < _SAME_WORDS:
        return None
    if _says(first, quote):
        return [*group, quote]
    if all(_says(quote, other) for other in group):
        return [quote, *group]
    return None


def _says(quote: Quote, other: Quote) -> bool:
    """Tell whether the other quote bears out this one."""
    return check_claim(quote.text, [other.text], language=quote.evidence.language).supported


def _diverse(groups: Sequence[list[Quote]], count: int, before: Sequence[list[Quote]]) -> list[list[Quote]]:
    """Choose up to `count` groups by maximal marginal relevance, unlike each other and what stands `before` them.

    Who has spoken already gives way to somebody else who says nearly as much.
    Source: Carbonell and Goldstein, SIGIR 1998.
    """
    left, chosen = list(groups), list[list[Quote]]()
    while left and len(chosen) < count:
        worth = [
            g[0].score * (1 - _DIVERSITY)
            - _DIVERSITY * max((likeness(g[0].stems, c[0].stems) for c in (*before, *chosen)), default=0)
            - (_SAME_VOICE if any(_is_same_voice(g[0], c[0]) for c in (*before, *chosen)) else 0)
            for g in left
        ]
        best = max(range(len(left)), key=lambda i: (worth[i], -i))
        group = left.pop(best)
        if not any(_repeats(group[0], c[0]) for c in (*before, *chosen)):
            chosen.append(group)
    return chosen


def _is_same_voice(quote: Quote, other: Quote) -> bool:
    one, two = quote.evidence.person, other.evidence.person
    return one is not None and one == two


def _repeats(quote: Quote, chosen: Quote) -> bool:
    """Tell whether a quote adds nothing to a chosen one: the same words, or the same record."""
    if quote.evidence.document_id == chosen.evidence.document_id:
        return (quote.start < chosen.end and chosen.start < quote.end) or likeness(
            quote.stems, chosen.stems
        ) >= _SAME_WORDS
    is_short = min(len(quote.stems), len(chosen.stems)) <= _FEW_WORDS
    if likeness(quote.stems, chosen.stems) >= (_SAME_FEW if is_short else _SAME_WORDS):
        # Two short ones that differ in a number or a "not" say two things; two long ones are the same letter again.
        return not (is_short and _differ(quote, chosen))
    return quote.stems <= chosen.stems and _says(quote, chosen)


def _differ(quote: Quote, other: Quote) -> bool:
    """Tell whether two quotes differ in a number or in what they deny."""
    numbers = [{q.surface for q in quantities(each.text)} for each in (quote, other)]
    denied = [affirmation(each.text, each.evidence.language).has_negator for each in (quote, other)]
    return numbers[0] != numbers[1] or denied[0] != denied[1]


def _quote_claim(number: int, group: Sequence[Quote], *, is_counted: bool = False) -> Claim:
    """Quote the first of a group and cite them all; `is_counted` where the point's heading says how many there are."""
    first = group[0]
    return Claim(
        number,
        ClaimKind.QUOTE,
        first.text,
        citations=tuple(cite(q.evidence, q.start, q.end) for q in group),
        measure=_counted([q.evidence for q in group]) if len(group) > 1 and not is_counted else None,
        merged_count=len(group),
    )


def _counted(sources: Sequence[Evidence]) -> Measure:
    """Count the records, accounts and people behind a joined quote."""
    ids = [s.document_id for s in sources]
    accounts = {s.account for s in sources if s.account}
    query = {"ids": sorted(ids)}
    return Measure(
        value=len(ids),
        unit="records",
        people=len({s.person for s in sources}) if all(s.person for s in sources) else None,
        accounts=len(accounts) or None,
        query=query,
        query_id=query_id_of(query),
        doc_ids=tuple(ids[:LISTED_DOC_IDS]),
    )
