"""Search by the rarest words first, and prove that the others can bring nothing more.

Every passage that holds any word of a question is a candidate; most hold only its frequent words and never come near
the top. With the most that each word can add to a score (`max_weight` times its idf) the search stops as soon as what
is left could not reach the k-th best score (decision 9). Source: Turtle and Flood, Query Evaluation: Strategies and
Optimizations, 1995 (MaxScore).
"""

from importlib import import_module

from django.db import migrations, models

from core.migration_operations import SEARCH_ROLE, app_role

before = import_module("feedback.migrations.0002_search_functions")

# A passage that may be among the best: what decides its place, and what the caller is told of it.
CANDIDATE = """
CREATE TYPE feedback_candidate AS (score double precision, external_id text, ordinal integer, document_id uuid, passage_id uuid, occurred_at timestamptz)
"""

# Without a setting of its own the function is inlined, which its caller's search path makes safe: names are qualified.
LEXEMES = """
CREATE OR REPLACE FUNCTION feedback_lexemes(p_config regconfig, p_text text, p_extra text[]) RETURNS TABLE (lexeme text, frequency integer)
LANGUAGE sql STABLE ROWS 20 AS $$
  SELECT l, sum(f)::integer FROM (
    SELECT CASE WHEN octet_length(u.lexeme) = length(u.lexeme) THEN u.lexeme ELSE public.unaccent('public.unaccent', u.lexeme) END l, cardinality(u.positions) f
      FROM unnest(to_tsvector(p_config, p_text)) u
    UNION ALL
    SELECT e, 1 FROM unnest(p_extra) e) x
  WHERE l <> '' GROUP BY l ORDER BY l
$$;
"""

VALUES = """
CREATE FUNCTION feedback_filter_values(p jsonb, p_key text) RETURNS text[] LANGUAGE sql IMMUTABLE SET search_path = public, pg_temp AS $$
  SELECT array_agg(v) FROM jsonb_array_elements_text(coalesce(p->p_key, '[]')) v
$$;
"""

# What `feedback_filter_condition` says of anything but periods and ids, with places for the values: one plan for all of them.
ADMITTED = """
                AND (v_sources IS NULL OR p.source = ANY (v_sources)) AND (v_themes IS NULL OR p.themes && v_themes)
                AND (v_accounts IS NULL OR p.account = ANY (v_accounts)) AND (v_languages IS NULL OR p.language = ANY (v_languages))
                AND (v_facets IS NULL OR NOT EXISTS (SELECT FROM jsonb_each(v_facets) w WHERE NOT coalesce(
                       CASE jsonb_typeof(p.facets->w.key) WHEN 'array' THEN EXISTS (SELECT FROM jsonb_array_elements_text(p.facets->w.key) e WHERE w.value ? e)
                       ELSE w.value ? (p.facets->>w.key) END, false)))"""

