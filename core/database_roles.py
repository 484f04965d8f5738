"""What the application's role may do, and the settings that stored data has fixed."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db import connection as app_connection
from django.db.utils import ProgrammingError

from core.configuration import PREFIX, BadSetting, WisdomSettings
from core.migration_operations import app_role
from core.tenant_scope import TenantModel

FIXED = ("tenant_shards", "partition_span_months", "embedding_dim", "embedding_seed", "ngram_size")


def grant_global_tables(connection: Any) -> None:
    """Let the application use the tables that belong to no tenant.

    Tenants' tables are granted where they are made. Default privileges are no way to do this: they
    would open partitions too, and a policy on a parent doesn't guard a partition that is read directly.
    """
    tenant_tables = {model._meta.db_table for model in apps.get_models() if issubclass(model, TenantModel)}
    tables = set(connection.introspection.django_table_names(only_existing=True)) - tenant_tables
    with connection.cursor() as cursor:
        for table in sorted(tables):
            cursor.execute(f'GRANT SELECT, INSERT, UPDATE, DELETE ON "{table}" TO "{app_role()}"')
        cursor.execute(f'GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO "{app_role()}"')
        if "core_fixedsetting" in tables:
            cursor.execute(f'REVOKE INSERT, UPDATE, DELETE ON core_fixedsetting FROM "{app_role()}"')
        cursor.execute(f'GRANT SELECT ON django_migrations TO "{app_role()}"')


def record_fixed_settings(connection: Any, settings: WisdomSettings) -> None:
    """Write down, once, the settings that stored data depends on; nothing where the migrations were taken back."""
    if "core_fixedsetting" not in connection.introspection.table_names():
        return
    with connection.cursor() as cursor:
        for name in FIXED:
            cursor.execute(
                "INSERT INTO core_fixedsetting (name, value) VALUES (%s, %s) ON CONFLICT (name) DO NOTHING",
                [name, str(getattr(settings, name))],
            )


def verify_fixed_settings(settings: WisdomSettings) -> None:
    """Refuse to go on with another value than the stored data was made with.

    Raises: BadSetting, naming the variable; also when the schema has not been made yet.
    """
    try:
        with app_connection.cursor() as cursor:
            cursor.execute("SELECT name, value FROM core_fixedsetting")
            stored = dict(cursor.fetchall())
    except ProgrammingError as error:
        raise BadSetting("the database has no tables yet: run `python manage.py migrate`") from error
    for name in FIXED:
        wanted = str(getattr(settings, name))
        if name in stored and stored[name] != wanted:
            raise BadSetting(
                f"{PREFIX}{name.upper()}={wanted}: the stored data was made with {stored[name]}, which can't change"
            )
