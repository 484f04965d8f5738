"""Compare how much two sentences say: all, most, some."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from answering.domain.grounding.quantities import share_stated

_UNIVERSAL: Final = re.compile(
    r"\b(?:all(?!\s+(?:right|over|along|day|night|time|in\s+all|sorts|kinds|the\s+(?:way|time|best))\b|-)|every(?!\s+(?:now|so|other|second|minute|hour|day|week|month|year)\b)|everyone|everybody|everything|"
    r"always|each(?!\s+(?:second|minute|hour|day|week|month|year|time)\b)|entirely|without\s+exception|alle[nrs]?|jede[nrsm]?|immer|todos|todas|siempre|cada|tous|toutes|toujours|chaque)\b",
    re.IGNORECASE,
)
_NOT_UNIVERSAL: Final = re.compile(
    r"\b(?:at|above|after|over|not|in|first\s+of|best\s+of|worst\s+of|most\s+of|of)\s+all\b|\b(?:nearly|almost|not|virtually|practically)\s+(?:all|every\w*|always)\b"
    r"|\beach\s+other\b|\ball\s+(?:two|three|four|five|\d+)\b",
    re.IGNORECASE,
)
_MAJORITY: Final = re.compile(
    r"\b(?:most(?=\s+(?:of|people|patients|customers|users|clients|respondents|\w+s)\b)|mostly|majority|nearly\s+(?:all|every\w*)|"
    r"almost\s+(?:all|every\w*|always)|virtually\s+all|the\s+bulk\s+of|predominantly|"
    r"die\s+meisten|mehrheit|la\s+mayor[ií]a|la\s+plupart)\b",
    re.IGNORECASE,
)
_SUPERLATIVE: Final = re.compile(r"\b(?:the|its|his|her|their|our|your|my|one\s+of\s+the)\s+most\b", re.IGNORECASE)
_ABSENCE: Final = re.compile(r"\b(?:never|nobody|none|no\s+one|nie|niemals|nunca|jamais)\b", re.IGNORECASE)


def quantifier_level(text: str) -> int:
    """Rate the widest quantifier: 4 all or always, 3 most, 0 none of these; a stated share counts too."""
    narrowed = _NOT_UNIVERSAL.sub(" ", text)
    share = share_stated(text)
    if _UNIVERSAL.search(narrowed) or share >= 0.995:
        return 4
    if _MAJORITY.search(_SUPERLATIVE.sub(" ", text)) or share > 0.5:
        return 3
    return 0


def quantifier_conflict(claim: str, cited: Iterable[str]) -> str | None:
    """Say which quantifier of the claim is wider than anything that the cited text states; else None."""
    narrowed = _NOT_UNIVERSAL.sub(" ", claim)
    wide = _UNIVERSAL.search(narrowed)
    major = None if wide else _MAJORITY.search(_SUPERLATIVE.sub(" ", claim))
    match = wide or major
    if match is None:
        return None
    level = 4 if wide else 3
    if max((quantifier_level(text) for text in cited), default=0) >= level:
        return None
    if wide and any(_ABSENCE.search(text) for text in cited):
        return None
    return f"the claim says “{match.group().lower()}”, the record doesn't"
