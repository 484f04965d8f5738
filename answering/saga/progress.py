"""Carry what a run was asked and what its steps have found so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from answering.domain.budget import Budget
from answering.domain.claims import Draft, Evidence
from answering.domain.entailment import Compared, Opinions
from answering.domain.gate import Stopped
from answering.domain.grounding import Grounding, GroundingRules
from answering.domain.outcome import NotAnswered, Outcome, Refusal
from answering.domain.planner import Plan, covered_facets
from answering.domain.relaxing import Relaxation
from answering.drafters.extractive import MODEL, DraftLimits
from answering.tools import ToolResult
from feedback.domain.filter_sets import NamedSet, Scope
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Hit, Retrieved
from feedback.selectors.corpora import CorpusState
from feedback.selectors.retrieval import (
    Pass,
    Passes,
)

if TYPE_CHECKING:
    from answering.domain.facts import Fact
    from feedback.models import Corpus


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked, of which corpus, within which limits; `filters` are all that the `sets` admit, where there are some."""

    corpus: Corpus
    question: str
    filters: FilterSet
    top_k: int | None
    rules: GroundingRules
    limits: DraftLimits
    loops: bool = False
    sets: tuple[NamedSet, ...] = ()
    passes: frozenset[Pass] = frozenset()

    @property
    def scope(self) -> Scope:
        """Return the slices that the caller set."""
        return Scope(sets=self.sets) if self.sets else Scope(self.filters)


@dataclass(slots=True)
class Progress:
    """What the steps have found so far. A refusal ends the work; `finalise` still runs."""

    request: Request
    budget: Budget
    now: datetime
    state: CorpusState = field(default_factory=lambda: CorpusState(0, 0, 0, None, {}))
    plan: Plan | None = None
    query: str = ""
    inferred: FilterSet = field(default_factory=FilterSet)
    scope: Scope = field(default_factory=Scope)
    filters: FilterSet = field(default_factory=FilterSet)
    to_relax: list[Relaxation] = field(default_factory=list)
    relaxed: list[Relaxation] = field(default_factory=list)
    admitted: int = 0
    retrieved: Retrieved | None = None
    passes: Passes = field(default_factory=dict)
    tool_results: list[ToolResult[Any]] = field(default_factory=list)
    read: tuple[Hit, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    relevance: float = 0.0
    stopped: Stopped | None = None
    not_answered: tuple[NotAnswered, ...] = ()
    facts: tuple[Fact, ...] = ()
    draft: Draft = field(default_factory=lambda: Draft((), MODEL))
    grounding: Grounding | None = None
    opinions: Opinions = field(default_factory=Opinions)
    compared: tuple[Compared, ...] = ()
    refusal: Refusal | None = None
    is_downgraded: bool = False
    repairs: list[dict[str, Any]] = field(default_factory=list)
    queries: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def as_of(self) -> datetime:
        """Return the moment that "recent" is measured from: the corpus's newest record."""
        return self.state.as_of or self.now

    @property
    def outcome(self) -> Outcome:
        """Return how the run ends, as things stand."""
        if self.refusal:
            return Outcome.REFUSED
        return Outcome.DOWNGRADED if self.is_downgraded else Outcome.ANSWERED

    @property
    def coverage(self) -> float:
        """Return the share of the question's facets that a claim of the answer speaks of."""
        if self.refusal or self.plan is None or not self.draft.claims:
            return 0.0
        said = [claim.text for claim in self.draft.claims]
        if not self.plan.facets:
            return 1.0
        return len(covered_facets(self.plan.facets, said, language=self.plan.language)) / len(self.plan.facets)
