"""Take vectors out of the graphs that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID


def forget_nodes(cursor: Any, *, tenant_id: UUID, corpus_id: UUID, vectors: Sequence[UUID]) -> None:
    """Take deleted vectors out of their segments, in the transaction that deletes them; a few look-ups for each.

    The caller holds the corpus's statistics row: a segment that is being built meanwhile is swept under that lock
    before it serves.
    """
    if not vectors:
        return
    cursor.execute(
        "SELECT id FROM feedback_vectorsegment WHERE tenant_id = %s AND corpus_id = %s", [tenant_id, corpus_id]
    )
    segments = [row[0] for row in cursor.fetchall()]
    if segments:
        cursor.execute(
            "DELETE FROM feedback_segmentvector WHERE tenant_id = %s AND segment_id = ANY (%s) AND id = ANY (%s)",
            [tenant_id, segments, list(vectors)],
        )
