"""Plan how to answer a question: its intent, the tools to call, its facets, the filters it implies.

Deterministic: equal questions, vocabularies and dates give equal plans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any, Final

from answering.domain.outcome import NOTHING
from answering.domain.periods import Interval, Period, find_interval, find_period
from feedback.domain.facets import Scalar, facet_text, normalised
from feedback.domain.filters import FacetVocabulary
from feedback.domain.text import Token, TokenKind, content_tokens, fold

BREADTH: Final = 8


class Intent(StrEnum):
    """What kind of answer a question asks for."""

    WHY = "why"
    WHAT = "what"
    HOW_MANY = "how_many"
    TREND = "trend"
    COMPARE = "compare"
    WHO = "who"
    ACCOUNT_CONTEXT = "account_context"


class Tool(StrEnum):
    """The tools of the catalogue."""

    SEARCH = "search_feedback"
    AGGREGATE = "aggregate_by_theme"
    TREND = "trend_over_time"
    ACCOUNT = "get_account_context"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the corpus declares: the values that a question may name."""

    sources: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    themes: tuple[str, ...] = ()
    language: str = "en"
    # The dimensions of the corpus's grid: facets that a question may imply.
    facets: Mapping[str, FacetVocabulary] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call in the plan; the caller's filters and the inferred ones are added when it is made."""

    tool: Tool
    arguments: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class Facet:
    """One of the things that the question asks about, and its terms."""

    text: str
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InferredFilters:
    """What a question's own words narrow; unlike the caller's filters these may be relaxed."""

    period: Period | None = None
    accounts: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    themes: tuple[str, ...] = ()
    facets: Mapping[str, tuple[Scalar, ...]] = field(default_factory=lambda: NOTHING)

    @property
    def is_empty(self) -> bool:
        """Tell whether the question narrows nothing."""
        return not (self.period or self.accounts or self.sources or self.themes or self.facets)

    def as_filters(self) -> dict[str, Any]:
        """Return them in the shape of a FilterSet, without the keys that say nothing."""
        filters: dict[str, Any] = {}
        for key, values in (("source", self.sources), ("account", self.accounts), ("theme", self.themes)):
            if values:
                filters[key] = list(values)
        if self.period and self.period.start:
            filters["occurred_from"] = self.period.start.isoformat()
        if self.period and self.period.end:
            filters["occurred_to"] = self.period.end.isoformat()
        if self.facets:
            filters["facets"] = {name: list(values) for name, values in self.facets.items()}
        return filters


@dataclass(frozen=True, slots=True)
class Plan:
    """How a question will be answered.

    `topic` is the question without the words that became filters: what to search for.
    """

    question: str
    intent: Intent
    tools: tuple[ToolCall, ...]
    facets: tuple[Facet, ...]
    inferred: InferredFilters
    interval: Interval
    topic: str
    language: str = "en"

    @property
    def asks_for_what_is_not(self) -> bool:
        """Tell whether it asks for the records that don't say something: those that do are not their number."""
        return self.intent in (Intent.HOW_MANY, Intent.WHO) and bool(_NEGATED.search(self.question))

    def asks_about_all(self, accounts: Sequence[str]) -> bool:
        """Tell whether it asks about all records of a search that was confined to these accounts, or to none.

        A caller's filter on another account than the question names leaves nothing that it asks about.
        """
        named = self.inferred.accounts
        if self.facets or (named and not (accounts and set(accounts) <= set(named))):
            return False
        compares_accounts = self.intent is Intent.COMPARE and len(named) > 1
        return (
            compares_accounts
            or self.intent in (Intent.ACCOUNT_CONTEXT, Intent.HOW_MANY)
            or bool(_BROAD.search(self.question))
        )


