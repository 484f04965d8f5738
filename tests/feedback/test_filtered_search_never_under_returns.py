"""Within any filters a search gives as many records as match, up to what was asked for, and the nearest ones.

A brute-force oracle in numpy over ten thousand passages, which knows the filters from what was sent, is right by
construction: it scores every passage, keeps those whose record was admitted, and sorts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch
from uuid import UUID

import numpy as np
import pytest
from django.conf import settings as django_settings
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.generated_corpus import DEMO, generate, read_sentences
from core.tenant_session import tenant_session
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Mode
from feedback.embedding import query_vector
from feedback.selectors.retrieval import question_terms, retrieve
from feedback.selectors.retrieval.arms import EXACTLY, Found, VectorPath, scan_vectors, search_lexical
from feedback.selectors.retrieval.recall import recall
from feedback.services.deletion import delete_document
from feedback.services.ingest import ingest_documents
from feedback.services.segments import index_vectors
from tenants.caller import operator
from tests.databases import empty_tables
from tests.factories import NOW, make_corpus, make_tenant, rows

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.timeout(300)]

IN_THE_GRAPH, IN_ALL = 8_000, 10_000
# Sets that are larger go through the graph.
EXACT_LIMIT = 300
FIRST_DAY = datetime(2023, 1, 1, tzinfo=UTC)
QUESTIONS = (
    "How long did people wait for their delivery?",
    "refund never arrived",
    "the app crashes when I pay",
    "friendly and helpful staff on the phone",
    "too expensive for what it is",
    "kettle broke after a week",
)


@dataclass(frozen=True)
class Oracle:
    """The corpus, and all of it in memory: a row of `vectors` and of `words` for each passage."""

    corpus: Any
    sent: dict[str, dict[str, Any]]
    documents: np.ndarray
    names: np.ndarray
    vectors: np.ndarray
    words: list[dict[int, float]]

    def admitted(self, filters: FilterSet) -> np.ndarray:
        """Return for each passage whether the filters admit its record."""
        admitted = {name for name, document in self.sent.items() if _admits(filters, name, document)}
        return np.array([name in admitted for name in self.names])

    def by_meaning(self, question: str) -> np.ndarray:
        """Return each passage's cosine with the question."""
        query = np.fromstring(query_vector("static", question).strip("[]"), sep=",").astype(np.float16)
        return self.vectors @ query.astype(np.float32)

    def by_words(self, weights: dict[int, float]) -> np.ndarray:
        """Return each passage's BM25 score, 0 without any of the words."""
        return np.array([sum(row.get(term, 0.0) * idf for term, idf in weights.items()) for row in self.words])

    def ranking(self, scores: np.ndarray, kept: np.ndarray) -> dict[Any, float]:
        """Return each kept document's best score, best first."""
        best: dict[Any, float] = {}
        for row in np.flatnonzero(kept):
            document = self.documents[row]
            best[document] = max(best.get(document, -np.inf), float(scores[row]))
        return dict(sorted(best.items(), key=lambda pair: -pair[1]))


def _admits(filters: FilterSet, name: str, document: dict[str, Any]) -> bool:
    if filters.ids:
        return name in filters.ids
    moment = datetime.fromisoformat(document["occurred_at"]).replace(tzinfo=UTC)
    return (
        (not filters.source or document["source"] in filters.source)
        and (not filters.theme or bool(set(document["themes"]) & set(filters.theme)))
        and (not filters.account or document["account"] in filters.account)
        and (filters.occurred_from is None or moment >= filters.occurred_from)
        and (filters.occurred_to is None or moment < filters.occurred_to)
        and all(document[facet] in values for facet, values in filters.facets.items())
    )


def _documents() -> list[dict[str, Any]]:
    pool = read_sentences([DEMO])
    made = [{**document, "language": "en"} for document in generate(IN_ALL, pool=pool, seed=7)]
    for number, document in enumerate(made[::100]):
        # Long enough for several passages.
        document["text"] = " ".join(pool[(number * 31 + step * 7) % len(pool)] for step in range(60))
    return made


