"""Make a refusal a plan: what the corpus does hold nearby, and which filters would let evidence in."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from answering.domain.claims import query_id_of
from answering.domain.outcome import FilterSuggestion, NearestTopic, Refusal, RefusalReason
from answering.domain.planner import Plan
from answering.evidence import relevance_of
from answering.facts import topic_facets
from answering.measures import specification
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Retrieved
from feedback.selectors.aggregates import Grouping, Selection, count_matching, group_matching
from feedback.selectors.corpora import corpus_state, vocabulary_of
from feedback.selectors.retrieval import rerank_hits, retrieve

if TYPE_CHECKING:
    from feedback.models import Corpus

MAX_TOPICS = 3
_NAMES = tuple(field.name for field in fields(FilterSet))


def with_suggestions(
    refusal: Refusal,
    *,
    corpus: Corpus,
    plan: Plan | None,
    asked: FilterSet,
    filters: FilterSet,
    retrieved: Retrieved | None,
    top_k: int | None,
    floor: float,
) -> tuple[Refusal, dict[str, dict[str, Any]]]:
    """Add the nearest topics and, where filters stood in the way, those that would admit evidence.

    `asked` are the caller's filters, `filters` those that were used, `floor` is that of the evidence's relevance.
    Every count is of stored records and names its query; the queries are returned by id, to be kept.
    """
    if refusal.reason is RefusalReason.BUDGET_EXHAUSTED or plan is None:
        return refusal, {}
    queries: dict[str, dict[str, Any]] = {}
    planned = replace(
        refusal,
        nearest_topics=_nearest_topics(corpus, filters, retrieved, queries),
        suggestions=_suggestions(corpus, plan, asked, top_k, floor, queries),
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
    corpus: Corpus, plan: Plan, asked: FilterSet, top_k: int | None, floor: float, queries: dict[str, dict[str, Any]]
) -> tuple[FilterSuggestion, ...]:
    """Drop one of the caller's filters at a time, then all, and keep those with which the question gets past gate 1.

    What the question's own words imply stays: asked again, they would imply it again.
    """
    names = [name for name in _NAMES if getattr(asked, name)]
    wider = [replace(asked, **{name: getattr(FilterSet(), name)}) for name in names]
    if len(names) > 1:
        wider.append(FilterSet())
    inferred = FilterSet.from_json(plan.inferred.as_filters(), vocabulary=vocabulary_of(corpus))
    state = corpus_state(corpus=corpus)
    found = []
    for candidate in dict.fromkeys(wider):
        used = candidate.merged_with(inferred)
        retrieved = retrieve(
            corpus=corpus,
            query=plan.topic or plan.question,
            filters=used,
            top_k=top_k,
            language=plan.language,
            only_contenders=True,
        )
        retrieved = rerank_hits(retrieved, top_k=top_k, as_of=state.as_of)
        if not retrieved.hits or relevance_of(retrieved, plan=plan, filters=used, passages=state.passages) < floor:
            continue
        about = [
            selection for _, selection in topic_facets(corpus=corpus, plan=plan, filters=used, evidence=retrieved.hits)
        ]
        selection = about[0] if about else Selection(filters=used)
        count = count_matching(corpus=corpus, selection=selection)
        if count.value:
            found.append(FilterSuggestion(candidate.as_json(), count.value, count.doc_ids, _kept(selection, queries)))
    return tuple(sorted(found, key=lambda suggestion: -len(suggestion.filters)))


def _kept(selection: Selection, queries: dict[str, dict[str, Any]]) -> str:
    query = specification(selection)
    query_id = query_id_of(query)
    queries[query_id] = query
    return query_id
