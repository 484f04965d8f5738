"""Word what a query measured, with every number where the measure can be checked against it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from answering.domain.claims import Measure


class FactKind(StrEnum):
    """What was counted."""

    MENTIONS = "mentions"
    THEME = "theme"
    TREND = "trend"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True)
class Fact:
    """A measured number and what it is about.

    `subject` is the term, theme or account. A trend has the components "first" and "last" in its
    measure and the two labels here; the dates of the labels are in the measure's query.
    """

    kind: FactKind
    subject: str
    measure: Measure
    first_label: str = ""
    last_label: str = ""


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
    first, last = measure.components["first"], measure.components["last"]
    went = "rose" if last > first else "fell" if last < first else "stayed"
    change = f"at {last:,.0f}" if last == first else f"from {first:,.0f} to {last:,.0f}"
    return f"Records that mention “{subject}” {went} {change} between {fact.first_label} and {fact.last_label}."


_QUOTES: Final = str.maketrans('“”„"', "‘’‚'")
