-- What a PostgreSQL server of your own needs before `manage.py migrate`: run once, as a superuser, with psql.
--     psql -h HOST -U SUPERUSER -d postgres -f deploy/database.sql
-- Then give both roles a password (\password wisdom_owner, \password wisdom_app) and name them in
-- WA_DATABASE_OWNER_DSN and WA_DATABASE_DSN.
-- In its configuration: shared_buffers, a quarter of the memory; maintenance_work_mem, which decides how large the graphs
-- over vectors get (a million vectors of 256 dimensions take 1.7 GB while they are built; with less there are more graphs,
-- and each search asks all of them).
\set ON_ERROR_STOP on

-- Owns the tables and migrates. CREATEDB is for the tests, which make databases of their own.
CREATE ROLE wisdom_owner LOGIN CREATEDB;
-- The application: row-level security holds it to one tenant at a time.
CREATE ROLE wisdom_app LOGIN;
-- Owns the search functions, which read their tenant from the session.
CREATE ROLE wisdom_search NOLOGIN BYPASSRLS;
GRANT wisdom_search TO wisdom_owner;

CREATE DATABASE wisdom OWNER wisdom_owner;
-- Only a superuser may make the extension; template1 hands it on to the tests' databases.
\connect template1
CREATE EXTENSION IF NOT EXISTS vector;
\connect wisdom
CREATE EXTENSION IF NOT EXISTS vector;
