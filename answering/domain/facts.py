"""Word what a query measured, with every number where the measure can be checked against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

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
    if measure.accounts and fact.kind is not FactKind.ACCOUNT:
        counted += f" from {measure.accounts:,} account{'s' if measure.accounts != 1 else ''}"
    agrees = measure.value != 1
    if fact.kind is FactKind.MENTIONS:
        return f"{counted} mention{'' if agrees else 's'} “{subject}”."
    if fact.kind is FactKind.THEME:
        return f"{counted} {'have' if agrees else 'has'} the theme “{subject}”."
    if fact.kind is FactKind.ACCOUNT:
        return f"{counted} {'are' if agrees else 'is'} from “{subject}”."
    return f"Records that mention “{subject}” {_course(measure.components, fact.labels)}."


def _course(numbers: Mapping[str, float], labels: Mapping[str, str]) -> str:
    """Word how a count went, each with the number of records beside which it stands."""
    first, last = numbers["first"], numbers["last"]
    said = {name: f"{numbers[name]:,.0f} of {numbers[f'{name}_of']:,.0f}" for name in labels}
    ends = f"from {said['first']} in {labels['first']} to {said['last']} in {labels['last']}"
    if "peak" in labels:
        return f"went {ends}, with the most, {said['peak']}, in {labels['peak']}"
    return f"{'rose' if last > first else 'fell' if last < first else 'went'} {ends}"


_QUOTES: Final = str.maketrans('“”„"', "‘’‚'")
