"""The reflection loop: search broadly, score what is covered, search again for what isn't.

The score that stops it is deterministic: 1 + ⌊9 × share of the question's facets with a verified claim⌋.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django.conf import settings

from answering.domain.grounding import GroundingRules, ground, prune
from answering.domain.planner import Facet, Plan, covered_facets, loop_score
from answering.drafters.extractive import DraftLimits, draft
from answering.evidence import evidence_of
from answering.tools import ToolResult, search_feedback
from feedback.domain.filter_sets import Scope
from feedback.domain.retrieval import Retrieved
from feedback.selectors.retrieval import rerank_hits

if TYPE_CHECKING:
    from feedback.models import Corpus


def search_in_a_loop(
    *, corpus: Corpus, plan: Plan, query: str, scope: Scope, rules: GroundingRules, limits: DraftLimits
) -> tuple[ToolResult[Retrieved], list[dict[str, Any]]]:
    """Return what all searches found together, and a line for each turn: what was searched, the score after it.

    A breadth pass first, then one search for each facet that no verified claim speaks of, within the
    ceilings of the settings. A failed refinement ends the loop with what is there.
    """
    wisdom = settings.WISDOM
    first = search_feedback(
        corpus=corpus,
        query=query,
        scope=scope,
        top_k=wisdom.loop_top_k,
        language=plan.language,
    )
    if first.value is None:
        return first, []
    found = first.value
    covered = _covered(found, plan, rules, limits)
    turns: list[dict[str, Any]] = [_turn(found, query, plan, covered)]
    tried: set[str] = set()
    ceiling = min(wisdom.loop_max_refinements, wisdom.loop_max_searches - 1, wisdom.loop_max_turns - 1)
    while len(tried) < ceiling and turns[-1]["score"] < wisdom.loop_stop_score:
        facet = next((facet for facet in plan.facets if facet not in covered and facet.text not in tried), None)
        if facet is None:
            break
        tried.add(facet.text)
        result = search_feedback(
            corpus=corpus, query=facet.text, scope=scope, top_k=wisdom.loop_top_k, language=plan.language
        )
        if result.value is None:
            turns.append({"query": facet.text, "failed": result.reason, "score": turns[-1]["score"]})
            break
        found = _merged(found, result.value)
        covered = _covered(found, plan, rules, limits)
        turns.append(_turn(found, facet.text, plan, covered))
    return ToolResult(first.tool, found), turns


def _turn(found: Retrieved, query: str, plan: Plan, covered: tuple[Facet, ...]) -> dict[str, Any]:
    share = len(covered) / len(plan.facets) if plan.facets else 1.0
    return {"query": query, "hits": len(found.hits), "score": loop_score(share)}


def _covered(found: Retrieved, plan: Plan, rules: GroundingRules, limits: DraftLimits) -> tuple[Facet, ...]:
    """Return the facets that a claim speaks of which holds when it is checked."""
    ranked = rerank_hits(found)
    evidence = evidence_of(ranked.hits[: limits.evidence], relevance=1.0)
    weights = {term.lexeme.lstrip("=~"): term.idf for term in found.terms}
    proposed = draft(plan, evidence, (), limits, idf=weights)
    kept = prune(proposed, ground(proposed, evidence, rules=rules))
    return covered_facets(plan.facets, [claim.text for claim in kept.claims], language=plan.language)


def _merged(one: Retrieved, other: Retrieved) -> Retrieved:
    """Join two searches: a record once, with its better fused score; the first search's words stay the question's."""
    best = {hit.document_id: hit for hit in one.hits}
    for hit in other.hits:
        known = best.get(hit.document_id)
        if known is None:
            best[hit.document_id] = hit
        elif hit.fused_score > known.fused_score:
            best[hit.document_id] = replace(known, fused_score=hit.fused_score)
    ordered = sorted(best.values(), key=lambda hit: (-hit.fused_score, hit.doc_id))
    hits = tuple(replace(hit, rank=rank) for rank, hit in enumerate(ordered, start=1))
    return replace(one, hits=hits, candidates=len(hits))
