"""Read lines of claims, with or without a label."""

from __future__ import annotations

from typing import Any

from answering.verification import ClaimToCheck, LabelledClaim
from core.batch_lines import line_id, line_text
from core.errors import InvalidInput

_LANGUAGE_LENGTH = 2


def read_claim(line: dict[str, Any]) -> ClaimToCheck:
    """Read `{"id", "claim", "evidence", "lang"?}`. Raises: InvalidInput."""
    evidence = line.get("evidence")
    texts = [evidence] if isinstance(evidence, str) else evidence
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InvalidInput("evidence must be a text or a list of texts.", field="evidence")
    language = line.get("lang")
    if language is not None and not (isinstance(language, str) and len(language) == _LANGUAGE_LENGTH):
        raise InvalidInput('lang must be a language\'s two letters, such as "en".', field="lang")
    return ClaimToCheck(line_id(line), line_text(line, "claim"), tuple(texts), language)


def read_labelled(line: dict[str, Any]) -> LabelledClaim:
    """Read a claim with its `label`, 1 for supported and 0 for not, and an optional `group`. Raises: InvalidInput."""
    claim = read_claim(line)
    label = line.get("label")
    if label not in (0, 1, True, False):
        raise InvalidInput("label must be 1 for a supported claim or 0 for an unsupported one.", field="label")
    return LabelledClaim(claim, bool(label), str(line.get("group", claim.id)))