_INTENTS: Final = (
    (
        Intent.COMPARE,
        r"\b(?:compar\w+|versus|vs\.?|differ\w*|(?:better|worse|more|less|fewer|higher|lower)\b.{1,60}\bthan|"
        r"vergleich\w*|unterschied\w*|gegenüber|diferenci\w+|frente\s+a|comparé\w*|par\s+rapport)\b",
    ),
    (
        Intent.TREND,
        r"\b(?:trend\w*|over\s+time|(?:getting|become|becoming|got|gotten)\s+(?:better|worse|more|less|faster|slower)|"
        r"(?:getting|becoming)\s+\w+\s+again|how\s+(?:did|has|have|do|does)\b.{1,80}\b(?:develop|evolve)(?:ed|s)?\b|"
        r"(?:ris|fall|increas|decreas|declin|grow|improv|worsen|chang)(?:e|es|ed|ing)\b|develop(?:ed|ing)\s+since|"
        r"(?:month|week|year|day|quarter)\s+(?:by|on|over|after)\s+(?:month|week|year|day|quarter)|per\s+(?:day|week|month|quarter|year)|"
        r"entwickel\w*|entwicklung|verlauf|im\s+laufe|(?:besser|schlechter|schlimmer)\s*\?|wird\b.{1,60}\b(?:besser|schlechter|schlimmer)|"
        r"(?:empeor|mejor)(?:ando|ado)|han?\s+evolucionado|tendencia\w*|evoluci\w+|evolucion\w+|évolution|évolué)\b",
    ),
    (
        Intent.HOW_MANY,
        r"\b(?:how\s+(?:many|often|frequent\w*|common)|number\s+of|count|what\s+(?:share|percentage|percent|proportion|fraction)|"
        r"wie\s*viele?|wie\s+oft|wie\s+häufig|anzahl|cuánt[oa]s|cuantas|cuantos|número\s+de|combien)\b",
    ),
    (
        Intent.WHO,
        r"^\W*(?:who|whose|which\s+(?:customers?|accounts?|clients?|patients?|users?|companies|people|teams?|trusts?)|"
        r"wer|welche\s+(?:kunden|konten)|qui[eé]n(?:es)?|qué\s+clientes|qui|quels\s+clients)\b",
    ),
    (
        Intent.WHY,
        r"\b(?:why|reasons?\s+(?:for|why|behind)|root\s+causes?|causes?\s+(?:of|for)|what\s+(?:makes?|made|drives?|caus\w+|leads?\s+to)|"
        r"warum|wieso|weshalb|grund\s+für|gründe|por\s+qué|motivos?|razones|pourquoi)\b",
    ),
)
_INTENT_PATTERNS: Final = tuple((intent, re.compile(pattern, re.IGNORECASE)) for intent, pattern in _INTENTS)
_NEGATED: Final = re.compile(
    r"\b(?:not|never|without|no\s+longer|nicht|nie|ohne|kein\w*|sin|nunca|ne|sans)\b|n[’']t\b|^\W*(?:\w+\W+){0,4}no\b",
    re.IGNORECASE,
)
_ABOUT_ACCOUNT: Final = re.compile(
    r"\b(?:tell\s+me\s+about|brief\s+me|what(?:'s|’s|\s+is)\s+(?:going\s+on|happening|new|up)\s+(?:with|at)|status\s+of|context\s+(?:for|on|of)|"
    r"overview\s+of|summar(?:y|ise|ize)|account|prepare\s+me|how\s+is\b.{1,40}\bdoing|was\s+ist\s+los\s+bei|qué\s+pasa\s+con)\b",
    re.IGNORECASE,
)
_BROAD: Final = re.compile(
    r"\b(?:main|most|common|top|biggest|major|key|frequent|typical|themes?|topics?|overall|issues|complaints|problems|pain\s+points|"
    r"häufigste\w*|wichtigste\w*|probleme|themen|principales|problemas|temas|quejas|principaux|problèmes)\b",
    re.IGNORECASE,
)
# Words that put a question rather than say what it is about.
_FRAME_WORDS: Final = """
say says said saying tell tells told talk talks talking think thinks thought feel feels feeling mention mentions mentioned
describe describes report reports reported comment comments commented feedback opinion opinions view views ask asks asked
people argument arguments pro pros con cons for against patient patients customer customers user users client clients respondent respondents reviewer reviewers anyone
main common top biggest major key frequent typical overall reason reasons cause causes number count share percentage percent
proportion often many much long kind type types theme themes topic topics compare compared comparison versus difference
differences differ trend trends change changes changed changing develop record records review reviews ticket tickets survey
surveys time times please show give list find summarise summarize summary happening happen happens happened need needs want
sagen sagt denken meinen kunden patienten nutzer grund gründe wichtigsten häufigsten rückmeldungen dicen piensan opinan
clientes pacientes usuarios comentarios opiniones motivos principales disent pensent clients avis raisons
eintrag einträge einträgen erwähnt erwähnen viele registro registros menciona mencionan habla hablan
"""
_FRAME: Final = frozenset(_FRAME_WORDS.split())
# How something goes, which a trend measures, is not what goes.
_COURSE: Final = frozenset(
    "get gets getting got gotten become becomes becoming became worse better more less faster slower rise rises rising rose fall"
    " falls falling fell increase increases increasing increased decrease decreases decreasing decreased decline declines"
    " declining declined grow grows growing grew improve improves improving improved worsen worsens worsening worsened"
    " develops developed developing evolve evolves evolved month months monthly week weeks weekly quarter quarters quarterly"
    " year years yearly day days daily trend tendency"
    " wird werden wurde besser schlechter schlimmer mehr weniger entwickelt entwickelte entwickeln zugenommen abgenommen"
    " gestiegen gesunken pro tag tage woche wochen monat monate monaten quartal quartale jahr jahre jahren"
    " está están empeorando mejorando empeorado mejorado evolucionado cambiado aumentado disminuido tendencia evolución"
    " por día semana mes meses trimestre año años".split()
)
# What a question about everything asks for.
_BROAD_WORDS: Final = frozenset(
    "problem problems issue issues complaint complaints pain point points probleme problemas quejas problèmes".split()
)
_SOURCE_WORDS: Final = {
    "support_ticket": r"(?:support\s+)?tickets?|support\s+requests?|supportanfragen|tíquets",
    "app_review": r"(?:app(?:\s+store)?\s+|play\s+store\s+)?reviews?|bewertungen|reseñas",
    "survey": r"surveys?(?:\s+(?:comments?|responses?|answers?))?|umfragen?|encuestas?|sondages?",
    "complaint": r"(?:formal\s+)?complaints?|beschwerden|quejas|reclamaciones",
    "social": r"social(?:\s+media)?(?:\s+posts?)?|tweets?|posts?",
    "call": r"(?:phone\s+|sales\s+)?calls?|call\s+transcripts?|transcripts?|anrufen?|llamadas?",
    "note": r"notes?|notizen|notas",
    "filing": r"filings?|10-[kq]s?",
}
_IN_SOURCE: Final = (
    r"\b(?:(?:in|from|among|across|within|of|our|aus|den|unseren|en|de|dans|des|les|las|los|nuestras)\s+"
    r"(?:(?:the|our|all|any|these|those|recent|new|last|latest)\s+){{0,2}}|how\s+many\s+|wie\s?viele\s+|cuánt[oa]s\s+)(?:{words})\b"
)
_SOURCE_PATTERNS: Final = {
    source: re.compile(_IN_SOURCE.format(words=words), re.IGNORECASE) for source, words in _SOURCE_WORDS.items()
}
_QUOTED: Final = re.compile(r"[\"“„«]([^\"“”„«»]{2,80})[\"”“»]")
# A phone writes Nolan’s, a keyboard Nolan's.
_APOSTROPHES: Final = str.maketrans("’‘ʼ´`", "'''''")
_LONGEST_FACET: Final = 3
_MOST_FACETS: Final = 8


