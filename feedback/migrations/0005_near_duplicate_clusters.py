"""Clusters of near-duplicates: the distinct texts of a corpus, which record says which, and what people decided.

`&&` on arrays is not leakproof, so that a forced policy would switch the GIN index off: the function that finds
similar texts belongs to the role that bypasses policies, as those of 0002 do, and reads the tenant from the session.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import core.ids
import core.tenant_scope
from core.migration_operations import SEARCH_ROLE, CreateTenantModel, app_role

# Lock note: the tables are new and empty.
STATEMENTS = [
    # Who a new text may follow; and, where one becomes a leader before others, who may follow it. fastupdate off: a
    # pending list would be read by every search.
    "CREATE INDEX distincttext_leaders ON feedback_distincttext USING gin (bands) WITH (fastupdate = off) WHERE leader_id = id",
    "CREATE INDEX distincttext_others ON feedback_distincttext USING gin (bands) WITH (fastupdate = off) WHERE leader_id <> id",
    # They go with the document.
    "ALTER TABLE feedback_clustermember ADD CONSTRAINT feedback_clustermember_document_fk"
    " FOREIGN KEY (tenant_id, id) REFERENCES feedback_documentkey (tenant_id, id) ON DELETE CASCADE",
    "ALTER TABLE feedback_clusterdecision ADD CONSTRAINT feedback_clusterdecision_document_fk"
    " FOREIGN KEY (tenant_id, id) REFERENCES feedback_documentkey (tenant_id, id) ON DELETE CASCADE",
]

FOUND = """
    SELECT DISTINCT ON (t.id) t.id, t.position, t.leader_id, t.shingles, t.bands
      FROM generate_series(1, cardinality(p_bands), 32) i
      CROSS JOIN LATERAL (SELECT * FROM feedback_distincttext WHERE bands && p_bands[i : i + 31] AND leader_id {compared} id OFFSET 0) t
     WHERE t.tenant_id = v_tenant AND t.corpus_id = p_corpus"""

# The texts of a corpus that share a band key with others: its leaders, or all of them. In runs of 32 keys: a scan for
# thousands at once compares each entry with all of them. OFFSET 0 keeps the tenant out of the search: before the first
# ANALYZE the planner would read all texts of the tenant by its key. The keys of two corpora differ anyway.
SHARING = f"""
CREATE FUNCTION feedback_sharing_bands(p_corpus uuid, p_bands integer[], p_all boolean)
RETURNS TABLE (id uuid, "position" uuid, leader_id uuid, shingles bigint[], bands integer[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET jit = off SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  v_tenant uuid := current_setting('app.tenant_id')::uuid;
BEGIN
  RETURN QUERY {FOUND.format(compared="=")};
  IF p_all THEN
    RETURN QUERY {FOUND.format(compared="<>")};
  END IF;
END $$;
"""
SIGNATURE = "feedback_sharing_bands(uuid, integer[], boolean)"


def forwards(apps, schema_editor):
    for statement in STATEMENTS:
        schema_editor.execute(statement)
    schema_editor.execute(SHARING, params=None)
    # A function's new owner must be allowed to make things in the schema, at the moment of the change only.
    schema_editor.execute(f"GRANT CREATE ON SCHEMA public TO {SEARCH_ROLE}")
    schema_editor.execute(f"REVOKE ALL ON FUNCTION {SIGNATURE} FROM public")
    schema_editor.execute(f'GRANT EXECUTE ON FUNCTION {SIGNATURE} TO "{app_role()}", {SEARCH_ROLE}')
    schema_editor.execute(f"ALTER FUNCTION {SIGNATURE} OWNER TO {SEARCH_ROLE}")
    schema_editor.execute(f"REVOKE CREATE ON SCHEMA public FROM {SEARCH_ROLE}")


def backwards(apps, schema_editor):
    schema_editor.execute(f"DROP FUNCTION {SIGNATURE}")


def enlist(apps, schema_editor):
    """Let the records that are there wait to be clustered, tenant by tenant: the owner need not bypass policies."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT id FROM tenants_tenant ORDER BY id")
        for (tenant_id,) in cursor.fetchall():
            cursor.execute(f"SET LOCAL app.tenant_id = '{tenant_id}'")
            cursor.execute(
                "INSERT INTO feedback_clustermember (id, tenant_id, corpus_id) SELECT id, tenant_id, corpus_id"
                "  FROM feedback_documentkey WHERE tenant_id = %s AND deleted_at IS NULL",
                [tenant_id],
            )
        cursor.execute("SET LOCAL app.tenant_id = ''")


class Migration(migrations.Migration):
    dependencies = [
        ("feedback", "0004_vector_segments"),
        ("tenants", "0001_tenants_and_audit"),
    ]

    operations = [
        CreateTenantModel(
            name="ClusterDecision",
            fields=[
                ("id", models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("merge_id", models.UUIDField(null=True)),
                ("is_apart", models.BooleanField(default=False)),
                ("made_by", models.TextField()),
                ("made_at", models.DateTimeField()),
                (
                    "corpus",
                    core.tenant_scope.TenantForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="feedback.corpus",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["tenant", "corpus", "merge_id"], name="clusterdecision_merge")],
            },
        ),
        CreateTenantModel(
            name="ClusterMember",
            fields=[
                ("id", models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("text_id", models.UUIDField(null=True)),
                ("position", models.UUIDField(null=True)),
                ("cluster_id", models.UUIDField(null=True)),
                (
                    "corpus",
                    core.tenant_scope.TenantForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="feedback.corpus",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("cluster_id__isnull", False)),
                        fields=["tenant", "corpus", "cluster_id"],
                        name="clustermember_cluster",
                    ),
                    models.Index(
                        condition=models.Q(("text_id__isnull", False)),
                        fields=["tenant", "text_id"],
                        name="clustermember_text",
                    ),
                    models.Index(
                        condition=models.Q(("text_id__isnull", True)),
                        fields=["tenant", "corpus", "id"],
                        name="clustermember_waiting",
                    ),
                ],
            },
        ),
        CreateTenantModel(
            name="DistinctText",
            fields=[
                ("id", models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("position", models.UUIDField()),
                ("leader_id", models.UUIDField()),
                ("shingles", django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ("bands", django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
                ("is_due", models.BooleanField(default=False)),
                (
                    "corpus",
                    core.tenant_scope.TenantForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="feedback.corpus",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["tenant", "corpus", "-position"], name="distincttext_last"),
                    models.Index(
                        condition=models.Q(("leader_id", models.F("id")), _negated=True),
                        fields=["tenant", "leader_id"],
                        name="distincttext_followers",
                    ),
                    models.Index(
                        condition=models.Q(("is_due", True)), fields=["tenant", "corpus"], name="distincttext_due"
                    ),
                ],
            },
        ),
        CreateTenantModel(
            name="MergedCluster",
            fields=[
                ("id", models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("merged_id", models.UUIDField()),
                (
                    "corpus",
                    core.tenant_scope.TenantForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="feedback.corpus",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["tenant", "corpus", "merged_id"], name="mergedcluster_parts")],
            },
        ),
        migrations.RunPython(forwards, backwards),
        migrations.RunPython(enlist, migrations.RunPython.noop),
    ]
