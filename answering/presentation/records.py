"""The records beside an answer: their passages with the cited spans marked, and why they rank as they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from answering.domain.render import record_label
from answering.presentation.words import Json
from feedback.domain.marked_text import Piece, excerpt, pieces

if TYPE_CHECKING:
    from feedback.selectors.records import Record

MOST_UNCITED: Final = 10
MOST_BESIDE_A_REFUSAL: Final = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """A score with its share of the largest beside it, in [0, 1]."""

    name: str
    value: float
    share: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Why a record stands where it stands."""

    rank: int
    lexical_score: float | None
    terms: tuple[Bar, ...]
    vector_score: float | None
    fused_score: float
    rerank_score: float
    features: tuple[Bar, ...]
    ahead: str
    sets: str


@dataclass(frozen=True, slots=True)
class Support:
    """A citation of a card: which claims rest on it, and how well it bears out the best of them."""

    id: str
    claims: tuple[int, ...]
    score: float


@dataclass(frozen=True, slots=True)
class Opposed:
    """How far a record disagrees with the answer's records; all in [0, 1]. `against` is the one that it opposes most."""

    score: float
    topic: float
    polarity: float
    against: str
    reason: str


@dataclass(frozen=True, slots=True)
class Card:
    """A record beside the answer. `pieces` are its passage, none when the record is gone."""

    doc_id: str
    label: str
    title: str
    revision: int
    start: int
    end: int
    pieces: tuple[Piece, ...]
    is_cut_before: bool
    is_cut_after: bool
    is_edited: bool
    is_gone: bool
    citations: tuple[Support, ...]
    ranking: Ranking | None
    opposed: Opposed | None = None


def shown_documents(answer: Json) -> tuple[str, ...]:
    """Return the ids of the records that an answer's page shows: the cited, the contrasting, the best of the others."""
    cited = dict.fromkeys(citation["doc_id"] for citation in answer.get("citations", ()))
    others = [hit["doc_id"] for hit in answer.get("hits", ()) if hit["doc_id"] not in cited]
    opposed = [hit["doc_id"] for hit in answer.get("passes", {}).get("contrasting", ())]
    return tuple(dict.fromkeys((*cited, *opposed, *others[:MOST_UNCITED])))


def cards(answer: Json, records: Mapping[str, Record]) -> tuple[Card, ...]:
    """Return the cited records in order of first citation, each once with all its cited spans marked."""
    rankings = {hit["doc_id"]: hit for hit in answer.get("hits", ())}
    grouped: dict[tuple[str, int], list[Json]] = {}
    for citation in answer["citations"]:
        grouped.setdefault((citation["doc_id"], citation["revision"]), []).append(citation)
    supports = {claim["id"]: claim["support"] for claim in answer["claims"]}
    return tuple(
        _card(
            records.get(doc_id),
            doc_id=doc_id,
            revision=revision,
            label=group[0]["doc_label"],
            marks=[(citation["start"], citation["end"]) for citation in group],
            hit=rankings.get(doc_id),
            following=_following(answer, rankings.get(doc_id)),
            citations=tuple(_support(citation["id"], answer["claims"], supports) for citation in group),
        )
        for (doc_id, revision), group in grouped.items()
    )


def _support(label: str, claims: Sequence[Json], supports: Mapping[int, float]) -> Support:
    ids = tuple(claim["id"] for claim in claims if label in claim["citations"])
    return Support(label, ids, max((supports[claim] for claim in ids), default=0.0))


def uncited(answer: Json, records: Mapping[str, Record]) -> tuple[Card, ...]:
    """Return the best records that were found and not cited, in order of rank."""
    cited = {citation["doc_id"] for citation in answer["citations"]}
    others = [hit for hit in answer.get("hits", ()) if hit["doc_id"] not in cited]
    return tuple(
        _card(
            records.get(hit["doc_id"]),
            doc_id=hit["doc_id"],
            revision=hit["revision"],
            label=record_label(
                source=hit["source"],
                account=hit["account"],
                occurred_at=datetime.fromisoformat(hit["occurred_at"]),
                is_dated=records[hit["doc_id"]].has_date if hit["doc_id"] in records else True,
            ),
            marks=[],
            hit=hit,
            following=_following(answer, hit),
            citations=(),
        )
        for hit in others[: MOST_UNCITED if cited else MOST_BESIDE_A_REFUSAL]
    )


