"""Plan how to answer a question: its intent, the tools to call, its facets, the filters it implies.

Deterministic: equal questions, vocabularies and dates give equal plans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date

from answering.domain.periods import Interval, Period, common_interval, find_compared, find_interval, find_period
from answering.domain.planner.intent import Intent
from answering.domain.planner.plan import BREADTH, Facet, InferredFilters, Plan, Tool, ToolCall, Vocabulary
from answering.domain.planner.vocabulary import named, named_in_grid, named_sources, named_themes
from answering.domain.planner.words import (
    ABOUT_ACCOUNT,
    AFTERWARDS,
    APOSTROPHES,
    BROAD,
    BROAD_WORDS,
    COURSE,
    FRAME,
    INTENT_PATTERNS,
    LONGEST_FACET,
    MOST_FACETS,
    QUOTED,
)
from feedback.domain.text import Token, TokenKind, content_tokens, fold


def plan(question: str, *, vocabulary: Vocabulary, as_of: date) -> Plan:
    """Plan the answer to a question.

    `as_of` is the date of the corpus's newest record: "last month" is measured from it.
    """
    period, period_span = find_period(question, as_of=as_of)
    accounts = named(question, vocabulary.accounts)
    sources, source_spans = named_sources(question, vocabulary.sources)
    grid, grid_spans = named_in_grid(question, vocabulary.facets)
    if "fiscal_year" in grid or "fiscal_quarter" in grid:
        # A fiscal year is no period of the calendar.
        period, period_span = None, None
    compared, compared_spans = find_compared(question, as_of=as_of) if period else (None, [])
    if compared:
        period = Period(compared[0].start, compared[1].end, question[compared_spans[0][0] : compared_spans[-1][1]])
    inferred = InferredFilters(
        period, accounts, sources, named_themes(question, vocabulary.themes), grid, compared or ()
    )
    period_spans = compared_spans or ([period_span] if period_span else [])
    confined = [*source_spans, *grid_spans, *period_spans]
    about = _without(question, confined, mark=",")
    facets = _facets(about, accounts, vocabulary.language)
    intent = _intent(question, accounts, facets)
    if compared and intent is Intent.COMPARE and len(accounts) < 2:
        # Two periods are compared as the ends of a trend.
        intent = Intent.TREND
    if intent is Intent.TREND:
        facets = _facets(about, accounts, vocabulary.language, ignored=COURSE)
        if not facets and len(accounts) == 1:
            intent = Intent.ACCOUNT_CONTEXT
    if intent is Intent.ACCOUNT_CONTEXT and (asked := ABOUT_ACCOUNT.search(question)):
        words = frozenset(fold(word) for word in re.findall(r"\w+", asked.group()))
        about = AFTERWARDS.sub("", about)
        facets = _facets(about, accounts, vocabulary.language, ignored=words)
    if BROAD.search(question) and all(fold(word) in BROAD_WORDS for facet in facets for word in facet.text.split()):
        facets = ()
    topic = " ".join(_without(question, confined).split())
    if facets and intent in (Intent.TREND, Intent.HOW_MANY, Intent.ACCOUNT_CONTEXT):
        # What is counted, without how it is asked: a word such as "developed" is in no record.
        topic = " ".join(facet.text for facet in facets)
    interval = find_interval(question, period=period)
    if compared:
        interval = common_interval(*compared) or interval
    return Plan(
        question=question,
        intent=intent,
        tools=_tools(intent, question, accounts, interval),
        facets=facets,
        inferred=inferred,
        interval=interval,
        topic=topic,
        language=vocabulary.language,
    )


def facets_of(question: str, *, language: str = "en") -> tuple[Facet, ...]:
    """List what a question asks about, in order; a question of frame words alone has none."""
    return _facets(question, (), language)


def topic_tokens(question: str, *, language: str = "en") -> list[Token]:
    """Return the content terms of a question without the words that merely put it; all of them if none is left."""
    terms = content_tokens(question, language)
    return [t for t in terms if fold(t.surface) not in FRAME] or terms


def covered_facets(facets: Sequence[Facet], texts: Iterable[str], *, language: str = "en") -> tuple[Facet, ...]:
    """Return the facets that some text speaks of: at least half of a facet's terms in one text."""
    held = [{t.stem for t in content_tokens(text, language)} for text in texts]
    return tuple(f for f in facets if any(2 * len(terms & set(f.terms)) >= len(f.terms) for terms in held))


