"""Cut long evidence to the parts that share most words with a claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answering.domain.grounding.containment import AnalysedText, analyse, kin_of, share_held, term_weights
from feedback.domain.text import content_tokens

DEFAULT_LIMIT: Final = 1_500


def best_windows(claim: str, texts: Sequence[str], *, limit: int = DEFAULT_LIMIT, language: str = "en") -> list[str]:
    """Return the sentences that hold most of the claim, at most `limit` characters together, in their order.

    Neighbouring sentences of one text come as one piece; texts that fit come whole.
    """
    if sum(len(text) for text in texts) <= limit:
        return [text for text in texts if text.strip()]
    weights = term_weights(list(content_tokens(claim, language)), None)
    analysed = [analyse(text, language) for text in texts]
    kin = kin_of(weights, frozenset(token.stem for text in analysed for token in text.tokens))
    ranked = sorted(
        (-share_held(weights, text.terms(number, number + 1), kin), place, number)
        for place, text in enumerate(analysed)
        for number in range(len(text.sentences))
    )
    left, kept = limit, set()
    for _, place, number in ranked:
        span = analysed[place].sentences[number]
        length = span.end - span.start + 1
        if length <= left:
            kept.add((place, number))
            left -= length
    if not kept:
        _, place, number = ranked[0]
        start = analysed[place].sentences[number].start
        return [texts[place][start : start + limit]]
    return [piece for place, text in enumerate(analysed) for piece in _joined(text, place, kept)]


def _joined(text: AnalysedText, place: int, kept: set[tuple[int, int]]) -> list[str]:
    pieces: list[tuple[int, int]] = []
    for number, span in enumerate(text.sentences):
        if (place, number) not in kept:
            continue
        if pieces and (place, number - 1) in kept:
            pieces[-1] = (pieces[-1][0], span.end)
        else:
            pieces.append((span.start, span.end))
    return [text.text[start:end] for start, end in pieces]
