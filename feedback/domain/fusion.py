"""Merge the rankings of the lexical and the vector arm into one."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


def reciprocal_rank_fusion(lexical: Sequence[Key], semantic: Sequence[Key], *, k: int = 60) -> list[tuple[Key, float]]:
    """Merge two best-first lists into (key, score) pairs, best first, without duplicates.

    Score: the sum of 1 / (k + rank), rank from 1; only a key's first place in a list counts. Ties go to
    the better lexical rank, then to the better semantic rank.

    Raises: ValueError if k < 1.
    Source: Cormack, Clarke and Buettcher, SIGIR 2009.
    """
    if k < 1:
        raise ValueError("k must be at least 1")
    lexical_ranks, semantic_ranks = _ranks(lexical), _ranks(semantic)
    scores: dict[Key, float] = {}
    for ranks in (lexical_ranks, semantic_ranks):
        for key, rank in ranks.items():
            scores[key] = scores.get(key, 0.0) + 1 / (k + rank)
    return _best_first(scores, lexical_ranks, semantic_ranks)


def weighted_fusion(
    lexical: Mapping[Key, float], semantic: Mapping[Key, float], *, lam: float = 0.5
) -> list[tuple[Key, float]]:
    """Merge by lam * lexical + (1 - lam) * semantic after scaling each list to [0, 1]; best first.

    Each list is scaled by its own minimum and maximum; in a list of equal scores all get 1; a key that a
    list lacks gets 0 from it. Ties go to the better lexical score, then to the better semantic one, then to
    the earlier key.

    Raises: ValueError if lam is outside [0, 1] or a score is not finite.
    Source: Bruch, Gai and Ingber, An Analysis of Fusion Functions for Hybrid Retrieval, TOIS 2023 (convex
    combination with min-max normalisation).
    """
    if not 0 <= lam <= 1:
        raise ValueError("lam must lie between 0 and 1")
    scaled_lexical, scaled_semantic = _min_max(lexical), _min_max(semantic)
    scores = {
        key: lam * scaled_lexical.get(key, 0.0) + (1 - lam) * scaled_semantic.get(key, 0.0)
        for key in [*lexical, *(key for key in semantic if key not in lexical)]
    }
    return _best_first(
        scores,
        _ranks(sorted(lexical, key=lambda key: -lexical[key])),
        _ranks(sorted(semantic, key=lambda key: -semantic[key])),
    )


def _ranks(keys: Iterable[Key]) -> dict[Key, int]:
    ranks: dict[Key, int] = {}
    for rank, key in enumerate(keys, start=1):
        ranks.setdefault(key, rank)
    return ranks


def _min_max(scores: Mapping[Key, float]) -> dict[Key, float]:
    if not scores:
        return {}
    if not all(map(math.isfinite, scores.values())):
        raise ValueError("scores must be finite")
    low, high = min(scores.values()), max(scores.values())
    if high == low:
        return dict.fromkeys(scores, 1.0)
    # Halved first: the difference of two large scores of opposite sign may overflow.
    span = high / 2 - low / 2
    if span == 0:
        return dict.fromkeys(scores, 1.0)
    return {key: min(1.0, (score / 2 - low / 2) / span) for key, score in scores.items()}


def _best_first(
    scores: Mapping[Key, float], lexical_ranks: Mapping[Key, int], semantic_ranks: Mapping[Key, int]
) -> list[tuple[Key, float]]:
    return sorted(
        scores.items(),
        key=lambda pair: (
            -pair[1],
            lexical_ranks.get(pair[0], math.inf),
            semantic_ranks.get(pair[0], math.inf),
        ),
    )
