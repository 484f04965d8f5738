"""Put an answer into the shape that every door gives: `AnswerOut` of the contract."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from answering.domain.claims import Claim, ClaimKind, Draft, Evidence, Measure, NumberedClaims, Point, number_citations
from answering.domain.grounding import Calibration, Grounding
from answering.domain.grounding.calibration import nearest
from answering.domain.outcome import REFUSAL_TEXT, Refusal
from answering.domain.render import answer_text, escape, markdown

PROJECTIONS: Final = ("grounding", "hits", "documents", "trace", "rerank", "passes")
DEFAULT_PROJECTIONS: Final = frozenset({"grounding"})


def moment(value: datetime | None) -> str | None:
    """Write a moment as the contract does: ISO 8601, UTC as Z."""
    return None if value is None else value.isoformat().replace("+00:00", "Z")


def claims_json(numbered: NumberedClaims, grounding: Grounding | None) -> list[dict[str, Any]]:
    """Return the `claims` of an answer."""
    support = {verdict.id: verdict.support for verdict in grounding.claims} if grounding else {}
    return [
        {
            "id": claim.id,
            "kind": claim.kind.value,
            "text": claim.text,
            "support": round(support.get(claim.id, 0.0), 4),
            "citations": list(ids),
            "measure": None if claim.measure is None else measure_json(claim.measure),
        }
        for claim, ids in zip(numbered.claims, numbered.ids, strict=True)
    ]


def points_json(draft: Draft) -> list[dict[str, Any]]:
    """Return the `points` of an answer: which claims are read together, and which of them counts the others."""
    return [
        {"kind": point.kind.value, "heading": point.heading, "claims": list(point.claims)}
        for point in draft.kept_points
    ]


def measure_json(measure: Measure) -> dict[str, Any]:
    """Return a measure; whole numbers are written as such."""
    value = int(measure.value) if float(measure.value).is_integer() else measure.value
    return {
        "value": value,
        "unit": measure.unit,
        "people": measure.people,
        "accounts": measure.accounts,
        "denominator": measure.denominator,
        "components": dict(measure.components),
        "undated": measure.undated,
        "query": dict(measure.query),
        "query_id": measure.query_id,
        "doc_ids": list(measure.doc_ids),
    }


def citations_json(numbered: NumberedClaims, evidence: Sequence[Evidence]) -> list[dict[str, Any]]:
    """Return the `citations` of an answer: each an exact span of a stored revision."""
    sources = {source.citation_id: source for source in evidence}
    rows = []
    for label, citation in numbered.citations:
        source = sources[citation.evidence_id]
        rows.append(
            {
                "id": label,
                "doc_id": source.document_id,
                "revision": source.revision,
                "passage_id": source.passage_id,
                "start": citation.start,
                "end": citation.end,
                "quote": citation.quote,
                "doc_label": source.label,
                "page_no": source.page_no,
                "page_uid": source.page_uid,
                "lines": None if source.lines is None else list(source.lines),
                "source": source.source,
                "account": source.account,
                "occurred_at": moment(source.occurred_at),
                "attribution": source.attribution,
            }
        )
    return rows


def grounding_json(
    grounding: Grounding | None, numbered: NumberedClaims, *, coverage: float, repairs: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the `grounding` projection; verdicts of claims that were taken out are in it with their reason."""
    if grounding is None:
        return {
            "groundedness": 0.0,
            "citation_precision": 0.0,
            "coverage": 0.0,
            "accepted": False,
            "failure_reason": None,
            "claims": [],
            "repairs": [],
        }
    shown = {(citation.evidence_id, citation.start, citation.end): label for label, citation in numbered.citations}
    return {
        "groundedness": grounding.groundedness,
        "citation_precision": grounding.citation_precision,
        "coverage": round(coverage, 4),
        "accepted": grounding.accepted,
        "failure_reason": grounding.failure_reason,
        "claims": [
            {
                "id": verdict.id,
                "supported": verdict.supported,
                "support": round(verdict.support, 4),
                "span": None
                if verdict.span is None
                else {
                    "citation": shown.get(
                        (verdict.span.citation, verdict.span.start, verdict.span.end), verdict.span.citation
                    ),
                    "start": verdict.span.start,
                    "end": verdict.span.end,
                },
                "reason": verdict.reason,
                "code": verdict.code,
                "checks": [
                    {"check": each.check.value, "agrees": each.agrees, "reason": each.detail} for each in verdict.checks
                ],
            }
            for verdict in grounding.claims
        ],
        "repairs": [dict(repair) for repair in repairs],
    }


def refusal_json(refusal: Refusal) -> dict[str, Any]:
    """Return the `refusal` of an answer."""
    return {
        "reason": refusal.reason.value,
        "gate": refusal.gate.value,
        "value": refusal.value,
        "floor": refusal.floor,
        "message": refusal.message,
        "nearest_topics": [
            {
                "theme": topic.theme,
                "count": topic.count,
                "doc_ids": list(topic.doc_ids),
                "query_id": topic.query_id,
            }
            for topic in refusal.nearest_topics
        ],
        "suggestions": [
            {
                "filters": dict(suggestion.filters),
                "count": suggestion.count,
                "doc_ids": list(suggestion.doc_ids),
                "query_id": suggestion.query_id,
                **({"question": suggestion.question} if suggestion.question else {}),
            }
            for suggestion in refusal.suggestions
        ],
    }


def text_json(
    claims: Sequence[Claim],
    evidence: Sequence[Evidence],
    refusal: Refusal | None,
    *,
    points: Sequence[Point] = (),
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Return `answer` and `markdown`; `notes` say below the Markdown what was given up, and what is not answered."""
    said = "".join(f"\n\n*{escape(note)}*" for note in notes)
    if refusal is not None:
        return {
            "answer": REFUSAL_TEXT,
            "markdown": f"{REFUSAL_TEXT}\n\n{refusal.message[:1].upper()}{refusal.message[1:]}.{said}",
        }
    return {"answer": answer_text(claims), "markdown": markdown(claims, evidence, points=points) + said}


def select(answer: Mapping[str, Any], include: frozenset[str]) -> dict[str, Any]:
    """Return the answer with the chosen projections only."""
    return {name: value for name, value in answer.items() if name not in PROJECTIONS or name in include}


def numbered_claims(claims: Sequence[Claim]) -> NumberedClaims:
    """Give the citations of an answer their short ids."""
    return number_citations(claims)


def confidence(claims: Sequence[Claim], grounding: Grounding | None, calibrations: Sequence[Calibration]) -> float:
    """Return the calibrated chance that every claim of an answer is right, in [0, 1]; 0 for a refusal.

    The words of a quote and the count of a measure are looked up, not estimated: only what the checker weighed
    (statements, and further records said to say what a quote says) can be wrong.
    """
    if not claims or grounding is None:
        return 0.0
    verdicts = {verdict.id: verdict for verdict in grounding.claims}
    chance = 1.0
    for claim in claims:
        verdict = verdicts.get(claim.id)
        if verdict is None:
            return 0.0
        calibration = nearest(calibrations, sum(c.end - c.start for c in claim.citations))
        if claim.kind is ClaimKind.STATEMENT:
            chance *= calibration.chance(verdict.support)
        elif claim.kind is ClaimKind.QUOTE:
            chance *= math.prod(calibration.chance(each.support) for each in verdict.citations[1:] if each.supports)
    return round(chance, 4)