# Exact BM25 of the k best records. Words are taken rarest first: together while few passages hold them, then one by one.
# v_left is the most that the words not yet taken can add together. A passage that holds none of those taken scores at most
# that: when it is below the k-th best score found, the rest of the corpus is ruled out. Before that, a passage found by one
# more word must also hold one of v_others: those of the words after it without which it can't reach the k-th best score.
# Inner products are sums of single precision: bounds carry a slack well above their error, so a tie is never ruled out.
# A filter of periods or ids is planned for its values, which leave out partitions and are looked up; any other keeps a plan.
# One statement calls this, so bounds, statistics and passages are of one moment. Kept are v_limit passages; a record with
# several among them takes more than one place, and if fewer than k records fit in, it is done again with more room.
LEXICAL = """
CREATE FUNCTION feedback_search_lexical(p_corpus uuid, p_terms integer[], p_idfs double precision[], p_filters jsonb, p_k integer, p_budget integer DEFAULT {budget})
RETURNS TABLE (document_id uuid, passage_id uuid, occurred_at timestamptz, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp {keeps_plans} AS $$
#variable_conflict use_column
DECLARE
  v_tenant uuid := current_setting('app.tenant_id')::uuid;
  v_sources text[];
  v_themes text[];
  v_accounts text[];
  v_languages text[];
  v_facets jsonb;
  v_filter text;
  v_statement text;
  v_budget double precision := p_budget;
  v_query sparsevec;
  v_terms integer[];
  v_held double precision[];
  v_bounds double precision[];
  v_count integer;
  v_limit integer;
  v_found feedback_candidate[];
  v_floor double precision;
  v_most double precision;
  v_left double precision;
  v_first integer;
  v_last integer;
  v_sum double precision;
  v_leads integer[];
  v_others integer[];
  v_steps integer;
  v_narrowed integer;
BEGIN
  IF cardinality(p_terms) IS NULL OR cardinality(p_terms) = 0 THEN RETURN; END IF;
  IF p_filters <> '{{}}' THEN
    IF feedback_filter_values(p_filters, 'ids') IS NOT NULL THEN
      v_filter := feedback_filter_condition(p_filters);
      v_budget := 'Infinity';
    ELSIF p_filters->>'occurred_from' IS NOT NULL OR p_filters->>'occurred_to' IS NOT NULL THEN
      v_filter := feedback_filter_condition(p_filters);
      -- A guess of its share of the corpus: as if three years of records were there, evenly.
      v_budget := p_budget * greatest(1, 1096 / greatest(1, coalesce(
        extract(epoch FROM (p_filters->>'occurred_to')::timestamptz - (p_filters->>'occurred_from')::timestamptz) / 86400, 1096)));
    ELSE
      v_sources := feedback_filter_values(p_filters, 'source');
      v_themes := feedback_filter_values(p_filters, 'theme');
      v_accounts := feedback_filter_values(p_filters, 'account');
      v_languages := feedback_filter_values(p_filters, 'language');
      v_facets := (SELECT jsonb_object_agg(f.key, to_jsonb(feedback_filter_values(p_filters->'facets', f.key)))
                     FROM jsonb_each(coalesce(p_filters->'facets', '{{}}')) f);
    END IF;
  END IF;
  SELECT ('{{' || string_agg(t || ':' || i, ',' ORDER BY t) || '}}/1000000000')::sparsevec INTO v_query FROM unnest(p_terms, p_idfs) q(t, i);
  SELECT array_agg(x.term_id ORDER BY x.document_frequency, x.term_id), array_agg(x.document_frequency ORDER BY x.document_frequency, x.term_id),
         array_agg(x.bound ORDER BY x.document_frequency, x.term_id), count(*), sum(x.bound)
    INTO v_terms, v_held, v_bounds, v_count, v_most
    FROM (SELECT t.term_id, t.document_frequency, q.i * t.max_weight * (1 + 1e-4) bound
            FROM unnest(p_terms, p_idfs) q(t, i) JOIN feedback_term t ON t.tenant_id = v_tenant AND t.corpus_id = p_corpus AND t.term_id = q.t
           WHERE t.document_frequency > 0) x;
  SELECT CASE WHEN s.passages > s.documents THEN 5 + ceil(p_k * least(8, 2.0 * s.passages / greatest(s.documents, 1) - 1)) ELSE p_k END INTO v_limit
    FROM feedback_corpusstatistics s WHERE s.tenant_id = v_tenant AND s.corpus_id = p_corpus;
  IF v_count = 0 OR v_limit IS NULL OR p_k < 1 THEN RETURN; END IF;
  LOOP
    v_found := '{{}}';
    v_floor := 0;
    v_first := 1;
    v_steps := 0;
    v_narrowed := 0;
    v_left := v_most;
    WHILE v_first <= v_count AND (v_floor = 0 OR v_left >= v_floor) LOOP
      v_last := v_first;
      v_sum := v_held[v_first];
      WHILE v_last < v_count AND (v_floor = 0 OR v_sum + v_held[v_last + 1] <= p_budget) AND v_sum + v_held[v_last + 1] <= v_budget LOOP
        v_last := v_last + 1;
        v_sum := v_sum + v_held[v_last];
      END LOOP;
      v_leads := v_terms[v_first:v_last];
      v_others := NULL;
      IF v_first = v_last AND v_floor > v_bounds[v_first] THEN
        v_narrowed := v_narrowed + 1;
        v_others := '{{}}';
        v_sum := v_bounds[v_first];
        FOR i IN REVERSE v_count..v_last + 1 LOOP
          IF v_sum + v_bounds[i] < v_floor THEN
            v_sum := v_sum + v_bounds[i];
          ELSE
            v_others := v_others || v_terms[i];
          END IF;
        END LOOP;
      END IF;
      IF v_others IS NULL AND v_filter IS NULL THEN
        {plain};
      ELSIF v_others IS NULL THEN
        v_statement := format({filtered}, v_tenant, p_corpus, v_filter);
        RAISE DEBUG 'lexical search: %', v_statement;
        EXECUTE v_statement INTO v_found USING v_query, v_leads, v_limit, v_found;
      ELSIF v_filter IS NULL THEN
        {plain_narrowed};
      ELSE
        v_statement := format({filtered_narrowed}, v_tenant, p_corpus, v_filter);
        RAISE DEBUG 'lexical search: %', v_statement;
        EXECUTE v_statement INTO v_found USING v_query, v_leads, v_limit, v_found, v_others;
      END IF;
      v_steps := v_steps + 1;
      IF v_floor = 0 THEN
        -- A filter that admits little leaves nothing to stop at: read what should hold twice as many as are wanted.
        v_budget := greatest(4 * v_budget, 2 * p_k * v_sum / greatest(coalesce(cardinality(v_found), 0), 0.5));
      END IF;
      IF cardinality(v_found) >= p_k THEN
        SELECT coalesce(min(x.score), 0) INTO v_floor
          FROM (SELECT max(f.score) score FROM unnest(v_found) f GROUP BY f.external_id ORDER BY 1 DESC OFFSET p_k - 1 LIMIT 1) x;
      END IF;
      EXIT WHEN v_floor = 0 AND cardinality(v_found) >= v_limit;
      FOR i IN v_first..v_last LOOP v_left := v_left - v_bounds[i]; END LOOP;
      v_first := v_last + 1;
    END LOOP;
    EXIT WHEN v_floor > 0 OR coalesce(cardinality(v_found), 0) < v_limit;
    v_limit := 4 * v_limit;
  END LOOP;
  RAISE DEBUG 'lexical search: % of % words in % steps, % of them narrowed', v_first - 1, v_count, v_steps, v_narrowed;
  RETURN QUERY
    SELECT x.document_id, x.passage_id, x.occurred_at, x.score
      FROM (SELECT DISTINCT ON (f.external_id) * FROM unnest(v_found) f ORDER BY f.external_id, f.score DESC, f.ordinal) x
     ORDER BY x.score DESC, x.external_id LIMIT p_k;
END $$;
"""
BEST = """
          SELECT array_agg(ROW(y.s, y.external_id, y.ordinal, y.document_id, y.id, y.occurred_at)::feedback_candidate){into} FROM (
            (SELECT -(p.weights <#> {query}) s, p.external_id, p.ordinal, p.document_id, p.id, p.occurred_at
               FROM feedback_passage p WHERE {mine} AND p.terms && {leads}{narrowed}{filter}
              ORDER BY s DESC, p.external_id, p.ordinal LIMIT {limit})
            UNION
            SELECT f.score, f.external_id, f.ordinal, f.document_id, f.passage_id, f.occurred_at FROM unnest({found}::feedback_candidate[]) f
            ORDER BY 1 DESC, 2, 3 LIMIT {limit}) y"""

