"""Numbers that can be counted again: a measure is stored as the query that makes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from answering.domain.claims import Measure, query_id_of
from answering.domain.grounding import MeasureResult
from answering.domain.outcome import NOTHING
from answering.models import StoredQuery
from core.errors import NotFound
from feedback.domain.filters import FilterSet
from feedback.selectors.aggregates import (
    Count,
    Grouping,
    Selection,
    count_admitted,
    count_matching,
    list_matching,
)
from feedback.selectors.corpora import vocabulary_of

if TYPE_CHECKING:
    from datetime import datetime

    from feedback.models import Corpus


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
    )


def run_again(*, corpus: Corpus, query: Mapping[str, Any], denominator: int | None) -> MeasureResult:
    """Count again what a stored query counts."""
    count = count_of(corpus=corpus, query=query)
    return MeasureResult(
        value=count.value,
        people=count.people,
        accounts=count.accounts,
        denominator=None
        if denominator is None
        else count_admitted(corpus=corpus, filters=_selection(corpus, query).filters),
        components={
            name: float(count_matching(corpus=corpus, selection=_selection(corpus, part)).value)
            for name, part in query.get("parts", {}).items()
        },
    )


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
