"""The queries that must use an index behind row-level security.

`&&` on arrays is not leakproof, so a forced policy would switch the GIN index off. These functions belong to
a role that bypasses policies; the tenant comes from the session's setting, never from an argument. A search
without filters keeps its plan (planning anew over some twenty-five partitions took longer than the search: decision
8); one with filters is planned for their values, which leave out partitions.
"""

from django.conf import settings
from django.db import migrations

from core.migration_operations import SEARCH_ROLE, app_role

# Lock note: indexes of empty tables; no rows are there yet.
INDEXES = [
    # Every search: the passages that hold any of the question's terms. fastupdate off: unflushed pending
    # lists of many partitions doubled the time of a query.
    (
        "CREATE INDEX passage_terms ON feedback_passage USING gin (terms) WITH (fastupdate = off)",
        "DROP INDEX passage_terms",
    ),
]

FILTER = """
CREATE FUNCTION feedback_filter_condition(p jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE SET search_path = public, pg_temp AS $$
DECLARE
  v text := '';
  v_name text;
  v_values text[];
BEGIN
  IF p IS NULL THEN RETURN ''; END IF;
  IF jsonb_array_length(coalesce(p->'ids', '[]')) > 0 THEN
    RETURN format(' AND p.external_id = ANY (%L::text[])', ARRAY(SELECT jsonb_array_elements_text(p->'ids')));
  END IF;
  IF jsonb_array_length(coalesce(p->'source', '[]')) > 0 THEN
    v := v || format(' AND p.source = ANY (%L::text[])', ARRAY(SELECT jsonb_array_elements_text(p->'source')));
  END IF;
  IF jsonb_array_length(coalesce(p->'theme', '[]')) > 0 THEN
    v := v || format(' AND p.themes && %L::text[]', ARRAY(SELECT jsonb_array_elements_text(p->'theme')));
  END IF;
  IF jsonb_array_length(coalesce(p->'account', '[]')) > 0 THEN
    v := v || format(' AND p.account = ANY (%L::text[])', ARRAY(SELECT jsonb_array_elements_text(p->'account')));
  END IF;
  IF jsonb_array_length(coalesce(p->'language', '[]')) > 0 THEN
    v := v || format(' AND p.language = ANY (%L::text[])', ARRAY(SELECT jsonb_array_elements_text(p->'language')));
  END IF;
  IF p->>'occurred_from' IS NOT NULL THEN
    v := v || format(' AND p.occurred_at >= %L::timestamptz', p->>'occurred_from');
  END IF;
  IF p->>'occurred_to' IS NOT NULL THEN
    v := v || format(' AND p.occurred_at < %L::timestamptz', p->>'occurred_to');
  END IF;
  FOR v_name, v_values IN
    SELECT f.key, ARRAY(SELECT jsonb_array_elements_text(f.value)) FROM jsonb_each(coalesce(p->'facets', '{}')) f ORDER BY f.key
  LOOP
    v := v || format(' AND CASE jsonb_typeof(p.facets->%1$L) WHEN ''array'' THEN EXISTS (SELECT FROM jsonb_array_elements_text(p.facets->%1$L) e WHERE e = ANY (%2$L::text[]))'
                     ' ELSE p.facets->>%1$L = ANY (%2$L::text[]) END', v_name, v_values);
  END LOOP;
  RETURN v;
END $$;
"""

LEXEMES = """
CREATE FUNCTION feedback_lexemes(p_config regconfig, p_text text, p_extra text[]) RETURNS TABLE (lexeme text, frequency integer)
LANGUAGE sql STABLE ROWS 20 SET search_path = public, pg_temp AS $$
  SELECT l, sum(f)::integer FROM (
    SELECT CASE WHEN octet_length(u.lexeme) = length(u.lexeme) THEN u.lexeme ELSE unaccent(u.lexeme) END l, cardinality(u.positions) f
      FROM unnest(to_tsvector(p_config, p_text)) u
    UNION ALL
    SELECT e, 1 FROM unnest(p_extra) e) x
  WHERE l <> '' GROUP BY l ORDER BY l
$$;
"""