# The index of words is the one to read. A plan that is kept knows no tenant's size: it takes each for an average one, and
# with ten tenants it read the whole of tenant and corpus from their index beside the words', in every partition; that took
# four times as long as the search. So this condition is one that no index answers; in statements that are planned for
# their values, where sizes are known, entries that are read from an index cost enough to be counted.
MINE = "coalesce(p.tenant_id = v_tenant AND p.corpus_id = p_corpus, false)"
ONE_INDEX = "SET cpu_index_tuple_cost = 1"

# Passages that are read for the rarest words together: below it one statement more costs more than it saves.
BUDGET = 3000
SIGNATURE = "feedback_search_lexical(uuid, integer[], double precision[], jsonb, integer"


def lexical():
    """Return the function; its statement stands in four forms, with names or places for values, narrowed or not."""
    found = {"mine": "p.tenant_id = %L AND p.corpus_id = %L", "filter": "%s", "into": ""}
    named = {"mine": MINE, "filter": ADMITTED, "into": " INTO v_found"}
    places = {"query": "$1", "leads": "$2", "limit": "$3", "found": "$4"}
    names = {"query": "v_query", "leads": "v_leads", "limit": "v_limit", "found": "v_found"}
    return LEXICAL.format(
        budget=BUDGET,
        keeps_plans=f"{before.KEEPS_PLANS} {ONE_INDEX}",
        plain=BEST.format(**named, **names, narrowed=""),
        plain_narrowed=BEST.format(**named, **names, narrowed=" AND p.terms && v_others"),
        filtered="'" + BEST.format(**found, **places, narrowed="") + "'",
        filtered_narrowed="'" + BEST.format(**found, **places, narrowed=" AND p.terms && $5") + "'",
    )


def matching():
    """Return the function of 0002 that counts, its kept statement without the index of tenant and corpus."""
    plain = before.HOLDING.format(
        tenant="v_tenant", corpus="p_corpus", filter="", terms="v_terms", numbers="v_numbers", groups="v_groups"
    )
    return _older("feedback_matching").replace(
        plain, plain.replace("p.tenant_id = v_tenant AND p.corpus_id = p_corpus", MINE)
    )


