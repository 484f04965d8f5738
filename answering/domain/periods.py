"""Read a stretch of time from a question: "in March 2026", "since January", "last month"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Final

from answering.domain.grounding.quantities import MONTHS


class Interval(StrEnum):
    """The width of a point of a trend."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of days from `start` up to `end`, the latter excluded; None is open. `words` said so."""

    start: date | None
    end: date | None
    words: str


_MONTH: Final = "|".join(sorted((re.escape(name) for name in MONTHS), key=len, reverse=True))
_UNIT_WORDS: Final = {
    "day": "day days tag tage tagen día días dia dias jour jours",
    "week": "week weeks woche wochen semana semanas semaine semaines",
    "month": "month months monat monate monaten mes meses mois",
    "quarter": "quarter quarters quartal quartale quartalen trimestre trimestres",
    "year": "year years jahr jahre jahren año años an ans année années",
}
_UNIT_OF: Final = {word: unit for unit, words in _UNIT_WORDS.items() for word in words.split()}
_UNIT: Final = "|".join(sorted(_UNIT_OF, key=len, reverse=True))
_POINT: Final = (
    rf"(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{4}}-\d{{2}}(?!\d)|"
    rf"\d{{1,2}}(?:st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?(?:{_MONTH})\.?(?:,?\s+(?:of\s+|de\s+|del\s+)?\d{{4}})?|"
    rf"(?:{_MONTH})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})(?!\d)|"
    rf"(?:{_MONTH})\.?(?:,?\s+(?:of\s+|de\s+|del\s+)?\d{{4}})?(?!\w)|"
    rf"q[1-4][\s/-]*(?:of\s+)?\d{{4}}|\d{{4}}[\s/-]*q[1-4]|(?:19|20)\d{{2}}(?!\w))"
)
_BETWEEN: Final = re.compile(
    rf"\b(?:between|from|zwischen|von|entre|desde|de)\s+({_POINT})\s+(?:and|to|until|till|through|und|bis|y|hasta|a|et|à|–|-)\s+({_POINT})",
    re.I,
)
_SINCE: Final = re.compile(
    rf"\b(?:since|starting(?:\s+in)?|from|as\s+of|seit|ab|desde|depuis)\s+({_POINT})(?:\s+on(?:wards?)?)?", re.I
)
_AFTER: Final = re.compile(rf"\b(?:after|nach|después\s+de|tras|après)\s+({_POINT})", re.I)
_BEFORE: Final = re.compile(rf"\b(?:before|prior\s+to|vor|antes\s+de|avant)\s+({_POINT})", re.I)
_UNTIL: Final = re.compile(rf"\b(?:until|till|up\s+to|through|by|bis|hasta|jusqu['’]à)\s+({_POINT})", re.I)
_DURING: Final = re.compile(
    rf"\b(?:in|during|for|of|on|throughout|within|im|am|während|en|durante|el|pendant)\s+(?:the\s+)?({_POINT})", re.I
)
_LAST: Final = re.compile(
    rf"\b(?:last|previous|past|letzte[nrsm]?|vergangene[nrsm]?|vorige[nrsm]?|últim[oa]s?|derniers?|dernières?)\s+(?:(\d{{1,3}})\s+)?({_UNIT})\b"
    rf"|\b(?:el|la)\s+({_UNIT})\s+pasad[oa]\b",
    re.I,
)
_LAST_DIGITS: Final = re.compile(rf"\b(?:los|las|les)\s+últim[oa]s\s+(\d{{1,3}})\s+({_UNIT})\b", re.I)
_THIS: Final = re.compile(rf"\b(?:this|current|diese[nrsm]?|est[ea]|cette|ce)\s+({_UNIT})\b", re.I)
_NAMED_DAY: Final = re.compile(r"\b(today|yesterday|heute|gestern|hoy|ayer|aujourd['’]hui|hier)\b", re.I)
_BARE_DATED: Final = re.compile(rf"\b({_POINT})", re.I)
_THAN: Final = re.compile(
    r"\b(?:than|als|que|compared\s+(?:with|to)|versus|vs\.?)\s*(?:in\s+|the\s+|during\s+)*$", re.I
)
_PER: Final = re.compile(
    rf"\b(?:per|by|each|every|pro|je|por|cada|par)\s+({_UNIT})\b|\b(daily|weekly|monthly|quarterly|yearly|annually|täglich|wöchentlich|monatlich|jährlich)\b"
    rf"|\b({_UNIT})\s+(?:by|on|over)\s+(?:{_UNIT})\b",
    re.I,
)
_ADVERBS: Final = {
    "daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter", "yearly": "year",
    "annually": "year", "täglich": "day", "wöchentlich": "week", "monatlich": "month", "jährlich": "year",
}  # fmt: skip