# A plan for any value is kept, and it takes the index of the terms.
KEEPS_PLANS = "SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan"

# Exact BM25: every passage that holds any term is scored. A record scores its best passage; ties go by external id.
LEXICAL = """
CREATE FUNCTION feedback_search_lexical(p_corpus uuid, p_terms integer[], p_idfs double precision[], p_filters jsonb, p_k integer)
RETURNS TABLE (document_id uuid, passage_id uuid, occurred_at timestamptz, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp {keeps_plans} AS $$
#variable_conflict use_column
DECLARE
  v_tenant uuid := current_setting('app.tenant_id')::uuid;
  v_filter text := feedback_filter_condition(p_filters);
  v_query sparsevec;
BEGIN
  IF cardinality(p_terms) IS NULL OR cardinality(p_terms) = 0 THEN RETURN; END IF;
  SELECT ('{{' || string_agg(t || ':' || i, ',' ORDER BY t) || '}}/1000000000')::sparsevec INTO v_query FROM unnest(p_terms, p_idfs) q(t, i);
  IF v_filter = '' THEN
    RETURN QUERY {plain};
  ELSE
    RETURN QUERY EXECUTE format({filtered}, v_tenant, p_corpus, v_filter) USING v_query, p_terms, p_k;
  END IF;
END $$;
"""
RANKED = """
      SELECT x.document_id, x.id, x.occurred_at, x.s FROM (
        SELECT DISTINCT ON (p.external_id) p.external_id, p.document_id, p.id, p.occurred_at, -(p.weights <#> {query}) s
          FROM feedback_passage p WHERE p.tenant_id = {tenant} AND p.corpus_id = {corpus} AND p.terms && {terms}{filter}
         ORDER BY p.external_id, s DESC, p.ordinal) x
       ORDER BY x.s DESC, x.external_id LIMIT {k}"""

# Cosine over unit vectors (negative inner product), exact.
VECTOR = """
CREATE FUNCTION feedback_search_vector(p_corpus uuid, p_shard integer, p_embedder text, p_vector halfvec, p_filters jsonb, p_k integer, p_documents uuid[] DEFAULT NULL)
RETURNS TABLE (document_id uuid, passage_id uuid, occurred_at timestamptz, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET jit = off AS $$
DECLARE
  v_tenant uuid := current_setting('app.tenant_id')::uuid;
  v_only text := CASE WHEN p_documents IS NULL THEN '' ELSE ' AND p.document_id = ANY ($3)' END;
BEGIN
  RETURN QUERY EXECUTE format(
    'SELECT x.document_id, x.passage_id, x.occurred_at, x.s FROM ('
    '  SELECT DISTINCT ON (p.external_id) p.external_id, p.document_id, p.passage_id, p.occurred_at, -(p.vector <#> $1) s'
    '    FROM feedback_passagevector p WHERE p.tenant_id = %L AND p.shard = %L AND p.corpus_id = %L AND p.embedder = %L%s%s'
    '   ORDER BY p.external_id, s DESC, p.passage_id) x'
    ' ORDER BY x.s DESC, x.external_id LIMIT $2', v_tenant, p_shard, p_corpus, p_embedder, v_only, feedback_filter_condition(p_filters))
    USING p_vector, p_k, p_documents;
END $$;
"""

