"""Why a record is not in an answer, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from feedback.domain.explanation import Explanation

_HEADS: Final[Mapping[str, str]] = {
    "unknown_id": "No such record",
    "deleted": "Deleted",
    "excluded_by_filter": "Left out by a filter",
    "beyond_candidates": "Too far from the question",
    "beyond_pool": "Behind the records that went on",
    "below_top_k": "Below the records that were asked for",
    "beyond_evidence": "Found, not read",
    "not_cited": "Read, not cited",
    "found": "Found",
    "cited": "Cited",
}
_RANKS: Final = (
    ("lexical", "By words (BM25)"),
    ("vector", "By meaning (cosine)"),
    ("fused", "Both, fused"),
    ("rerank", "Final order"),
)


@dataclass(frozen=True, slots=True)
class Place:
    """A ranking and the record's place in it; `rank` 0 is none. A score is blank where there is none."""

    name: str
    rank: int
    of: int
    score: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """A filter that kept the record out."""

    name: str
    has: str
    wanted: str


@dataclass(frozen=True, slots=True)
class Absence:
    """What became of a record."""

    doc_id: str
    head: str
    message: str
    is_there: bool
    places: tuple[Place, ...]
    wanted: tuple[Wanted, ...]


def shown_absence(explained: Explanation) -> Absence:
    """Return an explanation as the answer's page shows it."""
    numbers = explained.numbers
    places = []
    for key, name in _RANKS:
        of = numbers.get(f"{key}_of")
        if isinstance(of, int):
            score = numbers.get(f"{key}_score")
            rank = numbers.get(f"{key}_rank")
            written = f"{score:.4f}" if isinstance(score, float) else ""
            places.append(Place(name, rank if isinstance(rank, int) else 0, of, written))
    return Absence(
        doc_id=explained.doc_id,
        head=_HEADS[explained.stage.value],
        message=explained.message,
        is_there=explained.is_found,
        places=tuple(places),
        wanted=tuple(
            Wanted(each.key.replace("_", " "), _written(each.value), ", ".join(map(str, list(each.wanted)[:10])))
            for each in explained.mismatches
        ),
    )


def _written(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
