"""Search many vectors through graphs, and small sets of them through an index of what filters ask for.

Vectors are numbered as they are stored. A segment is an HNSW graph over a corpus's vectors of one embedder with
numbers in a range; what has a higher number than any segment is scanned. A segment is a partition of its own: no
other tenant's vectors stand in its graph, its dimension is fixed, and building it locks nothing that is searched.
"""

import django.db.models.deletion
import pgvector.django.halfvec
from django.conf import settings
from django.db import migrations, models

import core.ids
import core.tenant_scope
from core.migration_operations import SEARCH_ROLE, CreateTenantModel, app_role
from feedback.domain.partitions import shard_sql

# What an equality filter can ask of a vector's row, as numbers that differ by corpus and embedder: one GIN index
# serves every filter. Equal numbers of different values (one in 10^19) only cost a look at the row: the filter's own
# condition is checked too. In plpgsql, whose expressions cost an eighth of a query's, and without a pinned
# search_path, which would cost as much again: every function and type is named with its schema.
FILTER_KEYS = """
CREATE FUNCTION feedback_filter_keys(p_corpus uuid, p_embedder text, p_source text, p_themes text[], p_account text, p_language text, p_facets jsonb)
RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  v_seed bigint := pg_catalog.hashtextextended(p_embedder, pg_catalog.uuid_hash_extended(p_corpus, 0));
  v bigint[] := ARRAY[pg_catalog.hashtextextended('s:' || p_source, v_seed), pg_catalog.hashtextextended('l:' || p_language, v_seed)];
  v_theme text;
BEGIN
  IF p_account IS NOT NULL THEN
    v := v || pg_catalog.hashtextextended('a:' || p_account, v_seed);
  END IF;
  FOREACH v_theme IN ARRAY p_themes LOOP
    v := v || pg_catalog.hashtextextended('t:' || v_theme, v_seed);
  END LOOP;
  IF p_facets <> '{}'::pg_catalog.jsonb THEN
    v := v || ARRAY(
      SELECT pg_catalog.hashtextextended('f:' || pg_catalog.length(f.key)::pg_catalog.text || ':' || f.key || e.value, v_seed)
        FROM pg_catalog.jsonb_each(p_facets) f,
             LATERAL pg_catalog.jsonb_array_elements_text(
               CASE pg_catalog.jsonb_typeof(f.value) WHEN 'array' THEN f.value ELSE pg_catalog.jsonb_build_array(f.value) END) e(value)
       WHERE e.value IS NOT NULL);
  END IF;
  RETURN v;
END $$;
"""

# The numbers of what a filter asks for, as conditions on them.
KEY_CONDITION = """
CREATE FUNCTION feedback_key_condition(p_corpus uuid, p_embedder text, p jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE SET search_path = public, pg_temp AS $$
DECLARE
  v text := '';
  v_seed bigint := hashtextextended(p_embedder, uuid_hash_extended(p_corpus, 0));
  v_kind text;
  v_values jsonb;
BEGIN
  FOR v_kind, v_values IN
    SELECT k.kind, p->k.name FROM (VALUES ('s:', 'source'), ('t:', 'theme'), ('a:', 'account'), ('l:', 'language')) k(kind, name)
    UNION ALL
    SELECT 'f:' || length(f.key)::text || ':' || f.key, f.value FROM jsonb_each(coalesce(p->'facets', '{}')) f
  LOOP
    CONTINUE WHEN v_values IS NULL OR jsonb_array_length(v_values) = 0;
    v := v || format(' AND feedback_filter_keys(p.corpus_id, p.embedder, p.source, p.themes, p.account, p.language, p.facets) && %L::bigint[]',
                     ARRAY(SELECT hashtextextended(v_kind || x, v_seed) FROM jsonb_array_elements_text(v_values) x));
  END LOOP;
  RETURN v;
END $$;
"""

