"""Read corpora: their rules, their vocabulary, how much of them is searchable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

import orjson
from django.conf import settings
from django.db import connection

from core.errors import NotFound
from core.tenant_session import seen_in_session
from feedback.domain.filters import FacetVocabulary, Vocabulary
from feedback.domain.records import CorpusRules, FacetRule
from feedback.embedding import embedders_named, embedders_of, stored_name
from feedback.models import Corpus

if TYPE_CHECKING:
    from uuid import UUID

    from tenants.models import Tenant


def get_corpus(*, tenant: Tenant, slug: str) -> Corpus:
    """Return the tenant's corpus. Raises: NotFound."""
    corpus = find_corpus(tenant=tenant, slug=slug)
    if corpus is None:
        raise NotFound(f"There is no corpus {slug!r}.", code="unknown_corpus", field="corpus")
    return corpus


def find_corpus(*, tenant: Tenant, slug: str) -> Corpus | None:
    """Return the tenant's corpus of that name, or None."""
    # Every request does this: no join for the tenant that is known, and no order of one row.
    found = list(Corpus.objects.for_tenant(tenant).filter(slug=slug))
    if not found:
        return None
    (corpus,) = found
    corpus.tenant = tenant
    return corpus


def get_corpus_of(*, tenant: Tenant, corpus_id: UUID) -> Corpus:
    """Return the tenant's corpus with this row id. Raises: NotFound."""
    corpus = Corpus.objects.for_tenant(tenant).select_related("tenant").filter(pk=corpus_id).first()
    if corpus is None:
        raise NotFound
    return corpus


def list_corpora(*, tenant: Tenant) -> list[Corpus]:
    """Return the tenant's corpora, `feedback` first, then by name."""
    found = Corpus.objects.for_tenant(tenant).select_related("tenant").order_by("slug")
    return sorted(found, key=lambda corpus: (corpus.slug != "feedback", corpus.slug))


def rules_of(corpus: Corpus, *, declares_sources: bool = False) -> CorpusRules:
    """Return what the corpus accepts."""
    return CorpusRules(
        sources=frozenset(corpus.sources),
        default_source=corpus.default_source,
        declares_sources=declares_sources,
        facets=tuple(
            FacetRule(
                name=str(facet["name"]),
                type=facet.get("type", "text"),
                values=tuple(facet["values"]) if facet.get("values") is not None else None,
                normaliser=facet.get("normaliser"),
                relax=facet.get("relax"),
            )
            for facet in corpus.facets
        ),
    )


def vocabulary_of(corpus: Corpus) -> Vocabulary:
    """Return what a filter on the corpus may name: what is declared, and the metadata that its records have."""
    facets = {name: FacetVocabulary() for name in corpus.facet_names}
    for rule in rules_of(corpus).facets:
        facets[rule.name] = FacetVocabulary(rule.type, rule.values, rule.normaliser, rule.relax)
    return Vocabulary(
        sources=tuple(corpus.sources),
        themes=tuple(corpus.themes),
        languages=tuple(corpus.languages),
        facets=facets,
        kind=cast(Any, corpus.kind),
    )


@dataclass(frozen=True, slots=True)
class CorpusState:
    """How large a corpus is and how new; `as_of` is its newest record.

    `changes` goes up with every change of the records: what was counted at one number holds while it stays.
    """

    documents: int
    passages: int
    terms: int
    as_of: datetime | None
    vectors: Mapping[str, int]
    changes: int = field(default=0, compare=False)

    def lag(self, stored: str) -> int:
        """Return how many passages lack a vector that is filed under this name."""
        return max(0, self.passages - self.vectors.get(stored, 0))


def corpus_state(*, corpus: Corpus) -> CorpusState:
    """Return the corpus's size and the moment of its newest record, the same until the session ends or writes."""
    seen = seen_in_session()
    if seen is None:
        return _read_state(corpus)
    key = ("corpus state", corpus.id)
    if key not in seen:
        seen[key] = _read_state(corpus)
    state: CorpusState = seen[key]
    return state


def _read_state(corpus: Corpus) -> CorpusState:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT documents, passages, terms, newest_at, vectors, changes FROM feedback_corpusstatistics"
            " WHERE tenant_id = %s AND corpus_id = %s",
            [corpus.tenant_id, corpus.id],
        )
        row = cursor.fetchone()
    if row is None:
        return CorpusState(0, 0, 0, None, {})
    documents, passages, terms, newest_at, vectors, changes = row
    return CorpusState(documents, passages, terms, newest_at, orjson.loads(vectors), changes)


def embedding_lag(*, corpus: Corpus) -> int:
    """Return how many passages still lack the vector of the corpus's best embedder."""
    state = corpus_state(corpus=corpus)
    return state.lag(stored_name(embedders_of(corpus).names[0]))


@dataclass(frozen=True, slots=True)
class InstallationTotals:
    """Sums over all tenants, for the operator; no ids and no texts."""

    corpora: int
    documents: int
    passages: int
    terms: int
    documents_by_shard: tuple[int, ...]
    vectors: dict[str, int]

    @property
    def shard_balance(self) -> float:
        """Return mean / maximum documents per shard: 1 when even, 1/shards with all in one, 1 when empty."""
        if not self.documents_by_shard or not max(self.documents_by_shard):
            return 1.0
        mean = sum(self.documents_by_shard) / len(self.documents_by_shard)
        return mean / max(self.documents_by_shard)

    @property
    def embedding_lag(self) -> int:
        """Return how many passages lack the vector of the installation's best embedder."""
        best = stored_name(embedders_named(settings.WISDOM.embedder).names[0])
        return max(0, self.passages - self.vectors.get(best, 0))


def installation_totals() -> InstallationTotals:
    """Return the totals that `/ready` and the gauges show."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT corpora, documents, passages, terms, documents_by_shard FROM feedback_totals()")
        corpora, documents, passages, terms, by_shard = cursor.fetchone()
        cursor.execute("SELECT embedder, vectors FROM feedback_vector_totals()")
        vectors = dict(cursor.fetchall())
    return InstallationTotals(corpora, documents, passages, terms, tuple(by_shard or ()), vectors)