def plan(question: str, *, vocabulary: Vocabulary, as_of: date) -> Plan:
    """Plan the answer to a question.

    `as_of` is the date of the corpus's newest record: "last month" is measured from it.
    """
    period, period_span = find_period(question, as_of=as_of)
    accounts = _named(question, vocabulary.accounts)
    sources, source_spans = _sources(question, vocabulary.sources)
    grid, grid_spans = _grid(question, vocabulary.facets)
    if "fiscal_year" in grid or "fiscal_quarter" in grid:
        # A fiscal year is no period of the calendar.
        period, period_span = None, None
    inferred = InferredFilters(period, accounts, sources, _themes(question, vocabulary.themes), grid)
    confined = [*source_spans, *grid_spans, *([period_span] if period_span else [])]
    about = _without(question, confined, mark=",")
    facets = _facets(about, accounts, vocabulary.language)
    intent = _intent(question, accounts, facets)
    if intent is Intent.TREND:
        facets = _facets(about, accounts, vocabulary.language, ignored=_COURSE)
        if not facets and len(accounts) == 1:
            intent = Intent.ACCOUNT_CONTEXT
    if intent is Intent.ACCOUNT_CONTEXT and (asked := _ABOUT_ACCOUNT.search(question)):
        words = frozenset(fold(word) for word in re.findall(r"\w+", asked.group()))
        facets = _facets(about, accounts, vocabulary.language, ignored=words)
    if _BROAD.search(question) and all(fold(word) in _BROAD_WORDS for facet in facets for word in facet.text.split()):
        facets = ()
    topic = " ".join(_without(question, confined).split())
    if facets and intent in (Intent.TREND, Intent.HOW_MANY, Intent.ACCOUNT_CONTEXT):
        # What is counted, without how it is asked: a word such as "developed" is in no record.
        topic = " ".join(facet.text for facet in facets)
    interval = find_interval(question, period=period)
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
    return [t for t in terms if fold(t.surface) not in _FRAME] or terms


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
    if accounts and (_ABOUT_ACCOUNT.search(question) or not facets) and len(accounts) == 1:
        return Intent.ACCOUNT_CONTEXT
    if len(accounts) > 1:
        return Intent.COMPARE
    return next((intent for intent, pattern in _INTENT_PATTERNS if pattern.search(question)), Intent.WHAT)


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
    if intent in (Intent.HOW_MANY, Intent.COMPARE) or _BROAD.search(question):
        return (aggregate, search)
    return (search,)


