"""Read the moments that exports write, and refuse the ones that can be read in two ways."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from dateutil import parser as dateutil_parser

EARLIEST: Final = datetime(1990, 1, 1, tzinfo=UTC)
TOLERATED_FUTURE: Final = timedelta(days=2)

# Three numbers with the year last: 30/09/2021, 9-30-2021 14:05, 30.9.21, 09/30/2021 12:00:00 AM.
_YEAR_LAST: Final = re.compile(
    r"(\d{1,2})([/.\-])(\d{1,2})\2(\d{4}|\d{2})"
    r"(?:[ T,]+(\d{1,2})[:.](\d{2})(?:[:.](\d{2})(?:[.,]\d{1,9})?)?"
    r"(?:\s*([AaPp])\.?[Mm]\.?)?(?:\s*(?:Z|UTC|GMT))?)?",
    re.ASCII,
)
# Three numbers with the year first and no zero-padding, which ISO 8601 wants: 2021/9/30 8:05.
_YEAR_FIRST: Final = re.compile(
    r"(\d{4})[/.\-](\d{1,2})[/.\-](\d{1,2})(?:[ T,]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?)?",
    re.ASCII,
)
_NAMES_A_MONTH: Final = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b", re.IGNORECASE | re.ASCII
)


class UnreadableDateError(ValueError):
    """A value that names no moment, or more than one; the message says how to write it."""


def read_moment(value: object, *, day_first: bool | None = None) -> datetime:
    """Read one moment as an aware UTC datetime; no zone means UTC, no time of day means midnight.

    Reads ISO 8601, numbers with the year first or last, month names, and seconds or milliseconds since
    1970. `day_first` says how the whole column writes 03/04/2021; None refuses it. Dots always mean
    day first: no locale writes month.day.year.

    Raises: UnreadableDateError.
    """
    if isinstance(value, str):
        return _read_text(value.strip(), day_first)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnreadableDateError("Write the date as text like 2021-04-03 or 2021-04-03T14:05:00Z.")
    return _read_epoch(value)


def is_in_range(moment: datetime, *, now: datetime) -> bool:
    """Say whether a record may carry this moment: from 1990 to two days beyond `now`."""
    return EARLIEST <= moment <= now + TOLERATED_FUTURE


def detect_day_first(values: Iterable[str]) -> bool | None:
    """Say which order a column of dates uses: True day first, False month first, None when it can't be told.

    One value that only works one way decides; values that decide both ways give None.
    """
    day_first = month_first = False
    for value in values:
        match = _YEAR_LAST.fullmatch(value.strip())
        if match is None or match[2] == ".":
            continue
        first, second = int(match[1]), int(match[3])
        day_first |= 12 < first <= 31 and 1 <= second <= 12
        month_first |= 12 < second <= 31 and 1 <= first <= 12
    return day_first if day_first != month_first else None


def _read_text(text: str, day_first: bool | None) -> datetime:
    if text.isdecimal() and text.isascii():
        return _read_digits(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return _read_other(text, day_first)
    return _as_utc(moment)


def _read_digits(digits: str) -> datetime:
    if len(digits) == 8:
        try:
            return datetime(int(digits[:4]), int(digits[4:6]), int(digits[6:]), tzinfo=UTC)
        except ValueError:
            raise UnreadableDateError(f"{digits} is no day of the calendar; write it as YYYY-MM-DD.") from None
    if len(digits) in (9, 10, 13):
        return _read_epoch(int(digits))
    raise UnreadableDateError("A bare number must be YYYYMMDD or seconds since 1970; write 2021-04-03 instead.")


def _read_epoch(number: float) -> datetime:
    # False for NaN too.
    if not abs(number) < 1e15:
        raise UnreadableDateError("The number is too large to be seconds since 1970.")
    # Seconds reach 1e11 in the year 5138; what is larger is milliseconds, as JavaScript writes them.
    seconds = number / 1000 if abs(number) >= 1e11 else number
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        raise UnreadableDateError("The number is too large to be seconds since 1970.") from None


def _as_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise UnreadableDateError("The date lies outside the calendar.") from None


@lru_cache(maxsize=8192)
def _read_other(text: str, day_first: bool | None) -> datetime:
    # Exports repeat their dates, and the general parser is slow: remembering pays, and the result is pure.
    if len(text) > 64:
        raise UnreadableDateError("Write the date as 2021-04-03 or 2021-04-03T14:05:00Z.")
    if match := _YEAR_LAST.fullmatch(text):
        return _read_year_last(text, match, day_first)
    if match := _YEAR_FIRST.fullmatch(text):
        return _build(text, int(match[1]), int(match[2]), int(match[3]), match[4], match[5], match[6], None)
    return _read_with_month_name(text)


def _read_year_last(text: str, match: re.Match[str], day_first: bool | None) -> datetime:
    first, separator, second = int(match[1]), match[2], int(match[3])
    year = int(match[4])
    if year < 100:
        if separator == "-":
            raise UnreadableDateError(f"{text} can be read in several ways; write the year with four digits.")
        year += 2000
    if separator == ".":
        day_first = True
    elif day_first is None:
        if first <= 12 and second <= 12 and first != second:
            raise UnreadableDateError(f"{text} can be read day first or month first; write it as YYYY-MM-DD.")
        day_first = first > 12
    day, month = (first, second) if day_first else (second, first)
    return _build(text, year, month, day, match[5], match[6], match[7], match[8])


def _build(
    text: str,
    year: int,
    month: int,
    day: int,
    hour: str | None,
    minute: str | None,
    second: str | None,
    half: str | None,
) -> datetime:
    hours = int(hour or 0)
    if half is not None:
        if not 1 <= hours <= 12:
            raise UnreadableDateError(f"{text} is no time of day; write it as YYYY-MM-DDTHH:MM:SS.")
        hours = hours % 12 + (12 if half in "pP" else 0)
    try:
        return datetime(year, month, day, hours, int(minute or 0), int(second or 0), tzinfo=UTC)
    except ValueError:
        raise UnreadableDateError(f"{text} is no day of the calendar; write it as YYYY-MM-DD.") from None


def _read_with_month_name(text: str) -> datetime:
    if _NAMES_A_MONTH.search(text) is None:
        raise UnreadableDateError("Write the date as 2021-04-03 or 2021-04-03T14:05:00Z.")
    readings: list[datetime] = []
    with warnings.catch_warnings():
        # An abbreviation such as EST would be dropped with a warning, and the moment be hours off.
        warnings.simplefilter("error")
        try:
            # What the text leaves out is filled from the default: two defaults that disagree reveal it.
            for default in (datetime(2000, 1, 1), datetime(2004, 2, 29)):  # noqa: DTZ001 - filled below
                readings.append(dateutil_parser.parse(text, default=default))
        except (ValueError, OverflowError, TypeError, Warning):
            raise UnreadableDateError("Write the date as 2021-04-03 or 2021-04-03T14:05:00Z.") from None
    if readings[0] != readings[1]:
        raise UnreadableDateError(f"{text} is not a whole date; write year, month and day.")
    return _as_utc(readings[0])
