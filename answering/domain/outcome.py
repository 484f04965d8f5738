"""Say how a question ended: an answer, a reduced answer, or a refusal that names the gate which stopped it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

REFUSAL_TEXT: Final = "I cannot answer that from the indexed feedback."
NO_MATCH_TEXT: Final = "no indexed feedback matched"
NO_CLAIMS_TEXT: Final = "the draft contained no verifiable claims"

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Outcome(StrEnum):
    """How a run ended; a refusal is a success."""

    ANSWERED = "answered"
    DOWNGRADED = "downgraded"
    REFUSED = "refused"


class RefusalReason(StrEnum):
    """Why no answer was given."""

    NO_RECORDS = "no_records"
    INSUFFICIENT_EVIDENCE = "insufficient_evidence"
    OFF_TOPIC = "off_topic"
    UNSUPPORTED = "unsupported"
    BUDGET_EXHAUSTED = "budget_exhausted"
    RETRIEVAL_DEGRADED = "retrieval_degraded"


class Gate(StrEnum):
    """The check that a run has to pass before it may go on, in the order of the saga."""

    RECORDS = "records"
    RETRIEVAL = "retrieval"
    EVIDENCE_RELEVANCE = "evidence_relevance"
    SCOPE = "scope"
    CLAIM_SUPPORT = "claim_support"
    CITATION_PRECISION = "citation_precision"
    GROUNDEDNESS = "groundedness"
    BUDGET = "budget"


GATE_OF: Final[Mapping[RefusalReason, Gate]] = MappingProxyType(
    {
        RefusalReason.NO_RECORDS: Gate.RECORDS,
        RefusalReason.INSUFFICIENT_EVIDENCE: Gate.RETRIEVAL,
        RefusalReason.OFF_TOPIC: Gate.EVIDENCE_RELEVANCE,
        RefusalReason.UNSUPPORTED: Gate.GROUNDEDNESS,
        RefusalReason.BUDGET_EXHAUSTED: Gate.BUDGET,
        RefusalReason.RETRIEVAL_DEGRADED: Gate.RETRIEVAL,
    }
)


@dataclass(frozen=True, slots=True)
class NearestTopic:
    """A theme that the corpus does hold, close to what was asked."""

    theme: str
    count: int
    doc_ids: tuple[str, ...] = ()
    query_id: str | None = None


@dataclass(frozen=True, slots=True)
class FilterSuggestion:
    """What to ask instead: filters, and the question where it has to be another; tried, and answered.

    `count` is the number of records that mention what it is about.
    """

    filters: Mapping[str, Any]
    count: int
    doc_ids: tuple[str, ...] = ()
    query_id: str | None = None
    question: str | None = None


@dataclass(frozen=True, slots=True)
class NotAnswered:
    """A topic of a question that its answer says nothing about, and why."""

    facet: str
    reason: RefusalReason

    @property
    def message(self) -> str:
        """Say it to a reader."""
        if self.reason is RefusalReason.OFF_TOPIC:
            return f"nothing in the records about “{self.facet}”"
        return f"nothing about “{self.facet}” in the records that were asked about"

    def as_json(self) -> dict[str, str]:
        """Return it as answers show it."""
        return {"facet": self.facet, "reason": self.reason.value, "message": self.message}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal as a plan: what stopped the run, by how much, and where to go from here.

    `value` is what the gate measured and `floor` what it demanded; both are None for a gate that
    counts nothing.
    """

    reason: RefusalReason
    gate: Gate
    value: float | None
    floor: float | None
    message: str
    nearest_topics: tuple[NearestTopic, ...] = ()
    suggestions: tuple[FilterSuggestion, ...] = ()


def refuse(
    reason: RefusalReason,
    *,
    value: float | None = None,
    floor: float | None = None,
    detail: str | None = None,
    gate: Gate | None = None,
    nearest_topics: tuple[NearestTopic, ...] = (),
    suggestions: tuple[FilterSuggestion, ...] = (),
) -> Refusal:
    """Build the refusal of a reason with its gate and its fixed text.

    `detail` replaces the text of a reason whose cause differs from run to run (the spent resource,
    the arm of retrieval that failed, why a draft was withheld), and follows the fixed text of insufficient evidence.
    `gate` is the one that stopped the run, where a reason can come from several.
    """
    return Refusal(
        reason=reason,
        gate=gate or GATE_OF[reason],
        value=value,
        floor=floor,
        message=refusal_message(reason, value=value, floor=floor, detail=detail),
        nearest_topics=nearest_topics,
        suggestions=suggestions,
    )


def refusal_message(
    reason: RefusalReason, *, value: float | None = None, floor: float | None = None, detail: str | None = None
) -> str:
    """Word a refusal; the texts of the first three reasons are fixed, people script against them."""
    if reason in (RefusalReason.NO_RECORDS, RefusalReason.INSUFFICIENT_EVIDENCE):
        return f"{NO_MATCH_TEXT}: {detail}" if detail else NO_MATCH_TEXT
    if reason is RefusalReason.OFF_TOPIC:
        return f"the retrieved feedback does not discuss this topic (relevance {value or 0.0:.2f})"
    if detail:
        return detail
    if reason is RefusalReason.UNSUPPORTED:
        if value is None or floor is None:
            return NO_CLAIMS_TEXT
        return f"too few of the drafted claims are supported by the records they cite ({value:.2f} of {floor:.2f})"
    if reason is RefusalReason.BUDGET_EXHAUSTED:
        return "the run used up its budget before an answer could be checked"
    return "part of the search was unavailable, so that an answer would rest on a part of the records"