def _facets(
    topic: str, accounts: tuple[str, ...], language: str, *, ignored: frozenset[str] = frozenset()
) -> tuple[Facet, ...]:
    """Group neighbouring content words into phrases; what is quoted is a phrase of its own."""
    named = [name.translate(_APOSTROPHES) for name in accounts]
    ignored |= {fold(word) for name in named for word in (*name.split(), *re.findall(r"\w+", name))}
    topic = topic.translate(_APOSTROPHES)
    quoted = [m.span(1) for m in _QUOTED.finditer(topic)]
    runs: list[list[Token]] = []
    previous: Token | None = None
    for token in content_tokens(topic, language):
        if fold(token.surface) in _FRAME or fold(token.surface) in ignored:
            previous = None
            continue
        touches = previous is not None and _touch(topic, previous, token)
        within = previous is not None and _same_quote(quoted, previous, token)
        if runs and previous is not None and (within or (touches and len(runs[-1]) < _LONGEST_FACET)):
            runs[-1].append(token)
        else:
            runs.append([token])
        previous = token
    found = {tuple(dict.fromkeys(t.stem for t in run)): topic[run[0].start : run[-1].end] for run in reversed(runs)}
    facets = [Facet(text, terms) for terms, text in reversed(found.items())]
    return tuple(facets[:_MOST_FACETS])


def _touch(text: str, one: Token, other: Token) -> bool:
    between = text[one.end : other.start]
    return between.strip("-") in ("", " ") and (one.kind is TokenKind.BIGRAM) == (other.kind is TokenKind.BIGRAM)


def _same_quote(quoted: Sequence[tuple[int, int]], one: Token, other: Token) -> bool:
    return any(start <= one.start and other.end <= end for start, end in quoted)


