"""Have the monthly partitions that rows are about to need."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime

from django.conf import settings
from django.db import connection

from feedback.domain.partitions import partition_start

TABLES = ("feedback_document", "feedback_passage")
# Older strays share the default partition: one empty partition a month for decades would slow every search.
OLDEST = date(2000, 1, 1)

_present: set[tuple[str, date]] = set()


def ensure_partitions(moments: Iterable[datetime]) -> None:
    """Make the documents' partitions of these moments where they are missing."""
    months = {partition_start(moment, span=settings.WISDOM.partition_span_months) for moment in moments}
    for table in TABLES:
        for month in sorted(months):
            _ensure(table, month)


def ensure_partitions_of(table: str, moment: datetime) -> None:
    """Make the partition of one table that a row of this moment belongs to."""
    _ensure(table, partition_start(moment, span=settings.WISDOM.partition_span_months))


def _ensure(table: str, month: date) -> None:
    """Make a partition in a short transaction of its own; one that this process has seen is not asked for again."""
    if (table, month) in _present or month < OLDEST:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT core_ensure_partition(%s, %s, %s)", [table, month, settings.WISDOM.partition_span_months]
        )
    _present.add((table, month))