def _older(name):
    """Return a function as 0002 made it, to be put in the place of the present one."""
    old = {body.split("CREATE FUNCTION ")[1].split("(")[0]: body for body in before.functions()}
    return old[name].replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")


def _grant(schema_editor, signature):
    schema_editor.execute(f"REVOKE ALL ON FUNCTION {signature} FROM public")
    schema_editor.execute(f'GRANT EXECUTE ON FUNCTION {signature} TO "{app_role()}", {SEARCH_ROLE}')


def _belongs_to_search(schema_editor, signature):
    # A function's new owner must be allowed to make things in the schema, at the moment of the change only.
    _grant(schema_editor, signature)
    schema_editor.execute(f"GRANT CREATE ON SCHEMA public TO {SEARCH_ROLE}")
    schema_editor.execute(f"ALTER FUNCTION {signature} OWNER TO {SEARCH_ROLE}")
    schema_editor.execute(f"REVOKE CREATE ON SCHEMA public FROM {SEARCH_ROLE}")


# Lock note: reads each tenant's passages once and writes its words; nobody else may write meanwhile (the application
# is stopped while migrating, or waits for the statistics row).
FILL = """
UPDATE feedback_term t SET max_weight = x.weight FROM (
  SELECT u.term, max(u.frequency * (s.k1 + 1) / (u.frequency + s.k1 * (1 - s.b + s.b * p.length / s.average_length))) weight
    FROM feedback_corpusstatistics s JOIN feedback_passage p ON p.tenant_id = %(tenant)s AND p.corpus_id = s.corpus_id,
         unnest(p.terms, p.frequencies) u(term, frequency)
   WHERE s.tenant_id = %(tenant)s AND s.corpus_id = %(corpus)s GROUP BY u.term) x
 WHERE t.tenant_id = %(tenant)s AND t.corpus_id = %(corpus)s AND t.term_id = x.term
"""


def fill(apps, schema_editor):
    """Give the words that are there their bounds, a tenant at a time: the policies are forced on the owner as well."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT id FROM tenants_tenant ORDER BY id")
        for (tenant,) in cursor.fetchall():
            cursor.execute("SELECT set_config('app.tenant_id', %s, true)", [str(tenant)])
            cursor.execute(
                "SELECT corpus_id FROM feedback_corpusstatistics WHERE tenant_id = %s ORDER BY corpus_id FOR UPDATE",
                [tenant],
            )
            for (corpus,) in cursor.fetchall():
                cursor.execute(FILL, {"tenant": tenant, "corpus": corpus})
        cursor.execute("SELECT set_config('app.tenant_id', '', true)")


# Every batch counts its words: with room on their page the rows change in place, and no index of theirs is touched.
ROOM = "ALTER TABLE feedback_term SET (fillfactor = 60)"


def forwards(apps, schema_editor):
    schema_editor.execute(ROOM)
    schema_editor.execute(CANDIDATE, params=None)
    schema_editor.execute(LEXEMES, params=None)
    schema_editor.execute(VALUES, params=None)
    _grant(schema_editor, "feedback_filter_values(jsonb, text)")
    schema_editor.execute(f"DROP FUNCTION {SIGNATURE})")
    schema_editor.execute(lexical(), params=None)
    _belongs_to_search(schema_editor, f"{SIGNATURE}, integer)")
    schema_editor.execute(matching(), params=None)
    schema_editor.execute(f"ALTER FUNCTION feedback_matching(uuid, jsonb, jsonb) {ONE_INDEX}")


def backwards(apps, schema_editor):
    schema_editor.execute("ALTER TABLE feedback_term RESET (fillfactor)")
    schema_editor.execute(_older("feedback_matching"), params=None)
    schema_editor.execute(f"DROP FUNCTION {SIGNATURE}, integer)")
    schema_editor.execute("DROP FUNCTION feedback_filter_values(jsonb, text)")
    schema_editor.execute(_older("feedback_search_lexical"), params=None)
    _belongs_to_search(schema_editor, f"{SIGNATURE})")
    schema_editor.execute(_older("feedback_lexemes"), params=None)
    schema_editor.execute("DROP TYPE feedback_candidate")


class Migration(migrations.Migration):
    dependencies = [("feedback", "0002_search_functions")]

    operations = [
        migrations.AddField("term", "max_weight", models.FloatField(default=0.0)),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RunPython(forwards, backwards),
    ]
