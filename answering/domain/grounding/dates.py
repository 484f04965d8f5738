"""Read the dates that a claim states, and look for them in the cited text and in the records' own dates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from answering.domain.grounding.quantities import MONTHS, months_named, quantities

_MONTH: Final = "|".join(sorted(MONTHS, key=len, reverse=True))
_YEAR: Final = r"(?:19|20)\d{2}"
_DAY: Final = r"(?:0?[1-9]|[12]\d|3[01])"
_PATTERNS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bQ(?P<quarter>[1-4])\s+(?P<year>{_YEAR})\b",
        rf"(?<!\d)(?P<year>{_YEAR})-(?P<number>0?[1-9]|1[0-2])(?:-(?P<day>{_DAY}))?(?!\d)",
        rf"(?<!\d)(?P<day>{_DAY})(?:st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?(?P<month>{_MONTH})\b\.?"
        rf"(?:,?\s+(?:de\s+|del\s+)?(?P<year>{_YEAR}))?",
        rf"\b(?P<month>{_MONTH})\.?\s+(?P<day>{_DAY})(?:st|nd|rd|th)?(?!\d)(?:,?\s+(?P<year>{_YEAR}))?",
        rf"\b(?P<month>{_MONTH})\.?,?\s+(?:of\s+|de\s+|del\s+)?(?P<year>{_YEAR})(?!\d)",
        rf"\b(?P<month>{_MONTH})\b",
        rf"(?<![\w.,£$€-])(?P<year>{_YEAR})(?![\d%-]|[.,]\d|\s*(?:%|per\s?cent|people|records|[£$€]))",
    )
)
_NUMERIC: Final = re.compile(r"(?<!\d)\d{1,2}[./-]\d{1,2}(?:[./-]\d{2,4})?(?!\d)")
_WEEKDAYS: Final = {
    form: number
    for number, forms in enumerate(
        (
            "monday mon mondays montag montags lunes", "tuesday tue tues tuesdays dienstag dienstags martes",
            "wednesday wed weds wednesdays mittwoch mittwochs miércoles", "thursday thu thur thurs thursdays donnerstag donnerstags jueves",
            "friday fri fridays freitag freitags viernes", "saturday sat saturdays samstag samstags sonnabend sábado sábados",
            "sunday sun sundays sonntag sonntags domingo domingos",
        )
    )
    for form in forms.split()
}  # fmt: skip
_WEEKDAY: Final = re.compile(rf"\b(?:{'|'.join(_WEEKDAYS)})\b", re.IGNORECASE)
_QUARTER_MONTHS: Final = 3


@dataclass(frozen=True, slots=True)
class StatedDate:
    """A day, month, quarter or year as a text states it; what it leaves open is None."""

    surface: str
    start: int
    end: int
    year: int | None = None
    month: int | None = None
    day: int | None = None
    quarter: int | None = None

    def agrees_with(self, other: StatedDate) -> bool:
        """Tell whether the other states all that this one does, or a day within it."""
        quarter = other.quarter or (None if other.month is None else (other.month - 1) // _QUARTER_MONTHS + 1)
        return all(
            mine is None or mine == theirs
            for mine, theirs in (
                (self.year, other.year),
                (self.month, other.month),
                (self.day, other.day),
                (self.quarter, quarter),
            )
        )

    @property
    def is_bare_month(self) -> bool:
        """Tell whether only a month is named: beside months that the text names it is one of these."""
        return self.month is not None and self.year is None and self.day is None

    def holds(self, day: date) -> bool:
        """Tell whether a day lies in what is stated."""
        return self.agrees_with(StatedDate("", 0, 0, day.year, day.month, day.day))


def dates_stated(text: str) -> list[StatedDate]:
    """List the dates of a text in order; a month's name needs its capital, and "May" a number beside it."""
    capitalised = set(months_named(text).values())
    found: list[StatedDate] = []
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if any(match.start() < known.end and known.start < match.end() for known in found):
                continue
            groups = match.groupdict()
            word = groups.get("month")
            if word and word not in capitalised and not groups.get("day") and not groups.get("year"):
                continue
            month = MONTHS[word.lower()] if word else _number(groups, "number")
            year, day, quarter = (_number(groups, name) for name in ("year", "day", "quarter"))
            found.append(StatedDate(match.group().strip(), match.start(), match.end(), year, month, day, quarter))
    return sorted(found, key=lambda stated: stated.start)


def _number(groups: Mapping[str, str | None], name: str) -> int | None:
    digits = groups.get(name)
    return int(digits) if digits else None


def missing_date(claim: str, texts: Sequence[str], days: Sequence[date]) -> str | None:
    """Return the first date of a claim that neither the text nor the records' own days bear out; else None.

    A text may state the parts of a date apart ("in 2021 … from March on"): then each has to be there, and no other
    day of that month.
    """
    claimed = dates_stated(claim)
    if not claimed:
        return None
    theirs = [stated for text in texts for stated in dates_stated(text)]
    names_months = any(other.month for other in theirs)
    numbers = {value for text in texts for quantity in quantities(text) for value in quantity.values}
    is_written_in_numbers = any(_NUMERIC.search(text) for text in texts)
    for stated in claimed:
        if any(stated.agrees_with(other) for other in theirs):
            continue
        # A bare month beside months that the text names is one of these, not the record's own.
        if any(stated.holds(day) for day in days) and not (stated.is_bare_month and names_months):
            continue
        if not _is_there_in_parts(stated, theirs, numbers, is_written_in_numbers=is_written_in_numbers):
            return stated.surface
    return None


def missing_weekday(claim: str, texts: Sequence[str]) -> str | None:
    """Return a day of the week that a claim names and the text, naming others, doesn't; else None."""
    theirs = {_WEEKDAYS[m.group().lower()] for text in texts for m in _WEEKDAY.finditer(text)}
    if not theirs:
        return None
    return next((m.group() for m in _WEEKDAY.finditer(claim) if _WEEKDAYS[m.group().lower()] not in theirs), None)


def _is_there_in_parts(
    stated: StatedDate, theirs: Sequence[StatedDate], numbers: set[float], *, is_written_in_numbers: bool
) -> bool:
    if stated.quarter:
        return False
    if stated.year and not any(other.year == stated.year for other in theirs) and float(stated.year) not in numbers:
        return False
    if stated.month is None:
        return True
    same_month = [other for other in theirs if other.month == stated.month]
    if not same_month and not (is_written_in_numbers and float(stated.month) in numbers):
        return False
    if any(other.year and stated.year and other.year != stated.year for other in same_month):
        return False
    if stated.day is None:
        return bool(same_month) or not any(other.month for other in theirs)
    return not any(other.day for other in same_month) and float(stated.day) in numbers
