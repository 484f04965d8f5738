"""Tell what the records discuss: within the filters and without them, and each of several topics by itself."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from answering.domain.budget import Budget
from answering.domain.gate import Discussion, Stopped
from answering.domain.outcome import NotAnswered, RefusalReason
from answering.domain.planner import parts_of, supposes_an_event
from answering.domain.relevance import holds_what_is_named, is_stance, relevance
from answering.evidence import bearing_of, relevance_of, weights_of
from answering.presentation import chips
from answering.saga.progress import Progress, Request
from feedback.domain.bm25 import idf
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Hit, Retrieved
from feedback.selectors.aggregates import count_matching, select_mentions_of_each
from feedback.selectors.retrieval import rerank_hits, retrieve

# How many records of a topic are put before those of the whole question, where these leave it out.
_OF_EACH_TOPIC = 4


def discussion_of(run: Progress) -> Discussion:
    """Measure how far the evidence discusses the question, and the corpus without any filter."""
    assert run.plan is not None
    assert run.retrieved is not None
    found, within = run.relevance, run.retrieved
    is_confined = not run.filters.is_empty and not any(part.ids for part in run.filters.slices)
    whole = _search(run, run.query, FilterSet()) if is_confined else within
    anywhere = found
    borne_out, share = 0.0, 1.0
    if is_confined and not run.plan.asks_for_what_is_not:
        anywhere = relevance_of(whole, plan=run.plan, filters=FilterSet(), passages=run.state.passages)
        borne_out = bearing_of(whole, plan=run.plan, passages=run.state.passages)
        here = bearing_of(within, plan=run.plan, passages=run.state.passages)
        share = min(1.0, here / borne_out) if borne_out else 1.0
    question = run.plan.topic or run.plan.question
    rarest = idf(run.state.passages, 0)
    weights = [(term.idf if term.document_frequency else rarest, term.document_frequency > 0) for term in whole.terms]
    said = sum(weight for weight, _ in weights)
    return Discussion(
        relevance=found,
        anywhere=anywhere,
        borne_out=borne_out,
        share=share,
        holds_names=holds_what_is_named(question, [h.described_text for h in whole.hits], language=run.plan.language),
        supposes=supposes_an_event(run.plan.question),
        known=sum(weight for weight, is_held in weights if is_held) / said if said else 0.0,
    )


def what_is_missing(run: Progress, stopped: Stopped) -> str | None:
    """Say what the records do discuss of the question, and what not; None where there is nothing to say."""
    assert run.plan is not None
    if stopped.reason is not RefusalReason.INSUFFICIENT_EVIDENCE:
        return None
    facets = [facet.text for facet in run.plan.facets if not is_stance(facet.text)]
    counts = _mentions(run, facets, FilterSet())
    held = [(facet, count) for facet, count in zip(facets, counts, strict=True) if count]
    absent = [facet for facet, count in zip(facets, counts, strict=True) if not count]
    if not held:
        # No record holds a whole phrase: its words by themselves.
        words = [word for facet in facets for word in facet.split() if not is_stance(word)]
        held = [(word, count) for word, count in zip(words, _mentions(run, words, FilterSet()), strict=True) if count]
    # How many they are stands beside a suggestion, with the query that counts them: a number here would have none.
    discussed = " and ".join(f"“{facet}”" for facet, _ in held[:2])
    if stopped.is_scope:
        within = "; ".join(f"{chip.name} {chip.value}" for chip in chips(run.filters.as_json()))
        return f"the records discuss {discussed or 'this'}, but not within {within}"
    missing = " or ".join(f"“{facet}”" for facet in absent[:2])
    if not held:
        return f"no record speaks of {missing or 'what the question takes for granted'}"
    if not missing:
        return f"records mention {discussed}, but none says what the question takes for granted"
    return f"records mention {discussed}, but none speaks of {missing}"


def part_the_topics(run: Progress) -> None:
    """Look at topics that stand side by side one by one: bring records of each, and name those without any.

    A topic is named only where no record that the filters admit holds its words, and none comes near.
    """
    assert run.plan is not None
    assert run.retrieved is not None
    accounts = run.plan.inferred.accounts
    parts = [] if accounts else parts_of(run.query, language=run.plan.language)
    if len(parts) < 2:
        return
    searches = [_search(run, part, run.filters) for part in parts]
    shares = [_relevance(run, part, found) for part, found in zip(parts, searches, strict=True)]
    floor = run.request.rules.min_evidence_relevance
    counts = _mentions(run, list(parts), run.filters)
    absent = [share < floor and not count for share, count in zip(shares, counts, strict=True)]
    if all(absent) or not any(share >= floor for share in shares):
        return
    elsewhere = _mentions(run, list(parts), FilterSet())
    run.not_answered = tuple(
        NotAnswered(part, RefusalReason.INSUFFICIENT_EVIDENCE if count else RefusalReason.OFF_TOPIC)
        for part, is_absent, count in zip(parts, absent, elsewhere, strict=True)
        if is_absent
    )
    there = [found.hits for found, share in zip(searches, shares, strict=True) if share >= floor]
    if run.not_answered:
        # What the whole question found may be about the topic that is missing.
        run.retrieved = replace(run.retrieved, hits=_interleaved(there))
        run.relevance = max(shares)
    else:
        read = {hit.doc_id for hit in run.retrieved.hits[: run.request.limits.evidence]}
        left_out = [hits[:_OF_EACH_TOPIC] for hits in there if not read & {h.doc_id for h in hits[:_OF_EACH_TOPIC]}]
        if left_out:
            run.retrieved = replace(run.retrieved, hits=_interleaved([run.retrieved.hits, *left_out]))


def try_out(request: Request, question: str, filters: FilterSet, *, run: Progress, steps: Sequence[Any]) -> bool:
    """Tell whether a question is answered with some filters as they stand; no run is stored."""
    trial = Progress(
        request=replace(request, question=question, filters=filters, sets=(), passes=frozenset(), loops=False),
        budget=Budget(run.budget.limits, started_at=time.monotonic()),
        now=run.now,
    )
    for step in steps:
        step(trial)
        if trial.refusal or trial.to_relax:
            return False
    return True


def _interleaved(lists: Sequence[Sequence[Hit]]) -> tuple[Hit, ...]:
    longest = max(map(len, lists))
    ordered = {hits[place].doc_id: hits[place] for place in range(longest) for hits in lists if place < len(hits)}
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(ordered.values(), start=1))


def _mentions(run: Progress, texts: Sequence[str], filters: FilterSet) -> list[int]:
    assert run.plan is not None
    if not texts:
        return []
    corpus = run.request.corpus
    selections = select_mentions_of_each(corpus=corpus, texts=texts, filters=filters, language=run.plan.language)
    return [count_matching(corpus=corpus, selection=each).value if each.groups else 0 for each in selections]


def _search(run: Progress, query: str, filters: FilterSet) -> Retrieved:
    assert run.plan is not None
    found = retrieve(
        corpus=run.request.corpus,
        query=query,
        filters=filters,
        top_k=run.request.top_k,
        language=run.plan.language,
        only_contenders=True,
    )
    return rerank_hits(found, top_k=run.request.top_k, as_of=run.as_of)


def _relevance(run: Progress, part: str, found: Retrieved) -> float:
    assert run.plan is not None
    cosines = [hit.vector_score for hit in found.hits]
    return relevance(
        part,
        [hit.described_text for hit in found.hits],
        [cosine for cosine in cosines if cosine is not None] if None not in cosines else [],
        idf=weights_of(found),
        rarest=idf(run.state.passages, 0),
        embedder=found.embedder or "none",
        language=run.plan.language,
        is_asked=True,
    )
