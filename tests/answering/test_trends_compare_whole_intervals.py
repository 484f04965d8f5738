"""A trend compares whole intervals beside all the records of each; a record without a date is in none of them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any

import pytest

from answering.domain.periods import Interval, whole_intervals
from answering.measures import run_again
from answering.services import ask
from core.tenant_session import tenant_session
from feedback.domain.filters import FilterSet
from feedback.selectors.aggregates import Grouping, Selection, first_and_last, group_matching
from tests.factories import make_document

# Month: (records, of these about late deliveries). January and May are cut off by the days below.
MONTHS = {1: (6, 6), 2: (8, 1), 3: (9, 5), 4: (7, 2), 5: (6, 6)}


@pytest.mark.parametrize(
    ("first", "last", "interval", "expected"),
    [
        (date(2026, 1, 1), date(2026, 3, 31), Interval.MONTH, (date(2026, 1, 1), date(2026, 3, 1))),
        (date(2026, 1, 2), date(2026, 3, 31), Interval.MONTH, (date(2026, 2, 1), date(2026, 3, 1))),
        (date(2026, 1, 1), date(2026, 3, 30), Interval.MONTH, (date(2026, 1, 1), date(2026, 2, 1))),
        (date(2026, 1, 2), date(2026, 3, 30), Interval.MONTH, None),
        (date(2026, 2, 1), date(2026, 2, 28), Interval.MONTH, None),
        (date(2025, 11, 30), date(2026, 10, 1), Interval.QUARTER, (date(2026, 1, 1), date(2026, 7, 1))),
        (date(2026, 3, 2), date(2026, 3, 15), Interval.WEEK, (date(2026, 3, 2), date(2026, 3, 9))),
        (date(2026, 3, 3), date(2026, 3, 15), Interval.WEEK, None),
        (date(2026, 3, 3), date(2026, 3, 4), Interval.DAY, (date(2026, 3, 3), date(2026, 3, 4))),
        (date(2020, 5, 5), date(2023, 12, 31), Interval.YEAR, (date(2021, 1, 1), date(2023, 1, 1))),
    ],
)
def test_only_whole_intervals_are_compared(first, last, interval, expected):
    assert whole_intervals(first, last, interval) == expected


@pytest.fixture
def loaded(corpus, ingest):
    documents = []
    for month, (records, late) in MONTHS.items():
        for number in range(records):
            day = {1: 20, 5: 10}.get(month, 1 + 3 * number)
            text = f"The delivery came late, {number} days." if number < late else f"A fine kettle, number {number}."
            documents.append(make_document(f"m{month}-{number}", text, occurred_at=f"2026-{month:02d}-{day:02d}"))
    # A file without dates, received on one day: no spike of that day.
    undated = [make_document(f"u-{number}", f"Late delivery, number {number}.") for number in range(30)]
    for document in undated:
        del document["occurred_at"]
    ingest(*documents, *undated, now=datetime(2026, 6, 1, tzinfo=UTC))
    return corpus


def lead(answer: dict[str, Any]) -> dict[str, Any]:
    claim = answer["claims"][0]
    assert claim["kind"] == "measure"
    return claim


def test_the_lead_names_the_ends_and_the_peak(loaded, caller, now):
    answer = ask(caller=caller, question="How have late deliveries developed over time?", now=now)

    claim = lead(answer)
    assert claim["text"] == (
        "Records that mention “late deliveries” went from 1 of 8 in February 2026 to 2 of 7 in April 2026,"
        " with the largest share, 5 of 9, in March 2026."
    )
    assert claim["measure"]["components"] == {
        "first": 1, "first_of": 8, "peak": 5, "peak_of": 9, "last": 2, "last_of": 7,
    }  # fmt: skip


def test_a_changed_corpus_gives_other_numbers_when_the_query_is_run_again(loaded, ingest, caller, now):
    answer = ask(caller=caller, question="How have late deliveries developed over time?", now=now)
    measure = lead(answer)["measure"]
    assert ingest(make_document("more", "Another late delivery.", occurred_at="2026-03-02")).saved == 1

    with tenant_session(loaded.tenant):
        again = run_again(corpus=loaded, query=measure["query"], denominator=measure["denominator"])

    assert again.components == {**measure["components"], "peak": 6, "peak_of": 10}


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (
            "2026-05-01",
            "Records that mention “late deliveries” went from 5 of 9 in March 2026 to 2 of 7 in April 2026,"
            " a smaller share (from 1 March 2026; before 1 May 2026).",
        ),
        # One month alone compares with none.
        ("2026-04-01", "5 of 9 records mention “late deliveries” (from 1 March 2026; before 1 April 2026)."),
    ],
)
def test_within_a_period_its_own_ends_count(loaded, caller, now, before, said):
    period = {"occurred_from": "2026-03-01", "occurred_to": before}

    answer = ask(caller=caller, question="Are late deliveries getting worse?", filters=period, now=now)

    assert lead(answer)["text"] == said


def test_a_record_without_a_date_is_counted_and_is_in_no_interval(loaded):
    with tenant_session(loaded.tenant):
        months = {
            group.key: group.count.value
            for group in group_matching(corpus=loaded, selection=Selection(), by=Grouping.MONTH)
        }
        sources = group_matching(corpus=loaded, selection=Selection(), by=Grouping.SOURCE)
        ends = first_and_last(corpus=loaded, selection=Selection(filters=FilterSet()))

    assert months == {f"2026-{month:02d}-01": records for month, (records, _) in MONTHS.items()}
    assert sum(group.count.value for group in sources) == sum(records for records, _ in MONTHS.values()) + 30
    assert ends == (datetime(2026, 1, 20, tzinfo=UTC), datetime(2026, 5, 10, tzinfo=UTC))


def test_a_date_that_is_sent_later_puts_the_record_into_its_month(loaded, ingest):
    assert ingest(make_document("u-0", "Late delivery, number 0.", occurred_at="2026-02-28")).updated == 1

    with tenant_session(loaded.tenant):
        months = {
            group.key: group.count.value
            for group in group_matching(corpus=loaded, selection=Selection(), by=Grouping.MONTH)
        }

    assert months["2026-02-01"] == MONTHS[2][0] + 1


def test_the_page_behind_the_number_shows_each_interval_counted_again(loaded, ingest, caller, now, client, member):
    answer = ask(caller=caller, question="How have late deliveries developed over time?", now=now)
    ingest(make_document("more", "Another late delivery.", occurred_at="2026-03-02"))
    client.force_login(member, backend="django.contrib.auth.backends.ModelBackend")

    page = client.get(f"/measures/{lead(answer)['measure']['query_id']}").content.decode()

    shown = re.findall(r"<dt>In ([^<]+)</dt><dd>([^<]+)</dd>", page)
    assert shown == [
        ("February 2026", "1 of 8 records"),
        ("March 2026", "6 of 10 records"),
        ("April 2026", "2 of 7 records"),
    ]
