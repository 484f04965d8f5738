"""A question and a record that scripted drafts are about."""

from __future__ import annotations

from typing import Any

from answering.domain.claims import Claim, ClaimKind, cite

QUESTION = "Why are deliveries late?"
# The delivery came two weeks late and nobody told me why.
RECORD = "r-01"
# True of the record, each in its own words: a draft that says a claim again fails for that alone.
HELD_TOO = (
    "The delivery came two weeks late and nobody told me.",
    "The delivery came late and nobody told me why.",
    "Nobody told me why the delivery came two weeks late.",
)


def statement(number: int, text: str, source: Any) -> Claim:
    return Claim(number, ClaimKind.STATEMENT, text, (cite(source, source.start, source.end),))
