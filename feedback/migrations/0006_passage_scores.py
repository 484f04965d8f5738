"""The BM25 score of given passages: what the vector arm found is weighed by its words, too, before the two are fused."""

from django.db import migrations

from core.migration_operations import app_role

# A look-up each, by the moment's partition, with a kept plan (decision 8). It runs as its caller, behind the policies.
SCORES = """
CREATE FUNCTION feedback_passage_scores(p_ids uuid[], p_moments timestamptz[], p_terms integer[], p_idfs double precision[])
RETURNS TABLE (id uuid, score double precision)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  v_tenant uuid := current_setting('app.tenant_id')::uuid;
  v_query sparsevec;
BEGIN
  IF cardinality(p_terms) IS NULL OR cardinality(p_terms) = 0 THEN RETURN; END IF;
  SELECT ('{' || string_agg(t || ':' || i, ',' ORDER BY t) || '}/1000000000')::sparsevec INTO v_query FROM unnest(p_terms, p_idfs) q(t, i);
  RETURN QUERY
    SELECT p.id, -(p.weights <#> v_query)
      FROM unnest(p_ids, p_moments) f(id, moment)
      CROSS JOIN LATERAL (SELECT * FROM feedback_passage WHERE tenant_id = v_tenant AND occurred_at = f.moment AND id = f.id LIMIT 1) p;
END $$;
"""
SIGNATURE = "feedback_passage_scores(uuid[], timestamptz[], integer[], double precision[])"


def forwards(apps, schema_editor):
    schema_editor.execute(SCORES, params=None)
    schema_editor.execute(f"REVOKE ALL ON FUNCTION {SIGNATURE} FROM public")
    schema_editor.execute(f'GRANT EXECUTE ON FUNCTION {SIGNATURE} TO "{app_role()}"')


def backwards(apps, schema_editor):
    schema_editor.execute(f"DROP FUNCTION {SIGNATURE}")


class Migration(migrations.Migration):
    # Lock note: makes a function; no table is touched.
    dependencies = [("feedback", "0005_near_duplicate_clusters")]

    operations = [migrations.RunPython(forwards, backwards)]
