"""Numbers that can be counted again: a measure is stored as the query that makes it.

A number that an answer stated can be compared with what its query counts now: how far it has drifted, and which
records it gained and lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from answering.domain.claims import Measure, query_id_of
from answering.domain.grounding import MeasureResult
from answering.domain.outcome import NOTHING
from answering.models import StoredQuery
from core.errors import NotFound
from feedback.domain.filters import FilterSet, InvalidFilter
from feedback.selectors.aggregates import (
    Count,
    Grouping,
    Selection,
    count_admitted,
    count_matching,
    list_matching,
)
from feedback.selectors.changes import Changes, changes_since
from feedback.selectors.corpora import vocabulary_of

if TYPE_CHECKING:
    from uuid import UUID

    from answering.models import Run
    from feedback.models import Corpus

# How many of the records that a number gained or lost are named.
NAMED = 24


@dataclass(frozen=True, slots=True)
class Recount:
    """What a stored query counts now; `components` are the further numbers of its parts."""

    count: Count
    denominator: int | None
    components: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Stated:
    """A number as a run stated it, and the corpus at that time; None is what it didn't state.

    `text` is the sentence of a measure, blank for a number beside a quote or a refusal.
    """

    run_id: UUID
    at: datetime
    as_of: str | None
    documents: int | None
    text: str
    value: float
    people: int | None
    accounts: int | None
    denominator: int | None
    components: Mapping[str, float]
    doc_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drift:
    """How far a number has moved since it was stated: now less then, None where then is unknown.

    `untold` of the records that it gained, less those that it lost, can't be named; None where they weren't looked for.
    """

    records: float
    people: int | None
    accounts: int | None
    denominator: int | None
    components: Mapping[str, float]
    changes: Changes
    untold: float | None


def specification(selection: Selection, *, parts: Mapping[str, Selection] = NOTHING) -> dict[str, Any]:
    """Return the JSON form of a count; `parts` are further counts that its sentence states, by name."""
    stated: dict[str, Any] = {
        "count": "records",
        "mentions": [list(group) for group in selection.groups],
        "filters": selection.filters.as_json(),
    }
    if selection.within:
        stated["within"] = {"by": selection.within[0].value, "key": selection.within[1]}
    if selection.like is not None:
        stated["near_duplicates_of"] = selection.like
    if parts:
        stated["parts"] = {name: specification(part) for name, part in parts.items()}
    return stated


def measured(
    count: Count,
    selection: Selection,
    *,
    denominator: int | None,
    parts: Mapping[str, tuple[int, Selection]] = NOTHING,
) -> Measure:
    """Bind a count to its query; `parts` are further numbers that its sentence states, each with its own query."""
    query = specification(selection, parts={name: part for name, (_, part) in parts.items()})
    return Measure(
        value=count.value,
        unit="records",
        people=count.people,
        accounts=count.accounts,
        denominator=denominator,
        query=query,
        query_id=query_id_of(query),
        doc_ids=count.doc_ids,
        components={name: float(value) for name, (value, _) in parts.items()},
        undated=count.undated,
    )


def run_again(*, corpus: Corpus, query: Mapping[str, Any], denominator: int | None) -> MeasureResult:
    """Count again what a stored query counts, its denominator only where one was stated."""
    again = recount(corpus=corpus, query=query, with_denominator=denominator is not None)
    return MeasureResult(
        value=again.count.value,
        people=again.count.people,
        accounts=again.count.accounts,
        denominator=again.denominator,
        components=again.components,
    )


def recount(
    *, corpus: Corpus, query: Mapping[str, Any], with_denominator: bool, with_distinct: bool = False
) -> Recount:
    """Count now what a stored query counts, each of its parts, and what its filters admit."""
    return Recount(
        count=count_of(corpus=corpus, query=query, with_distinct=with_distinct),
        denominator=count_admitted(corpus=corpus, filters=_selection(corpus, query).filters)
        if with_denominator
        else None,
        components={
            name: float(count_matching(corpus=corpus, selection=_selection(corpus, part)).value)
            for name, part in query.get("parts", {}).items()
        },
    )


def has_denominator(query: Mapping[str, Any]) -> bool:
    """Tell whether a query counts out of something: a list of records is out of nothing but itself."""
    return "ids" not in query


def lost_vocabulary(*, corpus: Corpus, query: Mapping[str, Any]) -> str | None:
    """Say what a stored query names that the corpus no longer knows, such as a theme that was renamed; else None."""
    try:
        _selection(corpus, query)
    except InvalidFilter as fault:
        return fault.message
    within = query.get("within")
    known = {Grouping.THEME: corpus.themes, Grouping.SOURCE: corpus.sources}.get(within["by"]) if within else None
    if within and known is not None and within["key"] not in known:
        return f"There is no {within['by']} {within['key']!r} in this corpus."
    return None


def get_stated(*, run: Run, corpus: Corpus, query_id: str) -> Stated:
    """Return a number as a run stated it. Raises: NotFound where it stated none by this query."""
    for text, measure in _numbers_of(run.answer):
        if run.corpus_id == corpus.id and measure["query_id"] == query_id:
            state = run.fingerprint.get("corpus", {})
            return Stated(
                run_id=run.id,
                at=run.created_at,
                as_of=state.get("as_of"),
                documents=state.get("documents"),
                text=text,
                value=measure["value"],
                people=measure.get("people"),
                accounts=measure.get("accounts"),
                denominator=measure.get("denominator"),
                components=measure.get("components") or {},
                doc_ids=tuple(measure["doc_ids"]),
            )
    raise NotFound


def _numbers_of(answer: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the numbers that an answer states, or its refusal, each with the sentence of a measure."""
    claims = [
        (claim["text"] if claim["kind"] == "measure" else "", claim["measure"])
        for claim in answer.get("claims", ())
        if claim["measure"]
    ]
    refusal = answer.get("refusal") or {}
    counted = [*refusal.get("nearest_topics", ()), *refusal.get("suggestions", ())]
    matching = answer.get("matching", {})
    admitted = {"value": matching.get("records"), "query_id": matching.get("query_id"), "doc_ids": ()}
    return [*claims, *(("", {**each, "value": each["count"]}) for each in counted), ("", admitted)]