def find_period(question: str, *, as_of: date) -> tuple[Period | None, tuple[int, int] | None]:
    """Return the stretch of time that a question names and where it says so, or (None, None).

    A month without a year is the latest that has begun by `as_of`. A year or month alone counts only
    after a preposition or with a number, so that "may" and "march" stay verbs.
    """
    for pattern, read in (
        (_BETWEEN, _read_between), (_LAST_DIGITS, _read_last), (_LAST, _read_last), (_THIS, _read_this),
        (_NAMED_DAY, _read_named_day), (_SINCE, _read_since), (_AFTER, _read_after), (_BEFORE, _read_before),
        (_UNTIL, _read_until), (_DURING, _read_during), (_BARE_DATED, _read_bare),
    ):  # fmt: skip
        for match in pattern.finditer(question):
            bounds = read(match, as_of)
            if bounds is not None and (bounds[0] is None or bounds[1] is None or bounds[0] < bounds[1]):
                return Period(*bounds, match.group()), match.span()
    return None, None


def find_compared(question: str, *, as_of: date) -> tuple[tuple[Period, Period] | None, list[tuple[int, int]]]:
    """Return the two periods that a question sets against each other, the earlier first, and where it says so.

    None for a question with one period or with three, and for two that overlap. A period that is only compared
    with ("more than last year") stands against the one that is not named: all since then.
    """
    found: list[tuple[Period, tuple[int, int]]] = []
    rest = question
    while len(found) < 3:
        period, span = find_period(rest, as_of=as_of)
        if period is None or span is None:
            break
        found.append((period, span))
        rest = rest[: span[0]] + "," * (span[1] - span[0]) + rest[span[1] :]
    spans = [span for _, span in found]
    if len(found) == 1 and (_THAN.search(question[: spans[0][0]])) and found[0][0].end is not None:
        before = found[0][0]
        return (before, Period(before.end, None, "since then")), spans
    if len(found) != 2:
        return None, []
    (one, _), (other, _) = sorted(found, key=lambda each: each[0].start or date.min)
    is_apart = one.end is not None and other.start is not None and one.end <= other.start
    return ((one, other), spans) if is_apart else (None, [])


def common_interval(one: Period, other: Period) -> Interval | None:
    """Return the interval that two periods are one of each: two months, quarters or years; None for any others."""
    for interval in (Interval.YEAR, Interval.QUARTER, Interval.MONTH, Interval.WEEK, Interval.DAY):
        if all(
            each.start is not None
            and each.start == _begin(each.start, interval)
            and each.end == _shift(each.start, interval, 1)
            for each in (one, other)
        ):
            return interval
    return None


def find_interval(question: str, *, period: Period | None) -> Interval:
    """Return the interval that a question names, else one that cuts its period into a readable number of points."""
    match = _PER.search(question)
    if match:
        word = next(g for g in match.groups() if g).lower()
        return Interval(_ADVERBS.get(word) or _UNIT_OF[word])
    if period and (named := _named_unit(period.words)):
        return named
    if period and period.start and period.end:
        days = (period.end - period.start).days
        if days <= 31:
            return Interval.DAY
        if days <= 120:
            return Interval.WEEK
        return Interval.MONTH if days <= 1500 else Interval.YEAR
    return Interval.MONTH


def _named_unit(words: str) -> Interval | None:
    """Return the unit in which a period names both of its ends: "from Q1 2026 to Q3 2026", "between 2023 and 2025"."""
    if len(re.findall(r"\bq[1-4]\b", words, re.IGNORECASE)) > 1:
        return Interval.QUARTER
    if len(re.findall(rf"(?<!\d )\b(?:{_MONTH})\b(?! \d{{1,2}}\b)", words, re.IGNORECASE)) > 1:
        return Interval.MONTH
    if re.fullmatch(r"\D*(?:19|20)\d{2}\D+(?:19|20)\d{2}\D*", words) and not re.search(_MONTH, words, re.IGNORECASE):
        return Interval.YEAR
    return None


_Bounds = tuple[date | None, date | None]


def whole_intervals(first: date, last: date, interval: Interval) -> tuple[date, date] | None:
    """Return the starts of the first and the last interval that lie wholly within two days, both included.

    None when there are fewer than two: part of a month compares with no other.
    """
    begin = _begin(first, interval)
    if begin < first:
        begin = _shift(begin, interval, 1)
    end = _shift(_begin(last + timedelta(days=1), interval), interval, -1)
    return (begin, end) if begin < end else None


def interval_name(start: date, interval: Interval) -> str:
    """Name an interval by its first day, as within a sentence: "March 2026", "Q1 2026", "the week of 2 March 2026"."""
    if interval is Interval.YEAR:
        return str(start.year)
    if interval is Interval.QUARTER:
        return f"Q{(start.month - 1) // 3 + 1} {start.year}"
    if interval is Interval.MONTH:
        return f"{start:%B %Y}"
    return f"{start.day} {start:%B %Y}" if interval is Interval.DAY else f"the week of {start.day} {start:%B %Y}"


