"""Measure how much of a claim its cited text holds, and where."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from feedback.domain.polarity import POLES
from feedback.domain.text import Span, Token, TokenKind, content_tokens, fold, sentences

WINDOW_SENTENCES: Final = 3
_EXACT_WEIGHT: Final = 1.6
_KIN_LENGTH: Final = 5
_KIN_CREDIT: Final = 0.75
# A cosine of two words from which they begin to mean the same, and from which they do.
_NEAR_FROM: Final = 0.3
_NEAR_TO: Final = 0.55

# For a term of a claim, the terms of the text that stand in for it and how far, in [0, 1].
Kin = Mapping[str, Mapping[str, float]]


class Nearness(Protocol):
    """Say how near words are in meaning; a port, since that takes a model."""

    def __call__(self, words: Sequence[str], others: Sequence[str]) -> Sequence[Mapping[str, float]]:
        """Return, for each word, the others that are near with their cosine; far ones may be left out."""
        ...


@dataclass(frozen=True, slots=True)
class AnalysedText:
    """A text with its sentences and, by sentence, its content terms."""

    text: str
    sentences: tuple[Span, ...]
    tokens: tuple[Token, ...]
    first_token: tuple[int, ...]

    def terms(self, first: int, last: int) -> frozenset[str]:
        """Return the terms of sentences first to last, the last one excluded."""
        return frozenset(t.stem for t in self.tokens[self.first_token[first] : self.first_token[last]])

    def sequence(self, first: int, last: int) -> list[str]:
        """Return the terms of sentences first to last in order."""
        return [t.stem for t in self.tokens[self.first_token[first] : self.first_token[last]]]


@dataclass(frozen=True, slots=True)
class Window:
    """A run of sentences of one evidence text and the share of the claim that it holds."""

    evidence: int
    first: int
    last: int
    share: float


def analyse(text: str, language: str = "en") -> AnalysedText:
    """Cut a text into sentences and content terms."""
    spans = tuple(sentences(text)) or (Span(0, len(text)),)
    terms = tuple(content_tokens(text, language))
    starts = [t.start for t in terms]
    first = tuple(bisect_left(starts, s.start) for s in spans)
    return AnalysedText(text, spans, terms, (*first, len(terms)))


def term_weights(claim: Sequence[Token], idf: Mapping[str, float] | None) -> dict[str, float]:
    """Weigh the terms of a claim: by idf where it is known, names, numbers and codes above the rest.

    A term that the idf table lacks is as rare as its rarest.
    """
    rarest = max(idf.values(), default=1.0) if idf else 1.0
    weights: dict[str, float] = {}
    for token in claim:
        weight = idf.get(token.stem, rarest) if idf else 1.0
        exact = token.kind in (TokenKind.NUMBER, TokenKind.CODE) or (token.surface[:1].isupper() and token.start > 0)
        weights[token.stem] = max(weights.get(token.stem, 0.0), weight * (_EXACT_WEIGHT if exact else 1.0))
    return weights


def share_held(weights: Mapping[str, float], terms: frozenset[str], kin: Kin) -> float:
    """Return the weighted share of the claim's terms that are among the terms, in [0, 1].

    A term of which only kin are there ("digital" for "digitise", "broke" for "snapped") counts in part.
    """
    total = sum(weights.values())
    if not total:
        return 0.0
    held = 0.0
    for term, weight in weights.items():
        if term in terms:
            held += weight
        elif term in kin:
            held += weight * max((credit for other, credit in kin[term].items() if other in terms), default=0.0)
    return held / total


def kin_of(weights: Mapping[str, float], vocabulary: frozenset[str]) -> dict[str, dict[str, float]]:
    """Find, for each claim term that the vocabulary lacks, its words with the same first five letters."""
    lacking = {t for t in weights if t not in vocabulary and len(t) >= _KIN_LENGTH and t.isalpha()}
    if not lacking:
        return {}
    by_prefix: dict[str, set[str]] = {}
    for word in vocabulary:
        if len(word) >= _KIN_LENGTH and word.isalpha():
            by_prefix.setdefault(word[:_KIN_LENGTH], set()).add(word)
    return {
        t: dict.fromkeys(sorted(by_prefix[t[:_KIN_LENGTH]]), _KIN_CREDIT)
        for t in lacking
        if t[:_KIN_LENGTH] in by_prefix
    }


def kin_by_meaning(
    claim: Sequence[Token], texts: Sequence[AnalysedText], near: Nearness
) -> dict[str, dict[str, float]]:
    """Find, for each word of a claim that the texts lack, their words that mean nearly the same.

    Numbers, codes and what is written like a name have no kin, and opposites are none however near they are.
    """
    ours = {t.stem: fold(t.surface) for t in claim if _has_meaning(t)}
    theirs = {fold(t.surface): t.stem for text in texts for t in text.tokens if t.kind is TokenKind.WORD}
    stems = list(ours)
    if not stems or not theirs:
        return {}
    found: dict[str, dict[str, float]] = {}
    for stem, others in zip(stems, near([ours[s] for s in stems], list(theirs)), strict=True):
        for word, cosine in others.items():
            credit = _KIN_CREDIT * min(1.0, (cosine - _NEAR_FROM) / (_NEAR_TO - _NEAR_FROM))
            other = theirs[word]
            if credit > 0 and not _are_opposites(stem, other):
                kin = found.setdefault(stem, {})
                kin[other] = max(kin.get(other, 0.0), credit)
    return found


def _has_meaning(token: Token) -> bool:
    return token.kind is TokenKind.WORD and (not token.surface[:1].isupper() or token.start == 0)


def _are_opposites(one: str, other: str) -> bool:
    return any((axis, -sign) in POLES.get(other, ()) for axis, sign in POLES.get(one, ()))


def best_window(weights: Mapping[str, float], texts: Sequence[AnalysedText], *, size: int, kin: Kin) -> Window | None:
    """Return the run of up to `size` sentences that holds most of the claim; the earliest wins a tie."""
    best: Window | None = None
    for number, text in enumerate(texts):
        for first in range(max(1, len(text.sentences) - size + 1)):
            last = min(first + size, len(text.sentences))
            share = share_held(weights, text.terms(first, last), kin)
            if share > 0 and (best is None or share > best.share + 1e-9):
                best = Window(number, first, last, share)
    return best


def order_kept(claim: Sequence[Token], sequence: Sequence[str]) -> float:
    """Return the longest common subsequence of terms as a share of the claim, in [0, 1]."""
    if not claim:
        return 0.0
    previous = [0] * (len(sequence) + 1)
    for token in claim:
        current = [0]
        for j, term in enumerate(sequence):
            current.append(previous[j] + 1 if token.stem == term else max(previous[j + 1], current[j]))
        previous = current
    return previous[-1] / len(claim)


def fold_loosely(text: str) -> str:
    """Fold a text for the comparison of quoted words: white space, quotes and dashes alike."""
    return " ".join(fold(text).translate(_LOOSE).split())


_LOOSE: Final = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "..."})
