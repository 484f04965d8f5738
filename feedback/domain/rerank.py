"""Order candidates by a sum of features that a person can read."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)

# A second stage reads so many of the best candidates, and no more: each costs as much as an embedding.
SECOND_STAGE_DEPTH: Final = 20

# What `Emphasis` measures of a record, for a question that names something.
FEATURES_OF_EMPHASIS: Final = ("exact", "name", "phrase")

# The share of coverage where words alone decide.
_MOST_COVERAGE: Final = 0.3


@dataclass(frozen=True, slots=True)
class RerankRules:
    """How much each feature weighs; weights are shares of their sum.

    The default is the neutral pass: relevance and coverage alone, with what the question names: `exact`,
    `name` and `phrase` count only for a question that has such words. A source that `source_weights` does not
    name weighs 1; weights lie in [0, 1]. `cross_encoder` is the share of the score of those candidates that a
    second stage has judged; the other features share the rest.

    Raises: ValueError on a negative weight, no weight at all, a share outside [0, 1], or a half-life that is not
    positive.
    """

    relevance: float = 0.95
    coverage: float = 0.05
    recency: float = 0.0
    source: float = 0.0
    exact: float = 0.3
    name: float = 0.1
    phrase: float = 0.03
    cross_encoder: float = 0.5
    half_life_days: float = 180.0
    source_weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        weights = (self.relevance, self.coverage, self.recency, self.source, self.exact, self.name, self.phrase)
        if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or sum(weights[:4]) <= 0:
            raise ValueError("feature weights must not be negative, and one must be positive")
        if not 0 <= self.cross_encoder <= 1:
            raise ValueError("the share of the cross-encoder must lie between 0 and 1")
        if not self.half_life_days > 0:
            raise ValueError("half_life_days must be positive")
        if not all(0 <= weight <= 1 for weight in self.source_weights.values()):
            raise ValueError("source weights must lie between 0 and 1")


def neutral_rules(lexical_weight: float) -> RerankRules:
    """Return the rules of the neutral pass for a question whose words weigh so much in fusion, in [0, 1].

    How many of the words a record holds says as much as the words themselves say. Raises: ValueError outside [0, 1].
    """
    if not 0 <= lexical_weight <= 1:
        raise ValueError("a weight lies between 0 and 1")
    coverage = _MOST_COVERAGE * lexical_weight
    return RerankRules(relevance=1 - coverage, coverage=coverage)


@dataclass(frozen=True, slots=True)
class Candidate(Generic[KeyT]):
    """What is known of one retrieved record.

    `exact`, `name` and `phrase` are in [0, 1] as `Emphasis` measures them, None where the question names nothing;
    `relevance` and `coverage` (the function below) are in [0, 1]; `occurred_at` None is an undated record,
    which gets no recency. `cross_encoder` is a second stage's judgement in [0, 1], None where there was none.
    """

    key: KeyT
    relevance: float
    coverage: float = 0.0
    source: str = ""
    occurred_at: datetime | None = None
    exact: float | None = None
    name: float | None = None
    phrase: float | None = None
    cross_encoder: float | None = None


@dataclass(frozen=True, slots=True)
class Reranked(Generic[KeyT]):
    """A candidate's place: `features` are the parts that add up to `score`, in [0, 1]."""

    key: KeyT
    score: float
    features: Mapping[str, float]


def rerank(
    candidates: Iterable[Candidate[KeyT]],
    *,
    rules: RerankRules,
    as_of: datetime,
) -> list[Reranked[KeyT]]:
    """Order the candidates best first; ties keep the order given.

    Recency halves every half-life back from `as_of`, which is the corpus's newest record and not the
    clock: the same corpus gives the same order.
    """
    ranked: list[Reranked[KeyT]] = []
    listed = list(candidates)
    named = {
        feature: getattr(rules, feature)
        for feature in FEATURES_OF_EMPHASIS
        if any(getattr(candidate, feature) is not None for candidate in listed)
    }
    total = rules.relevance + rules.coverage + rules.recency + rules.source + sum(named.values())
    for candidate in listed:
        features = {
            "relevance": rules.relevance / total * _clamped(candidate.relevance),
            "recency": rules.recency / total * recency(candidate.occurred_at, as_of, rules.half_life_days),
            "source": rules.source / total * rules.source_weights.get(candidate.source, 1.0),
            "coverage": rules.coverage / total * _clamped(candidate.coverage),
        }
        for feature, weight in named.items():
            features[feature] = weight / total * _clamped(getattr(candidate, feature) or 0.0)
        if candidate.cross_encoder is not None:
            features = {name: (1 - rules.cross_encoder) * value for name, value in features.items()}
            features["cross_encoder"] = rules.cross_encoder * _clamped(candidate.cross_encoder)
        ranked.append(Reranked(candidate.key, min(1.0, math.fsum(features.values())), features))
    return sorted(ranked, key=lambda reranked: -reranked.score)


def contenders(
    relevance: Sequence[float],
    covered: Sequence[float],
    *,
    top_k: int,
    rules: RerankRules,
    named: Collection[str] = FEATURES_OF_EMPHASIS,
) -> list[int]:
    """Return the places of the candidates that `rerank` could bring among the first top_k, in ascending order.

    `relevance` and `covered` are each candidate's relevance and coverage, in [0, 1]; `named` are the features of
    emphasis that the question has. The others can't come so far: with all else that they might have they stay below
    what the k-th has without. The most relevant is kept in any case: relevance is a share of its. A second stage's
    judgement is not reckoned with.
    """
    known = [rules.relevance * one + rules.coverage * other for one, other in zip(relevance, covered, strict=True)]
    if len(known) <= top_k:
        return list(range(len(known)))
    most = rules.recency + rules.source + sum(getattr(rules, feature) for feature in named)
    # Sums of a few floats: far below the slack they are wrong.
    floor = sorted(known, reverse=True)[top_k - 1] - most - 1e-9
    best = max(range(len(known)), key=relevance.__getitem__)
    return [place for place, score in enumerate(known) if score >= floor or place == best]


def coverage(terms: Collection[str], question_idf: Mapping[str, float]) -> float:
    """Return the idf-weighted share of the question's terms that a record holds, in [0, 1]; 0 for none.

    `question_idf` maps each term of the question to its idf; `terms` are the record's.
    """
    total = math.fsum(question_idf.values())
    if total <= 0:
        return 0.0
    return min(1.0, math.fsum(weight for term, weight in question_idf.items() if term in terms) / total)


def recency(occurred_at: datetime | None, as_of: datetime, half_life_days: float) -> float:
    """Return 0.5 ** (age / half-life), in [0, 1]; 1 for what is newer than `as_of`, 0 without a date."""
    if occurred_at is None:
        return 0.0
    age_days = max(0.0, (as_of - occurred_at).total_seconds() / 86_400)
    return float(0.5 ** (age_days / half_life_days))


def _clamped(value: float) -> float:
    return min(1.0, max(0.0, value))
