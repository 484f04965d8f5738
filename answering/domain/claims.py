"""Hold a draft: claims, the spans they cite, and the records that those spans are part of.

Offsets are Unicode code points, half-open, into the text of a revision exactly as stored.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from answering.domain.outcome import NOTHING

LISTED_DOC_IDS: Final = 5
CITATION_ID: Final = re.compile(r"C[1-9][0-9]{0,3}")
MARKER: Final = re.compile(r"\{\{C\d+\}\}")


class ClaimKind(StrEnum):
    """What a claim says of itself, and so how it is verified."""

    QUOTE = "quote"
    STATEMENT = "statement"
    MEASURE = "measure"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A retrieved passage of one revision, as a draft may cite it.

    `text` is the whole text of the revision and `start`, `end` the passage in it. `relevance` is the
    passage's fit to the question in [0, 1], `nearness` its cosine to it, None without a vector. `person`
    distinguishes the people behind the records.
    """

    citation_id: str
    document_id: str
    revision: int
    passage_id: str
    text: str
    start: int
    end: int
    label: str
    source: str
    account: str | None = None
    occurred_at: datetime | None = None
    attribution: str | None = None
    page_no: int | None = None
    page_uid: str | None = None
    lines: tuple[int, int] | None = None
    person: str | None = None
    language: str = "en"
    relevance: float = 0.0
    nearness: float | None = None

    def __post_init__(self) -> None:
        if not CITATION_ID.fullmatch(self.citation_id):
            raise ValueError(f"a citation id is C and a number from 1, not {self.citation_id!r}")
        if not 0 <= self.start <= self.end <= len(self.text):
            raise ValueError(f"passage {self.start}:{self.end} lies outside a text of {len(self.text)} characters")

    @property
    def passage(self) -> str:
        """Return the words of the passage."""
        return self.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Citation:
    """A span of a piece of evidence, with the words it is said to hold."""

    evidence_id: str
    start: int
    end: int
    quote: str

    def matches(self, text: str) -> bool:
        """Tell whether the span of that text is the quote, character by character."""
        return 0 <= self.start < self.end <= len(text) and text[self.start : self.end] == self.quote


@dataclass(frozen=True, slots=True)
class Measure:
    """A number with the query that made it.

    `people` and `accounts` count distinct ones among the records behind `value`; `denominator` is the
    number of records that the query looked at. `components` names further numbers of the same query
    that the claim's text may state ("from", "to" of a trend). `doc_ids` are up to five of the records.
    `undated` of them have no date of their own: they count at their receipt, and in no interval of a trend.
    """

    value: float
    unit: str
    people: int | None = None
    accounts: int | None = None
    denominator: int | None = None
    query: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    query_id: str = ""
    doc_ids: tuple[str, ...] = ()
    components: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    undated: int = 0

    def __post_init__(self) -> None:
        if len(self.doc_ids) > LISTED_DOC_IDS:
            raise ValueError(f"a measure lists up to {LISTED_DOC_IDS} records, its query the rest")

    def numbers(self) -> tuple[float, ...]:
        """Return every number that a text may state on the strength of this measure."""
        counts = (self.value, self.people, self.accounts, self.denominator, *self.components.values())
        return tuple(float(n) for n in counts if n is not None)


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of an answer.

    `merged_count` is the number of records that say the same, the cited one included.
    """

    id: int
    kind: ClaimKind
    text: str
    citations: tuple[Citation, ...] = ()
    measure: Measure | None = None
    merged_count: int = 1


class PointKind(StrEnum):
    """What the claims of a point have in common."""

    LEAD = "lead"
    THEME = "theme"
    WORD = "word"
    SIDE = "side"
    NEAR_DUPLICATES = "near_duplicates"
    OTHERWISE = "otherwise"
    QUOTES = "quotes"


@dataclass(frozen=True, slots=True)
class Point:
    """Claims that are read together, by id, in the order of the answer; `heading` is the first of them or None.

    The heading is a measure that counts what the others are examples of.
    """

    kind: PointKind
    claims: tuple[int, ...]
    heading: int | None = None

    def keeping(self, claims: Container[int]) -> Point:
        """Return the point without the claims that are gone."""
        kept = tuple(claim for claim in self.claims if claim in claims)
        return Point(self.kind, kept, self.heading if self.heading in kept else None)


@dataclass(frozen=True, slots=True)
class Draft:
    """What a drafter proposes, before anything of it has been checked; `points` group the claims for a reader."""

    claims: tuple[Claim, ...]
    model: str
    points: tuple[Point, ...] = ()

    @property
    def kept_points(self) -> tuple[Point, ...]:
        """Return the points with the claims that the draft still has; a claim without one is a point by itself."""
        ids = {claim.id for claim in self.claims}
        points = [kept for point in self.points if (kept := point.keeping(ids)).claims]
        grouped = {claim for point in points for claim in point.claims}
        points += [Point(PointKind.QUOTES, (claim.id,)) for claim in self.claims if claim.id not in grouped]
        order = {claim.id: place for place, claim in enumerate(self.claims)}
        return tuple(sorted(points, key=lambda point: order[point.claims[0]]))


@dataclass(frozen=True, slots=True)
class NumberedClaims:
    """Claims with the short ids under which an answer shows their citations.

    `ids` has, for each claim, its citations' ids in order; `citations` lists each distinct span once,
    in order of first citation.
    """

    claims: tuple[Claim, ...]
    ids: tuple[tuple[str, ...], ...]
    citations: tuple[tuple[str, Citation], ...]


def cite(evidence: Evidence, start: int, end: int) -> Citation:
    """Cite a span of the evidence's text.

    Raises: ValueError when the span is empty or lies outside of the text.
    """
    if not 0 <= start < end <= len(evidence.text):
        raise ValueError(f"span {start}:{end} lies outside a text of {len(evidence.text)} characters")
    return Citation(evidence.citation_id, start, end, evidence.text[start:end])


def number_citations(claims: Sequence[Claim]) -> NumberedClaims:
    """Give each distinct cited span an id C1, C2, … in order of first citation.

    Two spans of one record get two ids, since a citation shows exactly one span.
    """
    seen: dict[Citation, str] = {}
    ids = tuple(
        tuple(dict.fromkeys(seen.setdefault(c, f"C{len(seen) + 1}") for c in claim.citations)) for claim in claims
    )
    return NumberedClaims(tuple(claims), ids, tuple((label, citation) for citation, label in seen.items()))


def cited_documents(claims: Iterable[Claim], evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """List the external ids of the cited documents in order of first citation, each once."""
    document = {e.citation_id: e.document_id for e in evidence}
    return tuple(
        dict.fromkeys(document[c.evidence_id] for claim in claims for c in claim.citations if c.evidence_id in document)
    )


def query_id_of(query: Mapping[str, Any]) -> str:
    """Name a stored query by its content: equal queries, equal ids, whatever the order of their keys."""
    canonical = json.dumps(query, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return "q_" + hashlib.sha256(canonical.encode()).hexdigest()[:24]
