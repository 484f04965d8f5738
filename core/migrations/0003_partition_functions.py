"""Make range partitions ahead of time, without giving the application the right to make tables."""

from django.db import migrations

from core.migration_operations import app_role

# Lock note: attaching takes SHARE UPDATE EXCLUSIVE on the parent. The default partition is locked in ACCESS EXCLUSIVE
# from before its rows of the new range are moved. Reads of other partitions go on.
ENSURE = """
CREATE FUNCTION core_ensure_partition(p_parent text, p_day date, p_span integer) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_parent oid;
  v_column text;
  v_index integer;
  v_from date;
  v_to date;
  v_name text;
BEGIN
  SELECT c.oid, a.attname INTO v_parent, v_column
    FROM pg_class c
    JOIN pg_partitioned_table t ON t.partrelid = c.oid AND t.partstrat = 'r'
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = t.partattrs[0]
   WHERE c.relname = p_parent AND c.relnamespace = 'public'::regnamespace;
  IF v_parent IS NULL THEN
    RAISE EXCEPTION '% is not partitioned by range', p_parent;
  END IF;
  IF p_span NOT BETWEEN 1 AND 12 OR p_day NOT BETWEEN date '1970-01-01' AND date '2200-01-01' THEN
    RAISE EXCEPTION 'no partition for % with a span of % months', p_day, p_span;
  END IF;
  v_index := (extract(year FROM p_day)::integer * 12 + extract(month FROM p_day)::integer - 1) / p_span * p_span;
  v_from := make_date(v_index / 12, v_index % 12 + 1, 1);
  v_to := (v_from + make_interval(months => p_span))::date;
  v_name := format('%s_y%sm%s', p_parent, to_char(v_from, 'YYYY'), to_char(v_from, 'MM'));
  IF to_regclass(quote_ident(v_name)) IS NOT NULL THEN
    RETURN NULL;
  END IF;
  PERFORM pg_advisory_xact_lock(7203, v_parent::integer);
  -- to_regclass would still remember that there was none before the wait; a query looks again.
  IF EXISTS (SELECT FROM pg_class WHERE relname = v_name AND relnamespace = 'public'::regnamespace) THEN
    RETURN NULL;
  END IF;
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)', v_name, p_parent);
  -- Writers of strays are waited for: attaching would fail on a row that they commit after the move.
  EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', p_parent || '_default');
  EXECUTE format('WITH moved AS (DELETE FROM %I WHERE %I >= %L AND %I < %L RETURNING *) INSERT INTO %I SELECT * FROM moved',
                 p_parent || '_default', v_column, v_from::timestamp AT TIME ZONE 'UTC', v_column, v_to::timestamp AT TIME ZONE 'UTC', v_name);
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', p_parent, v_name,
                 v_from::timestamp AT TIME ZONE 'UTC', v_to::timestamp AT TIME ZONE 'UTC');
  RETURN v_name;
END $$;
"""


def forwards(apps, schema_editor):
    schema_editor.execute(ENSURE, params=None)
    schema_editor.execute("REVOKE ALL ON FUNCTION core_ensure_partition(text, date, integer) FROM public")
    schema_editor.execute(f'GRANT EXECUTE ON FUNCTION core_ensure_partition(text, date, integer) TO "{app_role()}"')


def backwards(apps, schema_editor):
    schema_editor.execute("DROP FUNCTION core_ensure_partition(text, date, integer)")


class Migration(migrations.Migration):
    dependencies = [("core", "0002_outbox_and_fixed_settings")]

    operations = [migrations.RunPython(forwards, backwards)]
