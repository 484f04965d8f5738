"""Spell a question as the corpus does: words that no record holds, each read as the one that it was meant to be.

A slip of a letter or two is read so in every search. Where a search found nothing at all, a bolder guess is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import TYPE_CHECKING, Final

from django.db import connection

from feedback.clients.known_words import is_known_word
from feedback.clients.language_detector import detect
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import QuestionTerm
from feedback.domain.text import TokenKind, tokens
from feedback.selectors.retrieval.arms import search_lexical
from feedback.selectors.retrieval.question import checked_query, question_terms

if TYPE_CHECKING:
    from feedback.models import Corpus

# Trigrams in common over trigrams in all; "delivry" and "deliveri" have 0.5.
_LEAST_SIMILARITY: Final = 0.35
_MOST_WORDS: Final = 8
_SHORTEST: Final = 4
_SHORT: Final = 5
# Ratcliff and Obershelp's 2 M / T: "refnud" and "refund" have 0.83, "wfii" and "wifi" 0.75, "hotel" and "hostel" 0.91.
_CLOSE: Final = 0.8
_CLOSE_INFLECTION: Final = 0.7
_NEARLY_ONE: Final = 0.9
_CLOSE_WHEN_SHORT: Final = 0.75
# Leaves most of the vocabulary out before the letters are compared one by one.
_LEAST_TRIGRAMS: Final = 0.1


def read_slips(
    *, corpus: Corpus, query: str, terms: Sequence[QuestionTerm], language: str
) -> tuple[tuple[str, str], ...]:
    """Return (as typed, as read) for words of the query that no record holds and that miss a known one by a slip.

    The known word begins with the same letter and differs by about one letter in five (Ratcliff and Obershelp's
    similarity); of a word of up to five letters, by their order alone. Codes, names and English words are taken as typed.
    """
    unknown = {t.lexeme for t in terms if t.term_id is None and len(t.lexeme) >= _SHORTEST and t.lexeme.isalpha()}
    if not unknown:
        return ()
    found: list[tuple[str, str]] = []
    every = tokens(query, language)
    for place, token in enumerate(every):
        if token.kind is not TokenKind.WORD or token.stem not in unknown or len(found) == _MOST_WORDS:
            continue
        if (place and token.surface[0].isupper() and not query.isupper()) or not token.surface.isalpha():
            continue
        # Asked before the database is: most words that no record holds are words of another topic.
        if is_known_word(token.surface):
            continue
        near = _nearest(corpus, token.stem)
        word = _as_written(corpus, near) if near else None
        if near and word and _is_slip(token.surface.lower(), word.lower(), _likeness(token.stem, near.lexeme)):
            found.append((token.surface, word.lower()))
    return tuple(dict.fromkeys(found))


def _nearest(corpus: Corpus, stem: str) -> QuestionTerm | None:
    """Return the corpus's term that a stem is nearest to, in most records of equals; None where none is near."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT lexeme, term_id, document_frequency FROM feedback_term WHERE tenant_id = %s AND corpus_id = %s"
            "   AND lexeme >= %s AND lexeme < %s AND length(lexeme) BETWEEN %s AND %s AND document_frequency > 0"
            "   AND similarity(lexeme, %s) >= %s ORDER BY document_frequency DESC, lexeme",
            [
                corpus.tenant_id,
                corpus.id,
                stem[0],
                chr(ord(stem[0]) + 1),
                len(stem) - 2,
                len(stem) + 2,
                stem,
                _LEAST_TRIGRAMS,
            ],
        )
        known = {row[0]: QuestionTerm(row[0], row[1], row[2], 1.0) for row in cursor.fetchall()}
    cutoff = _CLOSE_WHEN_SHORT if len(stem) <= _SHORT else _CLOSE
    close = get_close_matches(stem, list(known), n=1, cutoff=cutoff)
    return known[close[0]] if close else None


def _is_slip(typed: str, word: str, stems: float) -> bool:
    """Tell a slip from another word ("accent", "accidentally"): it is near to the other as written.

    In a short word one letter makes another: only letters in another order count there. Two inflections of one word
    may be less near than their stems, whose likeness is `stems` ("delivries", "delivery").
    """
    if len(typed) <= _SHORT:
        return sorted(typed) == sorted(word)
    return _likeness(typed, word) >= (_CLOSE_INFLECTION if stems >= _NEARLY_ONE else _CLOSE)


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()


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
            'SELECT text, start, "end", language FROM feedback_passages(%s::uuid[], %s::timestamptz[])',
            [[row.passage_id for row in found], [row.occurred_at for row in found]],
        )
        row = cursor.fetchone()
    if row is None:
        return None
    text, start, end, language = row
    return next((token.surface for token in tokens(text[start:end], language) if token.stem == term.lexeme), None)
