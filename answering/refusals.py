"""Make a refusal a plan: what the corpus does hold nearby, and which filters would let evidence in."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from answering.domain.claims import query_id_of
from answering.domain.outcome import FilterSuggestion, NearestTopic, Refusal, RefusalReason
from answering.domain.planner import Plan
from answering.facts import lead_facet
from answering.measures import specification
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Retrieved
from feedback.selectors.aggregates import Grouping, Selection, count_matching, group_matching, select_mentions

if TYPE_CHECKING:
    from feedback.models import Corpus

MAX_TOPICS = 3
_NAMES = tuple(field.name for field in fields(FilterSet))


def with_suggestions(
    refusal: Refusal,
    *,
    corpus: Corpus,
    plan: Plan | None,
    filters: FilterSet,
    retrieved: Retrieved | None,
) -> tuple[Refusal, dict[str, dict[str, Any]]]:
    """Add the nearest topics and, where filters stood in the way, those that would admit evidence.

    Every count is of stored records and names its query; the queries are returned by id, to be kept.
    """
    if refusal.reason is RefusalReason.BUDGET_EXHAUSTED or plan is None:
        return refusal, {}
    queries: dict[str, dict[str, Any]] = {}
    planned = replace(
        refusal,
        nearest_topics=_nearest_topics(corpus, filters, retrieved, queries),
        suggestions=_suggestions(corpus, plan, filters, queries),
    )
    return planned, queries


def _nearest_topics(
    corpus: Corpus, filters: FilterSet, retrieved: Retrieved | None, queries: dict[str, dict[str, Any]]
) -> tuple[NearestTopic, ...]:
    """Name the themes of what the search did find, else the largest of the corpus."""
    near: list[str] = []
    if retrieved:
        themes = Counter(theme for hit in retrieved.hits for theme in hit.themes)
        near = [theme for theme, _ in themes.most_common(MAX_TOPICS)]
    within = Selection(filters=filters if near else FilterSet())
    if not near:
        near = [
            group.key for group in group_matching(corpus=corpus, selection=within, by=Grouping.THEME, limit=MAX_TOPICS)
        ]
    topics = []
    for theme in near:
        selection = replace(within, within=(Grouping.THEME, theme))
        count = count_matching(corpus=corpus, selection=selection)
        topics.append(NearestTopic(theme, count.value, count.doc_ids, _kept(selection, queries)))
    return tuple(topics)


def _suggestions(
    corpus: Corpus, plan: Plan, filters: FilterSet, queries: dict[str, dict[str, Any]]
) -> tuple[FilterSuggestion, ...]:
    """Drop one filter at a time, then all, and count the records that mention what was asked about."""
    set_names = [name for name in _NAMES if getattr(filters, name)]
    about = lead_facet(plan)
    if not set_names or not about:
        return ()
    wider = [replace(filters, **{name: getattr(FilterSet(), name)}) for name in set_names]
    if len(set_names) > 1:
        wider.append(FilterSet())
    found = []
    for candidate in dict.fromkeys(wider):
        selection = select_mentions(corpus=corpus, text=about, filters=candidate)
        count = count_matching(corpus=corpus, selection=selection)
        if selection.groups and count.value:
            found.append(FilterSuggestion(candidate.as_json(), count.value, count.doc_ids, _kept(selection, queries)))
    return tuple(sorted(found, key=lambda suggestion: -len(suggestion.filters)))


def _kept(selection: Selection, queries: dict[str, dict[str, Any]]) -> str:
    query = specification(selection)
    query_id = query_id_of(query)
    queries[query_id] = query
    return query_id
