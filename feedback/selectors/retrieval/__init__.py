"""Retrieval: two arms, fusion, rerank; filters are part of each search."""

from feedback.selectors.retrieval.question import (
    MAX_QUERY_CHARACTERS,
    checked_query,
    clamp_top_k,
    question_language,
    question_terms,
)
from feedback.selectors.retrieval.search import rerank_hits, retrieve, serving_embedder
from feedback.selectors.retrieval.second_stage import reranker_of, second_stage

__all__ = [
    "MAX_QUERY_CHARACTERS",
    "checked_query",
    "clamp_top_k",
    "question_language",
    "question_terms",
    "rerank_hits",
    "reranker_of",
    "retrieve",
    "second_stage",
    "serving_embedder",
]
