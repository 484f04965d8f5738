"""Dates that exports write are read; those that can be read in two ways are not guessed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.dates import UnreadableDateError, detect_day_first, is_in_range, read_moment

SEPTEMBER = datetime(2021, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "2021-09-30",
        "20210930",
        "2021-09-30T00:00:00",
        "2021-09-30 00:00:00Z",
        "2021-09-30T02:00:00+02:00",
        "2021-09-29T19:00-05:00",
        "2021/9/30",
        "2021/09/30 00:00",
        "30/09/2021",
        "09/30/2021 12:00:00 AM",
        "30.9.2021",
        "30.09.21",
        "30-09-2021",
        "9/30/21",
        "30 Sep 2021",
        "Sep 30, 2021 12:00 am",
        "Thu, 30 Sep 2021 00:00:00 GMT",
        "30th September 2021",
        "1632960000",
        "1632960000000",
        1632960000,
        1632960000.0,
        1632960000000,
        " 2021-09-30 ",
    ],
)
def test_usual_forms_are_read(value: object) -> None:
    assert read_moment(value) == SEPTEMBER


def test_time_of_day_and_zone_are_kept() -> None:
    assert read_moment("09/30/2021 11:45:10 PM") == datetime(2021, 9, 30, 23, 45, 10, tzinfo=UTC)
    assert read_moment("Sep 30 2021 08:00 +0200") == datetime(2021, 9, 30, 6, tzinfo=UTC)


@pytest.mark.parametrize("value", ["03/04/2021", "3-4-2021", "03/04/21 10:00"])
def test_ambiguous_dates_are_refused(value: str) -> None:
    with pytest.raises(UnreadableDateError):
        read_moment(value)


@pytest.mark.parametrize(("day_first", "month"), [(True, 4), (False, 3)])
def test_order_of_the_column_decides(day_first: bool, month: int) -> None:
    moment = read_moment("03/04/2021", day_first=day_first)

    assert moment.month == month


def test_same_day_and_month_is_not_ambiguous() -> None:
    assert read_moment("04/04/2021") == datetime(2021, 4, 4, tzinfo=UTC)


def test_dots_mean_day_first() -> None:
    assert read_moment("03.04.2021", day_first=False) == datetime(2021, 4, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "", "yesterday", "n/a", "Sep 2021", "September", "10:30", "30 Sep", "2021", "44469", "2021-02-30", "31/31/2021",
        "20211345", "30 Sep 2021 EST", "2021-09-30T25:00", "12-09-10", "１２３４５６７８", "1e9", "9" * 400,
        "Sep " * 100, "13:61 PM 1/1/2021", "1/1/2021 13:00 PM", "0000-00-00", True, None, [], float("nan"), float("inf"),
        10**400, "0001-01-01T00:00+14:00",
    ],
)  # fmt: skip
def test_other_values_are_refused(value: object) -> None:
    with pytest.raises(UnreadableDateError, match=r"\w"):
        read_moment(value)


def test_column_contradicting_its_order_is_refused() -> None:
    with pytest.raises(UnreadableDateError):
        read_moment("09/30/2021", day_first=True)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["01/02/2021", "30/09/2021"], True),
        (["01/02/2021", "09/30/2021 12:00:00 AM"], False),
        (["01/02/2021"], None),
        (["30/09/2021", "09/30/2021"], None),
        (["30.09.2021", "2021-09-30", "", "junk"], None),
    ],
)
def test_order_is_detected_only_where_a_value_decides(values: list[str], expected: bool | None) -> None:
    assert detect_day_first(values) is expected


def test_range_is_from_1990_to_two_days_ahead() -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)

    assert is_in_range(datetime(1990, 1, 1, tzinfo=UTC), now=now)
    assert not is_in_range(datetime(1989, 12, 31, tzinfo=UTC), now=now)
    assert is_in_range(now + timedelta(days=2), now=now)
    assert not is_in_range(now + timedelta(days=2, seconds=1), now=now)


@given(st.text() | st.integers() | st.floats())
def test_any_value_is_read_or_refused(value: object) -> None:
    try:
        moment = read_moment(value)
    except UnreadableDateError:
        return

    assert moment.tzinfo is UTC


@given(
    st.datetimes(
        min_value=datetime(1990, 1, 2),  # noqa: DTZ001  # hypothesis adds the zone
        max_value=datetime(2100, 1, 1),  # noqa: DTZ001  # hypothesis adds the zone
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]),
    )
)
def test_iso_dates_round_trip(moment: datetime) -> None:
    assert read_moment(moment.isoformat()) == moment