@pytest.fixture(scope="module")
def oracle(test_database: Any, django_db_setup: None, django_db_blocker: Any) -> Iterator[Oracle]:
    """Give a corpus of which most stands in a segment, the newest in none, and some has been deleted."""
    made = _documents()
    lower = django_settings.WISDOM.model_copy(update={"vector_exact_limit": EXACT_LIMIT})
    with django_db_blocker.unblock():
        tenant = make_tenant(slug="oracle")
        corpus = make_corpus(tenant=tenant)
        caller = operator(tenant)
        store = {"caller": caller, "corpus": corpus, "now": NOW, "declares_sources": True}
        ingest_documents(rows=rows(*made[:IN_THE_GRAPH]), **store)
        with patch.object(django_settings, "WISDOM", lower):
            assert index_vectors(corpus=corpus, now=NOW).indexed >= IN_THE_GRAPH
        ingest_documents(rows=rows(*made[IN_THE_GRAPH:]), **store)
        gone = {document["id"] for document in made[5::200]}
        for name in gone:
            delete_document(caller=caller, corpus=corpus, external_id=name, now=NOW)
        yield _read(corpus, {document["id"]: document for document in made if document["id"] not in gone})
        connection.close()
        empty_tables(test_database.name)


def _read(corpus: Any, sent: dict[str, dict[str, Any]]) -> Oracle:
    with tenant_session(corpus.tenant), connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.document_id, p.external_id, v.vector::text, p.terms, p.frequencies, p.length"
            "  FROM feedback_passage p JOIN feedback_passagevector v ON v.tenant_id = p.tenant_id AND v.passage_id = p.id"
            " WHERE p.tenant_id = %s",
            [corpus.tenant_id],
        )
        found = cursor.fetchall()
        cursor.execute(
            "SELECT k1, b, average_length FROM feedback_corpusstatistics WHERE tenant_id = %s", [corpus.tenant_id]
        )
        k1, b, average = cursor.fetchone()
    return Oracle(
        corpus=corpus,
        sent=sent,
        documents=np.array([row[0] for row in found], dtype=object),
        names=np.array([row[1] for row in found], dtype=object),
        vectors=np.array([np.fromstring(row[2].strip("[]"), sep=",") for row in found], dtype=np.float32),
        words=[
            {
                term: frequency * (k1 + 1) / (frequency + k1 * (1 - b + b * length / average))
                for term, frequency in zip(terms, frequencies, strict=True)
            }
            for _, _, _, terms, frequencies, length in found
        ],
    )


def _some(values: list[str], most: int) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(values), max_size=most, unique=True).map(tuple)


def _window(first: int, days: int) -> dict[str, datetime]:
    return {"occurred_from": FIRST_DAY + timedelta(days=first), "occurred_to": FIRST_DAY + timedelta(days=first + days)}


# From most of the corpus down to one record in ten thousand, and to none.
FILTERS = st.one_of(
    st.builds(
        FilterSet,
        source=_some(["support_ticket", "app_review", "survey", "complaint"], 3),
        facets=st.sampled_from([{}, {"plan": ("team",)}, {"plan": ("free", "enterprise")}]),
        theme=st.one_of(st.just(()), _some([f"theme-{number}" for number in (1, 2, 3, 5, 20, 60)], 2)),
    ),
    st.builds(
        lambda window, source: FilterSet(source=source, **window),
        st.builds(_window, st.integers(0, 1_000), st.sampled_from([1, 3, 20, 90, 500])),
        _some(["survey", "call"], 1),
    ),
    st.builds(FilterSet, account=_some([f"account-{number}" for number in (1, 2, 3, 9, 40, 300, 2_000, 4_321)], 2)),
    st.builds(FilterSet, ids=_some([f"g-{number}" for number in (0, 5, 100, 4_000, 9_999)] + ["unheard-of"], 4)),
)
EXAMPLES = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


def _assert_equals(found: list[Found], ranking: dict[Any, float], limit: int, tolerance: float) -> None:
    """Assert that these are the best of the ranking; records with equal scores stand for each other."""
    assert len(found) == min(limit, len(ranking))
    assert len({row.document_id for row in found}) == len(found)
    assert [row.score for row in found] == pytest.approx(list(ranking.values())[:limit], abs=tolerance)
    for row in found:
        assert row.score == pytest.approx(ranking[UUID(row.document_id)], abs=tolerance)


@EXAMPLES
@given(filters=FILTERS, question=st.sampled_from(QUESTIONS), limit=st.sampled_from([1, 10, 40]))
def test_the_exact_scan_gives_the_oracles_ranking(oracle, filters, question, limit):
    ranking = oracle.ranking(oracle.by_meaning(question), oracle.admitted(filters))

    with tenant_session(oracle.corpus.tenant):
        found, path = scan_vectors(oracle.corpus, "static", question, filters, limit, None, EXACTLY)

    assert path is VectorPath.EXACT
    _assert_equals(found, ranking, limit, 1e-4)


