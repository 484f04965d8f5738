"""Retrieval: two arms, fusion, rerank; filters are part of each search."""

from feedback.selectors.retrieval.alternative import corrected_query
from feedback.selectors.retrieval.explain import explain_record
from feedback.selectors.retrieval.filter_sets import retrieve_scope
from feedback.selectors.retrieval.passes import Pass, Passes, PassHit, later_passes, read_passes
from feedback.selectors.retrieval.question import (
    MAX_QUERY_CHARACTERS,
    checked_query,
    clamp_top_k,
    question_language,
    question_terms,
    terms_of_texts,
)
from feedback.selectors.retrieval.search import rerank_hits, retrieve, serving_embedder
from feedback.selectors.retrieval.second_stage import reranker_of, second_stage

__all__ = [
    "MAX_QUERY_CHARACTERS",
    "Pass",
    "PassHit",
    "Passes",
    "checked_query",
    "clamp_top_k",
    "corrected_query",
    "explain_record",
    "later_passes",
    "question_language",
    "question_terms",
    "read_passes",
    "rerank_hits",
    "reranker_of",
    "retrieve",
    "retrieve_scope",
    "second_stage",
    "serving_embedder",
    "terms_of_texts",
]
