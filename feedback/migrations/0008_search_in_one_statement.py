"""A search is one statement, and the corpus's row counts its changes.

`changes` goes up with every writer, so what was counted at one number of changes holds while it stays.
"""

from importlib import import_module

from django.db import migrations, models

before = import_module("feedback.migrations.0006_passage_scores")
certified = import_module("feedback.migrations.0003_certified_lexical_search")
segments = import_module("feedback.migrations.0004_vector_segments")

# Both arms, what one found scored by the other, and which of the question's words each candidate holds: places in p_terms.
# A record that both found is shown by the passage that its words chose. Without p_by_words that arm is not searched, and
# its scores are there all the same; p_by_vectors is 'corpus', 'lexical' (only what the words found) or
# 'no'; no p_vector, no cosines. Look-ups with a kept plan, by the moment's partition (decision 8). It runs as the
# search's role like the functions it calls, and names the session's tenant itself.
SEARCH = """
CREATE FUNCTION feedback_search(p_corpus uuid, p_shard integer, p_embedder text, p_vector halfvec, p_terms integer[], p_idfs double precision[],
  p_filters jsonb, p_k integer, p_exact_limit integer, p_by_words boolean, p_by_vectors text)
RETURNS TABLE (document_id uuid, passage_id uuid, occurred_at timestamptz, word_rank bigint, words double precision,
  vector_rank bigint, cosine double precision, held integer[], path text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  v_tenant uuid := current_setting('app.tenant_id')::uuid;
  v_query sparsevec;
BEGIN
  SELECT ('{' || string_agg(t || ':' || i, ',' ORDER BY t) || '}/1000000000')::sparsevec INTO v_query FROM unnest(p_terms, p_idfs) q(t, i);
  RETURN QUERY
    WITH l AS MATERIALIZED (
      SELECT f.* FROM (SELECT WHERE p_by_words) o
        CROSS JOIN LATERAL feedback_search_lexical(p_corpus, p_terms, p_idfs, p_filters, p_k) WITH ORDINALITY f(document_id, passage_id, occurred_at, score, place)),
    v AS MATERIALIZED (
      SELECT f.* FROM (SELECT WHERE p_by_vectors <> 'no') o
        CROSS JOIN LATERAL feedback_search_vector(p_corpus, p_shard, p_embedder, p_vector, p_filters, p_k,
          CASE WHEN p_by_vectors = 'lexical' THEN ARRAY(SELECT l.document_id FROM l) END, p_exact_limit)
          WITH ORDINALITY f(document_id, passage_id, occurred_at, score, path, place))
    SELECT c.document_id, c.passage_id, c.occurred_at, c.word_rank, coalesce(c.words, -(p.weights <#> v_query)), c.vector_rank,
           CASE WHEN c.cosine IS NULL AND p_vector IS NOT NULL THEN
             (SELECT max(-(w.vector <#> p_vector)) FROM feedback_passagevector w
               WHERE w.tenant_id = v_tenant AND w.shard = p_shard AND w.embedder = p_embedder AND w.document_id = c.document_id)
           ELSE c.cosine END,
           ARRAY(SELECT q.place::integer FROM unnest(p_terms) WITH ORDINALITY q(term, place) WHERE q.term = ANY (p.terms)), c.path
      FROM (SELECT document_id, coalesce(l.passage_id, v.passage_id) passage_id, coalesce(l.occurred_at, v.occurred_at) occurred_at,
                   l.place word_rank, l.score words, v.place vector_rank, v.score cosine, v.path
              FROM l FULL JOIN v USING (document_id)) c
      CROSS JOIN LATERAL (SELECT * FROM feedback_passage WHERE tenant_id = v_tenant AND occurred_at = c.occurred_at AND id = c.passage_id LIMIT 1) p;
END $$;
"""
SIGNATURE = "feedback_search(uuid, integer, text, halfvec, integer[], double precision[], jsonb, integer, integer, boolean, text)"
# Graphs serve smaller corpora now (decision 15), where each statement shows: the segments are read once, and what lies above
# them only where something does. With ef_search 200 instead of 100, of the nearest 40 among 10,000 99.6 % instead of 99.1
# are found.
VECTOR_CHANGES = {
    "  v_segment record;\n": "  v_segment feedback_vectorsegment;\n  v_segments feedback_vectorsegment[];\n  v_last bigint;\n",
    "  v_largest record;\n": "  v_largest feedback_vectorsegment;\n",
    "SELECT (s.vectors->>%L)::integer FROM": "SELECT (s.vectors->>%L)::integer, s.last_vector FROM",
    "      INTO v_total;\n": "      INTO v_total, v_last;\n",
    """      EXECUTE format('SELECT g.id, g.dimensions, max(g.upto) OVER () upto FROM feedback_vectorsegment g WHERE g.tenant_id = %L AND g.corpus_id = %L AND g.embedder = %L AND g.is_serving'
                     ' ORDER BY g.rows DESC LIMIT 1', v_tenant, p_corpus, p_embedder) INTO v_largest;
      v_above := v_largest.upto;
      v_by_graph := v_above IS NOT NULL;
""": """      EXECUTE format('SELECT array_agg(g ORDER BY g.rows DESC), max(g.upto) FROM feedback_vectorsegment g WHERE g.tenant_id = %L AND g.corpus_id = %L AND g.embedder = %L AND g.is_serving',
                     v_tenant, p_corpus, p_embedder) INTO v_segments, v_above;
      v_by_graph := v_above IS NOT NULL;
      v_largest := v_segments[1];
""",
    """      EXECUTE format(v_exact, format(' AND p.number > %s', v_above)) INTO v_found USING p_vector, v_rows, v_documents;
      v_read := coalesce(cardinality(v_found), 0);
      FOR v_segment IN EXECUTE format('SELECT g.id, g.dimensions, g.above, g.upto FROM feedback_vectorsegment g WHERE g.tenant_id = %L AND g.corpus_id = %L AND g.embedder = %L AND g.is_serving',
                                      v_tenant, p_corpus, p_embedder)
      LOOP
""": """      v_found := NULL;
      IF v_last > v_above THEN
        EXECUTE format(v_exact, format(' AND p.number > %s', v_above)) INTO v_found USING p_vector, v_rows, v_documents;
      END IF;
      v_read := coalesce(cardinality(v_found), 0);
      FOREACH v_segment IN ARRAY v_segments LOOP
""",
    "SET hnsw.ef_search = 100": "SET hnsw.ef_search = 200",
    "CREATE FUNCTION": "CREATE OR REPLACE FUNCTION",
    "DEFAULT 12000": "DEFAULT 5000",
}
PASSAGES = "feedback_passages(uuid[], timestamptz[])"


