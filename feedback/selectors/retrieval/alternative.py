"""Ask once more in other words when a search found nothing: words that no record holds, as the corpus spells them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.db import connection

from feedback.clients.language_detector import detect
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import QuestionTerm
from feedback.domain.text import tokens
from feedback.selectors.retrieval.arms import search_lexical
from feedback.selectors.retrieval.question import checked_query, question_terms

if TYPE_CHECKING:
    from feedback.models import Corpus

# Trigrams in common over trigrams in all; "delivry" and "deliveri" have 0.5.
_LEAST_SIMILARITY: Final = 0.35
_MOST_WORDS: Final = 8


def corrected_query(*, corpus: Corpus, query: str, language: str | None = None) -> str | None:
    """Return the query with each word that no record holds replaced by the nearest one that some do; None for no change.

    The nearest is the most similar by trigrams, then the one in most records, then the first by spelling: the same
    corpus gives the same words.
    """
    query = checked_query(query)
    unknown = [
        term.lexeme for term in question_terms(corpus=corpus, query=query, language=language) if term.term_id is None
    ]
    if not unknown:
        return None
    nearest: dict[str, str] = {}
    with connection.cursor() as cursor:
        for lexeme in unknown[:_MOST_WORDS]:
            cursor.execute(
                "SELECT lexeme, term_id, document_frequency FROM feedback_term WHERE tenant_id = %s AND corpus_id = %s AND document_frequency > 0"
                "   AND similarity(lexeme, %s) >= %s"
                " ORDER BY similarity(lexeme, %s) DESC, document_frequency DESC, lexeme LIMIT 1",
                [corpus.tenant_id, corpus.id, lexeme, _LEAST_SIMILARITY, lexeme],
            )
            row = cursor.fetchone()
            word = _as_written(corpus, QuestionTerm(row[0], row[1], row[2], 1.0)) if row else None
            if word is not None:
                nearest[lexeme] = word
    written = query
    for token in reversed(tokens(query, language or detect(query, hint=corpus.language))):
        if token.stem in nearest:
            written = written[: token.start] + nearest[token.stem] + written[token.end :]
    return written if written != query else None


def _as_written(corpus: Corpus, term: QuestionTerm) -> str | None:
    """Return the word that a record has for a term: a stem can't be searched for, it would be cut once more."""
    found = search_lexical(corpus, [term], FilterSet(), 1)
    with connection.cursor() as cursor:
        cursor.execute(
            'SELECT text, start, "end", language FROM feedback_passages(%s, %s)',
            [[row.passage_id for row in found], [row.occurred_at for row in found]],
        )
        row = cursor.fetchone()
    if row is None:
        return None
    text, start, end, language = row
    return next((token.surface for token in tokens(text[start:end], language) if token.stem == term.lexeme), None)
