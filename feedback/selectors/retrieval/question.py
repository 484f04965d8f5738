"""Read a question: what may be asked, how much is wanted, and its words as the index knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import connection

from core.errors import InvalidInput
from feedback.clients.language_detector import detect
from feedback.domain.bm25 import idf
from feedback.domain.exact_tokens import cjk_bigrams, exact_tokens, lexical_text
from feedback.domain.languages import text_search_configuration
from feedback.domain.retrieval import QuestionTerm

if TYPE_CHECKING:
    from feedback.models import Corpus

MAX_QUERY_CHARACTERS = 2_000


def clamp_top_k(top_k: int | None) -> tuple[int, tuple[str, ...]]:
    """Return how many hits to give, with a note when more were asked for.

    Raises: InvalidInput for zero and below.
    """
    wisdom = settings.WISDOM
    if top_k is None:
        return wisdom.default_top_k, ()
    if top_k < 1:
        raise InvalidInput("top_k must be at least 1.", field="top_k")
    if top_k > wisdom.max_top_k:
        return wisdom.max_top_k, (f"top_k {top_k} was cut to {wisdom.max_top_k}",)
    return top_k, ()


def checked_query(text: str) -> str:
    """Return the query as it is searched. Raises: InvalidInput when it is blank, too long or no text."""
    if "\x00" in text or any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        raise InvalidInput(
            "The question holds a character that is no text (NUL or half a surrogate).", field="question"
        )
    if not text.strip():
        raise InvalidInput("Ask something: the question is blank.", code="blank_question", field="question")
    if len(text) > MAX_QUERY_CHARACTERS:
        raise InvalidInput(
            f"The question has {len(text):,} characters; ask in at most {MAX_QUERY_CHARACTERS:,}.",
            code="question_too_long",
            field="question",
        )
    return text.strip()


def question_terms(*, corpus: Corpus, query: str, language: str | None = None) -> tuple[QuestionTerm, ...]:
    """Return the words of a question as the index knows them, in ascending order.

    `language` is that of a few words from a longer question; else it is told from the words, or it is the corpus's.
    """
    configuration = text_search_configuration(language or detect(query, hint=corpus.language))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT l.lexeme, t.term_id, coalesce(t.document_frequency, 0),"
            " coalesce((SELECT passages FROM feedback_corpusstatistics WHERE tenant_id = %s AND corpus_id = %s), 0)"
            "  FROM feedback_lexemes(%s::regconfig, %s, %s) l LEFT JOIN feedback_term t"
            "    ON t.tenant_id = %s AND t.corpus_id = %s AND t.lexeme = l.lexeme AND t.document_frequency > 0"
            " ORDER BY l.lexeme",
            [
                corpus.tenant_id,
                corpus.id,
                configuration,
                lexical_text(query),
                exact_tokens(query) + cjk_bigrams(query),
                corpus.tenant_id,
                corpus.id,
            ],
        )
        rows = cursor.fetchall()
    return tuple(
        QuestionTerm(lexeme, term_id, frequency, idf(passages, frequency))
        for lexeme, term_id, frequency, passages in rows
    )