@EXAMPLES
@given(filters=FILTERS, question=st.sampled_from(QUESTIONS), limit=st.sampled_from([1, 10, 40, 200]))
def test_the_graph_gives_as_many_records_as_match(oracle, filters, question, limit):
    kept = oracle.admitted(filters)
    ranking = oracle.ranking(oracle.by_meaning(question), kept)

    with tenant_session(oracle.corpus.tenant):
        found, path = scan_vectors(oracle.corpus, "static", question, filters, limit, None, EXACT_LIMIT)

    assert len(found) == min(limit, len(ranking))
    assert len({row.document_id for row in found}) == len(found)
    assert [row.score for row in found] == sorted((row.score for row in found), reverse=True)
    # A passage that the graph missed may cost its record score, never the other way round.
    assert all(row.score <= ranking[UUID(row.document_id)] + 1e-4 for row in found)
    if kept.sum() > EXACT_LIMIT and not filters.ids:
        assert path is VectorPath.GRAPH
    if path is VectorPath.EXACT:
        _assert_equals(found, ranking, limit, 1e-4)


@EXAMPLES
@given(filters=FILTERS, question=st.sampled_from(QUESTIONS), limit=st.sampled_from([1, 10, 40]))
def test_search_by_words_gives_the_oracles_ranking(oracle, filters, question, limit):
    with tenant_session(oracle.corpus.tenant):
        terms = question_terms(corpus=oracle.corpus, query=question)
        found = search_lexical(oracle.corpus, terms, filters, limit)

    scores = oracle.by_words({term.term_id: term.idf for term in terms if term.term_id is not None})
    ranking = oracle.ranking(scores, oracle.admitted(filters) & (scores > 0))
    _assert_equals(found, ranking, limit, 1e-3)


@EXAMPLES
@given(filters=FILTERS, question=st.sampled_from(QUESTIONS), mode=st.sampled_from([Mode.HYBRID, Mode.VECTOR]))
def test_a_whole_search_gives_as_many_records_as_match_and_no_others(oracle, filters, question, mode):
    admitted = set(oracle.names[oracle.admitted(filters)])
    lower = django_settings.WISDOM.model_copy(update={"vector_exact_limit": EXACT_LIMIT})

    with patch.object(django_settings, "WISDOM", lower), tenant_session(oracle.corpus.tenant):
        hits = retrieve(corpus=oracle.corpus, query=question, filters=filters, top_k=10, mode=mode).hits

    assert len(hits) == min(10 * lower.candidate_multiplier, len(admitted))
    assert {hit.doc_id for hit in hits} <= admitted


@pytest.mark.parametrize(
    ("filters", "least"),
    [
        pytest.param(FilterSet(), 0.95, id="all"),
        pytest.param(FilterSet(source=("survey", "call", "complaint")), 0.95, id="a-half"),
        pytest.param(FilterSet(facets={"plan": ("free",)}), 0.95, id="a-third"),
        pytest.param(FilterSet(source=("survey",), facets={"plan": ("free",)}), 0.95, id="one-in-eighteen"),
    ],
)
def test_the_graph_finds_nearly_all_of_the_nearest(oracle, filters, least):
    kept = oracle.admitted(filters)
    shares = []

    for question in (*QUESTIONS, *read_sentences([DEMO])[:40:2]):
        exact = list(oracle.ranking(oracle.by_meaning(question), kept).values())[:40]
        with tenant_session(oracle.corpus.tenant):
            found, path = scan_vectors(oracle.corpus, "static", question, filters, 40, None, EXACT_LIMIT)
        assert path is VectorPath.GRAPH
        shares.append(recall([row.score + 1e-4 for row in found], exact))

    assert sum(shares) / len(shares) >= least


@pytest.fixture
def impatient_graphs(owner_connection: Any) -> Iterator[None]:
    """Let the scan of a graph end after it has visited a few rows."""
    function = "feedback_search_vector(uuid, integer, text, halfvec, jsonb, integer, uuid[], integer)"
    owner_connection.execute("SELECT '[1]'::vector")
    owner_connection.execute(f"ALTER FUNCTION {function} SET hnsw.max_scan_tuples = 100")
    yield
    owner_connection.execute(f"ALTER FUNCTION {function} SET hnsw.max_scan_tuples = 20000")


@pytest.mark.usefixtures("impatient_graphs")
def test_a_graph_that_gives_up_early_is_not_believed(oracle):
    filters = FilterSet(source=("survey",), facets={"plan": ("free",)})
    ranking = oracle.ranking(oracle.by_meaning(QUESTIONS[0]), oracle.admitted(filters))

    with tenant_session(oracle.corpus.tenant):
        found, path = scan_vectors(oracle.corpus, "static", QUESTIONS[0], filters, 200, None, EXACT_LIMIT)

    assert path is VectorPath.GRAPH
    _assert_equals(found, ranking, 200, 1e-4)
