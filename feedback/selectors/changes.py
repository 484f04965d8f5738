"""Tell which records a count has gained and lost since a moment, as far as the stored records say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson
from django.db import connection

from feedback.domain.exact_tokens import cjk_bigrams, exact_tokens, lexical_text
from feedback.domain.languages import UNDETERMINED, text_search_configuration
from feedback.selectors.aggregates import Grouping, Selection, interval_of, list_received_since

if TYPE_CHECKING:
    from feedback.models import Corpus

# Records that were edited or deleted since are read one by one: no more of them than these.
MOST_READ = 500


@dataclass(frozen=True, slots=True)
class Changes:
    """What came into a count and what left it: how many records, and the first of them by id.

    `was_read` is False where more records were edited or deleted since than are read one by one; then only those
    that came in are told. What was filed otherwise, restored or erased since can't be told from what is stored.
    """

    added: int
    added_ids: tuple[str, ...]
    deleted: int
    deleted_ids: tuple[str, ...]
    edited: int
    edited_ids: tuple[str, ...]
    was_read: bool

    @property
    def gone(self) -> int:
        """Return how many records left it, deleted or edited so that they no longer belong to it."""
        return self.deleted + self.edited


@dataclass(frozen=True, slots=True)
class _Changed:
    """A record that was there at the moment and was edited or deleted since, with its text then and now."""

    doc_id: str
    source: str
    themes: Sequence[str]
    account: str | None
    language: str
    facets: Mapping[str, Any]
    occurred_at: datetime
    has_date: bool
    is_deleted: bool
    then: str
    now: str


def changes_since(*, corpus: Corpus, selection: Selection, moment: datetime, limit: int) -> Changes:
    """Return what the records of a selection have gained and lost since a moment, up to `limit` ids of each kind."""
    added, added_ids = list_received_since(corpus=corpus, selection=selection, moment=moment, limit=limit)
    changed = _changed_since(corpus, moment)
    if len(changed) > MOST_READ:
        return Changes(added, added_ids, 0, (), 0, (), was_read=False)
    filed = [record for record in changed if _is_filed(record, selection)]
    wanted = {lexeme for group in selection.groups for lexeme in group}
    then = _held(corpus, [(record.language, record.then) for record in filed], wanted)
    now = _held(corpus, [(record.language, record.now) for record in filed], wanted)
    deleted: list[str] = []
    edited: list[str] = []
    joined: list[str] = []
    for record, held_then, held_now in zip(filed, then, now, strict=True):
        was_counted = _holds(held_then, selection)
        is_counted = not record.is_deleted and _holds(held_now, selection)
        if was_counted and not is_counted:
            (deleted if record.is_deleted else edited).append(record.doc_id)
        elif is_counted and not was_counted:
            joined.append(record.doc_id)
    return Changes(
        added=added + len(joined),
        added_ids=(*added_ids, *joined)[:limit],
        deleted=len(deleted),
        deleted_ids=tuple(deleted[:limit]),
        edited=len(edited),
        edited_ids=tuple(edited[:limit]),
        was_read=True,
    )


def _changed_since(corpus: Corpus, moment: datetime) -> list[_Changed]:
    """Return the records that were there at a moment and were edited or deleted since, newest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT d.external_id, d.source, d.themes, d.account, d.language, d.facets, d.occurred_at, d.has_date,"
            "       k.deleted_at IS NOT NULL, concat_ws(E'\\n', nullif(o.title, ''), o.text),"
            "       concat_ws(E'\\n', nullif(c.title, ''), c.text)"
            "  FROM feedback_documentkey k"
            "  JOIN LATERAL (SELECT r.number, r.title, r.text FROM feedback_documentrevision r"
            "         WHERE r.tenant_id = %s AND r.document_id = k.id AND r.created_at <= %s"
            "         ORDER BY r.number DESC LIMIT 1) o ON true"
            "  JOIN feedback_documentrevision c ON c.tenant_id = %s AND c.document_id = k.id AND c.number = k.revision"
            "  JOIN feedback_document d ON d.tenant_id = %s AND d.id = k.id AND d.occurred_at = k.occurred_at"
            " WHERE k.tenant_id = %s AND k.corpus_id = %s"
            "   AND (k.deleted_at > %s OR (k.deleted_at IS NULL AND k.revision > 1 AND k.revision > o.number))"
            " ORDER BY d.occurred_at DESC, d.external_id LIMIT %s",
            [
                corpus.tenant_id,
                moment,
                corpus.tenant_id,
                corpus.tenant_id,
                corpus.tenant_id,
                corpus.id,
                moment,
                MOST_READ + 1,
            ],
        )
        rows = cursor.fetchall()
    return [
        _Changed(doc_id, source, themes, account, language, orjson.loads(facets), *rest)
        for doc_id, source, themes, account, language, facets, *rest in rows
    ]


def _is_filed(record: _Changed, selection: Selection) -> bool:
    """Tell whether the filters and the group of a selection admit a record."""
    if all(part.mismatches(record) for part in selection.filters.slices):
        return False
    if selection.within is None:
        return True
    by, key = selection.within
    if by is Grouping.THEME:
        return key in record.themes
    if by in (Grouping.SOURCE, Grouping.ACCOUNT):
        return bool(key == (record.source if by is Grouping.SOURCE else record.account))
    interval = interval_of(by, key)
    return record.has_date and interval is not None and interval[0] <= record.occurred_at < interval[1]


def _holds(held: frozenset[str], selection: Selection) -> bool:
    return all(any(lexeme in held for lexeme in group) for group in selection.groups)


def _held(corpus: Corpus, texts: Sequence[tuple[str, str]], wanted: set[str]) -> list[frozenset[str]]:
    """Return which of the lexemes each text holds, as the index would know it."""
    if not texts or not wanted:
        return [frozenset()] * len(texts)
    rows = [
        {
            "place": place,
            "config": text_search_configuration(corpus.language if language == UNDETERMINED else language),
            "body": lexical_text(text),
            "extra": exact_tokens(text) + cjk_bigrams(text),
        }
        for place, (language, text) in enumerate(texts)
    ]
    held = [frozenset[str]()] * len(texts)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT x.place, array_agg(l.lexeme)"
            "  FROM json_to_recordset(%s::json) AS x(place integer, config text, body text, extra text[])"
            " CROSS JOIN LATERAL feedback_lexemes(x.config::regconfig, x.body, x.extra) l"
            " WHERE l.lexeme = ANY (%s) GROUP BY x.place",
            [orjson.dumps(rows).decode(), sorted(wanted)],
        )
        for place, lexemes in cursor.fetchall():
            held[place] = frozenset(lexemes)
    return held
