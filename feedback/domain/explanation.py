"""Say at which stage of a search a record was lost, or how it came to its rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from feedback.domain.filters import Mismatch
from feedback.domain.retrieval import Hit


class Stage(StrEnum):
    """Where a record was lost, in the order of a search and of an answer; the last two are of answers alone."""

    UNKNOWN_ID = "unknown_id"
    DELETED = "deleted"
    EXCLUDED_BY_FILTER = "excluded_by_filter"
    BEYOND_CANDIDATES = "beyond_candidates"
    BEYOND_POOL = "beyond_pool"
    BELOW_TOP_K = "below_top_k"
    BEYOND_EVIDENCE = "beyond_evidence"
    NOT_CITED = "not_cited"
    FOUND = "found"
    CITED = "cited"


ORDER: Final = tuple(Stage)


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of one record in one search.

    `numbers` are ranks from 1, how many were ranked, scores and limits; a rank is None where the record has none.
    `mismatches` name what a filter wanted. `why` shows how a found record came to its rank.
    """

    doc_id: str
    stage: Stage
    message: str
    numbers: Mapping[str, int | float | str | None] = field(default_factory=dict)
    mismatches: tuple[Mismatch, ...] = ()
    why: Mapping[str, Any] | None = None
    by_set: tuple[tuple[str, Explanation], ...] = ()

    @property
    def is_found(self) -> bool:
        """Tell whether the search returned the record."""
        return ORDER.index(self.stage) >= ORDER.index(Stage.BEYOND_EVIDENCE)

    def as_json(self) -> dict[str, Any]:
        """Return it as every door shows it."""
        shown: dict[str, Any] = {
            "doc_id": self.doc_id,
            "found": self.is_found,
            "stage": self.stage.value,
            "message": self.message,
            "numbers": dict(self.numbers),
            "filters": [mismatch.as_json() for mismatch in self.mismatches],
            "why": None if self.why is None else dict(self.why),
        }
        if self.by_set:
            shown["sets"] = [{"name": name, **each.as_json()} for name, each in self.by_set]
        return shown


def why_ranked(hit: Hit, following: Hit | None) -> dict[str, Any]:
    """Return every part of a ranked hit's score, and by which it is ahead of the next one.

    The features add up to `score`, the terms to `lexical_score`.
    """
    return {
        "rank": hit.rank,
        "score": hit.rerank_score,
        "features": dict(hit.features),
        "terms": dict(hit.terms),
        "lexical_score": hit.lexical_score,
        "vector_score": hit.vector_score,
        "fused_score": hit.fused_score,
        "ahead_of": None
        if following is None
        else {
            "doc_id": following.doc_id,
            "by": hit.rerank_score - following.rerank_score,
            "features": {name: value - following.features.get(name, 0.0) for name, value in hit.features.items()},
        },
    }


def unknown(doc_id: str) -> Explanation:
    """Explain an id that no record has: the same words whoever else may have such a record."""
    return Explanation(doc_id, Stage.UNKNOWN_ID, "No record of this corpus has this id.")


def excluded(doc_id: str, mismatches: Sequence[Mismatch]) -> Explanation:
    """Explain what the filters kept out."""
    parts = [
        f"{mismatch.key}: the record has {_shown(mismatch.value)}, wanted is {_wanted(mismatch)}"
        for mismatch in mismatches
    ]
    message = f"The filters leave it out. {'; '.join(parts)[:1].upper()}{'; '.join(parts)[1:]}."
    return Explanation(doc_id, Stage.EXCLUDED_BY_FILTER, message, mismatches=tuple(mismatches))


def beyond_candidates(doc_id: str, numbers: Mapping[str, Any]) -> Explanation:
    """Explain that neither arm ranks it among the candidates."""
    pool = numbers["candidates"]
    if numbers["lexical_rank"] is None:
        words = "It shares no word with the question"
    else:
        words = f"By words it ranks {_place(numbers, 'lexical')}"
    if numbers.get("vector_rank") is None:
        meaning = "it has no vector that was searched"
    else:
        meaning = f"by meaning it ranks {_place(numbers, 'vector')}"
    message = f"{words}, and {meaning}; the first {pool} of each go on."
    ranks = [numbers[name] for name in ("lexical_rank", "vector_rank") if numbers.get(name) is not None]
    if ranks and min(ranks) <= pool:
        message += " An approximate index missed it."
    return Explanation(doc_id, Stage.BEYOND_CANDIDATES, message, numbers)


