"""A refusal in plain words, with the ways that lead on from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from answering.domain.outcome import Gate
from answering.presentation.words import Json, chips, question_about

_GATES: Final[Mapping[str, tuple[str, str]]] = {
    Gate.RECORDS: ("Records", "The filters admit {value:.0f} records; at least {floor:.0f} is needed."),
    Gate.RETRIEVAL: ("Retrieval", "The search found {value:.0f} records; at least {floor:.0f} is needed."),
    Gate.EVIDENCE_RELEVANCE: (
        "Evidence relevance",
        "The closest passage fits the question at {value:.2f}; an answer needs {floor:.2f}.",
    ),
    Gate.SCOPE: (
        "Scope",
        "Within the filters the records bear out {value:.2f} of what the corpus does; an answer needs {floor:.2f}.",
    ),
    Gate.CLAIM_SUPPORT: ("Claim support", "The claims are supported at {value:.2f}; an answer needs {floor:.2f}."),
    Gate.CITATION_PRECISION: (
        "Citation precision",
        "Of the cited spans {value:.2f} support their claim; an answer needs {floor:.2f}.",
    ),
    Gate.GROUNDEDNESS: (
        "Groundedness",
        "Of the drafted claims {value:.2f} are supported; an answer needs {floor:.2f}.",
    ),
    Gate.BUDGET: ("Budget", "The run wanted {value:g}; the limit is {floor:g}."),
}
_WITHOUT: Final[Mapping[str, str]] = {
    "ids": "the list of records",
    "occurred_from": "the first day",
    "occurred_to": "the last day",
    "facets": "the facet filters",
    "any_of": "the filter sets",
}


@dataclass(frozen=True, slots=True)
class Topic:
    """A theme that the corpus does hold, with the question to ask about it."""

    theme: str
    question: str
    count: int
    query_id: str


@dataclass(frozen=True, slots=True)
class Way:
    """Filters that would let evidence in, as JSON to ask again with; `question` is blank for the same question."""

    text: str
    question: str
    json: str
    count: int
    query_id: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal in plain words; `value` and `floor` are None for a gate that compares nothing."""

    answer: str
    message: str
    gate: str
    measured: str
    value: float | None
    floor: float | None
    topics: tuple[Topic, ...]
    ways: tuple[Way, ...]

    @property
    def has_scale(self) -> bool:
        """Say whether value and floor are shares, which a bar can show."""
        return self.value is not None and self.floor is not None and 0 <= self.value <= 1 and 0 < self.floor < 1


def refused(answer: Json) -> Refused | None:
    """Return an answer's refusal in plain words, None when it is no refusal."""
    refusal = answer["refusal"]
    if refusal is None:
        return None
    gate, measured = _GATES.get(refusal["gate"], (refusal["gate"].replace("_", " "), ""))
    value, floor = refusal["value"], refusal["floor"]
    message = refusal["message"]
    return Refused(
        answer=answer["answer"],
        message=message[:1].upper() + message[1:],
        gate=gate,
        measured=measured.format(value=value, floor=floor) if measured and value is not None and floor else "",
        value=value,
        floor=floor,
        topics=tuple(
            Topic(topic["theme"], question_about(topic["theme"]), topic["count"], topic["query_id"] or "")
            for topic in refusal["nearest_topics"]
        ),
        ways=tuple(_way(suggestion, answer) for suggestion in refusal["suggestions"]),
    )


def _way(suggestion: Json, answer: Json) -> Way:
    asked, wider = answer.get("filters", {}), suggestion["filters"]
    question = suggestion.get("question") or ""
    dropped = [name for name in asked if name not in wider]
    if question:
        within = "; ".join(f"{chip.name} {chip.value}" for chip in chips(wider))
        text = f"{question} ({within})" if within else question
    elif not wider and len(asked) > 1:
        text = "Without any filter"
    elif dropped:
        text = "Without " + " and ".join(_WITHOUT.get(name, f"the {name} filter") for name in dropped)
    else:
        text = "With " + "; ".join(f"{chip.name} {chip.value}" for chip in chips(wider))
    return Way(
        text=text,
        question=question,
        json=json.dumps(wider, ensure_ascii=False),
        count=suggestion["count"],
        query_id=suggestion["query_id"] or "",
    )