def _read_between(match: re.Match[str], as_of: date) -> _Bounds | None:
    second = _point(match.group(2), as_of)
    first = _point(match.group(1), as_of, year_of=second[0] if second else None)
    return (first[0], second[1]) if first and second else None


def _read_last(match: re.Match[str], as_of: date) -> _Bounds | None:
    groups = match.groups()
    count = next((int(g) for g in groups if g and g.isdigit()), None)
    unit = next(_UNIT_OF[g.lower()] for g in groups if g and not g.isdigit())
    if count is None and match.group().lower().startswith("past"):
        count = 1
    if count is None:
        end = _begin(as_of, unit)
        return _shift(end, unit, -1), end
    if not 1 <= count <= 400:
        return None
    end = as_of + timedelta(days=1)
    return _shift(end, unit, -count), end


def _read_this(match: re.Match[str], as_of: date) -> _Bounds | None:
    unit = _UNIT_OF[match.group(1).lower()]
    start = _begin(as_of, unit)
    return start, _shift(start, unit, 1)


def _read_named_day(match: re.Match[str], as_of: date) -> _Bounds | None:
    day = as_of - timedelta(days=match.group(1).lower() in ("yesterday", "gestern", "ayer", "hier"))
    return day, day + timedelta(days=1)


def _read_since(match: re.Match[str], as_of: date) -> _Bounds | None:
    point = _point(match.group(1), as_of)
    return (point[0], None) if point else None


def _read_after(match: re.Match[str], as_of: date) -> _Bounds | None:
    point = _point(match.group(1), as_of)
    return (point[1], None) if point else None


def _read_before(match: re.Match[str], as_of: date) -> _Bounds | None:
    point = _point(match.group(1), as_of)
    return (None, point[0]) if point else None


def _read_until(match: re.Match[str], as_of: date) -> _Bounds | None:
    point = _point(match.group(1), as_of)
    return (None, point[1]) if point else None


def _read_during(match: re.Match[str], as_of: date) -> _Bounds | None:
    return _point(match.group(1), as_of)


def _read_bare(match: re.Match[str], as_of: date) -> _Bounds | None:
    words = match.group(1)
    if words.isdigit() or not any(c.isdigit() for c in words):
        is_year_at_edge = words.isdigit() and not match.string[match.end() :].strip(" ?.!")
        return _point(words, as_of) if is_year_at_edge else None
    return _point(words, as_of)


def _point(words: str, as_of: date, *, year_of: date | None = None) -> tuple[date, date] | None:
    """Read one date, month, quarter or year; None when there is no such day."""
    lowered = words.lower()
    numbers = [int(n) for n in re.findall(r"\d+", re.sub(r"q[1-4]", "", lowered))]
    named = next((MONTHS[w] for w in re.findall(r"[^\W\d_]+", lowered) if w in MONTHS), None)
    try:
        if quarter := re.search(r"q([1-4])", lowered):
            start = date(numbers[0], 3 * int(quarter.group(1)) - 2, 1)
            return start, _shift(start, "quarter", 1)
        if named is None:
            if len(numbers) == 1:
                return date(numbers[0], 1, 1), date(numbers[0] + 1, 1, 1)
            if len(numbers) == 2:
                start = date(numbers[0], numbers[1], 1)
                return start, _shift(start, "month", 1)
            start = date(numbers[0], numbers[1], numbers[2])
            return start, start + timedelta(days=1)
        years = [n for n in numbers if n > 31]
        days = [n for n in numbers if n <= 31]
        if years:
            year = years[0]
        elif year_of is not None:
            year = year_of.year - (named > year_of.month)
        else:
            year = as_of.year - ((named, days[0] if days else 1) > (as_of.month, as_of.day))
        start = date(year, named, days[0] if days else 1)
        return start, (start + timedelta(days=1) if days else _shift(start, "month", 1))
    except (ValueError, OverflowError):
        return None


def _begin(day: date, unit: str) -> date:
    if unit == "day":
        return day
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "month":
        return day.replace(day=1)
    if unit == "quarter":
        return date(day.year, day.month - (day.month - 1) % 3, 1)
    return date(day.year, 1, 1)


def _shift(day: date, unit: str, count: int) -> date:
    """Move a day by whole units; the 31st becomes the last day of a shorter month."""
    if unit in ("day", "week"):
        return day + timedelta(days=count * (7 if unit == "week" else 1))
    months = count * {"month": 1, "quarter": 3, "year": 12}[unit]
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    first = date(year, month + 1, 1)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    return first + timedelta(days=min(day.day, (following - first).days) - 1)