# Cosine over unit vectors (negative inner product).
#
# Exact: the corpus has at most p_exact_limit vectors, or no segment; the filters admit at most that many, or so few
# that a graph would be slower, counted through their index; or the documents are named. Else each segment gives its
# best by its graph, and the vectors above all segments are scanned. A graph's scan that ended before it gave as many
# rows as it was asked for is no answer: that segment's range is then scanned. A document counts once, by its best
# passage: more rows are read until there are p_k documents or no more rows. enable_sort off: of two ways to order a
# segment's rows the planner has to take the graph.
SEARCH = """
CREATE FUNCTION feedback_search_vector(p_corpus uuid, p_shard integer, p_embedder text, p_vector halfvec, p_filters jsonb, p_k integer,
  p_documents uuid[] DEFAULT NULL, p_exact_limit integer DEFAULT 12000)
RETURNS TABLE (document_id uuid, passage_id uuid, occurred_at timestamptz, score double precision, path text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET jit = off SET enable_seqscan = off SET enable_sort = off
SET hnsw.iterative_scan = relaxed_order SET hnsw.ef_search = 100 SET hnsw.max_scan_tuples = 20000 AS $$
#variable_conflict use_column
DECLARE
  v_tenant uuid := current_setting('app.tenant_id')::uuid;
  v_scope text := format('p.tenant_id = %L AND p.shard = %L AND p.corpus_id = %L AND p.embedder = %L', v_tenant, p_shard, p_corpus, p_embedder);
  v_only text := '';
  v_filter text := feedback_filter_condition(p_filters);
  v_keys text := '';
  v_documents uuid[] := p_documents;
  v_exact text;
  v_segment record;
  v_above bigint;
  v_by_graph boolean := false;
  v_rows integer := p_k + 8;
  v_read integer;
  v_total integer;
  v_bound integer;
  v_largest record;
  v_found vector_match[];
  v_part vector_match[];
BEGIN
  IF v_documents IS NULL AND jsonb_array_length(coalesce(p_filters->'ids', '[]')) > 0 THEN
    EXECUTE format('SELECT array_agg(k.id) FROM feedback_documentkey k WHERE k.tenant_id = %L AND k.corpus_id = %L AND k.external_id = ANY ($1)', v_tenant, p_corpus)
      INTO v_documents USING ARRAY(SELECT jsonb_array_elements_text(p_filters->'ids'));
    IF v_documents IS NULL THEN RETURN; END IF;
  END IF;
  IF v_documents IS NOT NULL THEN
    v_only := ' AND p.document_id = ANY ($3)';
  ELSE
    EXECUTE format('SELECT (s.vectors->>%L)::integer FROM feedback_corpusstatistics s WHERE s.tenant_id = %L AND s.corpus_id = %L', p_embedder, v_tenant, p_corpus)
      INTO v_total;
    IF v_total > p_exact_limit THEN
      EXECUTE format('SELECT g.id, g.dimensions, max(g.upto) OVER () upto FROM feedback_vectorsegment g WHERE g.tenant_id = %L AND g.corpus_id = %L AND g.embedder = %L AND g.is_serving'
                     ' ORDER BY g.rows DESC LIMIT 1', v_tenant, p_corpus, p_embedder) INTO v_largest;
      v_above := v_largest.upto;
      v_by_graph := v_above IS NOT NULL;
    END IF;
    IF v_filter <> '' THEN
      v_keys := feedback_key_condition(p_corpus, p_embedder, p_filters);
      IF v_by_graph THEN
        -- A graph that is asked for the few of a filter visits p_k * total / admitted rows, at some twenty times the
        -- price of a row that is scanned.
        v_bound := least(p_exact_limit, ceil(sqrt(1000.0 * v_total)));
        -- Where a tenth of the nearest hundred pass, the graph is soon done, and counting would cost more than that.
        EXECUTE format('SELECT count(*) FROM (SELECT g.id FROM feedback_segmentvector g WHERE g.tenant_id = %1$L AND g.segment_id = %2$L'
                       '  ORDER BY (g.vector::halfvec(%3$s)) <#> $1::halfvec(%3$s) LIMIT 100) g'
                       ' CROSS JOIN LATERAL (SELECT FROM feedback_passagevector p WHERE p.tenant_id = %1$L AND p.shard = %4$L AND p.id = g.id%5$s LIMIT 1) p',
                       v_tenant, v_largest.id, v_largest.dimensions, p_shard, v_filter) INTO v_read USING p_vector;
        IF v_read < 10 THEN
          EXECUTE format('SELECT count(*) FROM (SELECT FROM feedback_passagevector p WHERE %s%s%s LIMIT %s) x', v_scope, v_keys,
                         feedback_filter_condition(p_filters - '{source,theme,account,language,facets}'::text[]), v_bound + 1) INTO v_read;
          v_by_graph := v_read > v_bound;
        END IF;
      END IF;
    END IF;
  END IF;
  v_exact := 'SELECT array_agg(row(p.document_id, p.passage_id, p.occurred_at, p.external_id, -p.d)::vector_match) FROM ('
             '  SELECT p.document_id, p.passage_id, p.occurred_at, p.external_id, p.vector <#> $1 d FROM feedback_passagevector p'
             '   WHERE ' || v_scope || '%s' || v_only || v_keys || v_filter || ' ORDER BY d, p.external_id, p.passage_id LIMIT $2) p';
  LOOP
    v_read := 0;
    IF v_by_graph THEN
      EXECUTE format(v_exact, format(' AND p.number > %s', v_above)) INTO v_found USING p_vector, v_rows, v_documents;
      v_read := coalesce(cardinality(v_found), 0);
      FOR v_segment IN EXECUTE format('SELECT g.id, g.dimensions, g.above, g.upto FROM feedback_vectorsegment g WHERE g.tenant_id = %L AND g.corpus_id = %L AND g.embedder = %L AND g.is_serving',
                                      v_tenant, p_corpus, p_embedder)
      LOOP
        -- LIMIT 1 holds the planner to a look-up for each row of the graph, in the graph's order.
        EXECUTE format(
          'SELECT array_agg(row(x.document_id, x.passage_id, x.occurred_at, x.external_id, -(x.vector <#> $1))::vector_match) FROM ('
          '  SELECT v.* FROM feedback_segmentvector g CROSS JOIN LATERAL (SELECT p.document_id, p.passage_id, p.occurred_at, p.external_id, p.vector'
          '    FROM feedback_passagevector p WHERE p.tenant_id = %1$L AND p.shard = %2$L AND p.id = g.id%3$s LIMIT 1) v'
          '   WHERE g.tenant_id = %1$L AND g.segment_id = %4$L ORDER BY (g.vector::halfvec(%5$s)) <#> $1::halfvec(%5$s) LIMIT $2) x',
          v_tenant, p_shard, v_filter, v_segment.id, v_segment.dimensions) INTO v_part USING p_vector, v_rows;
        IF coalesce(cardinality(v_part), 0) < v_rows THEN
          EXECUTE format(v_exact, format(' AND p.number > %s AND p.number <= %s', v_segment.above, v_segment.upto)) INTO v_part USING p_vector, v_rows, v_documents;
        END IF;
        v_read := greatest(v_read, coalesce(cardinality(v_part), 0));
        v_found := v_found || v_part;
      END LOOP;
    ELSE
      EXECUTE format(v_exact, '') INTO v_found USING p_vector, v_rows, v_documents;
      v_read := coalesce(cardinality(v_found), 0);
    END IF;
    EXIT WHEN v_read < v_rows OR (SELECT count(DISTINCT f.document_id) FROM unnest(v_found) f) >= p_k;
    v_rows := v_rows * 4;
  END LOOP;
  RETURN QUERY
    SELECT x.document_id, x.passage_id, x.occurred_at, x.score, CASE WHEN v_by_graph THEN 'graph' ELSE 'exact' END FROM (
      SELECT DISTINCT ON (f.external_id) f.* FROM unnest(v_found) f ORDER BY f.external_id, f.score DESC, f.passage_id) x
     ORDER BY x.score DESC, x.external_id LIMIT p_k;
END $$;
"""

