"""The migrations say all that the models do, and every step of them can be taken back."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from tests.architecture.source_tree import PACKAGES
from tests.databases import connect_as

# Every other app of ours is built on it, and goes when it goes.
FOUNDATION = "core"

_CATALOG = """
SELECT c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || a.attnotnull
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
 WHERE c.relnamespace = 'public'::regnamespace
UNION ALL SELECT c.relname || ' ' || c.relrowsecurity || c.relforcerowsecurity || coalesce(c.relacl::text, '')
  FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
  WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT p.oid::regprocedure || ' ' || pg_get_userbyid(proowner) || md5(prosrc) || coalesce(proacl::text, '')
  FROM pg_proc p LEFT JOIN pg_depend d ON d.objid = p.oid AND d.deptype = 'e'
 WHERE pronamespace = 'public'::regnamespace AND d.objid IS NULL
UNION ALL SELECT tablename || ' ' || policyname || ' ' || qual || with_check FROM pg_policies
ORDER BY 1
"""


@pytest.fixture
def database(test_database, django_db_blocker):
    with django_db_blocker.unblock(), test_database.scratch() as name:
        yield name


def _catalog(database: str) -> list[str]:
    with connect_as("owner", database) as connection:
        return [line for (line,) in connection.execute(_CATALOG).fetchall()]


def test_the_migrations_are_complete(database):
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_down_to_nothing_leaves_no_table_and_up_again_gives_the_same_schema(database):
    before = _catalog(database)

    call_command("migrate", FOUNDATION, "zero", verbosity=0)
    left = [line for line in _catalog(database) if line.startswith(PACKAGES)]
    call_command("migrate", verbosity=0)

    assert left == []
    assert _catalog(database) == before