def coverage(facets: Sequence[Facet], texts: Sequence[str], *, language: str = "en") -> float:
    """Return the share of facets that the texts speak of; a question without facets is covered by any text."""
    if not facets:
        return float(bool(texts))
    return len(covered_facets(facets, texts, language=language)) / len(facets)


def loop_score(covered: float) -> int:
    """Score an answer from 1 to 10 by the share of the question's facets with a verified claim."""
    return 1 + int(9 * covered + 1e-9)


def _intent(question: str, accounts: tuple[str, ...], facets: tuple[Facet, ...]) -> Intent:
    if len(accounts) == 1 and (not facets or _is_about(question, accounts[0])):
        return Intent.ACCOUNT_CONTEXT
    if len(accounts) > 1:
        return Intent.COMPARE
    return next((intent for intent, pattern in INTENT_PATTERNS if pattern.search(question)), Intent.WHAT)


def _is_about(question: str, account: str) -> bool:
    """Tell whether the account itself is asked about: "tell me about parking at Acme" asks about parking."""
    asked = ABOUT_ACCOUNT.search(question)
    named_at = question.translate(APOSTROPHES).casefold().find(account.translate(APOSTROPHES).casefold())
    if asked is None or named_at < asked.end():
        return asked is not None
    between = content_tokens(question[asked.end() : named_at])
    return all(fold(token.surface) in FRAME for token in between)


def _tools(intent: Intent, question: str, accounts: tuple[str, ...], interval: Interval) -> tuple[ToolCall, ...]:
    search = ToolCall(Tool.SEARCH, {"query": question})
    aggregate = ToolCall(Tool.AGGREGATE, {"query": question, "limit": BREADTH})
    if intent is Intent.ACCOUNT_CONTEXT:
        return (ToolCall(Tool.ACCOUNT, {"account": accounts[0]}), search)
    if intent is Intent.TREND:
        return (ToolCall(Tool.TREND, {"query": question, "interval": interval.value}), search)
    if intent is Intent.COMPARE and len(accounts) > 1:
        sides = [{"query": question, "limit": BREADTH, "filters": {"account": [a]}} for a in accounts[:3]]
        return (*(ToolCall(Tool.AGGREGATE, side) for side in sides), search)
    if intent in (Intent.HOW_MANY, Intent.COMPARE) or BROAD.search(question):
        return (aggregate, search)
    return (search,)


def _facets(
    topic: str, accounts: tuple[str, ...], language: str, *, ignored: frozenset[str] = frozenset()
) -> tuple[Facet, ...]:
    """Group neighbouring content words into phrases; what is quoted is a phrase of its own."""
    named = [name.translate(APOSTROPHES) for name in accounts]
    ignored |= {fold(word) for name in named for word in (*name.split(), *re.findall(r"\w+", name))}
    topic = topic.translate(APOSTROPHES)
    quoted = [m.span(1) for m in QUOTED.finditer(topic)]
    runs: list[list[Token]] = []
    previous: Token | None = None
    for token in content_tokens(topic, language):
        if fold(token.surface) in FRAME or fold(token.surface) in ignored:
            previous = None
            continue
        touches = previous is not None and _touch(topic, previous, token)
        within = previous is not None and _same_quote(quoted, previous, token)
        if runs and previous is not None and (within or (touches and len(runs[-1]) < LONGEST_FACET)):
            runs[-1].append(token)
        else:
            runs.append([token])
        previous = token
    found = {
        tuple(dict.fromkeys(t.stem for t in run)): topic[_start(topic, run[0]) : run[-1].end] for run in reversed(runs)
    }
    facets = [Facet(text, terms) for terms, text in reversed(found.items())]
    return tuple(facets[:MOST_FACETS])


def _start(text: str, token: Token) -> int:
    """Return where a token begins; the sign before an amount belongs to it."""
    return token.start - (token.kind is TokenKind.NUMBER and text[token.start - 1 : token.start] in tuple("£$€"))


def _touch(text: str, one: Token, other: Token) -> bool:
    between = text[one.end : other.start]
    return between.strip("-") in ("", " ") and (one.kind is TokenKind.BIGRAM) == (other.kind is TokenKind.BIGRAM)


def _same_quote(quoted: Sequence[tuple[int, int]], one: Token, other: Token) -> bool:
    return any(start <= one.start and other.end <= end for start, end in quoted)


def _without(text: str, spans: Iterable[tuple[int, int]], *, mark: str = "") -> str:
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]} {mark} {text[end:]}"
    return text
