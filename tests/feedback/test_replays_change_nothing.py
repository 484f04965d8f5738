"""A delivery that was stored before is recognised, and two at once store it once."""

from __future__ import annotations

import pytest

from core.models import OutboxEvent
from core.tenant_session import tenant_session
from feedback.selectors.records import get_record
from tests.factories import make_document
from tests.feedback.recount import differences
from tests.feedback.side_by_side import at_once

DELIVERY = [make_document(f"doc-{n}", f"Complaint number {n} about the courier.") for n in range(20)]


def _events(tenant):
    with tenant_session(tenant):
        return [event.type for event in OutboxEvent.objects.for_tenant(tenant)]


def test_a_replay_saves_and_indexes_nothing(corpus, ingest):
    first = ingest(*DELIVERY)

    again = ingest(*DELIVERY)

    assert (first.saved, first.indexed, first.corpus_size) == (20, 20, 20)
    assert (again.saved, again.updated, again.unchanged, again.indexed) == (0, 0, 20, 0)
    assert again.corpus_size == 20
    assert differences(corpus) == []


def test_a_replay_embeds_nothing(corpus, ingest, embedded):
    ingest(*DELIVERY)
    before = len(embedded())

    ingest(*DELIVERY)

    assert before == 20
    assert len(embedded()) == before


def test_a_replay_tells_nobody_of_documents(tenant, corpus, ingest):
    ingest(*DELIVERY)

    ingest(*DELIVERY)

    assert _events(tenant) == ["documents.indexed"]


def test_a_replay_with_its_keys_in_another_order_is_one(corpus, ingest):
    document = make_document("a", account="Acme", themes=["price", "service"])
    ingest(document)

    again = ingest(dict(reversed(document.items())))

    assert again.unchanged == 1


def test_a_replay_in_which_absent_values_are_null_is_one(corpus, ingest):
    ingest(make_document("a"))

    again = ingest(make_document("a", account=None, title=None))

    assert again.unchanged == 1


def test_a_replay_without_a_date_is_one_on_another_day(corpus, ingest, now):
    ingest({"id": "a", "text": "undated"})

    again = ingest({"id": "a", "text": "undated"}, now=now.replace(month=8))

    assert again.unchanged == 1


def test_the_old_text_sent_once_more_is_no_replay(corpus, ingest):
    ingest(make_document("a", "first"))
    ingest(make_document("a", "second"))

    again = ingest(make_document("a", "first"))

    with tenant_session(corpus.tenant):
        record = get_record(corpus=corpus, doc_id="a")
    assert (again.saved, again.updated, again.unchanged) == (0, 1, 0)
    assert (record.current, record.revision().text) == (3, "first")
    assert differences(corpus) == []


@pytest.mark.django_db(transaction=True)
def test_replays_at_once_save_every_document_once(corpus, ingest):
    results = at_once([lambda: ingest(*DELIVERY) for _ in range(4)])

    assert sum(result.saved for result in results) == 20
    assert sum(result.unchanged for result in results) == 60
    assert sum(result.indexed for result in results) == 20
    assert {result.corpus_size for result in results} == {20}
    assert differences(corpus) == []


@pytest.mark.django_db(transaction=True)
def test_deliveries_at_once_that_overlap_in_opposite_orders_are_all_stored(corpus, ingest):
    results = at_once([lambda: ingest(*DELIVERY), lambda: ingest(*reversed(DELIVERY)), lambda: ingest(*DELIVERY[5:])])

    assert sum(result.saved for result in results) == 20
    assert differences(corpus) == []


@pytest.mark.django_db(transaction=True)
def test_deliveries_at_once_for_two_tenants_dont_meet(corpus, other_corpus, ingest):
    results = at_once([lambda: ingest(*DELIVERY), lambda: ingest(*DELIVERY, into=other_corpus)])

    assert [result.saved for result in results] == [20, 20]
    assert differences(corpus) == []
    assert differences(other_corpus) == []
