"""Measure how much of a claim its cited text holds, and where."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from feedback.domain.text import Span, Token, TokenKind, content_tokens, fold, sentences

WINDOW_SENTENCES: Final = 3
_EXACT_WEIGHT: Final = 1.6
_KIN_LENGTH: Final = 5
_KIN_CREDIT: Final = 0.75


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


def share_held(weights: Mapping[str, float], terms: frozenset[str], kin: Mapping[str, frozenset[str]]) -> float:
    """Return the weighted share of the claim's terms that are among the terms, in [0, 1].

    A term of which only kin are there (same beginning: "digital", "digitise") counts in part.
    """
    total = sum(weights.values())
    if not total:
        return 0.0
    held = 0.0
    for term, weight in weights.items():
        if term in terms:
            held += weight
        elif kin.get(term) and not kin[term].isdisjoint(terms):
            held += weight * _KIN_CREDIT
    return held / total


def kin_of(weights: Mapping[str, float], vocabulary: frozenset[str]) -> dict[str, frozenset[str]]:
    """Find, for each claim term that the vocabulary lacks, its words with the same first five letters."""
    lacking = {t for t in weights if t not in vocabulary and len(t) >= _KIN_LENGTH and t.isalpha()}
    if not lacking:
        return {}
    by_prefix: dict[str, set[str]] = {}
    for word in vocabulary:
        if len(word) >= _KIN_LENGTH and word.isalpha():
            by_prefix.setdefault(word[:_KIN_LENGTH], set()).add(word)
    return {t: frozenset(by_prefix[t[:_KIN_LENGTH]]) for t in lacking if t[:_KIN_LENGTH] in by_prefix}


def best_window(
    weights: Mapping[str, float], texts: Sequence[AnalysedText], *, size: int, kin: Mapping[str, frozenset[str]]
) -> Window | None:
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
