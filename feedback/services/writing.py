"""Write changed documents into every table that holds a part of them, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.db import connection

from core.ids import new_id
from feedback.domain.records import DocumentInput
from feedback.embedding import embedder, embedders_of, stored_name
from feedback.models import Corpus, Document, DocumentKey, DocumentRevision
from feedback.services import lexical_index as lexical
from feedback.services.analysis import PassageDraft, configuration_of, draft_passages, lexemes_of
from feedback.services.membership import enlist
from feedback.services.vectors import known_vectors, store_new_vectors, vector_literals

# A question can name these; further accounts are found by a filter.
MAX_NAMED_ACCOUNTS = 2000


@dataclass(frozen=True, slots=True)
class Known:
    """What the identity table says of a document that exists."""

    id: UUID
    occurred_at: datetime
    revision: int
    sent_hash: bytes
    text_hash: bytes
    is_deleted: bool


@dataclass(frozen=True, slots=True)
class Change:
    """A document to write, and what it replaces."""

    document: DocumentInput
    id: UUID
    known: Known | None
    revision: int
    occurred_at: datetime
    language: str

    @property
    def is_new(self) -> bool:
        return self.known is None or self.known.is_deleted

    @property
    def makes_revision(self) -> bool:
        return self.known is None or self.known.text_hash != self.document.text_hash

    @property
    def reindexes(self) -> bool:
        return self.is_new or self.makes_revision


def known_documents(corpus: Corpus, external_ids: list[str]) -> dict[str, Known]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT external_id, id, occurred_at, revision, sent_hash, text_hash, deleted_at IS NOT NULL"
            "  FROM feedback_documentkey WHERE tenant_id = %s AND corpus_id = %s AND external_id = ANY (%s)",
            [corpus.tenant_id, corpus.id, external_ids],
        )
        return {
            row[0]: Known(row[1], row[2], row[3], bytes(row[4]), bytes(row[5]), row[6]) for row in cursor.fetchall()
        }


def write_changes(
    corpus: Corpus, statistics: lexical.Statistics, changes: list[Change], *, now: datetime, batch_id: str
) -> None:
    reindexed = [change for change in changes if change.reindexes]
    replaced = [change for change in reindexed if change.known and not change.known.is_deleted]
    moved = [change for change in changes if not change.reindexes]
    drafts = {change.id: draft_passages(title=change.document.title, text=change.document.text) for change in reindexed}
    vectors = _vectors(corpus, drafts)
    lexical.remove_passages(
        corpus, statistics, [(change.id, change.known.occurred_at) for change in replaced if change.known]
    )
    _write_keys(corpus, changes)
    _write_documents(corpus, changes, now=now, batch_id=batch_id)
    _write_revisions(corpus, [change for change in changes if change.makes_revision], now=now)
    passages = _write_passages(corpus, statistics, reindexed, drafts)
    _store(corpus, passages, vectors)
    _move_passages(corpus, moved)
    enlist(corpus, [change.id for change in reindexed])
    statistics.documents += sum(change.is_new for change in changes)
    # The day of receipt of a record without a date says nothing about when things happened.
    dated = [change.occurred_at for change in changes if change.document.occurred_at is not None]
    if any(change.known and change.known.occurred_at == statistics.newest_at for change in changes):
        # The newest record itself was written anew, perhaps with an earlier date.
        statistics.newest_at = lexical.newest_dated(corpus)
    else:
        statistics.newest_at = max([*dated, *([statistics.newest_at] if statistics.newest_at else [])], default=None)
    lexical.save_statistics(corpus, statistics)
    _widen_vocabulary(corpus, changes)


def reindex_document(corpus: Corpus, statistics: lexical.Statistics, key: DocumentKey) -> None:
    """Index the stored document of `key` again, as it was before it was deleted; the newest date follows."""
    document = Document.objects.for_tenant(key.tenant).get(pk=key.pk, occurred_at=key.occurred_at)
    revision = DocumentRevision.objects.for_tenant(key.tenant).get(document_id=key.pk, number=key.revision)
    stored = DocumentInput(
        external_id=key.external_id,
        text=revision.text,
        title=revision.title,
        source=document.source,
        themes=tuple(document.themes),
        account=document.account or "",
        author=document.author or "",
        occurred_at=document.occurred_at if document.has_date else None,
        language=document.language,
        url=document.url,
        record_kind=document.record_kind,
        content_kind=document.content_kind,
        origin=document.origin,
        attribution=document.attribution or "",
        facets=document.facets,
        sent_hash=bytes(key.sent_hash),
        text_hash=bytes(key.text_hash),
        row=0,
    )
    change = Change(
        document=stored,
        id=key.id,
        known=None,
        revision=key.revision,
        occurred_at=key.occurred_at,
        language=document.language,
    )
    drafts = {key.id: draft_passages(title=revision.title, text=revision.text)}
    vectors = _vectors(corpus, drafts)
    _store(corpus, _write_passages(corpus, statistics, [change], drafts), vectors)
    enlist(corpus, [key.id])
    if document.has_date:
        statistics.newest_at = max(document.occurred_at, statistics.newest_at or document.occurred_at)


def _vectors(corpus: Corpus, drafts: dict[UUID, list[PassageDraft]]) -> dict[str, dict[bytes, str]]:
    """Return the vectors to store at the commit, by the name that they are filed under.

    The fast embedder's are computed where they are missing; the slow one's are kept where a text has one
    already, before its old rows go.
    """
    choice = embedders_of(corpus)
    texts = {draft.index_hash: draft.indexed_text for drafted in drafts.values() for draft in drafted}
    vectors = {}
    for name in choice.names:
        known = known_vectors(corpus.tenant_id, stored_name(name), texts)
        missing = {digest: text for digest, text in texts.items() if digest not in known}
        if name == choice.inline and missing:
            encoded = embedder(name).encode_passages(list(missing.values()))
            known.update(zip(missing, vector_literals(encoded), strict=True))
        vectors[stored_name(name)] = known
    return vectors


def _store(corpus: Corpus, passages: Sequence[dict[str, Any]], vectors: dict[str, dict[bytes, str]]) -> None:
    for stored, known in vectors.items():
        store_new_vectors(corpus, stored, passages, known)


def _write_keys(corpus: Corpus, changes: list[Change]) -> None:
    rows = [
        {
            "id": str(change.id),
            "external_id": change.document.external_id,
            "occurred_at": change.occurred_at.isoformat(),
            "revision": change.revision,
            "sent_hash": change.document.sent_hash.hex(),
            "text_hash": change.document.text_hash.hex(),
        }
        for change in changes
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO feedback_documentkey AS k (id, tenant_id, corpus_id, external_id, occurred_at, revision, sent_hash, text_hash)"
            " SELECT x.id, %s, %s, x.external_id, x.occurred_at, x.revision, decode(x.sent_hash, 'hex'), decode(x.text_hash, 'hex')"
            "   FROM json_to_recordset(%s::json) AS x(id uuid, external_id text, occurred_at timestamptz, revision integer,"
            "     sent_hash text, text_hash text)"
            " ON CONFLICT (tenant_id, corpus_id, external_id) DO UPDATE SET occurred_at = excluded.occurred_at,"
            "   revision = excluded.revision, sent_hash = excluded.sent_hash, text_hash = excluded.text_hash, deleted_at = NULL",
            [corpus.tenant_id, corpus.id, orjson.dumps(rows).decode()],
        )


def _write_documents(corpus: Corpus, changes: list[Change], *, now: datetime, batch_id: str) -> None:
    before = [change.known for change in changes if change.known]
    rows = [
        {
            "id": str(change.id),
            "external_id": change.document.external_id,
            "revision": change.revision,
            "title": change.document.title,
            "source": change.document.source,
            "themes": list(change.document.themes),
            "account": change.document.account or None,
            "author": change.document.author or None,
            "language": change.language,
            "url": change.document.url,
            "facets": change.document.facets,
            "record_kind": change.document.record_kind,
            "content_kind": change.document.content_kind,
            "origin": change.document.origin,
            "attribution": change.document.attribution or None,
            "occurred_at": change.occurred_at.isoformat(),
            "has_date": change.document.occurred_at is not None,
        }
        for change in changes
    ]
    with connection.cursor() as cursor:
        if before:
            # Out and in again: a changed date may belong to another partition.
            cursor.execute(
                "DELETE FROM feedback_document WHERE tenant_id = %s AND id = ANY (%s) AND occurred_at = ANY (%s)",
                [
                    corpus.tenant_id,
                    [known.id for known in before],
                    sorted({known.occurred_at for known in before}),
                ],
            )
        cursor.execute(
            "INSERT INTO feedback_document (id, tenant_id, corpus_id, external_id, revision, title, source, themes, account, author,"
            " language, url, facets, record_kind, content_kind, origin, attribution, occurred_at, has_date, received_at, batch_id)"
            " SELECT x.id, %s, %s, x.external_id, x.revision, x.title, x.source, x.themes, x.account, x.author, x.language, x.url,"
            " x.facets, x.record_kind, x.content_kind, x.origin, x.attribution, x.occurred_at, x.has_date, %s, %s"
            "   FROM json_to_recordset(%s::json) AS x(id uuid, external_id text, revision integer, title text, source text,"
            "     themes text[], account text, author text, language text, url text, facets jsonb, record_kind text,"
            "     content_kind text, origin text, attribution text, occurred_at timestamptz, has_date boolean)",
            [corpus.tenant_id, corpus.id, now, batch_id, orjson.dumps(rows).decode()],
        )


def _write_revisions(corpus: Corpus, changes: list[Change], *, now: datetime) -> None:
    rows = [
        {
            "id": str(new_id()),
            "document_id": str(change.id),
            "number": change.revision,
            "title": change.document.title,
            "text": change.document.text,
            "text_hash": change.document.text_hash.hex(),
        }
        for change in changes
    ]
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO feedback_documentrevision (id, tenant_id, document_id, number, title, text, text_hash, created_at)"
            " SELECT x.id, %s, x.document_id, x.number, x.title, x.text, decode(x.text_hash, 'hex'), %s"
            "   FROM json_to_recordset(%s::json) AS x(id uuid, document_id uuid, number integer, title text, text text, text_hash text)",
            [corpus.tenant_id, now, orjson.dumps(rows).decode()],
        )


def _write_passages(
    corpus: Corpus,
    statistics: lexical.Statistics,
    changes: list[Change],
    drafts: dict[UUID, list[PassageDraft]],
) -> list[dict[str, Any]]:
    """Index the words of the changes; return what each passage was made from."""
    flat = [(change, draft) for change in changes for draft in drafts[change.id]]
    if not flat:
        return []
    analysed = lexemes_of(
        [
            (configuration_of(change.language, corpus_language=corpus.language), draft.indexed_text)
            for change, draft in flat
        ]
    )
    numbers = lexical.ensure_terms(corpus, statistics, (lexeme for lexemes in analysed for lexeme in lexemes.lexemes))
    statistics.passages += len(flat)
    statistics.total_length += sum(lexemes.length for lexemes in analysed)
    if not statistics.average_length:
        statistics.average_length = statistics.total_length / statistics.passages
    rows, weighed = [], []
    for (change, draft), lexemes in zip(flat, analysed, strict=True):
        pairs = sorted(
            (numbers[lexeme], frequency) for lexeme, frequency in zip(lexemes.lexemes, lexemes.frequencies, strict=True)
        )
        terms = [term for term, _ in pairs]
        frequencies = [min(frequency, 32_767) for _, frequency in pairs]
        weights = lexical.term_weights(frequencies, length=lexemes.length, statistics=statistics)
        weighed.append((terms, weights))
        rows.append(
            {
                "id": str(new_id()),
                "document_id": str(change.id),
                "external_id": change.document.external_id,
                "revision": change.revision,
                "ordinal": draft.ordinal,
                "start": draft.start,
                "end": draft.end,
                **_filter_columns(change),
                "terms": terms,
                "frequencies": frequencies,
                "length": lexemes.length,
                "weights": lexical.weights_literal(terms, weights),
                "index_hash": draft.index_hash.hex(),
            }
        )
    with connection.cursor() as cursor:
        cursor.execute(
            'INSERT INTO feedback_passage (id, tenant_id, corpus_id, document_id, external_id, revision, ordinal, start, "end", source,'
            " themes, account, person, language, facets, occurred_at, has_date, terms, frequencies, length, weights, index_hash)"
            ' SELECT x.id, %s, %s, x.document_id, x.external_id, x.revision, x.ordinal, x.start, x."end", x.source, x.themes, x.account,'
            " x.person, x.language, x.facets, x.occurred_at, x.has_date, x.terms, x.frequencies, x.length, x.weights::sparsevec, decode(x.index_hash, 'hex')"
            "   FROM json_to_recordset(%s::json) AS x(id uuid, document_id uuid, external_id text, revision integer, ordinal integer,"
            '     start integer, "end" integer, source text, themes text[], account text, person text, language text, facets jsonb,'
            "     occurred_at timestamptz, has_date boolean, terms integer[], frequencies smallint[], length integer, weights text, index_hash text)",
            [corpus.tenant_id, corpus.id, orjson.dumps(rows).decode()],
        )
    lexical.change_frequencies(
        corpus, lexical.count_terms(terms for terms, _ in weighed), weights=lexical.heaviest(weighed)
    )
    return rows


def _filter_columns(change: Change) -> dict[str, Any]:
    document = change.document
    return {
        "source": document.source,
        "themes": list(document.themes),
        "account": document.account or None,
        "person": document.account or document.author or None,
        "language": change.language,
        "facets": document.facets,
        "occurred_at": change.occurred_at.isoformat(),
        "has_date": change.document.occurred_at is not None,
    }


def _move_passages(corpus: Corpus, changes: list[Change]) -> None:
    """Give the passages and vectors of documents with equal text their new metadata; their words stay."""
    if not changes:
        return
    rows = [{"document_id": str(change.id), **_filter_columns(change)} for change in changes]
    moments = sorted({change.known.occurred_at for change in changes if change.known})
    columns = (
        "json_to_recordset(%s::json) AS x(document_id uuid, source text, themes text[], account text, person text,"
        " language text, facets jsonb, occurred_at timestamptz, has_date boolean)"
    )
    sent = orjson.dumps(rows).decode()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE feedback_passage p SET source = x.source, themes = x.themes, account = x.account, person = x.person,"
            f" language = x.language, facets = x.facets, occurred_at = x.occurred_at, has_date = x.has_date FROM {columns}"
            " WHERE p.tenant_id = %s AND p.document_id = x.document_id AND p.occurred_at = ANY (%s)",
            [sent, corpus.tenant_id, moments],
        )
        cursor.execute(
            "UPDATE feedback_passagevector v SET source = x.source, themes = x.themes, account = x.account,"
            f" language = x.language, facets = x.facets, occurred_at = x.occurred_at FROM {columns}"
            " WHERE v.tenant_id = %s AND v.document_id = x.document_id",
            [sent, corpus.tenant_id],
        )


def _widen_vocabulary(corpus: Corpus, changes: list[Change]) -> None:
    """Add the values that the corpus hasn't held before to what filters are checked against."""
    sources = {change.document.source for change in changes}
    themes = {theme for change in changes for theme in change.document.themes}
    languages = {change.language for change in changes}
    names = {name for change in changes for name in change.document.facets}
    accounts = {change.document.account for change in changes if change.document.account}
    wider = {
        "sources": sorted({*corpus.sources, *sources}),
        "themes": sorted({*corpus.themes, *themes}),
        "languages": sorted({*corpus.languages, *languages}),
        "facet_names": sorted({*corpus.facet_names, *names}),
        "accounts": sorted([*corpus.accounts, *sorted(accounts - set(corpus.accounts))][:MAX_NAMED_ACCOUNTS]),
    }
    if any(getattr(corpus, column) != value for column, value in wider.items()):
        Corpus.objects.for_tenant(corpus.tenant).filter(pk=corpus.pk).update(**wider)
