"""Count from the words that fewest records hold.

A record that is counted holds a word of every group, so it is among those that hold the rarest group. Only these are
read; the other groups are asked of the same passage, and where it lacks them of the record's other passages.
"""

import importlib

from django.db import migrations

certified = importlib.import_module("feedback.migrations.0003_certified_lexical_search")
before = importlib.import_module("feedback.migrations.0002_search_functions")

MATCHING = """
CREATE OR REPLACE FUNCTION feedback_matching(p_corpus uuid, p_groups jsonb, p_filters jsonb)
RETURNS TABLE (document_id uuid, external_id text, occurred_at timestamptz, has_date boolean, source text, themes text[], account text, person text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp {keeps_plans} AS $$
#variable_conflict use_column
DECLARE
  v_tenant uuid := current_setting('app.tenant_id')::uuid;
  v_filter text := feedback_filter_condition(p_filters);
  v_groups integer := coalesce(jsonb_array_length(p_groups), 0);
  v_lead integer[];
  v_others integer[];
  v_count integer := 0;
  v_group record;
BEGIN
  IF v_groups = 0 THEN
    RETURN QUERY EXECUTE format(
      'SELECT p.document_id, p.external_id, p.occurred_at, p.has_date, p.source, p.themes, p.account, p.person'
      '  FROM feedback_passage p WHERE p.tenant_id = %L AND p.corpus_id = %L AND p.ordinal = 0%s', v_tenant, p_corpus, v_filter);
    RETURN;
  END IF;
  -- The rarest first. An array of arrays is rectangular: a group is filled up with its own last word.
  FOR v_group IN
    SELECT g.n, x.terms, max(cardinality(x.terms)) OVER () widest
      FROM jsonb_array_elements(p_groups) WITH ORDINALITY g(terms, n)
      CROSS JOIN LATERAL (SELECT array_agg(t::integer) terms FROM jsonb_array_elements_text(g.terms) t) x
     ORDER BY (SELECT coalesce(sum(d.document_frequency), 0) FROM feedback_term d
                WHERE d.tenant_id = v_tenant AND d.corpus_id = p_corpus AND d.term_id = ANY (x.terms)), g.n
  LOOP
    -- A group without a word that the index knows is held by no record.
    IF v_group.terms IS NULL THEN RETURN; END IF;
    IF v_lead IS NULL THEN
      v_lead := v_group.terms;
    ELSE
      v_others := v_others || ARRAY[v_group.terms || array_fill(v_group.terms[cardinality(v_group.terms)], ARRAY[v_group.widest - cardinality(v_group.terms)])];
      v_count := v_count + 1;
    END IF;
  END LOOP;
  IF v_filter = '' THEN
    RETURN QUERY {plain};
  ELSE
    RETURN QUERY EXECUTE format({filtered}, v_tenant, p_corpus, v_filter) USING v_lead, v_others, v_count;
  END IF;
END $$;
"""
# A record's passages have one moment, which finds their partition; its first passage with a word of the lead stands for it.
HOLDING = """
      SELECT p.document_id, p.external_id, p.occurred_at, p.has_date, p.source, p.themes, p.account, p.person
        FROM feedback_passage p
       WHERE {mine} AND p.terms && {lead}{filter}
         AND (p.ordinal = 0 OR NOT EXISTS (
               SELECT FROM feedback_passage o WHERE o.tenant_id = {tenant} AND o.occurred_at = p.occurred_at
                  AND o.document_id = p.document_id AND o.ordinal < p.ordinal AND o.terms && {lead}))
         AND ({count} = 0 OR NOT EXISTS (
               SELECT FROM generate_series(1, {count}) g(i)
                WHERE NOT p.terms && ({others})[g.i:g.i]
                  AND NOT EXISTS (SELECT FROM feedback_passage o WHERE o.tenant_id = {tenant} AND o.occurred_at = p.occurred_at
                                     AND o.document_id = p.document_id AND o.terms && ({others})[g.i:g.i])))"""


def matching():
    """Return the function; its statement stands in two forms, with names and with places for values."""
    return MATCHING.format(
        keeps_plans=f"{before.KEEPS_PLANS} {certified.ONE_INDEX}",
        plain=HOLDING.format(
            mine=certified.MINE, tenant="v_tenant", lead="v_lead", others="v_others", count="v_count", filter=""
        ),
        filtered="'"
        + HOLDING.format(
            mine="p.tenant_id = %1$L AND p.corpus_id = %2$L",
            tenant="%1$L",
            lead="$1",
            others="$2",
            count="$3",
            filter="%3$s",
        )
        + "'",
    )


def forwards(apps, schema_editor):
    schema_editor.execute(matching(), params=None)


def backwards(apps, schema_editor):
    schema_editor.execute(certified.matching(), params=None)
    schema_editor.execute(f"ALTER FUNCTION feedback_matching(uuid, jsonb, jsonb) {certified.ONE_INDEX}")


class Migration(migrations.Migration):
    # Lock note: replaces a function; no table is touched.
    dependencies = [("feedback", "0006_passage_scores")]

    operations = [migrations.RunPython(forwards, backwards)]
