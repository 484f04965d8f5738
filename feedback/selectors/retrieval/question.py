"""Read a question: what may be asked, how much is wanted, and its words as the index knows them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import connection

from core.errors import InvalidInput
from feedback.clients.language_detector import told_language
from feedback.domain.bm25 import idf
from feedback.domain.exact_tokens import cjk_bigrams, exact_tokens, lexical_text
from feedback.domain.languages import text_search_configuration, transliterations
from feedback.domain.retrieval import QuestionTerm
from feedback.domain.text import TokenKind, content_tokens, tokens

if TYPE_CHECKING:
    from feedback.models import Corpus

MAX_QUERY_CHARACTERS = 2_000
# A few words are in another language than the corpus's when its records hold them so many times as often.
_FAR_MORE = 4


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

    `language` is that of a few words from a longer question; else it is that of `question_language`. A word that no
    record holds is looked up as the corpus's other languages write it, and taken so where the index has it.
    """
    language = language or question_language(corpus=corpus, query=query)
    return terms_of_texts(corpus=corpus, texts=[query], language=language)[0]


def terms_of_texts(*, corpus: Corpus, texts: Sequence[str], language: str) -> list[tuple[QuestionTerm, ...]]:
    """Return the words of each of some texts in one language as `question_terms` does, by one look into the index."""
    if not texts:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT x.place, l.lexeme, t.term_id, coalesce(t.document_frequency, 0),"
            " coalesce((SELECT passages FROM feedback_corpusstatistics WHERE tenant_id = %s AND corpus_id = %s), 0)"
            "  FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY x(body, extra, place)"
            " CROSS JOIN LATERAL feedback_lexemes(%s::regconfig, x.body, string_to_array(x.extra, ' ')) l"
            "  LEFT JOIN feedback_term t"
            "    ON t.tenant_id = %s AND t.corpus_id = %s AND t.lexeme = l.lexeme AND t.document_frequency > 0",
            [
                corpus.tenant_id,
                corpus.id,
                [lexical_text(_without_stop_words(text, language)) for text in texts],
                # None of them holds a space.
                [" ".join(exact_tokens(text) + cjk_bigrams(text)) for text in texts],
                text_search_configuration(language),
                corpus.tenant_id,
                corpus.id,
            ],
        )
        found = cursor.fetchall()
    rows: dict[int, list[tuple[str, int | None, int, int]]] = defaultdict(list)
    for place, *row in found:
        rows[place].append(tuple(row))
    return [_terms(corpus, text, language, rows[place]) for place, text in enumerate(texts, start=1)]


def _terms(
    corpus: Corpus, query: str, language: str, rows: Sequence[tuple[str, int | None, int, int]]
) -> tuple[QuestionTerm, ...]:
    terms = {
        lexeme: QuestionTerm(lexeme, term_id, frequency, idf(passages, frequency))
        for lexeme, term_id, frequency, passages in rows
    }
    # Prefixed ones are written alike in every language.
    unknown = {term.lexeme for term in terms.values() if term.term_id is None and term.lexeme[0] not in "=~"}
    if unknown:
        passages = rows[0][3]
        for lexeme, other in _written_otherwise(corpus, query, language, unknown).items():
            del terms[lexeme]
            terms[other.lexeme] = QuestionTerm(
                other.lexeme, other.term_id, other.document_frequency, idf(passages, other.document_frequency)
            )
    return tuple(sorted(terms.values(), key=lambda term: term.lexeme))


def _without_stop_words(query: str, language: str) -> str:
    """Blank the stop words that the database's lists lack: to its French, "les" is a word like any other.

    English stays as the database cuts it; a question of stop words alone is searched as it is.
    """
    content = {token.start for token in content_tokens(query, language)}
    if language == "en" or not content:
        return query
    for token in tokens(query, language):
        if token.kind is TokenKind.WORD and token.start not in content:
            query = query[: token.start] + " " * (token.end - token.start) + query[token.end :]
    return query


