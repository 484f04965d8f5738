"""Load the good drafts over the demo corpus, and count their measures again in plain Python."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from answering.domain.claims import Citation, Claim, ClaimKind, Draft, Evidence, Measure, query_id_of
from answering.domain.grounding.verdicts import MeasureResult
from answering.domain.render import record_label
from feedback.domain.text import content_tokens

ROOT: Final = Path(__file__).resolve().parents[2]
CORPUS: Final = ROOT / "feedback" / "fixtures" / "demo" / "feedback.jsonl"
LABELS: Final = ROOT / "feedback" / "fixtures" / "demo" / "labels.json"
DRAFTS: Final = ROOT / "evals" / "fixtures" / "demo" / "drafts.jsonl"
MODEL: Final = "written by hand"

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Corpus:
    """The demo corpus; `twins` names for each record those that say nearly the same."""

    records: Mapping[str, Record]
    drafts: tuple[Mapping[str, Any], ...] = ()
    twins: Mapping[str, frozenset[str]] = field(default_factory=dict)
    hostile: frozenset[str] = frozenset()

    @cached_property
    def built(self) -> tuple[Built, ...]:
        """Return every good draft as domain objects, in the order of the file."""
        return tuple(build(line, self) for line in self.drafts)

    @cached_property
    def accounts(self) -> tuple[str, ...]:
        """Return the accounts that have records, sorted."""
        return tuple(sorted({r["account"] for r in self.records.values() if r.get("account")}))


class Built(NamedTuple):
    """A draft with its evidence and what the queries of its measures give, by the number of the claim."""

    draft: Draft
    evidence: list[Evidence]
    measures: dict[int, MeasureResult]


def load() -> Corpus:
    """Read the corpus, its near-duplicates and the drafts."""
    records = {r["id"]: r for r in _lines(CORPUS)}
    labels = json.loads(LABELS.read_text(encoding="utf-8"))
    twins = {i: frozenset(group) - {i} for group in labels["near_duplicate_groups"] for i in group}
    return Corpus(records, tuple(_lines(DRAFTS)), twins, frozenset(labels["hostile"]))


def build(line: Mapping[str, Any], corpus: Corpus) -> Built:
    """Make domain objects of one line: citation ids C1, C2, … in the order of its evidence.

    Raises: ValueError when a quote isn't in the record that it is of.
    """
    evidence = [evidence_of(corpus.records[doc_id], n) for n, doc_id in enumerate(line["evidence"], 1)]
    by_document = {e.document_id: e for e in evidence}
    claims = tuple(
        Claim(
            id=n,
            kind=ClaimKind(claim["kind"]),
            text=claim["text"],
            citations=tuple(span(by_document[c["doc_id"]], c["quote"]) for c in claim["citations"]),
            measure=_measure(claim["measure"]) if "measure" in claim else None,
        )
        for n, claim in enumerate(line["claims"], 1)
    )
    return Built(Draft(claims, MODEL), evidence, measure_results(claims, corpus))


def evidence_of(record: Record, number: int) -> Evidence:
    """Return a record as the passage that a draft may cite under that number."""
    occurred_at = datetime.fromisoformat(record["occurred_at"])
    account = record.get("account")
    return Evidence(
        citation_id=f"C{number}",
        document_id=record["id"],
        revision=1,
        passage_id=f"{record['id']}#1",
        text=record["text"],
        start=0,
        end=len(record["text"]),
        label=record_label(source=record["source"], account=account, occurred_at=occurred_at),
        source=record["source"],
        account=account,
        occurred_at=occurred_at,
        person=record["author"],
        language=record["lang"],
        relevance=1.0,
    )


def span(evidence: Evidence, quote: str) -> Citation:
    """Cite the first place of the quote. Raises: ValueError when there is none."""
    start = evidence.text.index(quote)
    return Citation(evidence.citation_id, start, start + len(quote), quote)


def measure_results(claims: Sequence[Claim], corpus: Corpus) -> dict[int, MeasureResult]:
    """Count what each measure's query counts, by the number of its claim."""
    return {c.id: recount(c.measure.query, corpus) for c in claims if c.measure is not None}


def recount(query: Mapping[str, Any], corpus: Corpus) -> MeasureResult:
    """Count the records of a query: those that its filters admit, `within` one group of them if it names one.

    The denominator is what the filters admit, for a query that narrows it; others have none.
    """
    admitted = [r for r in corpus.records.values() if _admits(query["filters"], r)]
    within = query.get("within")
    counted = [r for r in admitted if within is None or _is_in(within, r)]
    return MeasureResult(
        value=len(counted),
        people=len({r["author"] for r in counted}),
        accounts=len({r["account"] for r in counted if r.get("account")}),
        denominator=None if within is None else len(admitted),
    )


def shared_words(claim: Claim, language: str) -> float:
    """Return the share of the claim's content words whose stem stands in the cited text too."""
    cited = {t.stem for c in claim.citations for t in content_tokens(c.quote, language)}
    stems = [t.stem for t in content_tokens(claim.text, language)]
    return sum(stem in cited for stem in stems) / len(stems) if stems else 1.0


def _measure(written: Mapping[str, Any]) -> Measure:
    return Measure(
        value=written["value"],
        unit="records",
        people=written["people"],
        accounts=written["accounts"],
        denominator=written.get("denominator"),
        query=written["query"],
        query_id=query_id_of(written["query"]),
    )


def _admits(filters: Mapping[str, Any], record: Record) -> bool:
    day = record["occurred_at"][:10]
    return (
        all(record.get(name) in filters[name] for name in ("source", "account") if name in filters)
        and ("theme" not in filters or not set(filters["theme"]).isdisjoint(record["themes"]))
        and all(record.get(name) in values for name, values in filters.get("facets", {}).items())
        and filters.get("occurred_from", "")[:10] <= day
        and ("occurred_to" not in filters or day < filters["occurred_to"][:10])
    )


def _is_in(within: Mapping[str, str], record: Record) -> bool:
    if within["by"] == "theme":
        return within["key"] in record["themes"]
    if within["by"] == "month":
        return bool(record["occurred_at"][:7] == within["key"][:7])
    return bool(record.get(within["by"]) == within["key"])


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
