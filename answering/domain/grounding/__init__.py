"""Check claims against the records they cite, independently of who drafted them."""

from answering.domain.grounding.calibration import (
    Calibration,
    OperatingPoint,
    ScoredClaim,
    TooFewClaims,
    calibrate,
    scored,
)
from answering.domain.grounding.checker import Subject, check_claim
from answering.domain.grounding.containment import Nearness
from answering.domain.grounding.draft import GroundingContext, Repair, ground, prune, repair
from answering.domain.grounding.measured import unbound_number
from answering.domain.grounding.verdicts import (
    Check,
    CheckVerdict,
    CitationVerdict,
    ClaimVerdict,
    DroppedCitation,
    DroppedClaim,
    EvidenceSpan,
    FailureCode,
    Grounding,
    GroundingRules,
    MeasureResult,
    SupportingSpan,
    Verdict,
)
from answering.domain.grounding.windows import best_windows

__all__ = [
    "Calibration",
    "Check",
    "CheckVerdict",
    "CitationVerdict",
    "ClaimVerdict",
    "DroppedCitation",
    "DroppedClaim",
    "EvidenceSpan",
    "FailureCode",
    "Grounding",
    "GroundingContext",
    "GroundingRules",
    "MeasureResult",
    "Nearness",
    "OperatingPoint",
    "Repair",
    "ScoredClaim",
    "Subject",
    "SupportingSpan",
    "TooFewClaims",
    "Verdict",
    "best_windows",
    "calibrate",
    "check_claim",
    "ground",
    "prune",
    "repair",
    "scored",
    "unbound_number",
]
