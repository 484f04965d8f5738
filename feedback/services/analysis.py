"""Turn a text into what is indexed of it: passages with their words, counted by Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson
from django.db import connection

from feedback.domain.exact_tokens import cjk_bigrams, exact_tokens, lexical_text
from feedback.domain.languages import UNDETERMINED, text_search_configuration
from feedback.domain.passages import index_hash, split


@dataclass(frozen=True, slots=True)
class PassageDraft:
    """A passage before it is stored: half-open offsets into the text, and what is embedded and indexed."""

    ordinal: int
    start: int
    end: int
    indexed_text: str
    index_hash: bytes


@dataclass(frozen=True, slots=True)
class Lexemes:
    """The words of a text in ascending order, and how often each stands in it."""

    lexemes: tuple[str, ...]
    frequencies: tuple[int, ...]

    @property
    def length(self) -> int:
        """Return the number of words, repetitions included: BM25's document length."""
        return sum(self.frequencies)


def draft_passages(*, title: str, text: str) -> list[PassageDraft]:
    """Cut a record's text; the first passage is indexed with the title above it."""
    drafts = []
    for ordinal, span in enumerate(split(text)):
        body = text[span.start : span.end]
        heading = title if ordinal == 0 else ""
        drafts.append(
            PassageDraft(
                ordinal=ordinal,
                start=span.start,
                end=span.end,
                indexed_text=f"{heading}\n{body}" if heading else body,
                index_hash=index_hash(heading, body),
            )
        )
    return drafts


def configuration_of(language: str, *, corpus_language: str) -> str:
    """Return the text search configuration; a text too short to tell goes with its corpus."""
    return text_search_configuration(corpus_language if language == UNDETERMINED else language)


def lexemes_of(texts: Sequence[tuple[str, str]]) -> list[Lexemes]:
    """Return the lexemes of each (configuration, text), in order.

    Stems come from Postgres; exact tokens and bigrams of scripts without spaces are added beside them. One
    statement for all texts. Documents and questions go through here alike.
    """
    rows = [
        {
            "ord": position,
            "config": configuration,
            "body": lexical_text(text),
            "extra": exact_tokens(text) + cjk_bigrams(text),
        }
        for position, (configuration, text) in enumerate(texts)
    ]
    found = [Lexemes((), ())] * len(rows)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT x.ord, array_agg(l.lexeme ORDER BY l.lexeme), array_agg(l.frequency ORDER BY l.lexeme)"
            "  FROM json_to_recordset(%s::json) AS x(ord integer, config text, body text, extra text[])"
            " CROSS JOIN LATERAL feedback_lexemes(x.config::regconfig, x.body, x.extra) l GROUP BY x.ord",
            [orjson.dumps(rows).decode()],
        )
        for position, lexemes, frequencies in cursor.fetchall():
            found[position] = Lexemes(tuple(lexemes), tuple(frequencies))
    return found
