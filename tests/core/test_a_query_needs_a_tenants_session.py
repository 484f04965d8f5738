"""Without a session a query on a tenant's table is an error: it would otherwise find nothing, in silence."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction

from core.models import OutboxEvent
from core.outbox import record_event
from core.tenant_scope import across_tenants
from core.tenant_session import TenantSessionMissing, session_tenant_id, tenant_session
from feedback.models import Corpus
from tests.factories import NOW, make_tenant


def _setting() -> str | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('app.tenant_id', true)")
        return cursor.fetchone()[0]


def _record_and_fail(tenant):
    with tenant_session(tenant):
        record_event(tenant=tenant, type="undone", data={}, now=NOW)
        raise ValueError("undone")


def test_a_queryset_outside_a_session_raises(tenant):
    with pytest.raises(TenantSessionMissing, match="feedback_corpus"):
        Corpus.objects.for_tenant(tenant).exists()


def test_plain_sql_outside_a_session_raises(tenant):
    with pytest.raises(TenantSessionMissing), connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM feedback_passage WHERE tenant_id = %s", [tenant.id])


def test_a_queryset_that_outlives_its_session_raises(tenant, corpus):
    with tenant_session(tenant):
        late = Corpus.objects.for_tenant(tenant).all()

    with pytest.raises(TenantSessionMissing):
        list(late)


def test_a_session_sees_its_tenants_rows(tenant, corpus):
    with tenant_session(tenant):
        found = list(Corpus.objects.for_tenant(tenant))

    assert found == [corpus]


def test_tables_of_no_tenant_need_no_session(tenant, other_tenant):
    assert list(across_tenants(reason="a test")) == [tenant, other_tenant]


def test_a_session_within_itself_is_a_savepoint(tenant):
    with tenant_session(tenant):
        with pytest.raises(ValueError, match="undone"):
            _record_and_fail(tenant)
        record_event(tenant=tenant, type="outer", data={}, now=NOW)
        found = [event.type for event in OutboxEvent.objects.for_tenant(tenant)]

    assert found == ["outer"]


def test_a_session_within_anothers_is_refused(tenant, other_tenant):
    with tenant_session(tenant), pytest.raises(RuntimeError, match="another tenant"), tenant_session(other_tenant):
        pass


@pytest.mark.django_db(transaction=True)
def test_the_door_is_closed_after_a_session(tenant):
    with tenant_session(tenant):
        assert _setting() == str(tenant.id)

    assert session_tenant_id() is None
    assert not _setting()


@pytest.mark.django_db(transaction=True)
def test_the_door_is_closed_after_a_session_that_failed(tenant):
    with pytest.raises(ValueError, match="x"), tenant_session(tenant):
        raise ValueError("x")

    assert session_tenant_id() is None
    assert not _setting()


def test_the_door_is_closed_within_somebody_elses_transaction(tenant):
    with transaction.atomic():
        with tenant_session(tenant):
            pass

        assert not _setting()


@pytest.mark.django_db(transaction=True)
def test_a_session_that_failed_leaves_nothing_behind(tenant):
    with pytest.raises(ValueError, match="undone"):
        _record_and_fail(tenant)

    with tenant_session(tenant):
        assert not OutboxEvent.objects.for_tenant(tenant).exists()


@pytest.mark.django_db(transaction=True)
def test_a_session_that_need_not_be_durable_is_so_for_its_transaction_only(tenant):
    def waits_for_the_disk() -> str:
        with connection.cursor() as cursor:
            cursor.execute("SHOW synchronous_commit")
            return cursor.fetchone()[0]

    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = on")

    with tenant_session(tenant, durable=False):
        within = waits_for_the_disk()
    with tenant_session(tenant):
        afterwards = waits_for_the_disk()

    connection.close()
    assert (within, afterwards) == ("off", "on")


def test_what_the_database_refuses_comes_out_of_a_session_as_it_is(tenant, corpus):
    again = Corpus(tenant=tenant, slug=corpus.slug, created_at=NOW)

    with pytest.raises(IntegrityError, match="corpus_slug_once"), tenant_session(tenant):
        again.save(force_insert=True)

    assert session_tenant_id() is None
    assert not _setting()


def test_a_tenants_id_that_is_none_never_reaches_the_statement(db):
    class Hostile:
        id = "00000000-0000-0000-0000-000000000000'; DROP TABLE auth_user; --"

    with pytest.raises(ValueError, match="UUID"), tenant_session(Hostile()):
        pass


def test_an_event_outside_its_tenants_session_is_refused(tenant, other_tenant):
    with pytest.raises(RuntimeError, match="transaction"):
        record_event(tenant=tenant, type="lost", data={}, now=NOW)
    with tenant_session(other_tenant), pytest.raises(RuntimeError, match="transaction"):
        record_event(tenant=tenant, type="lost", data={}, now=NOW)


@pytest.mark.parametrize("reason", ["", "  "])
def test_work_for_all_tenants_says_why(db, reason):
    with pytest.raises(ValueError, match="why"):
        list(across_tenants(reason=reason))


def test_work_for_all_tenants_goes_by_age(db):
    made = [make_tenant(slug=slug) for slug in ("second", "first")]

    assert list(across_tenants(reason="a test")) == made
