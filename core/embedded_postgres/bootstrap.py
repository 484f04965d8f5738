"""Make the roles, extensions and database that a fresh cluster lacks; doing it twice changes nothing."""

from __future__ import annotations

import psycopg

_ROLES = """
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['wisdom_owner', 'wisdom_app', 'wisdom_search'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I', name);
        END IF;
    END LOOP;
END $$;
-- Owns the schema and migrates it, makes test databases, and sees all tenants.
ALTER ROLE wisdom_owner LOGIN NOSUPERUSER CREATEDB CREATEROLE BYPASSRLS NOREPLICATION;
-- Serves requests, behind row-level security.
ALTER ROLE wisdom_app LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS NOREPLICATION;
-- Owns the search functions that read past the policies and do the tenant's filtering themselves.
ALTER ROLE wisdom_search NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE BYPASSRLS NOREPLICATION;
GRANT wisdom_search TO wisdom_owner WITH INHERIT TRUE, SET TRUE;
"""

# In template1, so that test databases, which the owner makes and who isn't superuser, have them too.
_TEMPLATE = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE EXTENSION IF NOT EXISTS unaccent;
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
-- A function can be given only to a role that may create in its schema.
GRANT CREATE ON SCHEMA public TO wisdom_search;
"""


def bootstrap(*, template_dsn: str, maintenance_dsn: str) -> None:
    """Bring a running cluster up to date, as its superuser, under the state folder's lock.

    Raises: psycopg.Error.
    """
    with psycopg.connect(maintenance_dsn, autocommit=True) as connection:
        connection.execute(_ROLES)
    # Closed before the database is made: PostgreSQL doesn't copy a template that somebody is connected to.
    with psycopg.connect(template_dsn) as connection:
        connection.execute(_TEMPLATE)
    with psycopg.connect(maintenance_dsn, autocommit=True) as connection:
        if not connection.execute("SELECT FROM pg_database WHERE datname = 'wisdom'").fetchall():
            connection.execute("CREATE DATABASE wisdom OWNER wisdom_owner")
