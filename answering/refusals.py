"""Make a refusal a plan: what the corpus does hold nearby, and what to ask that it can answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from answering.domain.claims import query_id_of
from answering.domain.outcome import FilterSuggestion, NearestTopic, Refusal, RefusalReason
from answering.domain.planner import Plan
from answering.domain.relaxing import without
from answering.domain.relevance import is_stance
from answering.measures import specification
from answering.presentation import question_about
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Retrieved
from feedback.selectors.aggregates import (
    Count,
    Grouping,
    Selection,
    count_matching,
    group_matching,
    select_mentions_of_each,
)
from feedback.selectors.corpora import vocabulary_of

if TYPE_CHECKING:
    from feedback.models import Corpus

MAX_TOPICS = 3
MAX_SUGGESTIONS = 5
# How many are tried before it is enough, each a search.
_TRIED = 9
_NAMES = tuple(field.name for field in fields(FilterSet))
_KEYS = ("period", "account", "source", "theme")


@dataclass(frozen=True, slots=True)
class _Idea:
    """Something to ask instead; `question` None is the question as it was. `selection` is what it is about, if known."""

    filters: FilterSet
    question: str | None = None
    selection: Selection | None = None


def with_suggestions(
    refusal: Refusal,
    *,
    corpus: Corpus,
    plan: Plan | None,
    asked: FilterSet,
    filters: FilterSet,
    retrieved: Retrieved | None,
    is_scope: bool,
    is_answered: Callable[[str, FilterSet], bool],
) -> tuple[Refusal, dict[str, dict[str, Any]]]:
    """Add the nearest topics, and what to ask instead: with other filters, without the premise, or of a neighbour.

    `asked` are the caller's filters, `filters` those that were used; `is_scope` says that they stand in
    the way, not a premise. Each suggestion is tried with `is_answered`.
    Every count is of stored records and names its query; the queries are returned by id, to be kept.
    """
    if refusal.reason is RefusalReason.BUDGET_EXHAUSTED or plan is None:
        return refusal, {}
    queries: dict[str, dict[str, Any]] = {}
    topics = _nearest_topics(corpus, filters, retrieved, queries)
    found: list[FilterSuggestion] = []
    tried: set[tuple[str, FilterSet]] = set()
    for idea in _ideas(refusal, corpus, plan, asked, filters, topics, is_scope):
        question = idea.question or plan.question
        if (question, idea.filters) in tried or (question, idea.filters) == (plan.question, asked):
            continue
        if len(tried) == _TRIED or len(found) == MAX_SUGGESTIONS:
            break
        tried.add((question, idea.filters))
        selection = idea.selection or Selection(filters=idea.filters)
        count = count_matching(corpus=corpus, selection=selection)
        if count.value and is_answered(question, idea.filters):
            found.append(_suggestion(idea, count, _kept(selection, queries)))
    return replace(refusal, nearest_topics=topics, suggestions=tuple(found)), queries


def _suggestion(idea: _Idea, count: Count, query_id: str) -> FilterSuggestion:
    return FilterSuggestion(idea.filters.as_json(), count.value, count.doc_ids, query_id, idea.question)


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


def _ideas(
    refusal: Refusal,
    corpus: Corpus,
    plan: Plan,
    asked: FilterSet,
    filters: FilterSet,
    topics: tuple[NearestTopic, ...],
    is_scope: bool,
) -> Iterator[_Idea]:
    """Offer what could be asked, the nearest to the question first."""
    inferred = FilterSet.from_json(plan.inferred.as_filters(), vocabulary=vocabulary_of(corpus))
    for candidate in _wider(asked):
        # What the question's own words imply stays: asked again, they imply it again.
        about = _about(corpus, plan, candidate.merged_with(inferred))
        yield _Idea(candidate, selection=about[1] if about else None)
    if refusal.reason is RefusalReason.OFF_TOPIC:
        return
    if is_scope:
        yield from _reworded(corpus, plan, asked, inferred)
        yield from _other_periods(corpus, plan, asked, filters, inferred)
    else:
        yield from _without_premise(corpus, plan, asked, filters, inferred)
    if not filters.is_empty and not filters.any_of:
        # Its neighbours: what else there is in the slice that was asked about.
        for topic in topics:
            selection = Selection(filters=filters, within=(Grouping.THEME, topic.theme))
            yield _Idea(filters, question_about(topic.theme), selection)


def _wider(asked: FilterSet) -> list[FilterSet]:
    """Drop one of the caller's filters at a time, then all; a period is one filter."""
    names = [name for name in _NAMES if getattr(asked, name)]
    wider = [replace(asked, **{name: getattr(FilterSet(), name)}) for name in names]
    if len(names) > 1:
        wider.append(FilterSet())
    return list(dict.fromkeys(wider))


