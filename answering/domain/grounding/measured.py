"""Verify a measure: its query run again gives the same, and its sentence says what the query counts and no more."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Final

from answering.domain.claims import Measure
from answering.domain.grounding.dates import StatedDate, dates_stated
from answering.domain.grounding.quantities import quantities
from answering.domain.grounding.verdicts import MeasureResult
from feedback.domain.text import fold

# Words that say how something is counted. Everything else has to come from the query.
_COUNTING: Final = frozenset(
    """
    a an the of in on at by for from with within among and or to is are was were has have had be been it its their this that these those there
    all between during since before after until until up as well also not_counted
    record records document documents entry entries comment comments mention mentions mentioned mentioning theme themes topic source sources account accounts
    people person authors author share shares percent per cent plan region language facet period month months quarter year week day days
    fall falls fell come comes came received dated date about say says speak speaks tell tells hold holds make makes up
    went larger smaller largest smallest same first last newest oldest recent most_recent which while whose them they one two
    records’ number counted count total different distinct only
    named side far as words tell say says saying nearly near read filters filter listed all none more than other opposite
    part where under tagged labelled filed against other others
    """.split()
)
_OPPOSED: Final = re.compile(r"^On the other side: (?:praise|complaint) in\b")
_WIDE: Final = re.compile(
    r"\b(?:(?:nearly|almost|virtually|practically)\s+(?:all|every\w*|none)|most|(?P<all>all)(?!\s+records\b.{0,3}\))|every\w*|none)\b",
    re.IGNORECASE,
)
_DAY: Final = re.compile(r"((?:19|20)\d{2})-(\d{2})-(\d{2})")
_END: Final = re.compile(r"occurred to\W+((?:19|20)\d{2})-(\d{2})-(\d{2})")
QUOTED: Final = re.compile(r"[“\"„«][^“”\"„«»]*[”\"“»]")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_NOUNS: Final[Mapping[str, frozenset[str]]] = {
    "people": frozenset(
        ("people", "persons", "person", "authors", "author", "customers", "customer", "patients", "users")
    ),
    "accounts": frozenset(("accounts", "account", "households", "businesses")),
}
_OF_RECORDS: Final = re.compile(
    r"(?<![\d,])(?P<number>\d[\d,]*)(?=\s+(?:of\s+(?:the\s+|these\s+|those\s+)?\d|records?\b))", re.IGNORECASE
)
_COUNTED_NOUN: Final = re.compile(r"(?P<number>\d[\d,.]*|\b[a-z]+)\s+(?P<noun>[a-z]+)\b", re.IGNORECASE)


def said_beyond_the_count(text: str, measure: Measure) -> str | None:
    """Say what the sentence of a measure states that its query doesn't count; None when it keeps to it.

    It may use words of counting, those of its query (filters, mentions, the group that is counted) and, in quotation
    marks, nothing else than these. What counts people says people, what counts records doesn't. Dates lie in the query.
    """
    if "count" not in measure.query:
        return None
    asked = fold(json.dumps(dict(measure.query), ensure_ascii=False, default=str)).replace("_", " ")
    for quoted in QUOTED.findall(text):
        if not _is_asked(quoted[1:-1], asked, least=_MOST_OF_IT):
            return f"the claim is about {quoted}, its query isn't"
    unquoted = QUOTED.sub(" ", text)
    plain = unquoted
    for stated in reversed(dates_stated(unquoted)):
        plain = plain[: stated.start] + " " + plain[stated.end :]
        if not _is_dated(stated, asked):
            return f"the claim is of “{stated.surface}”, its query isn't"
    wide = _WIDE.search(unquoted)
    if wide and not (wide["all"] and measure.components.get("of") == measure.value):
        return f"the claim says “{wide.group()}”, its query counts no such thing"
    # "Complaint in 3 of the 8 records that were read": no source, but what is opposed to the rest.
    plain = _OPPOSED.sub(" ", plain)
    for match in _WORD.finditer(plain):
        word = fold(match.group())
        if word in _COUNTING or any(word in nouns for nouns in _NOUNS.values()):
            continue
        if not _is_asked(word, asked) and not _is_asked(word.rstrip("s"), asked):
            return f"the claim says “{match.group()}”, which its query doesn't count"
    return _wrong_noun(unquoted, measure)


def _is_asked(said: str, asked: str, *, least: float = 1.0) -> bool:
    """Tell whether so many of the words are among those of the query, or begin like one: its stems are cut."""
    held = set(_PARTS.findall(asked))
    words = _PARTS.findall(fold(said))
    found = sum(
        word in held
        or any(word.startswith(other) for other in held if len(other) >= (_STEM if other.isascii() else 2))
        # "delivery" is cut to "deliveri".
        or any(word.startswith(other[:-1]) for other in held if len(other) > _STEM + 1)
        for word in words
    )
    return found >= least * len(words)


_PARTS: Final = re.compile(r"[^\W_]+")
_STEM: Final = 3
_MOST_OF_IT: Final = 0.6


def _is_dated(stated: StatedDate, asked: str) -> bool:
    """Tell whether a stated date touches a period or group that the query was asked with; an end is exclusive."""
    days = [date(int(y), int(m), int(d)) for y, m, d in _DAY.findall(_END.sub(" ", asked))]
    days += [date(int(y), int(m), int(d)) - timedelta(days=1) for y, m, d in _END.findall(asked)]
    # The end itself may be named as such.
    ends = [date(int(y), int(m), int(d)) for y, m, d in _END.findall(asked)]
    if stated.day is not None and any(stated.holds(day) for day in ends):
        return True
    bare = replace(stated, day=None)
    return any(bare.holds(day) for day in days) or (
        len(days) > 1 and any(bare.holds(min(days) + timedelta(days=n)) for n in range((max(days) - min(days)).days))
    )


def _wrong_noun(text: str, measure: Measure) -> str | None:
    counted: dict[str, Any] = {"people": measure.people, "accounts": measure.accounts}
    unit = measure.unit
    records = {float(n) for n in (measure.value, measure.denominator, *measure.components.values()) if n is not None}
    for match in _OF_RECORDS.finditer(text):
        if not {v for q in quantities(match["number"]) for v in q.values} & records:
            return f"{match.group()} is no number of {unit} that its query counts"
    for match in _COUNTED_NOUN.finditer(text):
        noun = fold(match["noun"])
        kind = next((name for name, nouns in _NOUNS.items() if noun in nouns), None)
        if kind is None or kind == unit:
            continue
        values = {v for q in quantities(match["number"]) for v in q.values}
        if values and (counted[kind] is None or float(counted[kind]) not in values):
            return f"{match.group()} were not counted, but {unit}"
    return None


def unbound_number(text: str, measure: Measure | None) -> str | None:
    """Return the first number of a text that is neither quoted nor made by the measure's query; else None.

    Numbers that the query itself was asked with (a year, a limit) count as made by it.
    """
    made = set(measure.numbers()) if measure else set()
    if measure:
        made |= {v for q in quantities(asked_with(measure).replace("-", " ").replace("T", " ")) for v in q.values}
        if measure.denominator:
            made |= _shares(measure)
    unquoted = QUOTED.sub(lambda m: " " * len(m.group()), text)
    shares = _shares(measure) if measure else set()
    return next(
        (q.surface for q in quantities(unquoted) if not q.values & (shares if q.unit == "percent" else made)), None
    )


def measure_mismatch(measure: Measure, result: MeasureResult | None) -> str | None:
    """Say in which number a measure differs from its query run again; None when in none."""
    if result is None:
        return "the query behind the number could not be run again"
    for name, said, found in (
        ("value", measure.value, result.value),
        ("people", measure.people, result.people),
        ("accounts", measure.accounts, result.accounts),
        ("denominator", measure.denominator, result.denominator),
        *((key, said, result.components.get(key)) for key, said in measure.components.items()),
    ):
        if said is not None and (found is None or abs(said - found) > 1e-9 * max(1.0, abs(said))):
            return f"the query run again gives {name} {found}, the claim says {said:g}"
    return None


def asked_with(measure: Measure) -> str:
    """Return the words and dates that a measure's query was asked with."""
    return json.dumps(dict(measure.query), default=str)


def _shares(measure: Measure) -> set[float]:
    """Return the shares of the denominators as whole and as one-decimal percents."""
    wholes = [measure.denominator, *(measure.components.get(f"{name}_of") for name in measure.components)]
    parts = [measure.value, *measure.components.values()]
    percents = [100 * part / whole for part in parts for whole in wholes if whole]
    return {number for percent in percents for number in (float(round(percent)), round(percent, 1))}
