"""The range partitions of all tables that have them, as the database's catalogue knows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition; the default one, which takes what no other does, has no bounds. `upper` is exclusive."""

    table: str
    name: str
    lower: datetime | None
    upper: datetime | None

    @property
    def is_default(self) -> bool:
        """Say whether it takes the strays."""
        return self.lower is None

    def as_json(self) -> dict[str, Any]:
        """Return it for `partitions --json`."""
        return {
            "table": self.table,
            "name": self.name,
            "from": self.lower.date().isoformat() if self.lower else None,
            "to": self.upper.date().isoformat() if self.upper else None,
        }


def list_partitions(*, cursor: Any) -> list[Partition]:
    """Return the range partitions by table, oldest first, each table's default partition last."""
    cursor.execute(
        "SELECT x.parent, x.name, x.lower, x.upper FROM ("
        "  SELECT p.relname::text AS parent, c.relname::text AS name,"
        "         substring(pg_get_expr(c.relpartbound, c.oid) FROM $$FROM \\('([^']+)'\\)$$)::timestamptz AS lower,"
        "         substring(pg_get_expr(c.relpartbound, c.oid) FROM $$TO \\('([^']+)'\\)$$)::timestamptz AS upper"
        "    FROM pg_partitioned_table t JOIN pg_class p ON p.oid = t.partrelid"
        "    JOIN pg_inherits i ON i.inhparent = p.oid JOIN pg_class c ON c.oid = i.inhrelid"
        "   WHERE t.partstrat = 'r' AND p.relnamespace = 'public'::regnamespace) x"
        " ORDER BY x.parent, x.lower NULLS LAST"
    )
    return [Partition(*row) for row in cursor.fetchall()]


def ensure_ahead(*, now: datetime, months: int) -> list[str]:
    """Make the partitions from this month to the one that lies `months` ahead; return those that were missing."""
    made: list[str] = []
    with connection.cursor() as cursor:
        for table in _tables(list_partitions(cursor=cursor)):
            for ahead in range(months + 1):
                cursor.execute(
                    "SELECT core_ensure_partition(%s, (date_trunc('month', %s AT TIME ZONE 'UTC')"
                    " + make_interval(months => %s))::date, %s)",
                    [table, now, ahead, settings.WISDOM.partition_span_months],
                )
                made += [row[0] for row in cursor.fetchall() if row[0]]
    return made


def count_default_rows(*, cursor: Any) -> int:
    """Return how many rows lie in default partitions; only their owner may look."""
    total = 0
    for partition in list_partitions(cursor=cursor):
        if partition.is_default:
            cursor.execute(f'SELECT count(*) FROM "{partition.name}"')
            total += int(cursor.fetchone()[0])
    return total


def drop_before(*, cursor: Any, table: str, column: str, before: datetime) -> list[str]:
    """Drop the partitions of a table that end by then, and the strays before it; return the partitions' names.

    As the owner, in the caller's transaction; the table is locked until that ends.
    """
    ended = [
        partition
        for partition in list_partitions(cursor=cursor)
        if partition.table == table and partition.upper is not None and partition.upper <= before
    ]
    for partition in ended:
        cursor.execute(f'ALTER TABLE "{table}" DETACH PARTITION "{partition.name}"')
        cursor.execute(f'DROP TABLE "{partition.name}"')
    cursor.execute(f'DELETE FROM "{table}_default" WHERE "{column}" < %s', [before])
    return [partition.name for partition in ended]


def _tables(partitions: Iterable[Partition]) -> list[str]:
    return sorted({partition.table for partition in partitions})
