"""Find what a question names exactly, and say how far a record has it.

Exact: what is quoted, codes, order numbers and versions. Names: runs of words with a capital. Phrases: neighbouring words of the question that
a record has side by side, in any inflection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

from feedback.domain.exact_tokens import exact_tokens
from feedback.domain.text import TokenKind, content_tokens, fold, tokens

_QUOTED: Final = re.compile(r"[\"“„«]([^\"“”„«»]{2,80})[\"”“»]|(?<!\w)[‘']([^‘’']{2,80})[’'](?!\w)")
_MAX_PHRASES: Final = 12
# Languages that write every noun, or nothing, with a capital tell no name by it.
_CAPITALS_SAY_NOTHING: Final = frozenset({"de", "ja", "zh", "ko", "th"})


@dataclass(frozen=True)
class Emphasis:
    """What a question names: folded quotations and names, codes in lower case, and pairs of stems."""

    quoted: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()

    @property
    def is_exact(self) -> bool:
        """Tell whether the question quotes anything or has a code."""
        return bool(self.quoted or self.codes)

    @property
    def features(self) -> tuple[str, ...]:
        """Return which features of a record depend on what is named."""
        given = {"exact": self.is_exact, "name": bool(self.names), "phrase": bool(self.pairs)}
        return tuple(feature for feature, is_given in given.items() if is_given)

    def exact_share(self, text: str) -> float:
        """Return the share of the quotations and codes that the text holds, in [0, 1]; 0 if there is none."""
        if not self.is_exact:
            return 0.0
        held = _held(self._quoted_patterns, text)
        if self.codes:
            found = set(exact_tokens(text))
            held += sum(code in found for code in self.codes)
        return held / (len(self.quoted) + len(self.codes))

    def name_share(self, text: str) -> float:
        """Return the share of the names that the text holds as whole words in any case, in [0, 1]; 0 if there is none."""
        return _held(self._name_patterns, text) / len(self.names) if self.names else 0.0

    def phrase_share(self, text: str) -> float:
        """Return the share of the pairs that stand in the text in order with at most two short words between, in [0, 1]."""
        if not self.pairs:
            return 0.0
        return _held(self._pair_patterns, text) / len(self.pairs)

    @cached_property
    def _quoted_patterns(self) -> Sequence[re.Pattern[str]]:
        return [_whole(wording) for wording in self.quoted]

    @cached_property
    def _name_patterns(self) -> Sequence[re.Pattern[str]]:
        return [_whole(name) for name in self.names]

    @cached_property
    def _pair_patterns(self) -> Sequence[re.Pattern[str]]:
        # A stem may end in another letter than its forms do (deliveri, delivery): its last one is not asked for.
        return [
            re.compile(rf"\b{_form(first)}\W+(?:\w{{1,4}}\W+){{0,2}}{_form(second)}\b") for first, second in self.pairs
        ]


def _whole(wording: str) -> re.Pattern[str]:
    # White space in a record may be of any kind and width.
    return re.compile(r"(?<!\w)" + r"\s+".join(map(re.escape, wording.split())) + r"(?!\w)")


def _held(patterns: Sequence[re.Pattern[str]], text: str) -> int:
    folded = fold(text) if patterns else ""
    return sum(pattern.search(folded) is not None for pattern in patterns)


def emphasis_of(question: str, *, language: str = "en") -> Emphasis:
    """Return what the question names.

    A name is a run of words with a capital that doesn't begin the sentence; German, whose nouns all have one, and
    a question in headline style have no names.
    """
    quoted = [fold(" ".join((a or b).split())) for a, b in _QUOTED.findall(question)]
    codes = tuple(dict.fromkeys(exact_tokens(question)))
    names = [name for name in _names(question, language) if name not in quoted]
    pairs = tuple(dict.fromkeys(_neighbours(question, language)))
    return Emphasis(tuple(dict.fromkeys(quoted)), codes, tuple(names), pairs[:_MAX_PHRASES])


def _neighbours(question: str, language: str) -> list[tuple[str, str]]:
    """Return the pairs of content words that have at most one other word between them and no mark."""
    every = tokens(question, language)
    content = {t.start for t in content_tokens(question, language) if t.kind is TokenKind.WORD}
    places = [place for place, token in enumerate(every) if token.start in content]
    found = []
    for first, second in pairwise(places):
        between = question[every[first].end : every[second].start]
        if second - first <= 2 and not re.search(r"[.,;:!?()/]", between):
            found.append((every[first].stem, every[second].stem))
    return found


def _names(question: str, language: str) -> list[str]:
    words = [t for t in tokens(question, language) if t.kind is TokenKind.WORD]
    if language in _CAPITALS_SAY_NOTHING or 2 * sum(w.surface[0].isupper() for w in words) > len(words):
        return []
    # "I" is written with a capital and names nobody.
    capital = [w.start > words[0].start and w.surface[0].isupper() and len(w.surface) > 1 for w in words]
    names: list[str] = []
    place = 0
    while place < len(words):
        end = place
        while (
            end < len(words)
            and capital[end]
            and (end == place or question[words[end - 1].end : words[end].start] in (" ", "-", " & "))
        ):
            end += 1
        if end > place:
            names.append(fold(question[words[place].start : words[end - 1].end]))
        place = max(end, place + 1)
    return list(dict.fromkeys(names))


def _form(stem: str) -> str:
    return rf"{re.escape(stem[:-1])}\w*" if len(stem) > 4 else rf"{re.escape(stem)}\w{{0,3}}"
