"""Ask the entailment model of the settings for a second opinion on claims.

It never costs an answer: whatever the model does, there are verdicts or a note that says why there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import structlog
from django.conf import settings

from answering.clients.entailment.protocol import Entailment
from answering.clients.entailment.registry import get_entailment
from answering.domain.claims import Draft, Evidence
from answering.domain.entailment import (
    Decides,
    EntailmentVerdict,
    Opinion,
    Opinions,
    Pair,
    Question,
    questions_of,
)
from answering.domain.grounding.windows import best_windows
from core.errors import WisdomError

log = structlog.get_logger("wisdom.opinions")

# What a model of 512 tokens reads beside a claim.
PREMISE_CHARACTERS: Final = 1_500
# Of what a run has left: the rest is for the checker, and for an answer that comes in any case.
_SHARE_OF_TIME: Final = 0.5
_SHARE_OF_TOKENS: Final = 0.5
_LONGEST_SECONDS: Final = 10.0


def opinions_on(
    draft: Draft, evidence: Sequence[Evidence], *, seconds_left: float, tokens_left: int
) -> tuple[Opinions, int]:
    """Return what the model says of a draft, and the tokens that it cost, never more than are left.

    At most half of the time and of the tokens that are left are used. Nothing is raised.
    """
    model = get_entailment(settings.WISDOM)
    if model is None:
        return Opinions(), 0
    decides = Decides(settings.WISDOM.entailment_decides)
    questions = questions_of(draft, evidence)
    if not questions:
        return Opinions(model.name, decides), 0
    pairs = [_pair(question) for question in questions]
    affordable = _affordable(model, pairs, int(tokens_left * _SHARE_OF_TOKENS))
    note = ""
    if affordable < len(pairs):
        note = f"{model.name} was asked about {affordable} of {len(pairs)} claims: more tokens are not left for it"
    seconds = min(_LONGEST_SECONDS, seconds_left * _SHARE_OF_TIME)
    verdicts, trouble = _verdicts(model, pairs[:affordable], seconds)
    note = trouble or note
    verdicts += [None] * (len(pairs) - len(verdicts))
    missing = verdicts.count(None)
    if missing and not note:
        note = f"{model.name} gave no verdict on {missing} of {len(pairs)} claims"
    if note and decides is Decides.BOTH:
        note += "; there the checker decided alone"
    given = tuple(Opinion(question, verdict) for question, verdict in zip(questions, verdicts, strict=True))
    tokens = sum(verdict.tokens for verdict in verdicts if verdict is not None)
    return Opinions(model.name, decides, given, note), min(tokens, max(0, tokens_left))


def second_opinion(claim: str, evidence: Sequence[str], language: str) -> EntailmentVerdict | None:
    """Return the model's verdict on any claim, on the best windows of its evidence; None without one.

    Nothing is raised: a model that is off, down or slow gives no verdict.
    """
    model = get_entailment(settings.WISDOM)
    if model is None or not any(text.strip() for text in evidence):
        return None
    pair = Pair(_premise(claim, evidence, language), claim)
    verdicts, _ = _verdicts(model, [pair], _LONGEST_SECONDS)
    return verdicts[0] if verdicts else None


def _pair(question: Question) -> Pair:
    return Pair(_premise(question.text, question.texts, question.language), question.text)


def _premise(claim: str, texts: Sequence[str], language: str) -> str:
    return "\n".join(best_windows(claim, texts, limit=PREMISE_CHARACTERS, language=language))


def _affordable(model: Entailment, pairs: Sequence[Pair], tokens: int) -> int:
    """Return how many of the pairs, from the first, fit into so many tokens."""
    spent = 0
    for number, pair in enumerate(pairs):
        spent += model.tokens_for(pair)
        if spent > tokens:
            return number
    return len(pairs)


def _verdicts(model: Entailment, pairs: Sequence[Pair], seconds: float) -> tuple[list[EntailmentVerdict | None], str]:
    """Return a verdict or None for each pair, and why there are none if the model can't be used."""
    if not pairs:
        return [], ""
    try:
        return list(model.judge(pairs, seconds=seconds)), ""
    except WisdomError as fault:
        log.warning("second opinion left out", model=model.name, reason=fault.message)
        return [None] * len(pairs), f"{model.name} left out: {fault.message.rstrip('.')}"
    except Exception as fault:  # a runtime's own fault must not cost the answer
        log.exception("second opinion failed", model=model.name)
        return [None] * len(pairs), f"{model.name} left out: it failed ({type(fault).__name__})"