def vector():
    """Return the function of 0004 with its changes."""
    body = segments.SEARCH
    for old, new in VECTOR_CHANGES.items():
        if old not in body:
            raise ValueError(f"0004 has no {old!r}")
        body = body.replace(old, new)
    return body


def forwards(apps, schema_editor):
    # Loads the library that knows the hnsw settings; without it only a superuser could name them.
    schema_editor.execute("SELECT '[1]'::vector")
    before.backwards(apps, schema_editor)
    schema_editor.execute(SEARCH, params=None)
    certified._belongs_to_search(schema_editor, SIGNATURE)
    schema_editor.execute(vector(), params=None)
    schema_editor.execute(f"ALTER FUNCTION {PASSAGES} SECURITY DEFINER")
    certified._belongs_to_search(schema_editor, PASSAGES)


def backwards(apps, schema_editor):
    schema_editor.execute("SELECT '[1]'::vector")
    schema_editor.execute(f"DROP FUNCTION {SIGNATURE}")
    schema_editor.execute(segments.SEARCH.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"), params=None)
    schema_editor.execute(f"ALTER FUNCTION {PASSAGES} OWNER TO current_user")
    schema_editor.execute(f"ALTER FUNCTION {PASSAGES} SECURITY INVOKER")
    before.forwards(apps, schema_editor)


class Migration(migrations.Migration):
    # Lock note: a constant default rewrites no row; makes and drops functions.
    dependencies = [("feedback", "0007_counts_by_the_rarest_group")]

    operations = [
        migrations.AddField("corpusstatistics", "changes", models.BigIntegerField(default=0)),
        migrations.RunPython(forwards, backwards),
    ]
