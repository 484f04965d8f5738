"""The tables could be spread over machines by tenant, as they are."""

from __future__ import annotations

from contextlib import suppress

import pytest

from tests.architecture.citus_lint import lint
from tests.architecture.source_tree import tenant_tables

ROOT = "tenants_tenant"
# They are read before the tenant is known.
GLOBAL = ("tenants_tenantslug", "tenants_membership", "tenants_apikey")


class _Undone(Exception):
    pass


def test_our_schema_breaks_no_rule(owner_connection):
    assert lint(owner_connection, root=ROOT, global_tables=GLOBAL) == []


def test_the_lint_sees_every_tenants_table(owner_connection):
    found = owner_connection.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
    ).fetchall()

    assert {name for (name,) in found} == tenant_tables() | set(GLOBAL)


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("CREATE UNIQUE INDEX ON feedback_corpus (slug)", "a unique key holds the tenant"),
        ("ALTER TABLE feedback_corpus DROP CONSTRAINT feedback_corpus_pkey CASCADE", "a table has a primary key"),
        ("CREATE TABLE loose (id uuid, tenant_id uuid, PRIMARY KEY (id))", "a unique key holds the tenant"),
        ("CREATE TABLE loose (tenant_id uuid)", "the tenant is never null"),
        ("CREATE TABLE loose (tenant_id text PRIMARY KEY)", "the tenant has one type"),
        (
            "CREATE TABLE loose (tenant_id uuid, id uuid, corpus uuid, PRIMARY KEY (tenant_id, id),"
            " FOREIGN KEY (corpus, tenant_id) REFERENCES feedback_corpus (tenant_id, id))",
            "a foreign key between tenants' tables pairs the tenants",
        ),
        (
            "CREATE TABLE loose (tenant_id uuid, id int, PRIMARY KEY (tenant_id, id),"
            " FOREIGN KEY (id) REFERENCES auth_user (id))",
            "a tenant's table refers to no global one but the root",
        ),
        (
            "CREATE TABLE loose (id uuid PRIMARY KEY REFERENCES tenants_tenant (id))",
            "a global table refers to no tenant's one",
        ),
        (
            "CREATE TABLE loose (tenant_id uuid, id uuid, corpus uuid, PRIMARY KEY (tenant_id, id),"
            " FOREIGN KEY (tenant_id, corpus) REFERENCES feedback_corpus (tenant_id, id) ON DELETE SET NULL)",
            "a foreign key cascades or restricts",
        ),
        (
            "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';"
            " CREATE TRIGGER t BEFORE INSERT ON feedback_term FOR EACH ROW EXECUTE FUNCTION nothing()",
            "a tenant's table has no trigger",
        ),
        (
            "CREATE TABLE loose (tenant_id uuid, id serial, PRIMARY KEY (tenant_id, id))",
            "no row number comes from a small sequence",
        ),
        ("CREATE UNIQUE INDEX ON tenants_tenant (slug)", "the root is unique by its id alone"),
        (
            "CREATE TABLE loose (PRIMARY KEY (tenant_id, id)) INHERITS (feedback_term)",
            "tables inherit by partitions only",
        ),
    ],
)
def test_a_breach_is_found(owner_connection, statement, rule):
    broken: list[str] = []

    with suppress(_Undone), owner_connection.transaction():
        owner_connection.execute(statement)
        broken = lint(owner_connection, root=ROOT, global_tables=GLOBAL)
        raise _Undone

    assert rule in {line.split(": ")[0] for line in broken}
