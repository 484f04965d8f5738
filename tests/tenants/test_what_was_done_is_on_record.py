"""The audit log says who did what to which row, when and from where, and what is undone is not on it."""

from __future__ import annotations

import pytest
from django.db import ProgrammingError, transaction

from core.observability import correlation
from core.tenant_session import tenant_session
from tenants.caller import Caller
from tenants.domain.access import Role
from tenants.models import AuditEntry
from tenants.services import audit
from tests.factories import NOW, make_document


@pytest.fixture
def person(tenant):
    return Caller(tenant=tenant, label="ann", role=Role.ADMIN, address="192.0.2.1")


def _entries(tenant):
    with tenant_session(tenant):
        return list(AuditEntry.objects.for_tenant(tenant).order_by("id"))


def test_an_entry_holds_who_what_when_and_from_where(person, tenant):
    audit(caller=person, action="document.deleted", subject="feedback/7", now=NOW, detail={"why": "asked to"})

    (entry,) = _entries(tenant)
    assert (entry.actor, entry.action, entry.subject) == ("ann", "document.deleted", "feedback/7")
    assert (entry.at, entry.address, entry.detail) == (NOW, "192.0.2.1", {"why": "asked to"})
    assert entry.correlation_id == correlation.current_id()


def test_what_is_undone_is_not_on_record(person, tenant):
    def delete_and_fail():
        with tenant_session(tenant):
            audit(caller=person, action="document.deleted", subject="feedback/7", now=NOW)
            raise ValueError("undone")

    with pytest.raises(ValueError, match="undone"):
        delete_and_fail()

    assert _entries(tenant) == []


def test_a_long_subject_is_cut(person, tenant):
    audit(caller=person, action="document.deleted", subject="x" * 1000, now=NOW)

    assert len(_entries(tenant)[0].subject) == 300


def test_an_entry_cant_be_changed_or_removed(person, tenant):
    audit(caller=person, action="document.deleted", subject="feedback/7", now=NOW)
    (entry,) = _entries(tenant)

    for change in (entry.delete, entry.save):
        with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic(), tenant_session(tenant):
            change()

    assert _entries(tenant) == [entry]


def test_another_tenant_sees_nothing_of_it(person, tenant, other_tenant):
    audit(caller=person, action="document.deleted", subject="feedback/7", now=NOW)

    assert _entries(other_tenant) == []


def test_a_delivery_is_on_record_with_its_counts_and_without_its_texts(tenant, corpus, ingest):
    ingest(make_document("a", "a confidential complaint"), {"id": "b"}, batch_id="monday")

    (entry,) = _entries(tenant)
    assert entry.action == "documents.ingested"
    assert entry.detail["saved"] == 1
    assert entry.detail["rejected"] == 1
    assert entry.detail["batch_id"] == "monday"
    assert "confidential" not in repr(entry.detail)