def beyond_pool(doc_id: str, numbers: Mapping[str, Any]) -> Explanation:
    """Explain that it was a candidate of an arm and not near enough to the top when both were fused."""
    message = (
        f"Fused from words and meaning it ranks {_place(numbers, 'fused')}; the first {numbers['candidates']} go on."
    )
    return Explanation(doc_id, Stage.BEYOND_POOL, message, numbers)


def below_top_k(doc_id: str, numbers: Mapping[str, Any], why: Mapping[str, Any]) -> Explanation:
    """Explain that it was ordered below what was asked for."""
    message = (
        f"Ordered by {_named_features(why['features'])} it ranks {_place(numbers, 'rerank')} with"
        f" {numbers['rerank_score']:.4f}; the last of the {numbers['top_k']} that were asked for has {numbers['last_score']:.4f}."
    )
    return Explanation(doc_id, Stage.BELOW_TOP_K, message, numbers, why=why)


def found(doc_id: str, numbers: Mapping[str, Any], why: Mapping[str, Any]) -> Explanation:
    """Explain that it was found."""
    return Explanation(doc_id, Stage.FOUND, f"It is found, at rank {why['rank']}.", numbers, why=why)


def furthest(doc_id: str, by_set: Sequence[tuple[str, Explanation]]) -> Explanation:
    """Return of several sets the explanation that came furthest, with each set's own beside it."""
    name, best = max(by_set, key=lambda pair: ORDER.index(pair[1].stage))
    if best.stage in (Stage.UNKNOWN_ID, Stage.DELETED):
        return best
    return replace(best, doc_id=doc_id, message=f"{name}: {best.message}", by_set=tuple(by_set))


def beside_evidence(
    explained: Explanation, *, rank: int | None, limit: int, was_read: bool, citations: Sequence[str]
) -> Explanation:
    """Go on where the search ended: of the found records those are read that can be quoted, up to the limit."""
    numbers = {**explained.numbers, "evidence_rank": rank, "evidence_limit": limit}
    if citations:
        names = " and ".join(citations)
        return replace(
            explained,
            stage=Stage.CITED,
            message=f"The answer cites it as {names}" + (f", from rank {rank}." if rank else "."),
            numbers=numbers,
        )
    if not was_read and rank is not None and rank > limit:
        message = f"It is found at rank {rank}; the answer reads the first {limit} that can be quoted."
        return replace(explained, stage=Stage.BEYOND_EVIDENCE, message=message, numbers=numbers)
    if not was_read:
        message = f"It is found at rank {rank}, and holds no sentence that could be quoted, or one that others say too."
        return replace(explained, stage=Stage.BEYOND_EVIDENCE, message=message, numbers=numbers)
    message = f"It is found at rank {rank} and was read, but no claim of the answer rests on it."
    return replace(explained, stage=Stage.NOT_CITED, message=message, numbers=numbers)


def since_then(explained: Explanation) -> Explanation:
    """Explain a record that the search finds now and didn't when the answer was made."""
    return replace(
        explained, message=f"{explained.message[:-1]} now; when the answer was made the search did not have it."
    )


def _place(numbers: Mapping[str, Any], arm: str) -> str:
    return f"{numbers[f'{arm}_rank']:,} of {numbers[f'{arm}_of']:,}"


def _named_features(features: Mapping[str, float]) -> str:
    named = [name for name, value in features.items() if value]
    return " and ".join(named) or "its features"


def _wanted(mismatch: Mismatch) -> str:
    values = [_shown(value) for value in list(mismatch.wanted)[:5]]
    rest = len(mismatch.wanted) - len(values)
    before = {"occurred_from": "from ", "occurred_to": "before "}.get(mismatch.key, "")
    return before + " or ".join(values) + (f" or {rest} more" if rest else "")


def _shown(value: Any) -> str:
    if value is None or value == []:
        return "none"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 80 else text[:79] + "…"
