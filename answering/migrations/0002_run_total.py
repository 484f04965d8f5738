"""How many runs the installation keeps, for `/ready`: a sum over all tenants, no id and no text."""

from django.db import migrations

from core.migration_operations import SEARCH_ROLE, app_role

TOTAL = """
CREATE FUNCTION answering_run_total() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT count(*) FROM answering_run
$$;
"""


def forwards(apps, schema_editor):
    schema_editor.execute(TOTAL, params=None)
    schema_editor.execute(f"GRANT CREATE ON SCHEMA public TO {SEARCH_ROLE}")
    schema_editor.execute("REVOKE ALL ON FUNCTION answering_run_total() FROM public")
    schema_editor.execute(f'GRANT EXECUTE ON FUNCTION answering_run_total() TO "{app_role()}"')
    schema_editor.execute(f"ALTER FUNCTION answering_run_total() OWNER TO {SEARCH_ROLE}")
    schema_editor.execute(f"REVOKE CREATE ON SCHEMA public FROM {SEARCH_ROLE}")


def backwards(apps, schema_editor):
    schema_editor.execute("DROP FUNCTION answering_run_total()")


class Migration(migrations.Migration):
    dependencies = [("answering", "0001_runs"), ("core", "0003_partition_functions")]

    operations = [migrations.RunPython(forwards, backwards)]
