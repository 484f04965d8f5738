"""Make evidence and claims for tests."""

from datetime import UTC, datetime

from answering.domain.claims import Citation, Claim, ClaimKind, Evidence, Measure, cite


def make_evidence(number: int, text: str, **changes: object) -> Evidence:
    values: dict = {
        "citation_id": f"C{number}", "document_id": f"doc-{number}", "revision": 1, "passage_id": f"passage-{number}",
        "text": text, "start": 0, "end": len(text), "label": f"survey · NEAS · {number} Sep 2021", "source": "survey",
        "account": "NEAS", "occurred_at": datetime(2021, 9, 30, tzinfo=UTC), "relevance": 0.8,
    }  # fmt: skip
    return Evidence(**{**values, **changes})


def statement(number: int, text: str, *cited: Evidence, measure: Measure | None = None) -> Claim:
    return Claim(number, ClaimKind.STATEMENT, text, tuple(cite(e, e.start, e.end) for e in cited), measure)


def quote(number: int, *cited: Evidence) -> Claim:
    citations = tuple(cite(e, e.start, e.end) for e in cited)
    return Claim(number, ClaimKind.QUOTE, citations[0].quote, citations, merged_count=len(cited))


def unknown_citation(name: str, text: str) -> Citation:
    return Citation(name, 0, len(text), text)