def _named(question: str, values: Iterable[str]) -> tuple[str, ...]:
    """List the values that a question names as whole words; short ones only as they are written."""
    question = question.translate(_APOSTROPHES)
    lowered = question.casefold()
    found: list[tuple[int, str]] = []
    listed = list(values)
    if not listed:
        return ()
    # Thousands of accounts are compared with each question: all at once, and no stored value holds a NUL.
    joined = "\0".join(listed).translate(_APOSTROPHES)
    for value, written, folded in zip(listed, joined.split("\0"), joined.casefold().split("\0"), strict=True):
        if len(value) < 2 or folded not in lowered:
            continue
        loose = len(value) > 4 or any(c.isdigit() for c in value)
        match = re.search(rf"(?<!\w){re.escape(written)}(?!\w)", question, re.IGNORECASE if loose else 0)
        if match:
            found.append((match.start(), value))
    longest = [v for at, v in sorted(found) if not any(v != w and v.casefold() in w.casefold() for _, w in found)]
    return tuple(longest)


def _sources(question: str, declared: Sequence[str]) -> tuple[tuple[str, ...], list[tuple[int, int]]]:
    """Find the sources that a question is confined to ("in reviews"); "complaints about x" confines to none."""
    found: list[str] = []
    spans: list[tuple[int, int]] = []
    for source in declared:
        pattern = _SOURCE_PATTERNS.get(source)
        match = pattern.search(question) if pattern else None
        if match and not (
            source == "complaint" and re.match(r"\s+(?:about|regarding|on|über|sobre)\b", question[match.end() :])
        ):
            found.append(source)
            spans.append(match.span())
    return (tuple(found), spans) if len(declared) > 1 else ((), [])


def _themes(question: str, declared: Sequence[str]) -> tuple[str, ...]:
    """Find the themes that a question names as themes: theme "Timeliness of care"."""
    if not re.search(r"\b(?:theme|topic|category|thema|kategorie|tema|categoría|thème)\b", question, re.IGNORECASE):
        return ()
    return _named(question, declared)


_FISCAL_YEAR: Final = re.compile(
    r"\b(?:FY|fiscal(?:\s+year)?)\s*[-’']?\s*(?P<named>\d{4}|\d{2})\b|\b(?P<bare>(?:19|20)\d{2})\b", re.IGNORECASE
)
_FISCAL_QUARTER: Final = re.compile(
    r"\b(?:fiscal\s+)?(?:Q(?P<digit>[1-4])|(?P<word>first|second|third|fourth)\s+(?:fiscal\s+)?quarter)\b",
    re.IGNORECASE,
)
_QUARTERS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_FORM: Final = re.compile(r"\b(?:10-[KQ]|8-K|20-F|6-K)(?:/A)?(?=s?\b)")


def _grid(
    question: str, declared: Mapping[str, FacetVocabulary]
) -> tuple[dict[str, tuple[Scalar, ...]], list[tuple[int, int]]]:
    """Find the values of the corpus's grid that a question names, and the stretches that say when.

    Names of companies and forms stay in what is searched for: records hold them too.
    """
    found: dict[str, tuple[Scalar, ...]] = {}
    spans: list[tuple[int, int]] = []
    for name, facet in declared.items():
        if facet.normaliser == "fiscal_year":
            years = list(_FISCAL_YEAR.finditer(question))
            values: list[Scalar] = [normalised(match["named"] or match["bare"], "fiscal_year") for match in years]
            spans += [match.span() for match in years]
        elif facet.normaliser == "fiscal_quarter":
            quarters = list(_FISCAL_QUARTER.finditer(question))
            values = [int(match["digit"] or _QUARTERS[match["word"].lower()]) for match in quarters]
            spans += [match.span() for match in quarters]
        elif facet.values is not None:
            values = list(_named(question, facet.values))
        elif name == "content_type":
            values = [match.group() for match in _FORM.finditer(question)]
        else:
            values = []
        allowed = [value for value in values if facet.values is None or facet_text(value) in facet.values]
        if allowed:
            found[name] = tuple(dict.fromkeys(allowed))
    return found, spans


def _without(text: str, spans: Iterable[tuple[int, int]], *, mark: str = "") -> str:
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]} {mark} {text[end:]}"
    return text