# The records that a number counts: those that hold a term of every group, within the filters. A record may hold one
# group in one passage and another in the next: candidates by any term, kept when all groups are there.
MATCHING = """
CREATE FUNCTION feedback_matching(p_corpus uuid, p_groups jsonb, p_filters jsonb)
RETURNS TABLE (document_id uuid, external_id text, occurred_at timestamptz, has_date boolean, source text, themes text[], account text, person text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp {keeps_plans} AS $$
#variable_conflict use_column
DECLARE
  v_tenant uuid := current_setting('app.tenant_id')::uuid;
  v_filter text := feedback_filter_condition(p_filters);
  v_groups integer := coalesce(jsonb_array_length(p_groups), 0);
  v_terms integer[];
  v_numbers integer[];
BEGIN
  IF v_groups = 0 THEN
    RETURN QUERY EXECUTE format(
      'SELECT p.document_id, p.external_id, p.occurred_at, p.has_date, p.source, p.themes, p.account, p.person'
      '  FROM feedback_passage p WHERE p.tenant_id = %L AND p.corpus_id = %L AND p.ordinal = 0%s', v_tenant, p_corpus, v_filter);
    RETURN;
  END IF;
  SELECT array_agg(t::integer), array_agg(g.n) INTO v_terms, v_numbers
    FROM jsonb_array_elements(p_groups) WITH ORDINALITY g(terms, n), jsonb_array_elements_text(g.terms) t;
  IF v_terms IS NULL THEN RETURN; END IF;
  IF v_filter = '' THEN
    RETURN QUERY {plain};
  ELSE
    RETURN QUERY EXECUTE format({filtered}, v_tenant, p_corpus, v_filter) USING v_terms, v_numbers, v_groups;
  END IF;
END $$;
"""
HOLDING = """
      SELECT p.document_id, min(p.external_id), min(p.occurred_at), bool_and(p.has_date), min(p.source), min(p.themes), min(p.account), min(p.person)
        FROM feedback_passage p JOIN unnest({terms}, {numbers}) q(t, n) ON q.t = ANY (p.terms)
       WHERE p.tenant_id = {tenant} AND p.corpus_id = {corpus} AND p.terms && {terms}{filter}
       GROUP BY p.document_id HAVING count(DISTINCT q.n) = {groups}"""

# What hits show. LIMIT holds the planner to a look-up for each, whatever it knows of the tables yet; the moment finds
# the partition. It runs as its caller, behind the policies.
PASSAGES = """
CREATE FUNCTION feedback_passages(p_ids uuid[], p_moments timestamptz[])
RETURNS TABLE (id uuid, external_id text, revision integer, start integer, "end" integer, source text, themes text[], account text,
  language text, occurred_at timestamptz, terms integer[], frequencies smallint[], length integer, facets jsonb, title text, text text,
  author text, has_date boolean, attribution text, url text)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp {keeps_plans} AS $$
#variable_conflict use_column
DECLARE
  v_tenant uuid := current_setting('app.tenant_id')::uuid;
BEGIN
  RETURN QUERY
    SELECT p.id, p.external_id, p.revision, p.start, p."end", p.source, p.themes, p.account,
           p.language, p.occurred_at, p.terms, p.frequencies, p.length, p.facets, r.title, r.text,
           d.author, d.has_date, d.attribution, d.url
      FROM unnest(p_ids, p_moments) f(id, moment)
      CROSS JOIN LATERAL (SELECT * FROM feedback_passage WHERE tenant_id = v_tenant AND occurred_at = f.moment AND id = f.id LIMIT 1) p
      CROSS JOIN LATERAL (SELECT * FROM feedback_documentrevision WHERE tenant_id = v_tenant AND document_id = p.document_id AND number = p.revision LIMIT 1) r
      CROSS JOIN LATERAL (SELECT * FROM feedback_document WHERE tenant_id = v_tenant AND occurred_at = f.moment AND id = p.document_id LIMIT 1) d;
END $$;
"""

# What /ready and the gauges show: sums over all tenants, no id and no text.
TOTALS = """
CREATE FUNCTION feedback_totals() RETURNS TABLE (corpora bigint, documents bigint, passages bigint, terms bigint, documents_by_shard bigint[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT count(*), coalesce(sum(s.documents), 0)::bigint, coalesce(sum(s.passages), 0)::bigint, coalesce(sum(s.terms), 0)::bigint,
         (SELECT array_agg(coalesce(d.n, 0)::bigint ORDER BY g.i) FROM generate_series(0, %(shards)s - 1) g(i)
            LEFT JOIN (SELECT ('x' || substr(replace(tenant_id::text, '-', ''), 25, 8))::bit(32)::bigint %% %(shards)s shard, sum(c.documents) n
                         FROM feedback_corpusstatistics c GROUP BY 1) d ON d.shard = g.i)
    FROM feedback_corpusstatistics s
$$;
CREATE FUNCTION feedback_vector_totals() RETURNS TABLE (embedder text, vectors bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT v.key, sum(v.value::bigint)::bigint FROM feedback_corpusstatistics s, jsonb_each_text(s.vectors) v GROUP BY v.key ORDER BY v.key
$$;
"""

