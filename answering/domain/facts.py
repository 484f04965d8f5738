"""Word what a query measured, with every number where the measure can be checked against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from enum import StrEnum
from typing import Any, Final

from answering.domain.claims import Measure
from answering.domain.outcome import NOTHING


class FactKind(StrEnum):
    """What was counted."""

    MENTIONS = "mentions"
    THEME = "theme"
    TREND = "trend"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True)
class Fact:
    """A measured number and what it is about.

    `subject` is the term, theme or account. A trend has the components "first", "last" and, where one between
    them is larger, "peak" in its measure, each with the records of its interval ("first_of"), and the names of
    these intervals here; their dates are in the measure's query.
    """

    kind: FactKind
    subject: str
    measure: Measure
    labels: Mapping[str, str] = field(default_factory=lambda: NOTHING)


def fact_text(fact: Fact) -> str:
    """Word a fact as one sentence; the subject is quoted, since it may hold numbers of its own."""
    subject = fact.subject.translate(_QUOTES)
    measure = fact.measure
    count = f"{measure.value:,.0f}"
    plural = measure.value != 1
    if measure.denominator is not None:
        counted = f"{count} of {measure.denominator:,} records"
        plural = True
    else:
        counted = f"{count} record{'s' if plural else ''}"
    filters = measure.query.get("filters", {})
    if measure.accounts and fact.kind is not FactKind.ACCOUNT and len(filters.get("account", ())) != 1:
        counted += f" from {measure.accounts:,} account{'s' if measure.accounts != 1 else ''}"
    agrees = measure.value != 1
    within = _scope(filters, besides=fact.subject if fact.kind is FactKind.ACCOUNT else None)
    if fact.kind is FactKind.MENTIONS:
        return f"{counted} mention{'' if agrees else 's'} “{subject}”{within}."
    if fact.kind is FactKind.THEME:
        return f"{counted} {'have' if agrees else 'has'} the theme “{subject}”{within}."
    if fact.kind is FactKind.ACCOUNT:
        return f"{counted} {'are' if agrees else 'is'} from “{subject}”{within}."
    return f"Records that mention “{subject}” {_course(measure.components, fact.labels)}{within}."


def _scope(filters: Mapping[str, Any], *, besides: str | None) -> str:
    """Name what was counted within, in brackets: without it a number would seem to speak of all records."""
    parts = [
        f"{name} {' or '.join(_quoted(value) for value in values)}"
        for name in ("source", "theme", "account", "language")
        if (values := [value for value in filters.get(name, ()) if value != besides])
    ]
    parts += [
        f"{name.translate(_QUOTES)} {' or '.join(_quoted(value) for value in values)}"
        for name, values in filters.get("facets", {}).items()
    ]
    if filters.get("ids"):
        parts.append("of the listed records")
    parts += [f"{word} {_moment(filters[name])}" for name, word in _BOUNDS.items() if filters.get(name)]
    return f" ({'; '.join(parts)})" if parts else ""


def _quoted(value: object) -> str:
    return f"“{str(value).replace('_', ' ').translate(_QUOTES)}”"


def _moment(text: str) -> str:
    moment = datetime.fromisoformat(text)
    said = f"{moment.day} {moment:%B %Y}"
    return said if moment.time() == time() else f"{said}, {moment:%H:%M}"


def _course(numbers: Mapping[str, float], labels: Mapping[str, str]) -> str:
    """Word how a share went: each count stands beside the records that it is a share of."""
    said = {name: f"{numbers[name]:,.0f} of {numbers[f'{name}_of']:,.0f}" for name in labels}
    first, last = (numbers[name] / numbers[f"{name}_of"] for name in ("first", "last"))
    ends = f"from {said['first']} in {labels['first']} to {said['last']} in {labels['last']}"
    if "peak" in labels:
        return f"went {ends}, with the largest share, {said['peak']}, in {labels['peak']}"
    if first == last:
        return f"went {ends}"
    return f"went {ends}, a {'larger' if last > first else 'smaller'} share"


_BOUNDS: Final = {"occurred_from": "from", "occurred_to": "before"}
_QUOTES: Final = str.maketrans('“”„"', "‘’‚'")
