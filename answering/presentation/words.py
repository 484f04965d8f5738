"""Put filters, counts and the trace into words, and name the questions to ask about a theme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from answering.domain.periods import Interval, interval_name
from answering.domain.render import day

if TYPE_CHECKING:
    from answering.selectors import Step

Json = Mapping[str, Any]

THEME_FORMS: Final = ("What do people say about {}?", "How did {} develop over time?")
ACCOUNT_FORM: Final = "What have we heard from {}?"


NAMES: Final[Mapping[str, str]] = {
    "source": "source",
    "theme": "theme",
    "account": "account",
    "language": "language",
    "ids": "records",
    "occurred_from": "from",
    "occurred_to": "until",
    "facets": "facets",
}


def question_about(theme: str, form: str = THEME_FORMS[0]) -> str:
    """Return a question about a theme, written as within a sentence: "Delivery times" is no name, "iOS" is."""
    is_capitalised = theme[:1].isupper() and theme[1:2].islower()
    return form.format(theme[:1].lower() + theme[1:] if is_capitalised else theme)


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter in words."""

    name: str
    value: str


def chips(filters: Json) -> tuple[Chip, ...]:
    """Return a filter set in words, the last day of a period included."""
    found = []
    for name, value in filters.items():
        if name == "any_of":
            found.append(Chip("one of", f"{len(value)} slices"))
        elif name == "facets":
            found += [Chip(facet, ", ".join(map(str, values))) for facet, values in value.items()]
        elif name == "ids":
            found.append(Chip("records", ", ".join(value) if len(value) <= 3 else f"{len(value):,} chosen ones"))
        elif name in ("occurred_from", "occurred_to"):
            found.append(Chip(NAMES[name], _moment(value, is_end=name == "occurred_to")))
        else:
            found.append(Chip(NAMES.get(name, name), ", ".join(str(member).replace("_", " ") for member in value)))
    return tuple(found)


def _slice(filters: Json) -> str:
    return " · ".join(f"{chip.name} {chip.value}" for chip in chips(filters)) or "all records"


def set_chips(sets: Sequence[Json]) -> tuple[Chip, ...]:
    """Return named filter sets in words, a chip each."""
    return tuple(
        Chip(named["name"], _slice({key: value for key, value in named.items() if key not in ("name", "top_k")}))
        for named in sets
    )


def _moment(value: str, *, is_end: bool) -> str:
    moment = datetime.fromisoformat(value)
    if moment.time() == moment.min.time():
        return day(moment - timedelta(days=1) if is_end else moment)
    return f"{day(moment)}, {moment:%H:%M}"


@dataclass(frozen=True, slots=True)
class TraceLine:
    """A step of the trace with its detail in words."""

    position: int
    step: str
    outcome: str
    milliseconds: float | None
    detail: tuple[tuple[str, str], ...]


def trace(steps: Sequence[Step]) -> tuple[TraceLine, ...]:
    """Return the trace as it is read."""
    return tuple(
        TraceLine(
            step.position,
            step.step,
            step.outcome.replace("_", " "),
            step.milliseconds,
            tuple((name.replace("_", " "), _written(value)) for name, value in step.detail.items() if value != []),
        )
        for step in steps
    )


def _written(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_written(member)}" for name, member in value.items()) or "none"
    if isinstance(value, list):
        return "; ".join(_written(member) for member in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class Counted:
    """What a stored query counts, in words: alternatives of each required word, filters, one group of a break-down."""

    mentions: tuple[str, ...]
    chips: tuple[Chip, ...]
    is_list: bool


@dataclass(frozen=True, slots=True)
class Point:
    """One interval of a trend: how many of its records were counted."""

    name: str
    found: int
    records: int


def points(query: Json, numbers: Mapping[str, float]) -> tuple[Point, ...]:
    """Return the intervals that a trend compares, in the order of time; none for a count that is no trend."""
    parts = query.get("parts", {})
    found = []
    for name, part in sorted(parts.items(), key=lambda item: str(item[1].get("within", {}).get("key"))):
        within, records = part.get("within"), numbers.get(f"{name}_of")
        if within and records is not None:
            start = date.fromisoformat(within["key"])
            found.append(Point(interval_name(start, Interval(within["by"])), int(numbers[name]), int(records)))
    return tuple(found)


def _group(by: str, key: str) -> Chip:
    try:
        return Chip(by, interval_name(date.fromisoformat(key), Interval(by)))
    except ValueError:
        return Chip(by, key.replace("_", " ") if by == "source" else key)


def counted(query: Json) -> Counted:
    """Return what a stored query counts, in words."""
    if "ids" in query:
        return Counted((), (), is_list=True)
    within = query.get("within")
    group = (_group(within["by"], within["key"]),) if within else ()
    filters = query.get("filters") or {}
    # A record must be in one of several slices: each is named.
    slices = (
        tuple(Chip("or" if number else "either", _slice(part)) for number, part in enumerate(filters["any_of"]))
        if "any_of" in filters
        else chips(filters)
    )
    return Counted(
        mentions=tuple(" or ".join(words) for words in query.get("mentions", ())),
        chips=(*slices, *group),
        is_list=False,
    )
