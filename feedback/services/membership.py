"""Say which records have to be clustered: one call from whatever changes what a record says.

Both run in the transaction of the writer that holds the corpus's statistics row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import connection

from feedback.models import ClusterDecision
from feedback.services.clusters import apply_decisions

if TYPE_CHECKING:
    from feedback.models import Corpus


def enlist(corpus: Corpus, documents: Sequence[UUID]) -> None:
    """Let records with a new text wait to be clustered; until then each counts as a cluster of its own."""
    if not documents:
        return
    _leave_texts(corpus, documents)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO feedback_clustermember (id, tenant_id, corpus_id) SELECT x.id, %s, %s FROM unnest(%s::uuid[]) AS x(id)"
            " ON CONFLICT (tenant_id, id) DO UPDATE SET text_id = NULL, position = NULL, cluster_id = NULL",
            [corpus.tenant_id, corpus.id, list(documents)],
        )
    _follow_decisions(corpus, documents)


def withdraw(corpus: Corpus, documents: Sequence[UUID]) -> None:
    """Take records out of their clusters; what people decided of them is kept, should they come back."""
    _leave_texts(corpus, documents)
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM feedback_clustermember WHERE tenant_id = %s AND id = ANY (%s)",
            [corpus.tenant_id, list(documents)],
        )
    _follow_decisions(corpus, documents)


def _follow_decisions(corpus: Corpus, documents: Sequence[UUID]) -> None:
    """Clusters that were merged by naming one of the records are so no longer, until it says what it said before."""
    if ClusterDecision.objects.for_tenant(corpus.tenant).filter(id__in=documents, merge_id__isnull=False).exists():
        apply_decisions(corpus)


def _leave_texts(corpus: Corpus, documents: Sequence[UUID]) -> None:
    """Have the texts looked at again whose first record leaves; what the others say stays as it is."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE feedback_distincttext t SET is_due = true FROM feedback_clustermember m"
            " WHERE m.tenant_id = %s AND m.id = ANY (%s) AND t.tenant_id = %s AND t.id = m.text_id AND t.position = m.position",
            [corpus.tenant_id, list(documents), corpus.tenant_id],
        )