# As it was: every row of the corpus is scanned and sorted.
SEARCH_BEFORE = """
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

# Lock note: the new table is nobody's until it is attached, at the end, which takes SHARE UPDATE EXCLUSIVE on the
# parent: searches go on.
BUILD = """
CREATE FUNCTION feedback_build_segment(p_segment uuid, p_corpus uuid, p_embedder text, p_dimensions integer, p_above bigint, p_upto bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET max_parallel_maintenance_workers = 0 AS $$
DECLARE
  v_tenant uuid := current_setting('app.tenant_id')::uuid;
  v_table text := 'feedback_segmentvector_' || replace(p_segment::text, '-', '');
  v_rows bigint;
BEGIN
  IF p_dimensions NOT BETWEEN 1 AND 4000 THEN
    RAISE EXCEPTION 'no graph over % dimensions', p_dimensions;
  END IF;
  EXECUTE format('CREATE TABLE %I (LIKE feedback_segmentvector INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)', v_table);
  EXECUTE format('INSERT INTO %I (tenant_id, segment_id, id, vector) SELECT p.tenant_id, %L::uuid, p.id, p.vector FROM feedback_passagevector p'
                 ' WHERE p.tenant_id = %L AND p.shard = %s AND p.corpus_id = %L AND p.embedder = %L AND p.number > %s AND p.number <= %s',
                 v_table, p_segment, v_tenant, {shard}, p_corpus, p_embedder, p_above, p_upto);
  GET DIAGNOSTICS v_rows = ROW_COUNT;
  EXECUTE format('ALTER TABLE %I ADD PRIMARY KEY (tenant_id, segment_id, id)', v_table);
  EXECUTE format('CREATE INDEX ON %I USING hnsw ((vector::halfvec(%s)) halfvec_ip_ops)', v_table, p_dimensions);
  EXECUTE format('ANALYZE %I', v_table);
  EXECUTE format('ALTER TABLE feedback_segmentvector ATTACH PARTITION %I FOR VALUES IN (%L)', v_table, p_segment);
  RETURN v_rows;
END $$;
"""

# A partition is dropped whose segment no search may choose any more.
DROP = """
CREATE FUNCTION feedback_drop_segment(p_segment uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_tenant uuid := current_setting('app.tenant_id')::uuid;
BEGIN
  IF NOT EXISTS (SELECT FROM feedback_vectorsegment g WHERE g.tenant_id = v_tenant AND g.id = p_segment AND NOT g.is_serving) THEN
    RAISE EXCEPTION 'segment % is not the tenant''s, or it serves', p_segment;
  END IF;
  EXECUTE format('DROP TABLE IF EXISTS %I', 'feedback_segmentvector_' || replace(p_segment::text, '-', ''));
  DELETE FROM feedback_vectorsegment WHERE tenant_id = v_tenant AND id = p_segment;
END $$;
"""

SEARCHES = {
    "feedback_search_vector(uuid, integer, text, halfvec, jsonb, integer, uuid[], integer)": SEARCH,
    "feedback_key_condition(uuid, text, jsonb)": KEY_CONDITION,
    "feedback_filter_keys(uuid, text, text, text[], text, text, jsonb)": FILTER_KEYS,
}
OWNERS = {
    "feedback_build_segment(uuid, uuid, text, integer, bigint, bigint)": BUILD,
    "feedback_drop_segment(uuid)": DROP,
}
BEFORE = "feedback_search_vector(uuid, integer, text, halfvec, jsonb, integer, uuid[])"

# Lock note: writes wait while the index is built; it takes some 20 s for a million vectors.
KEYS_INDEX = (
    "CREATE INDEX vector_filter_keys ON feedback_passagevector"
    " USING gin (feedback_filter_keys(corpus_id, embedder, source, themes, account, language, facets)) WITH (fastupdate = off)"
)


def number_vectors(apps, schema_editor):
    """Number the vectors that are there, by tenant: the owner is held by the policies as well."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT id FROM tenants_tenant")
        for (tenant,) in cursor.fetchall():
            cursor.execute(f"SET LOCAL app.tenant_id = '{tenant}'")
            cursor.execute(
                "UPDATE feedback_passagevector v SET number = x.number FROM (SELECT shard, id,"
                "  row_number() OVER (PARTITION BY corpus_id ORDER BY id) AS number FROM feedback_passagevector WHERE tenant_id = %s) x"
                " WHERE v.tenant_id = %s AND v.shard = x.shard AND v.id = x.id",
                [tenant, tenant],
            )
            cursor.execute(
                "UPDATE feedback_corpusstatistics s SET last_vector = coalesce((SELECT max(v.number) FROM feedback_passagevector v"
                "  WHERE v.tenant_id = %s AND v.corpus_id = s.corpus_id), 0) WHERE s.tenant_id = %s",
                [tenant, tenant],
            )
        cursor.execute("SET LOCAL app.tenant_id = ''")


def forwards(apps, schema_editor):
    execute = schema_editor.execute
    # Loads the library that knows the hnsw settings; without it only a superuser could name them.
    execute("SELECT '[1]'::vector")
    execute(
        "CREATE TYPE vector_match AS (document_id uuid, passage_id uuid, occurred_at timestamptz, external_id text, score double precision)"
    )
    execute(f"DROP FUNCTION {BEFORE}")
    for body in [
        FILTER_KEYS,
        KEY_CONDITION,
        SEARCH,
        BUILD.replace("{shard}", shard_sql("v_tenant", settings.WISDOM.tenant_shards)),
        DROP,
    ]:
        execute(body, params=None)
    execute(KEYS_INDEX)
    open_to(execute, SEARCHES, OWNERS)
    own(execute, next(iter(SEARCHES)))


def open_to(execute, searches, owners=()):
    for function in searches:
        execute(f"REVOKE ALL ON FUNCTION {function} FROM public")
        execute(f'GRANT EXECUTE ON FUNCTION {function} TO "{app_role()}", {SEARCH_ROLE}')
    for function in owners:
        execute(f"REVOKE ALL ON FUNCTION {function} FROM public")
        execute(f'GRANT EXECUTE ON FUNCTION {function} TO "{app_role()}"')


def own(execute, function):
    # A function's new owner must be allowed to make things in the schema, at the moment of the change only.
    execute(f"GRANT CREATE ON SCHEMA public TO {SEARCH_ROLE}")
    execute(f"ALTER FUNCTION {function} OWNER TO {SEARCH_ROLE}")
    execute(f"REVOKE CREATE ON SCHEMA public FROM {SEARCH_ROLE}")


def backwards(apps, schema_editor):
    execute = schema_editor.execute
    execute("DROP INDEX vector_filter_keys")
    for function in [*SEARCHES, *OWNERS]:
        execute(f"DROP FUNCTION {function}")
    execute("DROP TYPE vector_match")
    execute(SEARCH_BEFORE, params=None)
    open_to(execute, [BEFORE])
    own(execute, BEFORE)


def tenant_field():
    return models.ForeignKey(
        db_constraint=False,
        db_index=False,
        on_delete=django.db.models.deletion.CASCADE,
        related_name="+",
        to="tenants.tenant",
    )


def id_field():
    return models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)


