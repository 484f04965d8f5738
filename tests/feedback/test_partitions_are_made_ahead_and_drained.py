"""Rows find the partition of their month; those that came before it was made are moved when it is."""

from __future__ import annotations

import threading
from datetime import UTC, date, datetime

import pytest
from django.db import connection
from django.db.utils import ProgrammingError
from hypothesis import given
from hypothesis import strategies as st

from core.partitions import ensure_ahead, list_partitions
from core.tenant_session import tenant_session
from feedback.domain.partitions import add_months, partition_name, partition_start
from feedback.services import partitions
from feedback.services.partitions import TABLES, ensure_partitions
from tests.factories import NOW, make_document
from tests.feedback.recount import differences
from tests.feedback.side_by_side import at_once


def _names(table):
    with connection.cursor() as cursor:
        return {partition.name for partition in list_partitions(cursor=cursor) if partition.table == table}


def _places(corpus, table="feedback_document"):
    with tenant_session(corpus.tenant), connection.cursor() as cursor:
        cursor.execute(
            f"SELECT external_id, tableoid::regclass::text FROM {table} WHERE tenant_id = %s ORDER BY 1",
            [corpus.tenant_id],
        )
        return dict(cursor.fetchall())


def _make(month, span=1, table="feedback_document"):
    with connection.cursor() as cursor:
        cursor.execute("SELECT core_ensure_partition(%s, %s, %s)", [table, month, span])
        return cursor.fetchone()[0]


@pytest.fixture
def no_partition_is_made(monkeypatch):
    """Let the ingest believe that every month is there, as a process does that has seen it before it was retired."""
    monkeypatch.setattr(partitions, "_ensure", lambda table, month: None)


@pytest.mark.parametrize(
    ("occurred_at", "month"),
    [
        ("2026-01-01T00:00:00Z", "y2026m01"),
        ("2026-01-31T23:59:59Z", "y2026m01"),
        ("2026-02-01T00:00:00+01:00", "y2026m01"),
        ("2025-12-31T23:00:00-05:00", "y2026m01"),
        ("1999-12-31", "default"),
        ("2000-01-01", "y2000m01"),
    ],
)
def test_a_record_lies_in_the_month_that_it_is_of_in_utc(corpus, ingest, occurred_at, month):
    ingest(make_document("a", occurred_at=occurred_at))

    assert _places(corpus) == {"a": f"feedback_document_{month}"}
    assert _places(corpus, "feedback_passage") == {"a": f"feedback_passage_{month}"}


def test_strays_are_moved_when_their_partition_is_made(corpus, ingest, no_partition_is_made, search):
    ingest(
        make_document("a", "kettle", occurred_at="2026-01-15"), make_document("b", "kettle", occurred_at="2026-02-15")
    )
    strays = _places(corpus)

    made = [_make(date(2026, 1, 1), table=table) for table in TABLES]

    assert set(strays.values()) == {"feedback_document_default"}
    assert made == ["feedback_document_y2026m01", "feedback_passage_y2026m01"]
    assert _places(corpus) == {"a": "feedback_document_y2026m01", "b": "feedback_document_default"}
    assert search("kettle") == ["a", "b"]
    assert differences(corpus) == []


def test_strays_of_every_tenant_are_moved(corpus, other_corpus, ingest, no_partition_is_made):
    for each in (corpus, other_corpus):
        ingest(make_document("a", occurred_at="2026-01-15"), into=each)

    for table in TABLES:
        _make(date(2026, 1, 1), table=table)

    for each in (corpus, other_corpus):
        assert _places(each) == {"a": "feedback_document_y2026m01"}
        assert differences(each) == []


def test_a_partition_is_made_once(db):
    assert _make(date(2026, 5, 20)) == "feedback_document_y2026m05"
    assert _make(date(2026, 5, 1)) is None


def test_a_new_partition_has_the_indexes_of_its_parent_and_no_grant(db):
    _make(date(2026, 5, 20))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname, count(i.*), c.relacl IS NULL FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid"
            " WHERE c.relname = ANY (%s) GROUP BY 1, 3 ORDER BY 1",
            [["feedback_document", "feedback_document_y2026m05"]],
        )
        (_, parents, _), (_, own, is_closed) = cursor.fetchall()

    assert own == parents
    assert is_closed


