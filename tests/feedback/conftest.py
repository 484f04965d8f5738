"""What the tests of the corpus share: embedders that are counted, and searches in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from core.tenant_session import tenant_session
from feedback.clients.embedders.fake import ScriptedEmbedder
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Mode
from feedback.embedding import query_vector
from feedback.models import Corpus


@pytest.fixture
def embedders(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ScriptedEmbedder]]:
    """Put a scripted embedder in the place of each, by name; `calls` of it are the texts that it was given."""
    made = {name: ScriptedEmbedder(dimensions=8) for name in ("static", "minilm")}
    monkeypatch.setattr("feedback.embedding.get_embedder", lambda name, options=None: made[name])
    query_vector.cache_clear()
    yield made
    query_vector.cache_clear()


@pytest.fixture
def embedded(embedders: dict[str, ScriptedEmbedder]) -> Callable[[], list[str]]:
    """Give the function that returns the texts embedded so far, by whichever embedder."""
    return lambda: [text for each in embedders.values() for call in each.calls for text in call]


@pytest.fixture
def with_both_embedders(corpus: Corpus, embedders: dict[str, ScriptedEmbedder]) -> Corpus:
    """Give the corpus with an embedder that runs while documents are stored and one that runs behind."""
    corpus.options = {**corpus.options, "embedder": "static+minilm"}
    with tenant_session(corpus.tenant):
        corpus.save(update_fields=["options"])
    return corpus


@pytest.fixture
def search(request: pytest.FixtureRequest) -> Callable[..., list[str]]:
    """Give the function that returns the ids a query finds, best first, in `into`, by default `corpus`."""
    from feedback.selectors.retrieval import retrieve

    def find(query: str, *, into: Corpus | None = None, mode: Mode = Mode.LEXICAL, **options: Any) -> list[str]:
        corpus = into or request.getfixturevalue("corpus")
        options.setdefault("filters", FilterSet())
        with tenant_session(corpus.tenant):
            return [hit.doc_id for hit in retrieve(corpus=corpus, query=query, mode=mode, **options).hits]

    return find
