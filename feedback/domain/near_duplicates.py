"""Tell records that say the same in nearly the same words: one definition for an answer's list and a whole corpus.

Two texts are near-duplicates when their words are equal, or when both have more than three words and the Jaccard
similarity of their shingles reaches 0.8. `group` compares a short list exactly; for a corpus, texts become
fingerprints (see `fingerprints`), MinHash band keys find those that may be alike, and `reaches` compares them exactly.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, TypeVar

from feedback.domain.text import UNSPACED, fold

Key = TypeVar("Key", bound=Hashable)

MAX_GROUPED: Final = 200
SHINGLE_TOKENS: Final = 2
THRESHOLD: Final = 0.8
# Texts as short as these are alike only when they are equal: one word of three is a third of what they say.
SHORT_TOKENS: Final = 3

# A word is what punctuation and white space leave; a script without spaces gives its characters. Marks stay (a vowel
# of Hindi is one), and so do emoji: "👍" says something.
_MARKS: Final = r"\s!-/:-@\[-`{-~\u0080-\u00bf\u2000-\u206f\u3000-\u3004\u3008-\u3020\u3030\u30fb\ufe00-\ufe0f"
_WORD: Final = re.compile(rf"[{UNSPACED}]|[^{_MARKS}{UNSPACED}]+")


def words(text: str) -> list[str]:
    """Cut a text into the words that near-duplicates share, whatever its language, case, accents and punctuation."""
    return _WORD.findall(fold(text))


def shingles(tokens: Sequence[str], *, size: int = SHINGLE_TOKENS) -> frozenset[tuple[str, ...]]:
    """Return the runs of `size` tokens; a shorter text is one run by itself, an empty one has none."""
    if not tokens:
        return frozenset()
    if len(tokens) < size:
        return frozenset({tuple(tokens)})
    return frozenset(tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1))


def is_near_duplicate(a_tokens: Sequence[str], b_tokens: Sequence[str], *, threshold: float = THRESHOLD) -> bool:
    """Say whether two texts are equal in words, or longer than a few and as similar as the threshold.

    Texts without tokens are never duplicates: they say nothing.

    Source: Broder, On the resemblance and containment of documents, 1997.
    """
    return _alike(list(a_tokens), shingles(a_tokens), list(b_tokens), shingles(b_tokens), threshold)


def group(texts: Mapping[Key, Sequence[str]], *, threshold: float = THRESHOLD) -> list[list[Key]]:
    """Group keys whose tokens are near-duplicates of the group's first key, in the order given.

    Each is compared with the firsts only, so a chain of small edits can't join two unlike texts.

    Raises: ValueError above 200 texts: the comparison is quadratic.
    """
    if len(texts) > MAX_GROUPED:
        raise ValueError(f"at most {MAX_GROUPED} texts can be grouped at once")
    firsts: list[tuple[list[str], frozenset[tuple[str, ...]]]] = []
    groups: list[list[Key]] = []
    for key, tokens in texts.items():
        mine = list(tokens), shingles(tokens)
        for first, members in zip(firsts, groups, strict=True):
            if _alike(*mine, *first, threshold):
                members.append(key)
                break
        else:
            firsts.append(mine)
            groups.append([key])
    return groups


def reaches(a: AbstractSet[Hashable], b: AbstractSet[Hashable], threshold: float = THRESHOLD) -> bool:
    """Say whether the Jaccard similarity of two sets of shingles reaches the threshold; an empty set is like none."""
    if not a or not b or min(len(a), len(b)) < threshold * max(len(a), len(b)):
        return False
    shared = len(a & b)
    return shared >= threshold * (len(a) + len(b) - shared)


def _alike(
    a_tokens: list[str],
    a: frozenset[tuple[str, ...]],
    b_tokens: list[str],
    b: frozenset[tuple[str, ...]],
    threshold: float,
) -> bool:
    if a_tokens == b_tokens:
        return bool(a_tokens)
    return min(len(a_tokens), len(b_tokens)) > SHORT_TOKENS and reaches(a, b, threshold)
