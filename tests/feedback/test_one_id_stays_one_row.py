"""An id names one record, whatever its date says and however many send it at once."""

from __future__ import annotations

import pytest
from django.db import connection

from core.tenant_session import tenant_session
from feedback.models import Document, DocumentKey
from feedback.selectors.records import get_record
from tests.factories import NOW, make_document
from tests.feedback.recount import differences
from tests.feedback.side_by_side import at_once

NOVEMBER = NOW.replace(month=11)


def _rows(corpus, external_id):
    with tenant_session(corpus.tenant):
        return list(Document.objects.for_tenant(corpus.tenant).filter(external_id=external_id))


def _partition(corpus, external_id):
    with tenant_session(corpus.tenant), connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.tableoid::regclass::text FROM feedback_passage p WHERE p.tenant_id = %s AND p.external_id = %s",
            [corpus.tenant_id, external_id],
        )
        return [row[0] for row in cursor.fetchall()]


def test_same_id_with_other_occurred_at_stays_one_row(corpus, ingest):
    ingest(make_document("a", occurred_at="2026-01-10"))
    before = _partition(corpus, "a")

    again = ingest(make_document("a", occurred_at="2026-02-10"))

    (row,) = _rows(corpus, "a")
    assert (again.saved, again.updated, again.indexed) == (0, 1, 0)
    assert row.occurred_at.isoformat() == "2026-02-10T00:00:00+00:00"
    assert before == ["feedback_passage_y2026m01"]
    assert _partition(corpus, "a") == ["feedback_passage_y2026m02"]
    assert differences(corpus) == []


def test_same_id_keeps_its_row_when_text_and_date_change_together(corpus, ingest):
    ingest(make_document("a", "first", occurred_at="2026-01-10"))
    (before,) = _rows(corpus, "a")

    ingest(make_document("a", "second", occurred_at="2025-11-10"))

    (row,) = _rows(corpus, "a")
    assert (row.id, row.revision) == (before.id, 2)
    assert differences(corpus) == []


def test_same_id_without_a_date_keeps_the_moment_of_its_first_arrival(corpus, ingest, now):
    undated = {"id": "a", "text": "no date"}
    ingest(undated)

    ingest({**undated, "text": "still no date"}, now=now.replace(month=9))

    with tenant_session(corpus.tenant):
        record = get_record(corpus=corpus, doc_id="a")
    assert record.occurred_at == now
    assert not record.has_date


def test_a_date_that_comes_later_is_taken(corpus, ingest):
    ingest({"id": "a", "text": "no date"})

    ingest({"id": "a", "text": "no date", "occurred_at": "2026-02-01"})

    (row,) = _rows(corpus, "a")
    assert row.has_date
    assert row.occurred_at.isoformat() == "2026-02-01T00:00:00+00:00"


def test_a_date_before_every_partition_moves_like_any_other(corpus, ingest):
    ingest(make_document("a", occurred_at="1995-05-05"))
    before = _partition(corpus, "a")

    ingest(make_document("a", occurred_at="2026-02-10"))
    ingest(make_document("a", occurred_at="1996-05-05"))

    assert before == _partition(corpus, "a") == ["feedback_passage_default"]
    assert len(_rows(corpus, "a")) == 1
    assert differences(corpus) == []


@pytest.mark.django_db(transaction=True)
def test_one_id_sent_at_once_with_many_dates_stays_one_row(corpus, ingest):
    ingest(make_document("other"))

    results = at_once(
        [
            lambda month=month: ingest(make_document("a", occurred_at=f"2026-{month:02d}-10"), now=NOVEMBER)
            for month in range(1, 7)
        ]
    )

    assert sum(result.saved for result in results) == 1
    assert sum(result.updated for result in results) == 5
    assert len(_rows(corpus, "a")) == 1
    assert differences(corpus) == []


@pytest.mark.django_db(transaction=True)
def test_one_id_sent_at_once_with_many_texts_keeps_every_text(corpus, ingest):
    at_once([lambda n=n: ingest(make_document("a", f"version {n}")) for n in range(6)])

    with tenant_session(corpus.tenant):
        record = get_record(corpus=corpus, doc_id="a")
    assert record.current == 6
    assert {revision.text for revision in record.revisions} == {f"version {n}" for n in range(6)}
    assert differences(corpus) == []


def test_two_corpora_hold_the_same_id_apart(tenant, corpus, ingest):
    from tests.factories import make_corpus

    second = make_corpus(tenant=tenant, slug="second")

    ingest(make_document("a", "in the first"))
    ingest(make_document("a", "in the second"), into=second)

    with tenant_session(tenant):
        assert DocumentKey.objects.for_tenant(tenant).filter(external_id="a").count() == 2
        assert get_record(corpus=corpus, doc_id="a").revision().text == "in the first"
        assert get_record(corpus=second, doc_id="a").revision().text == "in the second"
