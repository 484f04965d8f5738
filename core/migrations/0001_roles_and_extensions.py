"""What every later migration needs of the server: three extensions, and the role that searches."""

from django.db import migrations

from core.configuration import BadSetting
from core.migration_operations import SEARCH_ROLE

EXTENSIONS = ("vector", "unaccent")


def prepare(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT extname FROM pg_extension")
        present = {row[0] for row in cursor.fetchall()}
        cursor.execute("SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
        is_superuser, bypasses = cursor.fetchone()
        for extension in EXTENSIONS:
            if extension in present:
                continue
            if not is_superuser and extension == "vector":
                raise BadSetting(
                    "the database has no extension `vector` and the owner of WA_DATABASE_OWNER_DSN may not make it:"
                    " run CREATE EXTENSION vector in template1 as a superuser, or let a superuser own the database"
                )
            cursor.execute(f'CREATE EXTENSION IF NOT EXISTS "{extension}"')
        cursor.execute("SELECT rolbypassrls FROM pg_roles WHERE rolname = %s", [SEARCH_ROLE])
        role = cursor.fetchone()
        if role is None:
            if not is_superuser and not bypasses:
                raise BadSetting(
                    f"the role {SEARCH_ROLE} is missing and the owner of WA_DATABASE_OWNER_DSN may not make it: run"
                    f" CREATE ROLE {SEARCH_ROLE} NOLOGIN BYPASSRLS and GRANT {SEARCH_ROLE} TO the owner, as a superuser"
                )
            cursor.execute(f"CREATE ROLE {SEARCH_ROLE} NOLOGIN BYPASSRLS")
            cursor.execute(f"GRANT {SEARCH_ROLE} TO current_user")
        elif not role[0]:
            raise BadSetting(f"the role {SEARCH_ROLE} must have BYPASSRLS: ALTER ROLE {SEARCH_ROLE} BYPASSRLS")
        cursor.execute(f"GRANT USAGE ON SCHEMA public TO {SEARCH_ROLE}")


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        # Roles and extensions belong to the server, not to this schema: going back leaves them.
        migrations.RunPython(prepare, migrations.RunPython.noop),
    ]
