"""A question and a record that scripted drafts are about."""

from __future__ import annotations

from typing import Any

from answering.domain.claims import Claim, ClaimKind, cite

QUESTION = "Why are deliveries late?"
# The delivery came two weeks late and nobody told me why.
RECORD = "r-01"


def statement(number: int, text: str, source: Any) -> Claim:
    return Claim(number, ClaimKind.STATEMENT, text, (cite(source, source.start, source.end),))
