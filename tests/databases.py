"""Make a database for each process of a test run, owned and migrated by the owner, used by the application's role.

A template is migrated once for each state of the migrations and cloned from then on. A process holds its
database's number by an advisory lock for as long as it lives, so runs side by side don't meet, and what a killed
run left behind is made anew by the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Any

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from psycopg import sql

from core.configuration import PROJECT_ROOT
from core.database_roles import FIXED

TEMPLATE = "test_wisdom_template"
_LOCK = 7204  # the first half of the key of our advisory locks; 0 is the template's, n that of database n
_MOST = 64
# What migrating writes and a truncation must leave: they are part of the schema.
_PART_OF_THE_SCHEMA = ["django_migrations", "django_content_type", "auth_permission", "core_fixedsetting"]


class UnsafeApplicationRole(Exception):
    """The role that the tests would run as is not held by row-level security: they would prove nothing."""


def connect_as(alias: str, database: str) -> psycopg.Connection[Any]:
    """Open a connection beside Django's, as the role of `alias`, that commits each statement."""
    params: dict[str, Any] = connections[alias].get_connection_params()
    for name in ("cursor_factory", "context", "pool"):
        params.pop(name, None)
    return psycopg.connect(**{**params, "dbname": database}, autocommit=True)


class TestDatabase:
    """This process's database, from `create` to `drop`."""

    __test__ = False  # for pytest, which takes the name for a test case

    def __init__(self) -> None:
        if "owner" not in settings.DATABASES:
            raise UnsafeApplicationRole("WA_DATABASE_OWNER_DSN is needed as well: the owner makes the test databases")
        self._maintenance = connect_as("owner", "postgres")
        self.name = ""

    def create(self) -> None:
        """Clone the template, under the first number that nobody holds, and point Django at the clone."""
        with self._template():
            self.name = self._clone()
        _point_django_at(self.name)
        verify_application_role(self.name)

    @contextmanager
    def scratch(self) -> Iterator[str]:
        """Give one more clone for the block, with Django pointed at it."""
        name = f"{self.name}_scratch"
        self._execute(_statement("DROP DATABASE IF EXISTS {} WITH (FORCE)", name))
        with self._template():
            self._execute(_statement("CREATE DATABASE {} TEMPLATE {}", name, TEMPLATE))
        try:
            _point_django_at(name)
            yield name
        finally:
            _point_django_at(self.name)
            self._execute(_statement("DROP DATABASE {} WITH (FORCE)", name))

    @contextmanager
    def _template(self) -> Iterator[None]:
        self._execute("SELECT pg_advisory_lock(%s, 0)", [_LOCK])
        try:
            _ensure_template(self._maintenance)
            yield
        finally:
            self._execute("SELECT pg_advisory_unlock(%s, 0)", [_LOCK])

    def _clone(self) -> str:
        for number in range(1, _MOST):
            if not self._execute("SELECT pg_try_advisory_lock(%s, %s)", [_LOCK, number]).fetchall()[0][0]:
                continue
            name = f"test_wisdom_{number}"
            try:
                self._execute(_statement("DROP DATABASE IF EXISTS {} WITH (FORCE)", name))
            except psycopg.errors.Error:
                continue  # a process that outlived its run is connected to it
            self._execute(_statement("CREATE DATABASE {} TEMPLATE {}", name, TEMPLATE))
            # The tests kill processes, not the machine.
            self._execute(_statement("ALTER DATABASE {} SET synchronous_commit = off", name))
            return name
        raise RuntimeError(f"there are {_MOST} test databases in use")

    def drop(self) -> None:
        """Drop the database; one that is still in use is left to the next run."""
        for connection in connections.all(initialized_only=True):
            connection.close()
        with suppress(psycopg.errors.Error):
            self._execute(_statement("DROP DATABASE {} WITH (FORCE)", self.name))
        self._maintenance.close()

    def _execute(self, statement: Any, params: Any = None) -> psycopg.Cursor[Any]:
        return self._maintenance.execute(statement, params)


