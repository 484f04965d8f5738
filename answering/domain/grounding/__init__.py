"""Check claims against the records they cite, independently of who drafted them."""

from answering.domain.grounding.checker import check_claim
from answering.domain.grounding.draft import Repair, ground, prune, repair, unbound_number
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
    "GroundingRules",
    "MeasureResult",
    "Repair",
    "SupportingSpan",
    "Verdict",
    "check_claim",
    "ground",
    "prune",
    "repair",
    "unbound_number",
]
