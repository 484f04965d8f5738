"""Say what was checked about a claim and with what result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from answering.domain.outcome import NOTHING

# Changes with every rule that changes verdicts: a calibration is of one version.
CHECKER_VERSION = "2"


class Check(StrEnum):
    """One way in which a claim can disagree with the text it cites."""

    CONTAINMENT = "containment"
    NUMBER = "number"
    DATE = "date"
    NEGATION = "negation"
    QUANTIFIER = "quantifier"
    SUPERLATIVE = "superlative"
    DIRECTION = "direction"
    CAUSE = "cause"
    ENTITY = "entity"
    ROLE = "role"
    QUOTATION = "quotation"
    CITATION = "citation"
    EXACT_SPAN = "exact_span"
    MEASURE = "measure"
    SHAPE = "shape"


class FailureCode(StrEnum):
    """Why a claim failed, for programs."""

    UNSUPPORTED = "unsupported_claim"
    UNBOUND_NUMBER = "unbound_number"
    DATE_MISMATCH = "date_mismatch"
    NEGATION_MISMATCH = "negation_mismatch"
    QUANTIFIER_RAISED = "quantifier_raised"
    SUPERLATIVE_ADDED = "superlative_added"
    DIRECTION_REVERSED = "direction_reversed"
    CAUSE_INVENTED = "cause_invented"
    UNKNOWN_ENTITY = "unknown_entity"
    ROLES_SWAPPED = "roles_swapped"
    ALTERED_QUOTE = "altered_quote"
    UNKNOWN_CITATION = "unknown_citation"
    MISSING_CITATION = "missing_citation"
    MEASURE_MISMATCH = "measure_mismatch"
    INVALID_SHAPE = "invalid_shape"


FAILURE_OF: Mapping[Check, FailureCode] = {
    Check.CONTAINMENT: FailureCode.UNSUPPORTED,
    Check.NUMBER: FailureCode.UNBOUND_NUMBER,
    Check.DATE: FailureCode.DATE_MISMATCH,
    Check.NEGATION: FailureCode.NEGATION_MISMATCH,
    Check.QUANTIFIER: FailureCode.QUANTIFIER_RAISED,
    Check.SUPERLATIVE: FailureCode.SUPERLATIVE_ADDED,
    Check.DIRECTION: FailureCode.DIRECTION_REVERSED,
    Check.CAUSE: FailureCode.CAUSE_INVENTED,
    Check.ENTITY: FailureCode.UNKNOWN_ENTITY,
    Check.ROLE: FailureCode.ROLES_SWAPPED,
    Check.QUOTATION: FailureCode.ALTERED_QUOTE,
    Check.CITATION: FailureCode.UNKNOWN_CITATION,
    Check.EXACT_SPAN: FailureCode.ALTERED_QUOTE,
    Check.MEASURE: FailureCode.MEASURE_MISMATCH,
    Check.SHAPE: FailureCode.INVALID_SHAPE,
}


@dataclass(frozen=True, slots=True)
class CheckVerdict:
    """The result of one check; `detail` is a sentence for people when it doesn't agree."""

    check: Check
    agrees: bool
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class EvidenceSpan:
    """A span of one of the evidence texts, which are counted from 0."""

    evidence: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checker thinks of one claim against some text.

    `support` is in [0, 1] and reaches the floor exactly when `supported`. `overlap` is what it would be without a
    conflict: at a floor above it the claim fails, at one below it only a conflict fails it. `span` is the best
    supporting span, also of a claim that failed, unless no word of it was found.
    """

    supported: bool
    support: float
    reason: str | None
    code: FailureCode | None
    span: EvidenceSpan | None
    checks: tuple[CheckVerdict, ...] = ()
    overlap: float = 0.0

    @property
    def has_conflict(self) -> bool:
        """Tell whether something disagrees that no overlap makes up for."""
        return any(not each.agrees for each in self.checks if each.check is not Check.CONTAINMENT)


@dataclass(frozen=True, slots=True)
class GroundingRules:
    """The floors of the gates.

    `floors` are pairs of a length of cited text, in characters, and the least support beside text of about that length:
    the more a claim cites, the more of its words are there by chance. Without any, `min_support` holds at every length.
    `min_removal_effect` is the loss of support that makes a citation count which can't support its claim alone.
    """

    min_support: float = 0.6
    floors: tuple[tuple[int, float], ...] = ()
    min_groundedness: float = 0.7
    min_evidence_relevance: float = 0.25
    min_removal_effect: float = 0.05

    def floor(self, characters: int) -> float:
        """Return the least support beside so much cited text: that of the nearest length, by ratio."""
        if not self.floors:
            return self.min_support
        return min(self.floors, key=lambda pair: abs(math.log(max(1, pair[0])) - math.log(max(1, characters))))[1]


@dataclass(frozen=True, slots=True)
class MeasureResult:
    """What re-running the query of a measure gave."""

    value: float
    people: int | None = None
    accounts: int | None = None
    denominator: int | None = None
    components: Mapping[str, float] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class CitationVerdict:
    """Whether one cited span supports its claim; `number` is its place in the claim's citations, from 0."""

    number: int
    evidence_id: str
    is_known: bool
    supports: bool
    support: float = 0.0


@dataclass(frozen=True, slots=True)
class SupportingSpan:
    """The best supporting span of a claim, by the citation id of its evidence."""

    citation: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """What was found about one claim of a draft."""

    id: int
    supported: bool
    support: float
    span: SupportingSpan | None
    reason: str | None
    code: FailureCode | None = None
    citations: tuple[CitationVerdict, ...] = ()
    checks: tuple[CheckVerdict, ...] = ()


@dataclass(frozen=True, slots=True)
class Grounding:
    """What was found about a draft.

    `groundedness` is the share of drafted claims that are supported; `citation_precision` the share of
    cited spans that support their claim; both are 0 for a draft without claims or citations, except
    that a draft of measures alone cites nothing wrongly and has precision 1.
    """

    groundedness: float
    citation_precision: float
    accepted: bool
    failure_reason: str | None
    claims: tuple[ClaimVerdict, ...] = ()
    unknown_citations: int = 0


@dataclass(frozen=True, slots=True)
class DroppedCitation:
    """A known citation that was taken off a claim, because it doesn't support it."""

    claim_id: int
    evidence_id: str
    support: float


@dataclass(frozen=True, slots=True)
class DroppedClaim:
    """A claim that was taken out of a draft, and why."""

    claim_id: int
    code: FailureCode | None
    reason: str | None