def drift_since(*, corpus: Corpus, query: Mapping[str, Any], stated: Stated, now: Recount) -> Drift:
    """Compare a number that was stated with what its query counts now."""
    selection = _selection(corpus, query)
    changes = changes_since(corpus=corpus, selection=selection, moment=stated.at, limit=NAMED)
    records = now.count.value - stated.value
    return Drift(
        records=records,
        people=_difference(stated.people, now.count.people),
        accounts=_difference(stated.accounts, now.count.accounts),
        denominator=_difference(stated.denominator, now.denominator),
        components={
            name: now.components[name] - value for name, value in stated.components.items() if name in now.components
        },
        changes=changes,
        untold=records - (changes.added - changes.gone) if changes.was_read else None,
    )


def _difference(then: int | None, now: int | None) -> int | None:
    return None if then is None or now is None else now - then


def _selection(corpus: Corpus, query: Mapping[str, Any]) -> Selection:
    if "ids" in query:
        return Selection(filters=FilterSet(ids=tuple(query["ids"])))
    within = query.get("within")
    return Selection(
        groups=tuple(tuple(group) for group in query.get("mentions", ())),
        filters=FilterSet.from_json(query.get("filters") or {}, vocabulary=vocabulary_of(corpus)),
        within=(Grouping(within["by"]), within["key"]) if within else None,
        like=query.get("near_duplicates_of"),
    )


def store_queries(*, corpus: Corpus, queries: Mapping[str, Mapping[str, Any]], now: datetime) -> None:
    """Keep the queries behind an answer's numbers, by id; one that is kept already stays as it is."""
    StoredQuery.objects.for_tenant(corpus.tenant).bulk_create(
        [
            StoredQuery(
                tenant_id=corpus.tenant_id,
                corpus_id=corpus.id,
                query_id=query_id,
                specification=dict(query),
                created_at=now,
            )
            for query_id, query in queries.items()
        ],
        ignore_conflicts=True,
    )


def get_stored_query(*, corpus: Corpus, query_id: str) -> dict[str, Any]:
    """Return what a number counts. Raises: NotFound."""
    found = StoredQuery.objects.for_tenant(corpus.tenant).filter(corpus_id=corpus.id, query_id=query_id).first()
    if found is None:
        raise NotFound
    return dict(found.specification)


def count_of(*, corpus: Corpus, query: Mapping[str, Any], with_distinct: bool = False) -> Count:
    """Count now what a stored query counts, with `with_distinct` also without near-duplicates."""
    return count_matching(corpus=corpus, selection=_selection(corpus, query), with_distinct=with_distinct)


def list_records_of(*, corpus: Corpus, query: Mapping[str, Any], limit: int, offset: int = 0) -> list[str]:
    """Return the ids of the records that a number counts, newest first."""
    return list_matching(corpus=corpus, selection=_selection(corpus, query), limit=limit, offset=offset)
