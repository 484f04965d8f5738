"""Say what a plan holds: intent, tools, facets and the filters that a question implies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from answering.domain.outcome import NOTHING
from answering.domain.periods import Interval, Period
from answering.domain.planner.intent import Intent
from answering.domain.planner.words import (
    BROAD,
    NEGATED,
)
from feedback.domain.facets import Scalar
from feedback.domain.filters import FacetVocabulary

BREADTH: Final = 8


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
    # Two periods that are set against each other; `period` then reaches from the one to the other.
    compared: tuple[Period, ...] = ()

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
        return self.intent in (Intent.HOW_MANY, Intent.WHO) and bool(NEGATED.search(self.question))

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
            or bool(BROAD.search(self.question))
        )
