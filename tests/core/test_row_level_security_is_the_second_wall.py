"""Code that forgets its tenant, or names another's, meets the database's own wall. Statements here go round Django."""

from __future__ import annotations

from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql

from feedback.services.deletion import delete_document
from tenants.caller import operator
from tests.architecture.source_tree import tenant_tables
from tests.factories import NOW, make_document

pytestmark = pytest.mark.django_db(transaction=True)

# Who did what can be added to and read.
APPEND_ONLY = "tenants_auditentry"


@pytest.fixture
def both_hold(tenant, other_tenant, corpus, other_corpus, ingest):
    """Give both tenants the same ids, in every table that an ingest and a deletion write."""
    for each in (corpus, other_corpus):
        ingest(make_document("a"), make_document("b"), into=each)
        delete_document(caller=operator(each.tenant), corpus=each, external_id="b", now=NOW)


@contextmanager
def _session(connection, tenant):
    with connection.transaction():
        connection.execute(sql.SQL("SET LOCAL app.tenant_id = {}").format(sql.Literal(str(tenant.id))))
        yield


def _tenants_seen(connection, table):
    query = sql.SQL("SELECT DISTINCT tenant_id FROM {}").format(sql.Identifier(table))
    return {row[0] for row in connection.execute(query).fetchall()}


def test_without_a_session_no_row_is_seen(both_hold, app_connection):
    seen = {table: _tenants_seen(app_connection, table) for table in tenant_tables()}

    assert all(tenants == set() for tenants in seen.values()), seen


def test_a_session_sees_only_its_own_rows_whatever_is_asked(both_hold, tenant, app_connection):
    with _session(app_connection, tenant):
        seen = {table: _tenants_seen(app_connection, table) for table in tenant_tables()}

    assert all(tenants <= {tenant.id} for tenants in seen.values()), seen
    assert {table for table, tenants in seen.items() if tenants} >= {
        "feedback_document",
        "feedback_documentrevision",
        "feedback_passage",
        "feedback_passagevector",
        "feedback_term",
        "core_outboxevent",
        APPEND_ONLY,
    }


def test_another_tenants_rows_are_neither_changed_nor_deleted(both_hold, tenant, other_tenant, app_connection):
    touched = {}
    with _session(app_connection, tenant):
        for table in sorted(tenant_tables() - {APPEND_ONLY}):
            for text in ("UPDATE {} SET id = id WHERE tenant_id = %s", "DELETE FROM {} WHERE tenant_id = %s"):
                done = app_connection.execute(sql.SQL(text).format(sql.Identifier(table)), [other_tenant.id])
                touched[text, table] = done.rowcount

    assert set(touched.values()) == {0}


def test_a_row_cant_be_written_for_another_tenant(tenant, other_tenant, app_connection):
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"),
        _session(app_connection, tenant),
    ):
        app_connection.execute(
            "INSERT INTO core_outboxevent (id, tenant_id, type, at, data) VALUES (gen_random_uuid(), %s, 'x', now(), '{}')",
            [other_tenant.id],
        )


def test_a_row_cant_be_handed_to_another_tenant(both_hold, tenant, other_tenant, app_connection):
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"),
        _session(app_connection, tenant),
    ):
        app_connection.execute("UPDATE core_outboxevent SET tenant_id = %s", [other_tenant.id])


def test_no_partition_can_be_read_past_its_parents_policy(both_hold, tenant, app_connection):
    partitions = app_connection.execute(
        "SELECT c.relname FROM pg_class c WHERE c.relispartition AND c.relkind = 'r'"
        " AND c.relnamespace = 'public'::regnamespace"
    ).fetchall()
    assert len(partitions) >= 8

    for (partition,) in partitions:
        for text in ("SELECT 1 FROM {}", "DELETE FROM {}", "INSERT INTO {} DEFAULT VALUES"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), _session(app_connection, tenant):
                app_connection.execute(sql.SQL(text).format(sql.Identifier(partition)))


