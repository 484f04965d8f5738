"""An answer as its page shows it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from answering.presentation.measure import Basis, basis
from answering.presentation.records import Card, cards, contrasting, uncited
from answering.presentation.refusal import Refused, refused
from answering.presentation.words import Chip, Json, chips
from feedback.domain.marked_text import Piece, pieces
from feedback.domain.retrieval import slip_note

if TYPE_CHECKING:
    from feedback.selectors.records import Record

_CHANGE: Final = re.compile(r"(?:from [\d,.]+ to|at) [\d,.]*\d")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A claim as it is read.

    The number of a measure stands between `before` and `after`; any other claim is its `words`. `merged`
    says how many records say it. A withheld claim rests on records that are gone. `basis` stands behind the number.
    """

    id: int
    kind: str
    before: str
    number: str
    after: str
    words: tuple[Piece, ...]
    query_id: str
    citations: tuple[str, ...]
    merged: str
    is_withheld: bool
    basis: Basis | None = None


@dataclass(frozen=True, slots=True)
class ShownPoint:
    """Sentences that are read together: a heading that counts, if there is one, and what it counts as a list."""

    kind: str
    heading: Sentence | None
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """All that the page of a finished run shows beside the question. Shares lie in [0, 1]."""

    outcome: str
    model: str
    as_of: datetime
    points: tuple[ShownPoint, ...]
    cards: tuple[Card, ...]
    uncited: tuple[Card, ...]
    contrasting: tuple[Card, ...]
    notes: tuple[str, ...]
    refused: Refused | None
    inferred: tuple[Chip, ...]
    coverage: float
    groundedness: float
    read: int
    matching: int
    matching_query: str
    removed: tuple[str, ...]
    markdown: str


def shown_answer(answer: Json, records: Mapping[str, Record]) -> ShownAnswer:
    """Return an answer as its page shows it; words of records that are gone are withheld."""
    read = sentences(answer, records)
    grounding = answer.get("grounding") or {}
    return ShownAnswer(
        outcome=answer["outcome"],
        model=answer["model"],
        as_of=datetime.fromisoformat(answer["as_of"]),
        points=points_of(answer, read),
        cards=cards(answer, records),
        uncited=uncited(answer, records),
        contrasting=contrasting(answer, records),
        notes=(
            *(slip_note(each["typed"], each["read"]) for each in answer.get("read_as", ())),
            *(each["note"] for each in answer.get("relaxed", ())),
            *_opinion_notes(grounding.get("model") or {}),
            *(f"Not answered: {each['message']}." for each in answer.get("not_answered", ())),
        ),
        refused=refused(answer),
        inferred=chips(answer.get("inferred_filters", {})),
        coverage=grounding.get("coverage", 0.0),
        groundedness=grounding.get("groundedness", 0.0),
        read=answer["matching"]["read"],
        matching=answer["matching"]["records"],
        matching_query=answer["matching"].get("query_id") or "",
        removed=tuple(_removed(repair) for repair in grounding.get("repairs", ())),
        markdown="" if any(sentence.is_withheld for sentence in read) else answer["markdown"],
    )


def _opinion_notes(model: Json) -> tuple[str, ...]:
    """Say that the checker decided alone where both should have; otherwise the trace says it."""
    return (f"{model['note']}.",) if model.get("note") and model["decides"] == "both" else ()


def points_of(answer: Json, read: Sequence[Sentence]) -> tuple[ShownPoint, ...]:
    """Group the sentences as the answer does; in one from before there were points each is its own."""
    by_id = {sentence.id: sentence for sentence in read}
    given = answer.get("points") or [{"kind": "quotes", "heading": None, "claims": [claim]} for claim in by_id]
    return tuple(
        ShownPoint(
            point["kind"],
            by_id.get(point["heading"]),
            tuple(by_id[claim] for claim in point["claims"] if claim != point["heading"]),
        )
        for point in given
    )


def _removed(repair: Json) -> str:
    if "citation" in repair:
        return f"A citation of claim {repair['claim']} that supports it at {repair['support']:.2f} only."
    return f"Claim {repair['claim']}: {repair['reason'] or repair['code'] or 'not supported'}."


def sentences(answer: Json, records: Mapping[str, Record]) -> tuple[Sentence, ...]:
    """Return the claims of an answer as they are read."""
    cited = {citation["id"]: citation["doc_id"] for citation in answer["citations"]}
    found = []
    for claim in answer["claims"]:
        measure = claim["measure"] or {}
        is_measure = claim["kind"] == "measure"
        before, number, after = _parted(claim["text"], measure) if is_measure else ("", "", "")
        # The words of a joined quote are those of its first citation.
        sources = [cited[label] for label in claim["citations"]]
        found.append(
            Sentence(
                id=claim["id"],
                kind=claim["kind"],
                before=before,
                number=number,
                after=after,
                words=() if is_measure else pieces(claim["text"], []),
                query_id=measure.get("query_id", ""),
                citations=tuple(claim["citations"]),
                merged="" if is_measure or not measure else _merged(measure),
                is_withheld=bool(sources) and sources[0] not in records,
                basis=basis(measure) if is_measure and measure else None,
            )
        )
    return tuple(found)


def _parted(text: str, measure: Json) -> tuple[str, str, str]:
    """Part a measure's sentence round its number: the count that it begins with, else the change that it tells."""
    count = f"{measure.get('value', 0):,}"
    if text.startswith(f"{count} "):
        return "", count, text[len(count) :]
    before = text.partition("“")[0]
    for stated in (count, f"{measure.get('accounts') or 0:,}"):
        if counted := re.search(rf"(?<![\d.,]){re.escape(stated)}(?![\d.,]*\d)", before):
            return text[: counted.start()], stated, text[counted.end() :]
    # What is counted is quoted and may hold numbers of its own.
    change = _CHANGE.search(text, text.rfind("”") + 1)
    if change:
        return text[: change.start()], change.group(), text[change.end() :]
    return "", text, ""


def _merged(measure: Json) -> str:
    accounts = measure.get("accounts")
    whose = f" from {accounts:,} account{'s' if accounts != 1 else ''}" if accounts else ""
    return f"{measure['value']:,} records{whose} say this"