@pytest.mark.parametrize(
    ("table", "month", "span"),
    [
        ("auth_user", date(2026, 1, 1), 1),
        ("feedback_passagevector", date(2026, 1, 1), 1),
        ("nothing", date(2026, 1, 1), 1),
        ("feedback_document; DROP TABLE auth_user", date(2026, 1, 1), 1),
        ("feedback_document", date(1969, 12, 1), 1),
        ("feedback_document", date(2300, 1, 1), 1),
        ("feedback_document", date(2026, 1, 1), 0),
        ("feedback_document", date(2026, 1, 1), 13),
    ],
)
def test_what_is_no_monthly_partition_is_refused(db, table, month, span):
    with pytest.raises(ProgrammingError):
        _make(month, span, table)


@given(
    # Not the years round the tests' own moment: other tests have left months of these behind.
    day=st.dates(date(1990, 1, 1), date(2023, 12, 31)) | st.dates(date(2030, 1, 1), date(2199, 12, 31)),
    span=st.sampled_from([1, 2, 3, 4, 6, 12]),
)
def test_python_and_sql_agree_on_bounds_and_names(app_connection_for_all, day, span):
    with app_connection_for_all.transaction(force_rollback=True):
        ((name,),) = app_connection_for_all.execute(
            "SELECT core_ensure_partition('answering_run', %s, %s)", [day, span]
        ).fetchall()
        found = [
            partition for partition in list_partitions(cursor=app_connection_for_all.cursor()) if partition.name == name
        ]

    start = partition_start(day, span=span)
    assert name == partition_name("answering_run", start)
    assert found[0].lower == datetime(start.year, start.month, 1, tzinfo=UTC)
    end = add_months(start, span)
    assert found[0].upper == datetime(end.year, end.month, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def app_connection_for_all(test_database, django_db_blocker):
    from tests.databases import connect_as

    with connect_as("default", test_database.name) as opened:
        yield opened


def test_the_months_ahead_are_made_for_every_table(db):
    made = ensure_ahead(now=NOW, months=2)

    assert set(made) >= {f"{table}_y2026m{month:02d}" for table in TABLES for month in (3, 4, 5)}
    assert {name for name in made if name.startswith("answering_run")} == {
        f"answering_run_y2026m{month:02d}" for month in (3, 4, 5)
    }
    assert ensure_ahead(now=NOW, months=2) == []


def test_the_months_ahead_cross_the_year(db):
    ensure_ahead(now=NOW.replace(month=12, day=31), months=2)

    assert {"feedback_document_y2026m12", "feedback_document_y2027m01", "feedback_document_y2027m02"} <= _names(
        "feedback_document"
    )


@pytest.mark.django_db(transaction=True)
def test_many_that_need_the_same_partition_at_once_have_it_once(db, owner_connection):
    moments = [datetime(2031, month, 1, tzinfo=UTC) for month in range(1, 4)]

    def ensure():
        for table in TABLES:
            for moment in moments:
                _make(moment.date(), table=table)

    try:
        at_once([ensure] * 6)

        assert {partition_name("feedback_document", moment.date()) for moment in moments} <= _names("feedback_document")
    finally:
        _drop(owner_connection, moments)


@pytest.mark.django_db(transaction=True)
def test_a_stray_that_is_being_written_meanwhile_is_moved_as_well(corpus, ingest, monkeypatch, owner_connection):
    """The row is there, uncommitted, when the partition is asked for; the maker waits for it and takes it along."""
    moment = datetime(2031, 5, 15, tzinfo=UTC)
    written, released = threading.Event(), threading.Event()
    make = partitions._ensure
    monkeypatch.setattr(partitions, "_ensure", lambda table, month: None)

    def write_a_stray():
        with tenant_session(corpus.tenant):
            ingest(make_document("a", occurred_at=moment.isoformat()), now=moment.replace(month=6))
            written.set()
            assert released.wait(20)

    def make_the_partition():
        assert written.wait(20)
        threading.Timer(0.3, released.set).start()
        for table in TABLES:
            make(table, moment.date().replace(day=1))

    try:
        at_once([write_a_stray, make_the_partition])

        assert _places(corpus) == {"a": "feedback_document_y2031m05"}
        assert differences(corpus) == []
    finally:
        released.set()
        _drop(owner_connection, [moment])


def _drop(owner_connection, moments):
    for moment in moments:
        for table in TABLES:
            owner_connection.execute(f"DROP TABLE IF EXISTS {partition_name(table, moment.date())}")


def test_a_month_is_asked_for_once_by_a_process(db, django_assert_num_queries):
    ensure_partitions([NOW, NOW])

    with django_assert_num_queries(0):
        ensure_partitions([NOW, NOW.replace(day=1)])


def test_months_before_the_oldest_partition_are_not_made(db):
    before = _names("feedback_document")

    ensure_partitions([datetime(1999, 12, 31, 23, 59, tzinfo=UTC)])

    assert _names("feedback_document") == before