def test_every_tenants_table_forces_its_policy(app_connection):
    found = app_connection.execute(
        "SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity AND relnamespace = 'public'::regnamespace"
    ).fetchall()

    assert {name for (name,) in found} >= tenant_tables()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE mine (id integer)",
        "CREATE SCHEMA mine",
        "CREATE FUNCTION mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "ALTER TABLE feedback_document NO FORCE ROW LEVEL SECURITY",
        "ALTER TABLE feedback_document DISABLE ROW LEVEL SECURITY",
        "DROP POLICY tenant_rows ON feedback_document",
        "TRUNCATE feedback_document",
        "DROP TABLE feedback_document",
        "SET ROLE wisdom_search",
        "COPY feedback_document TO PROGRAM 'cat'",
        "UPDATE core_fixedsetting SET value = '8'",
        "DELETE FROM core_fixedsetting",
        "UPDATE tenants_auditentry SET actor = 'nobody'",
        "DELETE FROM tenants_auditentry",
        "UPDATE django_migrations SET name = 'x'",
        "SELECT core_ensure_partition('auth_user', date '2026-01-01', 1)",
    ],
)
def test_the_application_cant_change_the_rules(app_connection, statement):
    refused = (psycopg.errors.InsufficientPrivilege, psycopg.errors.RaiseException, psycopg.errors.SyntaxError)

    with pytest.raises(refused) as raised:
        app_connection.execute(statement)

    assert not isinstance(raised.value, psycopg.errors.SyntaxError)


def test_the_search_functions_know_the_tenant_by_the_session_alone(
    both_hold, corpus, other_corpus, tenant, app_connection
):
    search = "SELECT count(*) FROM feedback_matching(%s, '[]', '{}')"

    with _session(app_connection, tenant):
        own = app_connection.execute(search, [corpus.id]).fetchall()
        anothers = app_connection.execute(search, [other_corpus.id]).fetchall()

    assert own == [(1,)]
    assert anothers == [(0,)]


def test_passages_are_read_by_their_own_tenant_alone(both_hold, tenant, other_tenant, app_connection):
    own = "SELECT array_agg(id), array_agg(occurred_at) FROM feedback_passage"
    with _session(app_connection, other_tenant):
        named = app_connection.execute(own).fetchone()
        theirs = app_connection.execute("SELECT count(*) FROM feedback_passages(%s, %s)", named).fetchone()
    with _session(app_connection, tenant):
        ours = app_connection.execute("SELECT count(*) FROM feedback_passages(%s, %s)", named).fetchone()

    assert (theirs, ours) == ((1,), (0,))


@pytest.mark.parametrize(
    "search",
    [
        "SELECT * FROM feedback_matching(gen_random_uuid(), '[]', '{}')",
        "SELECT * FROM feedback_search_lexical(gen_random_uuid(), '{1}', '{1}', '{}', 10)",
        "SELECT * FROM feedback_search_vector(gen_random_uuid(), 0, 'static', '[1,0]', '{}', 10)",
        "SELECT * FROM feedback_search(gen_random_uuid(), 0, 'static', '[1,0]', '{1}', '{1}', '{}', 10, 9, true, 'corpus')",
        "SELECT * FROM feedback_passages(ARRAY[gen_random_uuid()], ARRAY[now()])",
    ],
)
def test_the_search_functions_answer_nobody_without_a_session(both_hold, app_connection, search):
    with pytest.raises(psycopg.Error):
        app_connection.execute(search)


@pytest.mark.parametrize(
    "filters",
    [
        '{"source": ["survey\') OR true --"]}',
        '{"theme": ["x\'::text[]) OR (true"]}',
        '{"account": ["\\\\\'; DROP TABLE feedback_document; --"]}',
        '{"facets": {"a\') OR (\'a\' = \'a": ["x"]}}',
        '{"ids": ["a\'", "{b}", "\\"c\\""]}',
    ],
)
def test_a_hostile_filter_is_data(both_hold, corpus, tenant, app_connection, filters):
    with _session(app_connection, tenant):
        found = app_connection.execute("SELECT count(*) FROM feedback_matching(%s, '[]', %s)", [corpus.id, filters])

        assert found.fetchall() == [(0,)]


def test_a_session_ends_with_its_transaction(tenant, app_connection):
    with _session(app_connection, tenant):
        pass

    assert app_connection.execute("SELECT current_setting('app.tenant_id', true)").fetchall() in ([("",)], [(None,)])