PUBLIC = {
    "feedback_lexemes(regconfig, text, text[])": False,
    "feedback_filter_condition(jsonb)": False,
    "feedback_search_lexical(uuid, integer[], double precision[], jsonb, integer)": True,
    "feedback_search_vector(uuid, integer, text, halfvec, jsonb, integer, uuid[])": True,
    "feedback_matching(uuid, jsonb, jsonb)": True,
    "feedback_passages(uuid[], timestamptz[])": False,
    "feedback_totals()": True,
    "feedback_vector_totals()": True,
}


def functions():
    """Return the functions; a statement of each stands in two forms, with names and with places for values."""
    found = {"tenant": "%L", "corpus": "%L", "filter": "%s"}
    named = {"tenant": "v_tenant", "corpus": "p_corpus", "filter": "", "terms": "p_terms"}
    lexical = LEXICAL.format(
        keeps_plans=KEEPS_PLANS,
        plain=RANKED.format(**named, query="v_query", k="p_k"),
        filtered="'" + RANKED.format(**found, query="$1", terms="$2", k="$3") + "'",
    )
    matching = MATCHING.format(
        keeps_plans=KEEPS_PLANS,
        plain=HOLDING.format(**{**named, "terms": "v_terms"}, numbers="v_numbers", groups="v_groups"),
        filtered="'" + HOLDING.format(**found, terms="$1", numbers="$2", groups="$3") + "'",
    )
    passages = PASSAGES.format(keeps_plans=KEEPS_PLANS)
    return [FILTER, LEXEMES, lexical, VECTOR, matching, passages, TOTALS % {"shards": settings.WISDOM.tenant_shards}]


def forwards(apps, schema_editor):
    shards = settings.WISDOM.tenant_shards
    for forward, _ in INDEXES:
        schema_editor.execute(forward)
    for shard in range(shards):
        schema_editor.execute(
            f"CREATE TABLE feedback_passagevector_s{shard:03d} PARTITION OF feedback_passagevector FOR VALUES IN ({shard})"
        )
    for body in functions():
        schema_editor.execute(body, params=None)
    role = app_role()
    # A function's new owner must be allowed to make things in the schema, at the moment of the change only.
    schema_editor.execute(f"GRANT CREATE ON SCHEMA public TO {SEARCH_ROLE}")
    for function, searches in PUBLIC.items():
        schema_editor.execute(f"REVOKE ALL ON FUNCTION {function} FROM public")
        schema_editor.execute(f'GRANT EXECUTE ON FUNCTION {function} TO "{role}", {SEARCH_ROLE}')
        if searches:
            schema_editor.execute(f"ALTER FUNCTION {function} OWNER TO {SEARCH_ROLE}")
    schema_editor.execute(f"REVOKE CREATE ON SCHEMA public FROM {SEARCH_ROLE}")


def backwards(apps, schema_editor):
    for function in reversed(PUBLIC):
        schema_editor.execute(f"DROP FUNCTION {function}")
    for shard in range(settings.WISDOM.tenant_shards):
        schema_editor.execute(f"DROP TABLE feedback_passagevector_s{shard:03d}")
    for _, backward in INDEXES:
        schema_editor.execute(backward)


class Migration(migrations.Migration):
    dependencies = [("feedback", "0001_corpus_tables"), ("core", "0003_partition_functions")]

    operations = [migrations.RunPython(forwards, backwards)]
