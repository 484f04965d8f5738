"""Word what a query measured, with every number where the measure can be checked against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from enum import StrEnum
from typing import Any, Final

from answering.domain.claims import Measure, PointKind
from answering.domain.outcome import NOTHING


class FactKind(StrEnum):
    """What was counted."""

    MENTIONS = "mentions"
    THEME = "theme"
    TREND = "trend"
    ACCOUNT = "account"
    ACCOUNTS = "accounts"
    ADMITTED = "admitted"
    # These count among the records of the fact that leads, whose number is the component "of".
    PART_THEME = "part_theme"
    PART_WORD = "part_word"
    NEAR_DUPLICATES = "near_duplicates"
    PRAISE = "praise"
    COMPLAINT = "complaint"


@dataclass(frozen=True, slots=True)
class Fact:
    """A measured number and what it is about.

    `subject` is the term, theme or account, `besides` further terms that the same records hold. A trend has the
    components "first", "last" and, where one between them is larger, "peak" in its measure, each with the records of
    its interval ("first_of"), and the names of these intervals here; their dates are in the measure's query. A count
    may have a component "recent", with the words for its period here. That of accounts has one for each, named here.
    """

    kind: FactKind
    subject: str
    measure: Measure
    labels: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    besides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Topic:
    """A point that an answer can make: what is counted, and the ids of the retrieved records that are examples of it.

    A topic without a fact groups what cannot be counted.
    """

    kind: PointKind
    documents: frozenset[str]
    fact: Fact | None = None


def fact_text(fact: Fact) -> str:
    """Word a fact as one sentence; the subject is quoted, since it may hold numbers of its own."""
    if fact.kind in _AMONG:
        return _among(fact)
    subject = _subject(fact)
    measure = fact.measure
    filters = measure.query.get("filters", {})
    if fact.kind is FactKind.ACCOUNTS:
        return f"{_accounts_named(fact)}."
    agrees = measure.value != 1
    if measure.denominator is not None:
        counted = f"{measure.value:,.0f} of {measure.denominator:,} records"
    else:
        counted = _records(measure.value)
    whose = _whose(measure)
    if whose and fact.kind is not FactKind.ACCOUNT and len(filters.get("account", ())) != 1:
        counted += f" from {whose}"
    within = _scope(filters, besides=fact.subject if fact.kind is FactKind.ACCOUNT else None)
    within += _recently(fact)
    if fact.kind is FactKind.MENTIONS:
        return f"{counted} mention{'' if agrees else 's'} {subject}{within}."
    if fact.kind is FactKind.THEME:
        return f"{counted} {'have' if agrees else 'has'} the theme {subject}{within}."
    if fact.kind is FactKind.ACCOUNT:
        return f"{counted} {'are' if agrees else 'is'} from {subject}{within}."
    if fact.kind is FactKind.ADMITTED:
        return f"{counted} {'are' if agrees else 'is'} within the filters{within}."
    return f"Records that mention {subject} {_course(measure.components, fact.labels)}{within}."


def _among(fact: Fact) -> str:
    """Word a count among the records that were named before it."""
    measure = fact.measure
    value = f"{measure.value:,.0f}"
    agrees = measure.value != 1
    of = f"{measure.components['of']:,.0f}" if "of" in measure.components else ""
    if fact.kind is FactKind.NEAR_DUPLICATES:
        whose = f" from {_whose(measure)}" if _whose(measure) else ""
        within = ", within the same filters" if any(measure.query.get("filters", {}).values()) else ""
        return f"{_records(measure.value)}{whose} say{'' if agrees else 's'} the same in nearly the same words{within}."
    if fact.kind in (FactKind.PRAISE, FactKind.COMPLAINT):
        return (
            f"On the other side: {fact.kind.value} in {value} of the {of} records that were read, as far as words tell."
        )
    counted = f"All {of} of these records" if value == of and agrees else f"{value} of these {of} records"
    if fact.kind is FactKind.PART_WORD:
        said = f"also mention{'' if agrees else 's'} {_subject(fact)}"
    else:
        said = f"{'have' if agrees else 'has'} the theme {_subject(fact)}"
    is_many = max(measure.accounts or 0, measure.people or 0) >= _MANY
    whose = f", from {_whose(measure)}" if is_many else ""
    return f"{counted} {said}{whose}."


def _subject(fact: Fact) -> str:
    said = [f"“{term.translate(_QUOTES)}”" for term in (fact.subject, *fact.besides)]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def _records(value: float) -> str:
    return f"{value:,.0f} record{'s' if value != 1 else ''}"


def _accounts(value: int) -> str:
    return f"{value:,} account{'s' if value != 1 else ''}"


def _recently(fact: Fact) -> str:
    recent = fact.measure.components.get("recent")
    return "" if recent is None else f", {recent:,.0f} of them {fact.labels['recent']}"


def _accounts_named(fact: Fact) -> str:
    """Name the accounts, with their numbers where these differ from one."""
    numbers, total = fact.measure.components, fact.measure.accounts or 0
    said = [
        f"“{account.translate(_QUOTES)}”" + (f" with {_records(numbers[name])}" if max(numbers.values()) > 1 else "")
        for name, account in fact.labels.items()
    ]
    listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    if total > len(said):
        return f"Of these, {_accounts(total)} are named, among them {listed}"
    return f"Of these, {_accounts(total)} {'is' if total == 1 else 'are'} named: {listed}"


def _whose(measure: Measure) -> str:
    """Say how many stand behind a count: accounts, or people where more of them are known than accounts."""
    if measure.people and measure.people > max(measure.accounts or 0, 1):
        return f"{measure.people:,} people"
    return _accounts(measure.accounts) if measure.accounts else ""


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


# That some of a few accounts stand behind a part of the records tells nothing more.
_MANY: Final = 3
_AMONG: Final = frozenset(
    {FactKind.PART_THEME, FactKind.PART_WORD, FactKind.NEAR_DUPLICATES, FactKind.PRAISE, FactKind.COMPLAINT}
)
_BOUNDS: Final = {"occurred_from": "from", "occurred_to": "before"}
_QUOTES: Final = str.maketrans('“”„"', "‘’‚'")
