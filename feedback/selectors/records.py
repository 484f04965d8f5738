"""Read one record: its current text, its revisions, and what it is filed under."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from core.errors import NotFound
from feedback.models import Document, DocumentKey, DocumentRevision

if TYPE_CHECKING:
    from feedback.models import Corpus


@dataclass(frozen=True, slots=True)
class Revision:
    """A text exactly as it was sent."""

    number: int
    title: str
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it is now, and every text that it has had, the newest first."""

    id: UUID
    doc_id: str
    source: str
    themes: tuple[str, ...]
    account: str | None
    author: str | None
    language: str
    url: str
    occurred_at: datetime
    has_date: bool
    received_at: datetime
    attribution: str | None
    facets: Mapping[str, Any]
    current: int
    revisions: tuple[Revision, ...]

    def revision(self, number: int | None = None) -> Revision:
        """Return a revision, the current one by default. Raises: NotFound."""
        wanted = self.current if number is None else number
        for revision in self.revisions:
            if revision.number == wanted:
                return revision
        raise NotFound


def get_record(*, corpus: Corpus, doc_id: str) -> Record:
    """Return a record with its revisions. Raises: NotFound, also for one that is deleted."""
    found = list_records(corpus=corpus, doc_ids=[doc_id]).get(doc_id)
    if found is None:
        raise NotFound
    return found


def list_records(*, corpus: Corpus, doc_ids: Iterable[str]) -> dict[str, Record]:
    """Return the records that are there by id, with their revisions, in the order given: three queries for all."""
    wanted = list(dict.fromkeys(doc_ids))
    keys = {
        key.external_id: key
        for key in DocumentKey.objects.for_tenant(corpus.tenant).filter(
            corpus_id=corpus.id, external_id__in=wanted, deleted_at__isnull=True
        )
    }
    if not keys:
        return {}
    ids = [key.pk for key in keys.values()]
    # The dates find the partitions: ids alone would be looked up in all of them.
    documents = {
        document.id: document
        for document in Document.objects.for_tenant(corpus.tenant).filter(
            pk__in=ids, occurred_at__in={key.occurred_at for key in keys.values()}
        )
    }
    revisions: dict[UUID, list[Revision]] = {identity: [] for identity in ids}
    for row in DocumentRevision.objects.for_tenant(corpus.tenant).filter(document_id__in=ids).order_by("-number"):
        revisions[row.document_id].append(Revision(row.number, row.title, row.text, row.created_at))
    return {
        doc_id: _record(documents[keys[doc_id].pk], revisions[keys[doc_id].pk]) for doc_id in wanted if doc_id in keys
    }


def _record(document: Document, revisions: Sequence[Revision]) -> Record:
    return Record(
        id=document.id,
        doc_id=document.external_id,
        source=document.source,
        themes=tuple(document.themes),
        account=document.account,
        author=document.author,
        language=document.language,
        url=document.url,
        occurred_at=document.occurred_at,
        has_date=document.has_date,
        received_at=document.received_at,
        attribution=document.attribution,
        facets=document.facets,
        current=document.revision,
        revisions=tuple(revisions),
    )


def list_texts(*, corpus: Corpus, wanted: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """Return the texts of revisions, asked for by a record's id and the revision's number.

    Those of a deleted record are left out, and those that never were.
    """
    asked = set(wanted)
    keys = DocumentKey.objects.for_tenant(corpus.tenant).filter(
        corpus_id=corpus.id, external_id__in={doc_id for doc_id, _ in asked}, deleted_at__isnull=True
    )
    names = dict(keys.values_list("id", "external_id"))
    revisions = DocumentRevision.objects.for_tenant(corpus.tenant).filter(
        document_id__in=names, number__in={number for _, number in asked}
    )
    found = {
        (names[document], number): text
        for document, number, text in revisions.values_list("document_id", "number", "text")
    }
    return {place: text for place, text in found.items() if place in asked}
