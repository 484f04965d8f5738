"""Search several slices with one question, and merge what each found."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from feedback.clients.rerankers.registry import OFF
from feedback.domain.filter_sets import Scope, merge_ranked
from feedback.domain.retrieval import Hit, Mode, Retrieved, SetFound
from feedback.selectors.retrieval.question import checked_query, clamp_top_k
from feedback.selectors.retrieval.search import rerank_hits, retrieve
from feedback.selectors.retrieval.second_stage import reranker_of

if TYPE_CHECKING:
    from feedback.models import Corpus


def retrieve_scope(
    *,
    corpus: Corpus,
    query: str,
    scope: Scope,
    top_k: int | None = None,
    mode: Mode = Mode.HYBRID,
    language: str | None = None,
    as_of: datetime | None = None,
    only_contenders: bool = False,
) -> Retrieved:
    """Return the candidates of one slice by their fused score, or of several sets the merged hits.

    Hits of sets are ranked within their set, `top_k` of each, and carry their rank in every set that found them;
    they are merged by that rank and never scored against each other. The sets run one after another in the session
    of the caller, so that all see one state of the corpus (decision 12).
    Raises: InvalidInput for a blank or oversized query or a bad top_k.
    """
    query = checked_query(query)
    if not scope.sets:
        return retrieve(
            corpus=corpus,
            query=query,
            filters=scope.filters,
            top_k=top_k,
            mode=mode,
            language=language,
            only_contenders=only_contenders,
        )
    clamp_top_k(top_k)
    searched = []
    for named in scope.sets:
        wanted = named.top_k or top_k
        found = retrieve(
            corpus=corpus,
            query=query,
            filters=named.filters,
            top_k=wanted,
            mode=mode,
            language=language,
            only_contenders=True,
        )
        searched.append((named, rerank_hits(found, top_k=wanted, as_of=as_of)))
    merged = merge_ranked([(named.name, found.hits) for named, found in searched], key=_identity(corpus))
    first = searched[0][1]
    return replace(
        first,
        hits=tuple(replace(hit, rank=rank, sets=sets) for rank, (hit, sets) in enumerate(merged, start=1)),
        candidates=sum(found.candidates for _, found in searched),
        notes=(*_notes([(named.name, found) for named, found in searched]), *_without_second_stage(corpus)),
        beyond=(),
        sets=tuple(SetFound(named.name, named.filters, len(found.hits), found.candidates) for named, found in searched),
    )


def _without_second_stage(corpus: Corpus) -> Iterator[str]:
    if (name := reranker_of(corpus)) != OFF:
        yield f"{name} left out: it does not compare the records of several filter sets"


def _notes(searched: list[tuple[str, Retrieved]]) -> Iterator[str]:
    """Say once what all sets share, and of the others which set it is about."""
    shared = set.intersection(*(set(found.notes) for _, found in searched))
    yield from (note for note in searched[0][1].notes if note in shared)
    for name, found in searched:
        yield from (f"{name}: {note}" for note in found.notes if note not in shared)


def _identity(corpus: Corpus) -> Callable[[Hit], Hashable]:
    """Return what makes two hits one: the passage, in a filings corpus the page."""

    def of_page(hit: Hit) -> Hashable:
        page = hit.facets.get("page_uid")
        return hit.passage_id if page is None else ("page", str(page))

    return of_page if corpus.kind == "filings" else lambda hit: hit.passage_id
