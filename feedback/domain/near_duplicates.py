"""Find records that say the same in nearly the same words, in lists as short as one answer needs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Final, TypeVar

Key = TypeVar("Key", bound=Hashable)

MAX_GROUPED: Final = 200
SHINGLE_TOKENS: Final = 2


def shingles(tokens: Sequence[str], *, size: int = SHINGLE_TOKENS) -> frozenset[tuple[str, ...]]:
    """Return the runs of `size` tokens; a shorter text is one run by itself, an empty one has none."""
    if not tokens:
        return frozenset()
    if len(tokens) < size:
        return frozenset({tuple(tokens)})
    return frozenset(tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1))


def is_near_duplicate(a_tokens: Sequence[str], b_tokens: Sequence[str], *, threshold: float = 0.8) -> bool:
    """Say whether the Jaccard similarity of the two texts' shingles reaches the threshold.

    Texts without tokens are never duplicates: they say nothing.

    Source: Broder, On the resemblance and containment of documents, 1997.
    """
    return _reaches(shingles(a_tokens), shingles(b_tokens), threshold)


def group(texts: Mapping[Key, Sequence[str]], *, threshold: float = 0.8) -> list[list[Key]]:
    """Group keys whose tokens are near-duplicates of the group's first key, in the order given.

    Each is compared with the firsts only, so a chain of small edits can't join two unlike texts.

    Raises: ValueError above 200 texts: the comparison is quadratic.
    """
    if len(texts) > MAX_GROUPED:
        raise ValueError(f"at most {MAX_GROUPED} texts can be grouped at once")
    firsts: list[frozenset[tuple[str, ...]]] = []
    groups: list[list[Key]] = []
    for key, tokens in texts.items():
        mine = shingles(tokens)
        for first, members in zip(firsts, groups, strict=True):
            if _reaches(mine, first, threshold):
                members.append(key)
                break
        else:
            firsts.append(mine)
            groups.append([key])
    return groups


def _reaches(a: frozenset[tuple[str, ...]], b: frozenset[tuple[str, ...]], threshold: float) -> bool:
    if not a or not b:
        return False
    shared = len(a & b)
    return shared >= threshold * (len(a) + len(b) - shared)
