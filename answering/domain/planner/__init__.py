"""Plan how to answer a question: its intent, the tools to call, its facets, the filters it implies."""

from answering.domain.planner.intent import Intent
from answering.domain.planner.parts import parts_of
from answering.domain.planner.plan import Facet, InferredFilters, Plan, Tool, ToolCall, Vocabulary
from answering.domain.planner.planning import coverage, covered_facets, facets_of, loop_score, plan, topic_tokens
from answering.domain.planner.premise import supposes_an_event

__all__ = [
    "Facet",
    "InferredFilters",
    "Intent",
    "Plan",
    "Tool",
    "ToolCall",
    "Vocabulary",
    "coverage",
    "covered_facets",
    "facets_of",
    "loop_score",
    "parts_of",
    "plan",
    "supposes_an_event",
    "topic_tokens",
]