def contrasting(answer: Json, records: Mapping[str, Record]) -> tuple[Card, ...]:
    """Return the records that say otherwise and still exist, but for those that the answer cites anyway."""
    cited = {citation["doc_id"] for citation in answer["citations"]}
    found = []
    for hit in answer.get("passes", {}).get("contrasting", ()):
        record = records.get(hit["doc_id"])
        if record is None or hit["doc_id"] in cited:
            continue
        card = _card(
            record,
            doc_id=hit["doc_id"],
            revision=hit["revision"],
            label=record_label(
                source=hit["source"],
                account=hit["account"],
                occurred_at=datetime.fromisoformat(hit["occurred_at"]),
                attribution=hit["attribution"],
                is_dated=record.has_date,
            ),
            marks=[],
            hit=None,
            citations=(),
        )
        opposition = hit["opposition"]
        opposed = Opposed(
            opposition["score"],
            opposition["topic"],
            opposition["polarity"],
            opposition["against"],
            opposition["reason"],
        )
        found.append(replace(card, start=hit["start"], end=hit["end"], opposed=opposed))
    return tuple(found)


def _following(answer: Json, hit: Json | None) -> Json | None:
    """Return the hit below; none among the hits of several sets, which aren't on one scale."""
    if hit is None or hit.get("sets"):
        return None
    return next((other for other in answer["hits"] if other["rank"] == hit["rank"] + 1), None)


def _card(
    record: Record | None,
    *,
    doc_id: str,
    revision: int,
    label: str,
    marks: list[tuple[int, int]],
    hit: Json | None,
    citations: tuple[Support, ...],
    following: Json | None = None,
) -> Card:
    stored = next((text for text in record.revisions if text.number == revision), None) if record else None
    text = stored.text if stored else ""
    shown = excerpt(text, marks, longest=480 if marks else 240)
    start, end = marks[0] if marks else (hit["start"], hit["end"]) if hit else (0, 0)
    return Card(
        doc_id=doc_id,
        label=label,
        title=stored.title if stored else "",
        revision=revision,
        start=start,
        end=end,
        pieces=pieces(text, marks, within=shown),
        is_cut_before=shown[0] > 0,
        is_cut_after=shown[1] < len(text),
        is_edited=record is not None and record.current != revision,
        is_gone=stored is None,
        citations=citations,
        ranking=_ranking(hit, following) if hit else None,
    )


def _ranking(hit: Json, following: Json | None) -> Ranking:
    terms = sorted(hit["terms"].items(), key=lambda item: -item[1])
    most = max((part for _, part in terms), default=0.0)
    return Ranking(
        rank=hit["rank"],
        lexical_score=hit["lexical_score"],
        terms=tuple(Bar(name, part, part / most if most > 0 else 0.0) for name, part in terms),
        vector_score=hit["vector_score"],
        fused_score=hit["fused_score"],
        rerank_score=hit["rerank_score"],
        features=tuple(Bar(name, part, part) for name, part in hit["features"].items()),
        ahead=_ahead(hit, following) if following else "",
        sets=", ".join(f"{place['name']} at {place['rank']}" for place in hit.get("sets", ())),
    )


def _ahead(hit: Json, following: Json) -> str:
    """Say by which features a hit is before the next: "0.050 before t-7: relevance +0.060, coverage −0.010"."""
    by = hit["rerank_score"] - following["rerank_score"]
    parts = [(name, value - following["features"].get(name, 0.0)) for name, value in hit["features"].items()]
    named = ", ".join(
        f"{name} {'+' if part > 0 else '−'}{abs(part):.3f}" for name, part in parts if abs(part) >= 0.0005
    )
    return f"{by:.3f} before {following['doc_id']}" + (f": {named}" if named else ", by the fused order")


def listed(records: Mapping[str, Record]) -> tuple[Card, ...]:
    """Return records for a list, each by its beginning."""
    return tuple(
        _card(
            record,
            doc_id=record.doc_id,
            revision=record.current,
            label=record_label(
                source=record.source,
                account=record.account,
                occurred_at=record.occurred_at,
                attribution=record.attribution,
                is_dated=record.has_date,
            ),
            marks=[],
            hit=None,
            citations=(),
        )
        for record in records.values()
    )
