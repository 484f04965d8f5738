"""Tell who did what to whom, where two names stand on either side of one verb."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from answering.domain.grounding.entities import names
from feedback.domain.text import content_tokens, fold, sentences

_PASSIVE: Final = re.compile(
    r"\b(?:was|were|is|are|been|being|got|gets|be)\b(?:\s+\w+){0,2}\s+by\b|\b\w+ed\s+by\b", re.IGNORECASE
)
_BETWEEN_TERMS: Final = 4


@dataclass(frozen=True, slots=True)
class _Deed:
    doer: str
    stems: frozenset[str]
    other: str


def swapped_roles(claim: str, cited: Sequence[str], *, language: str = "en") -> tuple[str, str] | None:
    """Return doer and other of a deed that the cited text tells the other way round, else None.

    "Anna praised Ben" against "Ben praised Anna", in the active or the passive voice. Names that are joined ("Anna and
    Ben complained") do nothing to each other.
    """
    ours = _deeds(claim, language)
    if not ours:
        return None
    pairs = [(deed.doer, deed.other) for deed in ours]
    theirs = [deed for text in cited for deed in _deeds(text, language, pairs=pairs)]
    for deed in ours:
        same = [t for t in theirs if t.stems & deed.stems and {t.doer, t.other} == {deed.doer, deed.other}]
        if same and all(t.doer != deed.doer for t in same):
            return deed.doer, deed.other
    return None


def _deeds(text: str, language: str, *, pairs: Sequence[tuple[str, str]] | None = None) -> list[_Deed]:
    """List the deeds that a text tells, with `pairs` only from sentences that hold both names of a pair."""
    found = []
    for sentence in sentences(text):
        words = text[sentence.start : sentence.end]
        if pairs is not None:
            folded = fold(words)
            if not any(one in folded and other in folded for one, other in pairs):
                continue
        opening = [token for token in content_tokens(words, language)[:1] if token.surface[:1].isupper()]
        named = list(dict.fromkeys([*(token.surface for token in opening), *names(words, language=language)]))
        places = [
            (m.start(), m.end(), fold(name)) for name in named for m in re.finditer(rf"\b{re.escape(name)}\b", words)
        ]
        places.sort()
        for (_, end, one), (start, _, other) in pairwise(places):
            between = words[end:start]
            stems = [token.stem for token in content_tokens(between, language)]
            if (
                one == other
                or not 1 <= len(stems) <= _BETWEEN_TERMS
                or re.search(r"[,;:.!?]|\b(?:and|or|und|y|et)\b", between)
            ):
                continue
            doer, done_to = (other, one) if _PASSIVE.search(between) else (one, other)
            found.append(_Deed(doer, frozenset(stems), done_to))
    return found
