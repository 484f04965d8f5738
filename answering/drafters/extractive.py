"""Draft an answer from the records' own words, without a language model.

The draft leads with measured facts and goes on with quotes: the most telling span of each record,
records that say the same joined into one claim, no two claims alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from answering.domain.claims import (
    LISTED_DOC_IDS,
    MARKER,
    Claim,
    ClaimKind,
    Draft,
    Evidence,
    Measure,
    cite,
    query_id_of,
)
from answering.domain.facts import Fact, fact_text
from answering.domain.grounding import check_claim
from answering.domain.planner import Plan
from feedback.domain.text import Token, TokenKind, content_tokens, sentences

MODEL: Final = "extractive"


@dataclass(frozen=True, slots=True)
class DraftLimits:
    """How much a draft may hold; lengths in characters."""

    claims: int = 12
    evidence: int = 8
    facts: int = 3
    shortest_quote: int = 15
    longest_quote: int = 300


_DEFAULT_LIMITS: Final = DraftLimits()
_WHOLE_TEXT: Final = 220
_SECOND_QUOTE_FROM: Final = 600
_FEWEST_TERMS: Final = 3
_SAME_WORDS: Final = 0.6
_DIVERSITY: Final = 0.35
_FAR_BEHIND: Final = 0.5
_BOILERPLATE: Final = re.compile(
    r"^\W*(?:n\s*/?\s*a|none|nothing(?:\s+(?:at\s+all|really|else|to\s+(?:add|say|improve|report|change)))?|nil|no|yes|ok(?:ay)?|"
    r"no\s+comments?|not\s+(?:applicable|sure)|(?:as|see|same\s+as)\s+above|don['’]?t\s+know|everything|all\s+good|"
    r"test(?:ing)?|thanks?(?:\s+you)?|nichts|keine?|nada|ninguno|rien|aucun)\W*$",
    re.IGNORECASE,
)
_LEAD: Final = re.compile(r"(?:\s|[-*•–‣▪>#]+\s|\(?\d{1,2}[.)]\s)+")
_CUT_AT: Final = re.compile(r"[,;:.!?](?=\s)|\s(?=[–—-]\s)")


@dataclass(frozen=True, slots=True)
class _Quote:
    """A span that could become a claim; offsets into the text of its evidence."""

    evidence: Evidence
    start: int
    end: int
    stems: frozenset[str]
    coverage: float
    score: float

    @property
    def text(self) -> str:
        return self.evidence.text[self.start : self.end]


def draft(
    plan: Plan,
    evidence: Sequence[Evidence],
    facts: Sequence[Fact] = (),
    limits: DraftLimits = _DEFAULT_LIMITS,
    *,
    idf: Mapping[str, float] | None = None,
) -> Draft:
    """Draft an answer to a planned question; no evidence and no facts give a draft without claims.

    `evidence` is best first. Equal arguments give equal drafts.
    """
    claims = [
        Claim(number, ClaimKind.MEASURE, fact_text(fact), measure=fact.measure)
        for number, fact in enumerate(facts[: min(limits.facts, limits.claims)], 1)
    ]
    quotes = _telling(_candidates(plan, evidence[: limits.evidence], limits, idf))
    for group in _diverse(_merged(quotes), limits.claims - len(claims)):
        claims.append(_quote_claim(len(claims) + 1, group))
    return Draft(tuple(claims), MODEL)


def _candidates(
    plan: Plan, evidence: Sequence[Evidence], limits: DraftLimits, idf: Mapping[str, float] | None
) -> list[_Quote]:
    weights = _question_weights(plan, idf)
    found: list[_Quote] = []
    for source in evidence:
        quotes = [
            quote
            for start, end in _spans(source, limits)
            if (quote := _rated(source, start, end, weights, limits)) is not None
        ]
        quotes.sort(key=lambda q: (-q.score, q.start))
        found.extend(quotes[: 2 if len(source.passage) >= _SECOND_QUOTE_FROM else 1])
    return found


def _question_weights(plan: Plan, idf: Mapping[str, float] | None) -> dict[str, float]:
    terms = [term for facet in plan.facets for term in facet.terms]
    terms = terms or [t.stem for t in content_tokens(plan.topic, plan.language)]
    rarest = max(idf.values(), default=1.0) if idf else 1.0
    return {term: idf.get(term, rarest) if idf else 1.0 for term in terms}


def _spans(source: Evidence, limits: DraftLimits) -> Iterable[tuple[int, int]]:
    """Offer the whole passage when it is short, else its sentences, a very short one with its neighbour."""
    passage = source.passage
    if len(passage.strip()) <= _WHOLE_TEXT:
        yield _trimmed(source, source.start, source.end, limits)
        return
    pending: int | None = None
    for span in sentences(passage):
        start = span.start if pending is None else pending
        if span.end - start < limits.shortest_quote:
            pending = start
            continue
        pending = None
        yield _trimmed(source, source.start + start, source.start + span.end, limits)


def _trimmed(source: Evidence, start: int, end: int, limits: DraftLimits) -> tuple[int, int]:
    """Drop bullets and white space round a span and cut what is too long at its last mark."""
    lead = _LEAD.match(source.text, start, end)
    start = lead.end() if lead and lead.end() < end else start
    if end - start > limits.longest_quote:
        limit = start + limits.longest_quote
        marks = [m.end() for m in _CUT_AT.finditer(source.text, start + limits.longest_quote // 3, limit)]
        gap = source.text.rfind(" ", start, limit)
        end = marks[-1] if marks else gap if gap > start else limit
    while end > start and source.text[end - 1].isspace():
        end -= 1
    return start, end


def _rated(source: Evidence, start: int, end: int, weights: Mapping[str, float], limits: DraftLimits) -> _Quote | None:
    """Rate a span by how much of the question it speaks of; None for a fragment, boilerplate, a false marker."""
    text = source.text[start:end]
    terms = content_tokens(text, source.language)
    if not _is_sentence(text, terms, limits) or _BOILERPLATE.match(text) or MARKER.search(text):
        return None
    stems = frozenset(t.stem for t in terms)
    total = sum(weights.values())
    coverage = sum(w for term, w in weights.items() if term in stems) / total if total else 0.0
    fullness = min(1.0, len(stems) / 8)
    return _Quote(source, start, end, stems, coverage, 0.55 * coverage + 0.35 * source.relevance + 0.1 * fullness)


def _is_sentence(text: str, terms: Sequence[Token], limits: DraftLimits) -> bool:
    if any(t.kind is TokenKind.BIGRAM for t in terms):
        return len(terms) >= 3
    return len(text) >= limits.shortest_quote and len({t.stem for t in terms}) >= _FEWEST_TERMS


def _telling(quotes: Sequence[_Quote]) -> list[_Quote]:
    """Leave out what is far behind the best in both fit and coverage: it would be padding."""
    if not quotes:
        return []
    relevance = max(q.evidence.relevance for q in quotes) * _FAR_BEHIND
    coverage = max(q.coverage for q in quotes) * _FAR_BEHIND
    kept = [q for q in quotes if q.coverage >= max(coverage, 1e-9) or q.evidence.relevance >= relevance]
    return sorted(kept, key=lambda q: (-q.score, q.evidence.citation_id, q.start))


def _merged(quotes: Sequence[_Quote]) -> list[list[_Quote]]:
    """Group quotes that say the same; the first of a group is the one that all others bear out.

    Alike in words is not enough: each must bear out the first's numbers, names and negations. A quote with an
    order number of its own joins the one without. One record stands once in a group.
    """
    groups: list[list[_Quote]] = []
    for quote in quotes:
        for number, group in enumerate(groups):
            joined = _joined(group, quote)
            if joined:
                groups[number] = joined
                break
        else:
            groups.append([quote])
    return groups


def _joined(group: list[_Quote], quote: _Quote) -> list[_Quote] | None:
    first = group[0]
    if any(q.evidence.document_id == quote.evidence.document_id for q in group):
        return None
    if _likeness(first.stems, quote.stems) < _SAME_WORDS:
        return None
    if _says(first, quote):
        return [*group, quote]
    if all(_says(quote, other) for other in group):
        return [quote, *group]
    return None


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def _says(quote: _Quote, other: _Quote) -> bool:
    """Tell whether the other quote bears out this one."""
    return check_claim(quote.text, [other.text], language=quote.evidence.language).supported


def _diverse(groups: Sequence[list[_Quote]], count: int) -> list[list[_Quote]]:
    """Choose up to `count` groups by maximal marginal relevance; the first group stays first.

    Source: Carbonell and Goldstein, SIGIR 1998.
    """
    left, chosen = list(groups), list[list[_Quote]]()
    while left and len(chosen) < count:
        worth = [
            g[0].score * (1 - _DIVERSITY)
            - _DIVERSITY * max((_likeness(g[0].stems, c[0].stems) for c in chosen), default=0)
            for g in left
        ]
        best = max(range(len(left)), key=lambda i: (worth[i], -i))
        group = left.pop(best)
        if not any(_repeats(group[0], c[0]) for c in chosen):
            chosen.append(group)
    return chosen


def _repeats(quote: _Quote, chosen: _Quote) -> bool:
    """Tell whether a quote adds nothing to a chosen one: it is borne out by it, or one record says it twice."""
    if quote.evidence.document_id == chosen.evidence.document_id:
        return _likeness(quote.stems, chosen.stems) >= _SAME_WORDS
    return quote.stems <= chosen.stems and _says(quote, chosen)


def _quote_claim(number: int, group: Sequence[_Quote]) -> Claim:
    first = group[0]
    return Claim(
        number,
        ClaimKind.QUOTE,
        first.text,
        citations=tuple(cite(q.evidence, q.start, q.end) for q in group),
        measure=_counted([q.evidence for q in group]) if len(group) > 1 else None,
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
