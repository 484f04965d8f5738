"""Make partitions ahead, list them, retire old ones."""

from __future__ import annotations

import argparse
from datetime import UTC, date, datetime, time
from typing import Any

from django.conf import settings
from django.db import connections, transaction

from answering.retention import retire_runs
from core.clock import utc_now
from core.commands import WisdomCommand, positive_integer
from core.errors import InvalidInput
from core.partitions import Partition, count_default_rows, ensure_ahead, list_partitions
from core.tenant_scope import across_tenants
from feedback.domain.partitions import partition_start
from feedback.services.retention import retire_records


def _day(value: str) -> date:
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{value!r} is no date: write it as 2024-01-31") from None


class Command(WisdomCommand):
    help = "List the monthly partitions; make those of the months ahead; drop those of months that need not be kept."
    takes_tenant = False

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--ensure", type=positive_integer, metavar="MONTHS", help="have the next MONTHS months ready"
        )
        parser.add_argument(
            "--retire-before",
            type=_day,
            metavar="DATE",
            help="drop the months that ended before DATE, of all tenants, with their records, runs and vectors",
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would be made and dropped, and do nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        if "owner" not in settings.DATABASES:
            raise InvalidInput("WA_DATABASE_OWNER_DSN is needed: partitions belong to the owner of the tables.")
        now = utc_now()
        before = _cutoff(options["retire_before"], now)
        owner = connections["owner"]
        created: list[str] = []
        retired: list[str] = []
        with transaction.atomic():
            if options["ensure"]:
                created = ensure_ahead(now=now, months=options["ensure"])
            transaction.set_rollback(options["dry_run"])
        with owner.cursor() as cursor:
            if before is not None and options["dry_run"]:
                retired = [
                    partition.name for partition in list_partitions(cursor=cursor) if _ends_by(partition, before)
                ]
            elif before is not None:
                retired = _retire(before, now)
            answer = {
                "partitions": [partition.as_json() for partition in list_partitions(cursor=cursor)],
                "created": created,
                "retired": retired,
                "default_rows": count_default_rows(cursor=cursor),
            }
        if self.as_json:
            self.document(answer)
        else:
            self._tell(answer, is_dry_run=options["dry_run"])

    def _tell(self, answer: dict[str, Any], *, is_dry_run: bool) -> None:
        for partition in answer["partitions"]:
            span = f"{partition['from']} to {partition['to']}" if partition["from"] else "everything else"
            self.say(f"{partition['name']}: {span}")
        would = "would be " if is_dry_run else ""
        for verb in ("created", "retired"):
            if answer[verb]:
                self.say(f"{would}{verb}: {', '.join(answer[verb])}".capitalize())
        self.say(f"{answer['default_rows']:,} rows are in default partitions.")


def _cutoff(day: date | None, now: datetime) -> datetime | None:
    if day is None:
        return None
    if day > now.date():
        raise InvalidInput(f"{day} lies in the future: give a date up to today.", field="retire_before")
    start = partition_start(day, span=settings.WISDOM.partition_span_months)
    return datetime.combine(start, time(), tzinfo=UTC)


def _ends_by(partition: Partition, before: datetime) -> bool:
    return partition.upper is not None and partition.upper <= before


def _retire(before: datetime, now: datetime) -> list[str]:
    tenants = list(across_tenants(reason="retention: a partition holds the months of all tenants"))
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        # Rather a clear failure than every reader behind us in the queue.
        cursor.execute("SET LOCAL lock_timeout = '30s'")
        records = retire_records(cursor=cursor, tenants=tenants, before=before, now=now)
        return records.partitions + retire_runs(cursor=cursor, tenants=tenants, before=before)
