"""Cut long evidence to the stretches that speak most of a claim, before a model reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from answering.domain.grounding.containment import WINDOW_SENTENCES, analyse, kin_of, share_held, term_weights
from feedback.domain.text import content_tokens

DEFAULT_LIMIT: Final = 1_500


def best_windows(
    claim: str,
    texts: Sequence[str],
    *,
    limit: int = DEFAULT_LIMIT,
    language: str = "en",
    idf: Mapping[str, float] | None = None,
) -> list[str]:
    """Return the windows of up to three sentences that hold most of the claim's words, at most `limit` characters.

    Texts that fit together are returned whole. Otherwise the best windows come first, and no sentence comes twice; a
    sentence that alone is longer than what is left is cut. Nothing of the claim found: the beginning of each text.
    """
    if sum(map(len, texts)) <= limit:
        return [text for text in texts if text]
    weights = term_weights(content_tokens(claim, language), idf)
    rated = []
    for number, text in enumerate(texts):
        analysed = analyse(text, language)
        kin = kin_of(weights, frozenset(token.stem for token in analysed.tokens))
        spans = analysed.sentences
        for first in range(max(1, len(spans) - WINDOW_SENTENCES + 1)):
            last = min(first + WINDOW_SENTENCES, len(spans))
            rated.append((-share_held(weights, analysed.terms(first, last), kin), number, first, last, spans))
    rated.sort(key=lambda each: each[:3])
    found: list[str] = []
    taken: set[tuple[int, int]] = set()
    left = limit
    for _, number, first, last, spans in rated:
        fresh = [i for i in range(first, last) if (number, i) not in taken]
        if not fresh or left <= 0:
            continue
        taken.update((number, i) for i in fresh)
        window = texts[number][spans[fresh[0]].start : spans[fresh[-1]].end][:left]
        left -= len(window)
        found.append(window)
    return found
