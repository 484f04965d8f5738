"""The index finds what scoring every document by the formula finds, in that order and with those scores."""

from __future__ import annotations

import math
from collections import Counter
from itertools import count

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.tenant_session import tenant_session
from feedback.domain.bm25 import contributions, score_all
from feedback.domain.retrieval import Mode
from feedback.models import CorpusStatistics
from feedback.selectors.retrieval import retrieve
from feedback.services.analysis import lexemes_of
from feedback.services.deletion import delete_document
from feedback.services.ingest import ingest_documents
from tenants.caller import operator
from tests.factories import NOW, make_corpus, make_document, rows

WORDS = [
    "kettle",
    "kettles",
    "broke",
    "broken",
    "the",
    "late",
    "courier",
    "refund",
    "#A-10293",
    "SAVE20",
    "café",
    "故障了",
]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=15).map(" ".join)
_names = count()


def _words(texts):
    """Return the words of each text as the index has them, repetitions included."""
    found = lexemes_of([("english", text) for text in texts])
    return [
        [lexeme for lexeme, times in zip(each.lexemes, each.frequencies, strict=True) for _ in range(times)]
        for each in found
    ]


def _by_formula(corpus, query, documents):
    """Score every document with the corpus's pinned mean length, best first, ties by id."""
    words = dict(zip(documents, _words(documents.values()), strict=True))
    frequencies = Counter(word for each in words.values() for word in set(each))
    with tenant_session(corpus.tenant):
        kept = CorpusStatistics.objects.for_tenant(corpus.tenant).get(corpus=corpus)
    asked = sorted(set(_words([query])[0]))
    scores = {
        identity: math.fsum(
            contributions(
                asked,
                each,
                document_frequencies=frequencies,
                n=len(documents),
                average_length=kept.average_length,
                k1=kept.k1,
                b=kept.b,
            ).values()
        )
        for identity, each in words.items()
    }
    return {identity: score for identity, score in scores.items() if score > 0}


def _by_index(corpus, query, top_k=100):
    with tenant_session(corpus.tenant):
        return retrieve(corpus=corpus, query=query, mode=Mode.LEXICAL, top_k=top_k)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=10),
    query=TEXTS,
    removed=st.sets(st.integers(0, 9)),
    edited=st.dictionaries(st.integers(0, 9), TEXTS, max_size=2),
)
@example(texts=["kettle"], query="kettle kettle", removed=set(), edited={})
@example(texts=["the the", "the"], query="the", removed=set(), edited={})
def test_scores_and_order_are_the_formulas(tenant, texts, query, removed, edited):
    corpus = make_corpus(tenant=tenant, slug=f"corpus-{next(_names)}")
    documents = {f"doc-{n}": text for n, text in enumerate(texts)}
    _store(corpus, documents)
    changed = {f"doc-{n}": text for n, text in edited.items() if n < len(texts)}
    _store(corpus, changed)
    documents.update(changed)
    for n in removed:
        if documents.pop(f"doc-{n}", None) is not None:
            delete_document(caller=operator(tenant), corpus=corpus, external_id=f"doc-{n}", now=NOW)

    found = _by_index(corpus, query)

    # What was searched for: a word that no record holds may have been read as another.
    expected = _by_formula(corpus, found.searched or query, documents)
    scores = {hit.doc_id: hit.lexical_score for hit in found.hits}
    assert scores.keys() == expected.keys()
    for identity, score in scores.items():
        assert score == pytest.approx(expected[identity], rel=1e-4)
    assert [hit.lexical_score for hit in found.hits] == sorted(scores.values(), reverse=True)
    for hit in found.hits:
        assert math.fsum(hit.terms.values()) == pytest.approx(hit.lexical_score, rel=1e-4)


def _store(corpus, documents):
    sent = [make_document(identity, text) for identity, text in documents.items()]
    ingest_documents(caller=operator(corpus.tenant), corpus=corpus, rows=rows(*sent), now=NOW)


def test_the_top_is_the_top_of_all(corpus, ingest):
    documents = {f"doc-{n:02d}": "kettle " * (n % 7) + "courier " * (n % 5) + "late" for n in range(60)}
    _store(corpus, documents)
    expected = dict(
        score_all(_words(["kettle courier"])[0], dict(zip(documents, _words(documents.values()), strict=True)))
    )
    best = sorted(expected.values(), reverse=True)

    for top_k in (1, 3, 10):
        found = _by_index(corpus, "kettle courier", top_k)
        top = [hit.lexical_score for hit in found.hits[:top_k]]
        assert top == pytest.approx(best[:top_k], rel=1e-4)


def test_ties_go_by_id(corpus, ingest):
    _store(corpus, dict.fromkeys(("c", "a", "b"), "kettle"))

    assert [hit.doc_id for hit in _by_index(corpus, "kettle").hits] == ["a", "b", "c"]


def test_a_record_counts_by_its_best_passage(corpus, ingest):
    filler = "The courier was late again and nobody called. " * 25
    ingest(
        make_document("long", f"{filler}\n\nkettle kettle kettle\n\n{filler}"),
        make_document("short", "kettle"),
    )

    found = _by_index(corpus, "kettle")

    assert sorted(hit.doc_id for hit in found.hits) == ["long", "short"]
    (long,) = (hit for hit in found.hits if hit.doc_id == "long")
    assert "kettle" in long.passage_text


@pytest.mark.parametrize("query", ["zebra", "?!", "🙂", "..."])
def test_words_that_no_record_holds_find_nothing(corpus, ingest, query):
    ingest(make_document("a", "kettle"))

    assert _by_index(corpus, query).hits == ()


def test_a_word_that_left_with_its_last_record_finds_nothing(corpus, ingest, caller):
    ingest(make_document("a", "kettle"), make_document("b", "courier"))

    delete_document(caller=caller, corpus=corpus, external_id="a", now=NOW)

    found = _by_index(corpus, "kettle courier")
    assert [hit.doc_id for hit in found.hits] == ["b"]
    assert {term.lexeme: term.term_id is None for term in found.terms} == {"kettl": True, "courier": False}
