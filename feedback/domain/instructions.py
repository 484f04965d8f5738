"""Tell text that gives orders to its reader or to a machine from what a customer has to say.

Such text is data like any other: it is found, counted and listed. It is only no example of what customers say.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

_HIDDEN: Final = re.compile(r"[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad]")
_DIRECTED: Final = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_ORDERS: Final = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|every|the|your|my|our|these|those|of|previous|prior|above|"
    r"earlier|foregoing|preceding|other|system)\s+){0,4}(?:instructions?|prompts?|rules?|messages?|guidelines?|directives?|context)\b"
    r"|\b(?:reveal|print|repeat|show|output|leak)\s+(?:(?:the|your|all|any|previous|prior|full|hidden|entire)\s+){0,3}(?:system\s+)?prompt\b"
    r"|\bsystem\s+prompt\b|\byou\s+are\s+now\s+(?:in|an?|the|my|dan)\b|\b(?:any|dear|to\s+the|hey|attention)\s+(?:ai|llm|language\s+model|chatbot|assistant|bot)s?\b"
    r"|\bai\s+reading\s+this\b|\bcite\s+this\s+(?:message|record|comment|review|post)\b|\bsummari[sz]e\s+this\s+(?:post|message|review|text)\s+and\b"
    r"|\b(?:ignoriere?|vergiss|missachte)\s+(?:(?:alle|deine|die|vorherigen|bisherigen|obigen)\s+){1,3}(?:anweisungen|regeln|befehle)\b"
    r"|\b(?:ignora|olvida)\s+(?:(?:todas?|las?|tus|los|anteriores|previas)\s+){1,3}(?:instrucciones|reglas|órdenes)\b"
    r"|\b(?:ignore[zr]?|oublie[zr]?)\s+(?:(?:toutes?|les|vos|tes)\s+){1,3}(?:instructions|consignes|règles)\b",
    re.IGNORECASE,
)
_MACHINE: Final = re.compile(
    r"<\s*/?\s*(?:script|iframe|img|svg|style|object|embed|form|meta|link)\b|\bon(?:error|load|click)\s*=|!\[[^\]]*\]\(|\{\{|\}\}"
    r"|<\|[a-z_]+\|>|\[/?INST\]|^\s*(?:system|assistant|developer)\s*:|\bend\s+system\b"
    r"|[{,]\s*\"(?:role|tool|function|arguments|tool_calls?)\"\s*:"
    r"|\b(?:drop|truncate|alter)\s+table\b|\bunion\s+(?:all\s+)?select\b|'\s*or\s+'?1'?\s*=\s*'?1|;\s*--",
    re.IGNORECASE | re.MULTILINE,
)
# A question about such text may be shown it.
_ASKED: Final = re.compile(
    r"\b(?:instructions?|prompts?|injections?|injected|hostile|malicious|hack\w*|script\w*|markup|html|sql|spam\w*|jailbreak\w*)\b",
    re.IGNORECASE,
)
_MANY_WORDS: Final = 12
_ONE_WORD: Final = 0.5


def gives_orders(text: str) -> bool:
    """Tell whether a text orders its reader about, is written for a machine, or is one word over and over."""
    plain = _HIDDEN.sub("", text)
    if _DIRECTED.search(text) or _ORDERS.search(plain) or _MACHINE.search(plain):
        return True
    words = plain.casefold().split()
    return len(words) >= _MANY_WORDS and Counter(words).most_common(1)[0][1] > _ONE_WORD * len(words)


def asks_for_orders(question: str) -> bool:
    """Tell whether a question is about such text."""
    return bool(_ASKED.search(question))
