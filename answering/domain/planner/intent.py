"""Name the kinds of answer that a question can ask for."""

from __future__ import annotations

from enum import StrEnum


class Intent(StrEnum):
    """What kind of answer a question asks for."""

    WHY = "why"
    WHAT = "what"
    HOW_MANY = "how_many"
    TREND = "trend"
    COMPARE = "compare"
    WHO = "who"
    ACCOUNT_CONTEXT = "account_context"
