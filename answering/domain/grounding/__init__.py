"""Check claims against the records they cite, independently of who drafted them."""

from answering.domain.grounding.checker import Subject, check_claim
from answering.domain.grounding.containment import Nearness
from answering.domain.grounding.draft import GroundingContext, Repair, ground, prune, repair, unbound_number
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
    "Repair",
    "Subject",
    "SupportingSpan",
    "Verdict",
    "best_windows",
    "check_claim",
    "ground",
    "prune",
    "repair",
    "unbound_number",
]
