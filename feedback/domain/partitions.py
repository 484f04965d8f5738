"""Place rows: by month into range partitions, by tenant into shards."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from uuid import UUID


def month_start(moment: datetime | date) -> date:
    """Return the first day of the moment's month, in UTC; a datetime without a zone is UTC."""
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    return date(moment.year, moment.month, 1)


def add_months(month: date, months: int) -> date:
    """Return the first day of the month that lies `months` later, or earlier when negative.

    Raises: ValueError outside the calendar.
    """
    year, index = divmod(month.year * 12 + month.month - 1 + months, 12)
    return date(year, index + 1, 1)


def months_between(first: date, last: date, *, span: int = 1) -> Iterator[date]:
    """Yield the start of each partition from the one that holds `first` to the one that holds `last`.

    Partitions of `span` months are counted from January of year 1, so that their bounds never depend on
    where a range began.

    Raises: ValueError if span < 1.
    """
    month = partition_start(first, span=span)
    while month <= last:
        yield month
        month = add_months(month, span)


def partition_start(moment: datetime | date, *, span: int = 1) -> date:
    """Return the first day of the partition of `span` months that holds the moment.

    Raises: ValueError if span < 1.
    """
    if span < 1:
        raise ValueError("span must be at least 1 month")
    month = month_start(moment)
    return add_months(month, -((month.year * 12 + month.month - 13) % span))


def partition_name(table: str, month: date) -> str:
    """Return the name of the partition that begins with `month`: feedback_document_y2026m03."""
    return f"{table}_y{month.year:04d}m{month.month:02d}"


def partition_month(table: str, name: str) -> date | None:
    """Return the month that a partition's name says; None if it is no monthly partition of the table."""
    year, separator, month = name.removeprefix(f"{table}_y").partition("m")
    if not name.startswith(f"{table}_y") or not (separator and year.isdecimal() and month.isdecimal()):
        return None
    if len(year) != 4 or len(month) != 2 or not 1 <= int(month) <= 12 or int(year) < 1:
        return None
    return date(int(year), int(month), 1)


def shard_of(tenant_id: UUID, shards: int) -> int:
    """Return the tenant's shard, in [0, shards): its last eight hex digits as a number, modulo shards.

    The last digits, since time-ordered ids share the first. The same in SQL, with literals for both:
    `('x' || substr(replace(tenant::text, '-', ''), 25, 8))::bit(32)::bigint % shards`.

    Raises: ValueError if shards < 1.
    """
    if shards < 1:
        raise ValueError("shards must be at least 1")
    return (tenant_id.int & 0xFFFF_FFFF) % shards


def shard_sql(tenant: str, shards: int) -> str:
    """Return the SQL expression of `shard_of` for `tenant`, which is a column name or a quoted literal."""
    if shards < 1:
        raise ValueError("shards must be at least 1")
    return f"(('x' || substr(replace({tenant}::text, '-', ''), 25, 8))::bit(32)::bigint % {shards})"
