"""Hide a document at once, and bring it back."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from core.errors import Conflict, NotFound
from core.outbox import record_event
from core.tenant_session import tenant_session
from feedback.models import Corpus, Document, DocumentKey
from feedback.services import lexical_index as lexical
from feedback.services.membership import withdraw
from feedback.services.writing import reindex_document
from tenants.services import audit

if TYPE_CHECKING:
    from tenants.caller import Caller

RESTORABLE = timedelta(days=30)


def delete_document(*, caller: Caller, corpus: Corpus, external_id: str, now: datetime) -> None:
    """Take a document out of search, in one commit; it can be restored for 30 days.

    Raises: NotFound when it isn't there or is deleted already.
    """
    with tenant_session(caller.tenant):
        statistics = lexical.lock_statistics(corpus)
        key = (
            DocumentKey.objects.for_tenant(caller.tenant)
            .filter(corpus=corpus, external_id=external_id, deleted_at__isnull=True)
            .first()
        )
        if key is None:
            raise NotFound
        lexical.remove_passages(corpus, statistics, [(key.id, key.occurred_at)])
        withdraw(corpus, [key.id])
        _mark(key, now)
        statistics.documents -= 1
        if key.occurred_at == statistics.newest_at:
            # Looked for in every month: only where the newest itself has gone.
            statistics.newest_at = lexical.newest_dated(corpus)
        lexical.save_statistics(corpus, statistics)
        data = {"corpus": corpus.slug, "documents": [external_id]}
        record_event(tenant=caller.tenant, type="documents.deleted", data=data, now=now)
        audit(caller=caller, action="document.deleted", subject=f"{corpus.slug}/{external_id}", now=now)


def _mark(key: DocumentKey, moment: datetime | None) -> None:
    tenant = key.tenant
    DocumentKey.objects.for_tenant(tenant).filter(pk=key.pk).update(deleted_at=moment)
    Document.objects.for_tenant(tenant).filter(pk=key.pk, occurred_at=key.occurred_at).update(deleted_at=moment)


def restore_document(*, caller: Caller, corpus: Corpus, external_id: str, now: datetime) -> None:
    """Make a deleted document searchable again, exactly as it was.

    Raises: NotFound for an unknown id; Conflict when it isn't deleted, or was deleted over 30 days ago.
    """
    with tenant_session(caller.tenant):
        statistics = lexical.lock_statistics(corpus)
        key = DocumentKey.objects.for_tenant(caller.tenant).filter(corpus=corpus, external_id=external_id).first()
        if key is None:
            raise NotFound
        if key.deleted_at is None:
            raise Conflict("This document isn't deleted.", code="not_deleted")
        if now - key.deleted_at > RESTORABLE:
            raise Conflict("This document was deleted more than 30 days ago.", code="too_late")
        _mark(key, None)
        reindex_document(corpus, statistics, key)
        statistics.documents += 1
        lexical.save_statistics(corpus, statistics)
        data = {"corpus": corpus.slug, "documents": [external_id]}
        record_event(tenant=caller.tenant, type="documents.indexed", data=data, now=now)
        audit(caller=caller, action="document.restored", subject=f"{corpus.slug}/{external_id}", now=now)
