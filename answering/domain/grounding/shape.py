"""Refuse what is no claim at all: questions, markup, hidden characters, instructions to a machine."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from feedback.domain.instructions import gives_orders
from feedback.domain.text import content_tokens, fold

_MARKUP: Final = re.compile(
    r"<\s*/?\s*[a-z!][^<>]*>|&(?:#\d+|#x[0-9a-f]+|[a-z]{2,8});|!?\[[^\]\n]*\]\([^)\n]*\)|!?\[[^\]\n]+\]\[[^\]\n]*\]|"
    r"```|\b(?:javascript|data|vbscript):\S|\bon(?:error|load|click|focus|mouseover)\s*=|<!--|\{\{|\{%|\$\{",
    re.IGNORECASE,
)
_ALLOWED_CONTROLS: Final = frozenset("\n\t")
_HIDDEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})
# Joiners that spell words in Persian, Hindi and emoji.
_JOINERS: Final = frozenset("\u200c\u200d\u00ad")
_QUESTION: Final = re.compile(r"[?？؟]\s*[\"”’')\]]*\s*$")
# Where an order may begin: as the first word of a sentence, or after what makes it one.
_ORDER: Final = r"(?:^|[.!?:;\"“”(\[]\s*|\b(?:please|now|then|just|instead|and|you\s+(?:must|should|shall|will|are\s+to)(?:\s+now)?)\s+)"
_INSTRUCTION: Final = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instructions?|prompts?|guidelines?|(?:previous|prior|earlier|above)\s+(?:\w+\s+)?(?:rules?|context|messages?|text|records?))\b|"
    r"\b(?:system|developer)\s*(?:prompt|message|override|instruction)|^\s*(?:system|assistant|developer)\s*:|"
    r"</?\s*(?:record|records|evidence|document|context|system|instructions?|data|user|assistant)\s*>|^\W*(?:override|urgent\s+override|admin|prompt)\s*:|[.!?]\s+override\s*:|"
    r"\b(?:verified|official|correct|final|approved)\s+(?:finding|answer|conclusion|summary|result|response)\s+(?:is|must|should)\b|"
    r"\b(?:new|updated|additional|hidden)\s+instructions?\b|\b(?:instructions?|notes?|message)\s+(?:to|for)\s+(?:the\s+|any\s+)?(?:ai|model|llm|language\s+model|bot|machine|summari[sz]er)\b|"
    r"\byou\s+are\s+(?:now\s+)?(?:an?\s+)?(?:ai|language\s+model|llm|admin\w*)\b|\b(?:act\s+as|pretend\s+to\s+be)\s+(?:an?\s+)?\w+|"
    r"\b(?:ais?|llms?|chatgpt|language\s+models?|summari[sz]ers?)\s+(?:reading|that\s+reads?|processing|summari[sz]ing)\b|"
    rf"{_ORDER}(?:answer|reply|respond|say|state|write|output|report|conclude|tell)\b.{{0,40}}\b(?:in\s+your\s+(?:answer|summary|reply|report)|(?:the\s+)?(?:user|reader|analyst)|only|nothing\s+else|that\s+(?:all|every\w*|no|nobody|the|our|this|there))\b|"
    r"\b(?:reveal|print|repeat|show|leak|output)\b.{0,30}\b(?:system\s+prompt|your\s+(?:prompt|instructions)|api\s+keys?)\b|<\|\w+\|>|\[/?INST\]|"
    rf"{_ORDER}(?:do\s+not|don['’]t|never)\s+(?:cite|mention|reveal|quote)\b|"
    r"\bignorier\w*\b.{0,40}\b(?:anweisung|vorherig|bisherig)|\bignora\b.{0,40}\b(?:instrucci|anterior)|"
    rf"{_ORDER}(?:antworte|schreibe)\b.{{0,20}}\b(?:nur|dass)\b|{_ORDER}(?:responde|escribe)\s+(?:solo|que)\b",
    re.IGNORECASE | re.MULTILINE,
)
_YES_OR_NO: Final = re.compile(
    r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|ist|sind|war|hat|haben|kann|es|son|está|están|hay)\b",
    re.IGNORECASE,
)


def holds_instruction(text: str) -> bool:
    """Tell whether a text speaks to a machine that reads it: it may be quoted as a record, and bears nothing out."""
    return gives_orders(text) or bool(_INSTRUCTION.search(text))


def holds_markup(text: str) -> bool:
    """Tell whether a text holds markup, a link or a template's marks: an answer's own sentence has none."""
    return bool(_MARKUP.search(text))


def misshapen(claim: str, *, question: str = "", language: str = "en") -> str | None:
    """Say why a sentence can't be a claim about records; None when it can."""
    hidden = next(
        (c for c in claim if c not in _ALLOWED_CONTROLS | _JOINERS and unicodedata.category(c) in _HIDDEN), None
    )
    if hidden is not None:
        return f"the claim holds the hidden character U+{ord(hidden):04X}"
    if not any(c.isalnum() for c in claim):
        return "the claim has no words"
    if _QUESTION.search(claim):
        return "the claim is a question"
    if holds_instruction(claim):
        return "the claim is an instruction, not something that a record reports"
    if question and repeats(claim, question, language=language):
        return "the claim only says the question again"
    return None


def repeats(claim: str, question: str, *, language: str = "en") -> bool:
    """Tell whether a claim has no content word beyond those of the question, or is the question without its mark.

    The answer to a question of yes or no may well be made of its words.
    """
    if _bare(claim) == _bare(question):
        return True
    if _YES_OR_NO.search(question):
        return False
    asked = {t.stem for t in content_tokens(question, language)}
    said = [t.stem for t in content_tokens(claim, language)]
    return bool(said) and all(stem in asked for stem in said)


def _bare(text: str) -> str:
    return " ".join(re.findall(r"\w+", fold(text)))
