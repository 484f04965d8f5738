"""Merge the rankings of the lexical and the vector arm into one."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

Key = TypeVar("Key", bound=Hashable)

# A cosine is measured from that of the record at this rank of its arm, whatever the length of the list.
REFERENCE_RANK: Final = 40


@dataclass(frozen=True, slots=True)
class ArmBalance:
    """How much the words weigh beside the vectors, by how near the nearest record comes to the question.

    A nearest cosine of `near` and above means that records say almost what the question says: there the vectors
    lead and the words weigh `lexical_when_near`; at `far` and below it they weigh `lexical_when_far`; between the
    two the weight is linear. Cosines of different models mean different things, so each has a balance of its own.

    Raises: ValueError unless far < near and both weights lie in [0, 1].
    """

    far: float
    near: float
    lexical_when_far: float
    lexical_when_near: float

    def __post_init__(self) -> None:
        if not self.far < self.near:
            raise ValueError("far must be below near")
        if not (0 <= self.lexical_when_far <= 1 and 0 <= self.lexical_when_near <= 1):
            raise ValueError("weights must lie between 0 and 1")

    def lexical_weight(self, nearest: float) -> float:
        """Return the weight of the words, in [0, 1], for a nearest cosine."""
        share = min(1.0, max(0.0, (nearest - self.far) / (self.near - self.far)))
        return self.lexical_when_far + share * (self.lexical_when_near - self.lexical_when_far)


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


def adaptive_fusion(
    lexical: Mapping[Key, float],
    semantic: Mapping[Key, float],
    *,
    semantic_ranking: Sequence[float],
    balance: ArmBalance,
) -> list[tuple[Key, float]]:
    """Merge by a weight that follows from the question: lam * lexical + (1 - lam) * semantic, best first.

    Both mappings should hold a score of every candidate, also of those that only the other arm found; a key that
    `lexical` lacks shares no word and gets 0, one that `semantic` lacks gets the reference. `semantic_ranking` are
    the best cosines of the vector arm itself, highest first: the nearest gives lam (`ArmBalance`) and the one at
    REFERENCE_RANK (else the last) the point from which cosines are measured, so a score depends neither on how many
    hits were asked for nor on which candidates the words brought. BM25 scores are divided by the highest. Scores are
    shifted to [0, 1]. Ties go as in `weighted_fusion`.

    Raises: ValueError if a score is not finite.
    Source: the convex combination of Bruch, Gai and Ingber (TOIS 2023), with theoretical minimum for BM25; the weight
    by nearness is our own (decision 14; `benchmarks/quality.py` judges it).
    """
    if not all(map(math.isfinite, [*lexical.values(), *semantic.values(), *semantic_ranking])):
        raise ValueError("scores must be finite")
    highest = max(lexical.values(), default=0.0)
    nearest = semantic_ranking[0] if semantic_ranking else 0.0
    reference = semantic_ranking[:REFERENCE_RANK][-1] if semantic_ranking else 0.0
    reach = nearest - reference
    lam = balance.lexical_weight(nearest) if semantic_ranking else 1.0

    def score(key: Key) -> float:
        words = lexical.get(key, 0.0) / highest if highest > 0 else 0.0
        cosine = semantic.get(key, reference)
        nearness = (cosine - reference) / reach if reach > 0 else float(cosine >= nearest)
        if nearness < 0:
            # However far a record is, it loses less than 1: one very odd record must not stretch the scale.
            nearness /= 1 - nearness
        return (1 + lam * words + (1 - lam) * nearness) / 2

    scores = {key: score(key) for key in [*lexical, *(key for key in semantic if key not in lexical)]}
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