def _reworded(corpus: Corpus, plan: Plan, asked: FilterSet, inferred: FilterSet) -> Iterator[_Idea]:
    """Ask for what the records do hold of the question, with one of the filters less that its words implied, or all."""
    keys = [key for key in _KEYS if without(inferred, key) != inferred]
    kept = [without(inferred, key) for key in keys]
    if len(keys) > 1:
        kept.append(FilterSet())
    for part in kept:
        within = asked.merged_with(part)
        about = _about(corpus, plan, within)
        if about is not None:
            text, selection = about
            yield _Idea(within, question_about(text), selection)


def _without_premise(
    corpus: Corpus, plan: Plan, asked: FilterSet, filters: FilterSet, inferred: FilterSet
) -> Iterator[_Idea]:
    """Ask for what the question names, without what it presumes of it: a name or several words, not a common one."""
    named = [facet.text for facet in plan.facets if " " in facet.text or not facet.text.islower()]
    for text in [*named, *(word for facet in named for word in facet.split() if not word.islower())]:
        (selection,) = select_mentions_of_each(corpus=corpus, texts=[text], filters=filters, language=plan.language)
        if selection.groups:
            yield _Idea(asked.merged_with(inferred), question_about(text), selection)


def _other_periods(
    corpus: Corpus, plan: Plan, asked: FilterSet, filters: FilterSet, inferred: FilterSet
) -> Iterator[_Idea]:
    """Ask for the month in which the most records speak of it, where a period stood in the way."""
    if filters.any_of or not (filters.occurred_from or filters.occurred_to):
        return
    anytime = replace(filters, occurred_from=None, occurred_to=None)
    about = _about(corpus, plan, anytime)
    if about is None:
        return
    text, selection = about
    months = group_matching(corpus=corpus, selection=selection, by=Grouping.MONTH)
    if not months:
        return
    fullest = max(months, key=lambda month: (month.count.value, month.key))
    year, month = map(int, fullest.key.split("-")[:2])
    end = f"{year + month // 12}-{month % 12 + 1:02}-01"
    period = FilterSet.from_json({"occurred_from": fullest.key, "occurred_to": end}, vocabulary=vocabulary_of(corpus))
    is_named = bool(inferred.occurred_from or inferred.occurred_to)
    confined = (anytime if is_named else replace(asked, occurred_from=None, occurred_to=None)).merged_with(period)
    counted = replace(selection, filters=anytime.merged_with(period))
    yield _Idea(confined, question_about(text) if is_named else None, counted)


def _about(corpus: Corpus, plan: Plan, filters: FilterSet) -> tuple[str, Selection] | None:
    """Return what of the question records within filters mention, as far as they do, and which records do.

    All of its topics together where some records hold them so, else the topic that the fewest mention, else its rarest
    word that some do; None where no record mentions any.
    """
    texts = [facet.text for facet in plan.facets if not is_stance(facet.text)]
    words = [word for text in texts for word in text.split() if " " in text and not is_stance(word)]
    for offered in ([" ".join(texts)], texts, words):
        if not any(offered):
            continue
        selections = select_mentions_of_each(corpus=corpus, texts=offered, filters=filters, language=plan.language)
        counted = [
            (count_matching(corpus=corpus, selection=selection).value, text, selection)
            for text, selection in zip(offered, selections, strict=True)
            if selection.groups
        ]
        held = [each for each in counted if each[0]]
        if held:
            _, text, selection = min(held, key=lambda each: each[0])
            return text, selection
    return None


def _kept(selection: Selection, queries: dict[str, dict[str, Any]]) -> str:
    query = specification(selection)
    query_id = query_id_of(query)
    queries[query_id] = query
    return query_id
