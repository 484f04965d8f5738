"""Find the topics that a question sets side by side: "about the kettle and about delivery by drone"."""

from __future__ import annotations

import re
from typing import Final

from answering.domain.planner.words import FRAME
from feedback.domain.text import content_tokens, fold

_MOST_WORDS: Final = 4
_SIDE_BY_SIDE: Final = re.compile(
    r"\b(?P<about>about|with|of|on|regarding|concerning|over|über|zu|mit|sobre|con|de|sur|avec)\s+(?P<one>[^?!]+?)"
    r",?\s+(?:and|or|as\s+well\s+as|und|oder|sowie|y|o|et|ou)\s+(?:also\s+|auch\s+|también\s+)?"
    r"(?P<again>(?P=about)\s+)?(?P<other>[^?!]+?)\W*$",
    re.IGNORECASE,
)
_ARTICLE: Final = re.compile(r"\s*(?:the|a|an|our|their|its|der|die|das|den|dem|el|la|los|las|le|les)\s", re.IGNORECASE)
_CLAUSE: Final = re.compile(
    r"\b(?:why|what|how|who|when|where|which|whether|is|are|was|were|do|does|did|has|have|warum|wie|wer|por\s+qué)\b|[\"“”„«»]",
    re.IGNORECASE,
)


def parts_of(topic: str, *, language: str = "en") -> tuple[str, ...]:
    """Return the topics that stand side by side, in order; none for a question about one.

    Only what the preposition shows to be whole topics: of "blind and partially sighted shoppers" neither is one, as
    words before a common noun aren't.
    """
    found = _SIDE_BY_SIDE.search(topic)
    if found is None:
        return ()
    one, other = found["one"], found["other"]
    if _CLAUSE.search(one) or _CLAUSE.search(other):
        return ()
    shares_a_noun = len(_words(other, language)) > 1 and not (found["again"] or _ARTICLE.match(other))
    parts = [part.strip() for part in (*re.split(r",\s*", one), other)]
    if shares_a_noun or not all(1 <= len(_words(part, language)) <= _MOST_WORDS for part in parts):
        return ()
    return tuple(part[found.end() :] if (found := _ARTICLE.match(part)) else part for part in parts)


def _words(part: str, language: str) -> list[str]:
    return [t.stem for t in content_tokens(part, language) if fold(t.surface) not in FRAME]
