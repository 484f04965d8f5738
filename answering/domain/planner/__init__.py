"""Plan how to answer a question: its intent, the tools to call, its facets, the filters it implies."""

from answering.domain.planner.intent import Intent
from answering.domain.planner.plan import Facet, InferredFilters, Plan, Tool, ToolCall, Vocabulary
from answering.domain.planner.planning import coverage, covered_facets, facets_of, loop_score, plan, topic_tokens

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
    "plan",
    "topic_tokens",
]
