"""Each moment has one partition and each tenant one shard, the same in Python and in SQL."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.partitions import (
    add_months,
    month_start,
    months_between,
    partition_month,
    partition_name,
    partition_start,
    shard_of,
    shard_sql,
)

dates = st.dates(min_value=date(1990, 1, 1), max_value=date(2100, 12, 31))


def test_month_begins_in_utc() -> None:
    moment = datetime(2026, 3, 1, 1, tzinfo=timezone(timedelta(hours=2)))

    assert month_start(moment) == date(2026, 2, 1)
    assert month_start(datetime(2026, 3, 31, 23, 59, tzinfo=UTC)) == date(2026, 3, 1)


def test_name_and_month_translate_both_ways() -> None:
    assert partition_name("feedback_document", date(2026, 3, 1)) == "feedback_document_y2026m03"
    assert partition_month("feedback_document", "feedback_document_y2026m03") == date(2026, 3, 1)


@pytest.mark.parametrize(
    "name",
    ["feedback_document_default", "feedback_document_y2026m13", "feedback_document_y26m1", "other_y2026m03", "", "feedback_document_yxxxxm01"],
)  # fmt: skip
def test_other_names_are_no_partition(name: str) -> None:
    assert partition_month("feedback_document", name) is None


def test_months_cross_the_year() -> None:
    assert list(months_between(date(2025, 11, 20), date(2026, 2, 1))) == [
        date(2025, 11, 1),
        date(2025, 12, 1),
        date(2026, 1, 1),
        date(2026, 2, 1),
    ]
    assert list(months_between(date(2026, 2, 1), date(2026, 1, 31))) == []


@given(dates, st.sampled_from([1, 2, 3, 6, 12]))
def test_partition_holds_its_date(day: date, span: int) -> None:
    start = partition_start(day, span=span)

    assert start <= day < add_months(start, span)
    assert partition_start(start, span=span) == start
    assert partition_month("t", partition_name("t", start)) == start


@given(dates, st.integers(-200, 200))
def test_adding_months_can_be_taken_back(day: date, months: int) -> None:
    month = month_start(day)

    assert add_months(add_months(month, months), -months) == month


@pytest.mark.parametrize("span", [0, -1])
def test_span_must_be_positive(span: int) -> None:
    with pytest.raises(ValueError, match="span"):
        partition_start(date(2026, 1, 1), span=span)


@given(st.uuids(), st.integers(1, 64))
def test_shard_is_the_last_eight_hex_digits_modulo(tenant: UUID, shards: int) -> None:
    # What the SQL expression does, step by step.
    digits = str(tenant).replace("-", "")[24:32]

    assert shard_of(tenant, shards) == int(digits, 16) % shards


def test_sql_names_the_tenant_it_is_given() -> None:
    assert shard_sql("tenant_id", 4) == (
        "(('x' || substr(replace(tenant_id::text, '-', ''), 25, 8))::bit(32)::bigint % 4)"
    )


@pytest.mark.parametrize("shards", [0, -4])
def test_shards_must_be_positive(shards: int) -> None:
    with pytest.raises(ValueError, match="shards"):
        shard_of(UUID(int=1), shards)
    with pytest.raises(ValueError, match="shards"):
        shard_sql("tenant_id", shards)