def _ensure_template(maintenance: psycopg.Connection[Any]) -> None:
    wanted = _state_of_the_migrations()
    found = maintenance.execute(
        "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s", [TEMPLATE]
    ).fetchall()
    if found == [(wanted,)]:
        return
    maintenance.execute(_statement("DROP DATABASE IF EXISTS {} WITH (FORCE)", TEMPLATE))
    maintenance.execute(_statement("CREATE DATABASE {}", TEMPLATE))
    _point_django_at(TEMPLATE)
    call_command("migrate", verbosity=0)
    for connection in connections.all(initialized_only=True):
        connection.close()
    comment = sql.SQL("COMMENT ON DATABASE {} IS {}").format(sql.Identifier(TEMPLATE), sql.Literal(wanted))
    maintenance.execute(comment)


def _state_of_the_migrations() -> str:
    digest = sha256()
    helpers = [PROJECT_ROOT / "core" / name for name in ("migration_operations.py", "database_roles.py")]
    files = [*PROJECT_ROOT.glob("*/migrations/*.py"), *helpers]
    for path in sorted(files):
        digest.update(path.name.encode() + path.read_bytes())
    names = [settings.DATABASES[alias]["USER"] for alias in ("default", "owner")]
    digest.update(repr([names, settings.INSTALLED_APPS]).encode())
    digest.update(repr([getattr(settings.WISDOM, name) for name in FIXED]).encode())
    return digest.hexdigest()


def _point_django_at(name: str) -> None:
    for alias in ("default", "owner"):
        connections[alias].close()
        settings.DATABASES[alias]["NAME"] = name
        connections[alias].settings_dict["NAME"] = name


def _statement(text: str, *names: str) -> sql.Composed:
    return sql.SQL(text).format(*map(sql.Identifier, names))  # type: ignore[arg-type]  # constants of this module


def verify_application_role(database: str) -> None:
    """Make sure that what the tests show of row-level security is true of the application's role.

    Raises: UnsafeApplicationRole, saying why it isn't.
    """
    with connect_as("default", database) as connection:
        ((role, is_superuser, bypasses),) = connection.execute(
            "SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
        ).fetchall()
        owned = connection.execute(
            "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace"
            " AND pg_has_role(current_user, c.relowner, 'MEMBER') ORDER BY 1"
        ).fetchall()
    if is_superuser:
        raise UnsafeApplicationRole(f"the application's role {role} is a superuser: policies don't hold it")
    if bypasses:
        raise UnsafeApplicationRole(f"the application's role {role} has BYPASSRLS: policies don't hold it")
    if owned:
        raise UnsafeApplicationRole(f"the application's role {role} owns {owned[0][0]}: it could change its policies")


# Tables that occupy space, partitions by themselves, and those that refer to them, which have to go along.
_TABLES_WITH_ROWS = """
WITH RECURSIVE found AS (
  SELECT c.oid FROM pg_class c
   WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND pg_relation_size(c.oid) > 0
     AND c.relname <> ALL (%s)
   UNION
  SELECT k.conrelid FROM pg_constraint k JOIN found ON found.oid = k.confrelid WHERE k.contype = 'f'
) SELECT relname FROM pg_class JOIN found USING (oid) ORDER BY 1
"""


def empty_tables(database: str) -> None:
    """Remove every row that a test can have written, as the owner: the application may not truncate."""
    with connect_as("owner", database) as connection:
        connection.execute("SET lock_timeout = '20s'")  # a thread that a test forgot, with its transaction open
        tables = connection.execute(_TABLES_WITH_ROWS, [_PART_OF_THE_SCHEMA]).fetchall()
        if tables:
            names = sql.SQL(", ").join(sql.Identifier(name) for (name,) in tables)
            connection.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY").format(names))
