"""Row ids are made in the order of time; an event is published if, and only if, its cause is committed."""

from __future__ import annotations

import pytest
from django.db import connection

from core.ids import new_id
from core.models import OutboxEvent
from core.tenant_session import tenant_session
from tests.factories import make_document


def test_ids_made_later_sort_later():
    made = [new_id() for _ in range(2_000)]

    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert {identity.version for identity in made} == {7}


def test_postgres_sorts_them_alike(db):
    made = [new_id() for _ in range(500)]

    with connection.cursor() as cursor:
        cursor.execute("SELECT array_agg(x ORDER BY x) FROM unnest(%s::uuid[]) x", [made[::-1]])
        assert cursor.fetchone()[0] == made


def test_a_delivery_and_its_event_are_one_commit(tenant, corpus, ingest):
    ingest(make_document("a"), make_document("b"), batch_id="monday")

    with tenant_session(tenant):
        (event,) = OutboxEvent.objects.for_tenant(tenant)
    assert event.type == "documents.indexed"
    assert event.data == {"corpus": "feedback", "batch_id": "monday", "documents": ["a", "b"]}
    assert event.published_at is None


def test_a_delivery_that_fails_tells_nobody(tenant, corpus, ingest, monkeypatch):
    def fail(*_, **__):
        raise OSError("the disk is full")

    monkeypatch.setattr("feedback.services.ingest.write_changes", fail)

    with pytest.raises(OSError, match="disk"):
        ingest(make_document("a"))

    with tenant_session(tenant):
        assert not OutboxEvent.objects.for_tenant(tenant).exists()