class Migration(migrations.Migration):
    dependencies = [("feedback", "0003_certified_lexical_search")]

    operations = [
        CreateTenantModel(
            name="VectorSegment",
            fields=[
                ("id", id_field()),
                (
                    "corpus",
                    core.tenant_scope.TenantForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="feedback.corpus",
                    ),
                ),
                ("tenant", tenant_field()),
                ("embedder", models.TextField()),
                ("dimensions", models.IntegerField()),
                ("above", models.BigIntegerField()),
                ("upto", models.BigIntegerField()),
                ("rows", models.IntegerField(default=0)),
                ("is_serving", models.BooleanField(default=False)),
                ("retired_at", models.DateTimeField(null=True)),
            ],
        ),
        CreateTenantModel(
            name="SegmentVector",
            fields=[
                ("id", id_field()),
                ("segment_id", models.UUIDField()),
                ("vector", pgvector.django.halfvec.HalfVectorField()),
                ("tenant", tenant_field()),
            ],
            partition_by="LIST (segment_id)",
        ),
        migrations.AddIndex(
            model_name="vectorsegment",
            index=models.Index(fields=["tenant", "corpus", "embedder"], name="segment_of_corpus"),
        ),
        migrations.AddField(model_name="corpusstatistics", name="last_vector", field=models.BigIntegerField(default=0)),
        # A constant default is no rewrite; rows that say no number are refused from here on.
        migrations.AddField(
            model_name="passagevector", name="number", field=models.BigIntegerField(default=0), preserve_default=False
        ),
        migrations.RunPython(number_vectors, migrations.RunPython.noop),
        migrations.RemoveIndex(model_name="passagevector", name="vector_scan"),
        migrations.AddIndex(
            model_name="passagevector",
            index=models.Index(fields=["tenant", "corpus_id", "embedder", "number"], name="vector_number"),
        ),
        migrations.AddIndex(
            model_name="passagevector",
            index=models.Index(fields=["tenant", "corpus_id", "occurred_at"], name="vector_window"),
        ),
        migrations.RunPython(forwards, backwards),
    ]
