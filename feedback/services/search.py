"""Search without answering, as every door offers it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from core.tenant_session import tenant_session
from feedback.domain.explanation import Explanation
from feedback.domain.filter_sets import Scope, read_scope
from feedback.domain.retrieval import Mode, Retrieved
from feedback.selectors.corpora import corpus_state, get_corpus, vocabulary_of
from feedback.selectors.retrieval import (
    Pass,
    Passes,
    clamp_top_k,
    explain_record,
    later_passes,
    read_passes,
    rerank_hits,
    retrieve_scope,
    second_stage,
)

if TYPE_CHECKING:
    from feedback.models import Corpus
    from tenants.models import Tenant


@dataclass(frozen=True, slots=True)
class Search:
    """What a search found: the neutral ranking, and the lists of later passes beside it."""

    query: str
    found: Retrieved
    as_of: datetime | None
    passes: Passes = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the response of the REST door."""
        found = self.found
        shown: dict[str, Any] = {
            "query": self.query,
            "hits": [{**hit.as_json(), "title": hit.title, "text": hit.passage_text} for hit in found.hits],
            "strategy": found.strategy,
            "embedder": found.embedder,
            "embedding_lag": found.lag,
            "reranker": found.reranker,
            "notes": list(found.notes),
        }
        if found.sets:
            shown["filter_sets"] = [each.as_json() for each in found.sets]
        if self.passes:
            shown["passes"] = passes_json(self.passes)
        return shown


def passes_json(passes: Passes) -> dict[str, list[dict[str, Any]]]:
    """Return the later passes by name, each a list of hits."""
    return {
        each.value: [{**hit.as_json(), "rank": rank} for rank, hit in enumerate(hits, start=1)]
        for each, hits in passes.items()
    }


def search(
    *,
    tenant: Tenant,
    query: str,
    corpus: str = "feedback",
    filters: Mapping[str, Any] | Scope | None = None,
    filter_sets: Iterable[object] | None = None,
    top_k: int | None = None,
    mode: Mode = Mode.HYBRID,
    passes: Iterable[str] | None = None,
) -> Search:
    """Find records by words and by meaning within one filter set or several.

    Raises: InvalidInput for a query, filter, top_k or pass that can't be used; NotFound for an unknown corpus.
    """
    chosen = read_passes(passes)
    clamp_top_k(top_k)
    with tenant_session(tenant):
        body = get_corpus(tenant=tenant, slug=corpus)
        scope = filters if isinstance(filters, Scope) else scope_of(body, filters, filter_sets)
        return search_corpus(corpus=body, query=query, scope=scope, top_k=top_k, mode=mode, passes=chosen)


def search_corpus(
    *,
    corpus: Corpus,
    query: str,
    scope: Scope,
    top_k: int | None = None,
    mode: Mode = Mode.HYBRID,
    passes: Collection[Pass] = (),
) -> Search:
    """Search within a session of the corpus's tenant."""
    as_of = corpus_state(corpus=corpus).as_of
    found = retrieve_scope(
        corpus=corpus, query=query, scope=scope, top_k=top_k, mode=mode, as_of=as_of, only_contenders=True
    )
    # The hits of sets are ranked within their sets already.
    if not found.sets:
        found = second_stage(found, corpus=corpus, query=query)
    ranked = found if found.sets else rerank_hits(found, top_k=top_k, as_of=as_of)
    later = later_passes(corpus=corpus, query=query, scope=scope, neutral=ranked, chosen=passes, mode=mode, as_of=as_of)
    return Search(query, ranked, as_of, later)


def scope_of(corpus: Corpus, filters: object, filter_sets: object) -> Scope:
    """Read which records a request may see, checked against the corpus's vocabulary. Raises: InvalidInput."""
    return read_scope(filters, filter_sets, vocabulary=vocabulary_of(corpus))


def explain_search(
    *,
    tenant: Tenant,
    query: str,
    doc_id: str | None = None,
    corpus: str = "feedback",
    filters: Mapping[str, Any] | Scope | None = None,
    filter_sets: Iterable[object] | None = None,
    top_k: int | None = None,
    mode: Mode = Mode.HYBRID,
) -> Explanation | None:
    """Say why a record stands where it stands in a search, or at which stage it was lost.

    Without an id the first hit is explained; None when there is none.
    Raises: InvalidInput for what can't be used; NotFound for an unknown corpus. An unknown record is an answer.
    """
    clamp_top_k(top_k)
    with tenant_session(tenant):
        body = get_corpus(tenant=tenant, slug=corpus)
        scope = filters if isinstance(filters, Scope) else scope_of(body, filters, filter_sets)
        as_of = corpus_state(corpus=body).as_of
        if doc_id is None:
            first = search_corpus(corpus=body, query=query, scope=scope, top_k=top_k, mode=mode).found.hits[:1]
            if not first:
                return None
            doc_id = first[0].doc_id
        return explain_record(corpus=body, query=query, doc_id=doc_id, scope=scope, top_k=top_k, mode=mode, as_of=as_of)