def question_language(*, corpus: Corpus, query: str) -> str:
    """Return the language that a question is in: the one that it tells, else that of the records that hold its words.

    A few words don't tell. They are in the corpus's language, unless another of its languages knows most of them and
    its records hold them far more often.
    """
    if told := told_language(query, hint=corpus.language):
        return told
    candidates = _languages(corpus)
    if len(candidates) < 2:
        return corpus.language
    known: dict[int, dict[str, int]] = defaultdict(dict)
    for reading in _readings(corpus, [(language, query) for language in candidates]):
        at_place = known[reading.position]
        at_place[reading.language] = max(at_place.get(reading.language, 0), reading.document_frequency)
    votes = dict.fromkeys(candidates, 0)
    for frequencies in known.values():
        best = max(candidates, key=lambda language: frequencies.get(language, 0))
        # What is a stop word at home says nothing of where it is none.
        if corpus.language in frequencies and frequencies.get(best):
            is_far_more = frequencies[best] >= _FAR_MORE * frequencies[corpus.language]
            votes[best if is_far_more else corpus.language] += 1
    return max(candidates, key=lambda language: votes[language])


@dataclass(frozen=True, slots=True)
class _Reading:
    """A word as one language stems it; words of one position are the same word. `term_id` None: no record holds it."""

    language: str
    position: int
    lexeme: str
    term_id: int | None
    document_frequency: int


def _languages(corpus: Corpus) -> list[str]:
    """Return the languages of the corpus that stem words, its own first; of two that stem alike the first."""
    stemmed: dict[str, str] = {}
    for language in (corpus.language, *sorted(corpus.languages)):
        configuration = text_search_configuration(language)
        if configuration != "simple" or language == corpus.language:
            stemmed.setdefault(configuration, language)
    return list(stemmed.values())


def _written_otherwise(corpus: Corpus, query: str, language: str, unknown: set[str]) -> dict[str, _Reading]:
    """Return, for lexemes that no record holds, the one in another language or spelling that most records hold."""
    languages = [language, *(other for other in _languages(corpus) if other != language)]
    texts = [(language, query)]
    texts += [(spoken, other) for spoken in languages for other in transliterations(query, spoken)]
    texts += [(other, query) for other in languages[1:]]
    if len(texts) < 2:
        return {}
    readings = _readings(corpus, texts)
    at_place: dict[int, list[_Reading]] = defaultdict(list)
    for reading in readings:
        at_place[reading.position].append(reading)
    found: dict[str, _Reading] = {}
    for reading in readings:
        if reading.language == language and reading.lexeme in unknown and reading.lexeme not in found:
            others = [other for other in at_place[reading.position] if other.term_id is not None]
            if others:
                found[reading.lexeme] = max(others, key=lambda other: (other.document_frequency, other.lexeme))
    return found


def _readings(corpus: Corpus, texts: list[tuple[str, str]]) -> list[_Reading]:
    """Return the words of each (language, text) as the index knows them; texts are spellings of one question."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT x.language, w.position, w.lexeme, t.term_id, coalesce(t.document_frequency, 0)"
            "  FROM unnest(%s::text[], %s::text[], %s::text[]) AS x(language, config, body)"
            " CROSS JOIN LATERAL (SELECT CASE WHEN octet_length(u.lexeme) = length(u.lexeme) THEN u.lexeme"
            "   ELSE unaccent(u.lexeme) END lexeme, unnest(u.positions) AS position"
            "    FROM unnest(to_tsvector(x.config::regconfig, x.body)) u) w"
            "  LEFT JOIN feedback_term t"
            "    ON t.tenant_id = %s AND t.corpus_id = %s AND t.lexeme = w.lexeme AND t.document_frequency > 0"
            " ORDER BY w.position, x.language, w.lexeme",
            [
                [language for language, _ in texts],
                [text_search_configuration(language) for language, _ in texts],
                [lexical_text(text) for _, text in texts],
                corpus.tenant_id,
                corpus.id,
            ],
        )
        return [_Reading(*row) for row in cursor.fetchall()]
