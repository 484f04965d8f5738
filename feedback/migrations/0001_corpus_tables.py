import django.contrib.postgres.fields
import django.db.models.deletion
import pgvector.django.halfvec
import pgvector.django.sparsevec
from django.db import migrations, models

import core.ids
import core.tenant_scope
from core.migration_operations import CreateTenantModel


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("tenants", "0001_tenants_and_audit"),
    ]

    operations = [
        CreateTenantModel(
            name="Corpus",
            fields=[
                (
                    "id",
                    models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("slug", models.SlugField(db_index=False, max_length=63)),
                ("name", models.CharField(max_length=200)),
                (
                    "kind",
                    models.CharField(
                        choices=[("feedback", "Feedback"), ("notes", "Notes"), ("filings", "Filings")],
                        default="feedback",
                        max_length=10,
                    ),
                ),
                ("language", models.CharField(default="en", max_length=8)),
                (
                    "sources",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
                ("default_source", models.CharField(max_length=60)),
                ("facets", models.JSONField(blank=True, default=list)),
                ("thresholds", models.JSONField(blank=True, default=dict)),
                ("options", models.JSONField(blank=True, default=dict)),
                (
                    "themes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
                (
                    "languages",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
                (
                    "facet_names",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
                (
                    "accounts",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
                ("created_at", models.DateTimeField()),
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
                "verbose_name_plural": "corpora",
            },
        ),
        CreateTenantModel(
            name="CorpusStatistics",
            fields=[
                (
                    "id",
                    models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("documents", models.IntegerField(default=0)),
                ("passages", models.IntegerField(default=0)),
                ("total_length", models.BigIntegerField(default=0)),
                ("average_length", models.FloatField(default=0.0)),
                ("k1", models.FloatField()),
                ("b", models.FloatField()),
                ("term_base", models.IntegerField()),
                ("terms", models.IntegerField(default=0)),
                ("newest_at", models.DateTimeField(null=True)),
                ("vectors", models.JSONField(default=dict)),
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
        ),
        CreateTenantModel(
            name="Document",
            fields=[
                (
                    "id",
                    models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("corpus_id", models.UUIDField()),
                ("external_id", models.TextField()),
                ("revision", models.IntegerField()),
                ("title", models.TextField(blank=True)),
                ("source", models.TextField()),
                (
                    "themes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
                ("account", models.TextField(null=True)),
                ("author", models.TextField(null=True)),
                ("language", models.TextField()),
                ("url", models.TextField(blank=True)),
                ("facets", models.JSONField(default=dict)),
                ("record_kind", models.TextField(blank=True)),
                ("content_kind", models.TextField(blank=True)),
                ("origin", models.TextField(blank=True)),
                ("attribution", models.TextField(null=True)),
                ("occurred_at", models.DateTimeField()),
                ("has_date", models.BooleanField(default=True)),
                ("received_at", models.DateTimeField()),
                ("batch_id", models.TextField(blank=True)),
                ("deleted_at", models.DateTimeField(null=True)),
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
            partition_by="RANGE (occurred_at)",
        ),
        CreateTenantModel(
            name="DocumentKey",
            fields=[
                (
                    "id",
                    models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("external_id", models.TextField()),
                ("occurred_at", models.DateTimeField()),
                ("revision", models.IntegerField(default=1)),
                ("sent_hash", models.BinaryField()),
                ("text_hash", models.BinaryField()),
                ("deleted_at", models.DateTimeField(null=True)),
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
        ),
        CreateTenantModel(
            name="DocumentRevision",
            fields=[
                (
                    "id",
                    models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("number", models.IntegerField()),
                ("title", models.TextField(blank=True)),
                ("text", models.TextField()),
                ("text_hash", models.BinaryField()),
                ("created_at", models.DateTimeField()),
                (
                    "document",
                    core.tenant_scope.TenantForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="feedback.documentkey",
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
        ),
        CreateTenantModel(
            name="IngestJob",
            fields=[
                (
                    "id",
                    models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("batch_id", models.TextField(blank=True)),
                ("actor", models.TextField()),
                ("documents", models.JSONField(default=list)),
                ("total", models.IntegerField()),
                ("done", models.IntegerField(default=0)),
                ("attempts", models.IntegerField(default=0)),
                ("result", models.JSONField(default=dict)),
                ("error", models.TextField(blank=True)),
                ("created_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
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
        ),
        CreateTenantModel(
            name="Passage",
            fields=[
                (
                    "id",
                    models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("corpus_id", models.UUIDField()),
                ("document_id", models.UUIDField()),
                ("external_id", models.TextField()),
                ("revision", models.IntegerField()),
                ("ordinal", models.IntegerField()),
                ("start", models.IntegerField()),
                ("end", models.IntegerField()),
                ("source", models.TextField()),
                (
                    "themes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
                ("account", models.TextField(null=True)),
                ("person", models.TextField(null=True)),
                ("language", models.TextField()),
                ("facets", models.JSONField(default=dict)),
                ("occurred_at", models.DateTimeField()),
                ("has_date", models.BooleanField(default=True)),
                (
                    "terms",
                    django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None),
                ),
                (
                    "frequencies",
                    django.contrib.postgres.fields.ArrayField(base_field=models.SmallIntegerField(), size=None),
                ),
                ("length", models.IntegerField()),
                ("weights", pgvector.django.sparsevec.SparseVectorField(dimensions=1000000000)),
                ("index_hash", models.BinaryField()),
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
            partition_by="RANGE (occurred_at)",
        ),
        CreateTenantModel(
            name="PassageVector",
            fields=[
                (
                    "id",
                    models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("shard", models.SmallIntegerField()),
                ("corpus_id", models.UUIDField()),
                ("passage_id", models.UUIDField()),
                ("document_id", models.UUIDField()),
                ("external_id", models.TextField()),
                ("embedder", models.TextField()),
                ("source", models.TextField()),
                (
                    "themes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
                ("account", models.TextField(null=True)),
                ("language", models.TextField()),
                ("facets", models.JSONField(default=dict)),
                ("occurred_at", models.DateTimeField()),
                ("index_hash", models.BinaryField()),
                ("vector", pgvector.django.halfvec.HalfVectorField()),
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
            partition_by="LIST (shard)",
        ),
        CreateTenantModel(
            name="Term",
            fields=[
                (
                    "id",
                    models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("lexeme", models.TextField()),
                ("term_id", models.IntegerField()),
                ("document_frequency", models.IntegerField(default=0)),
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
        ),
        migrations.AddConstraint(
            model_name="corpus",
            constraint=models.UniqueConstraint(fields=("tenant", "slug"), name="corpus_slug_once"),
        ),
        migrations.AddConstraint(
            model_name="corpusstatistics",
            constraint=models.UniqueConstraint(fields=("tenant", "corpus"), name="statistics_of_corpus_once"),
        ),
        migrations.AddIndex(
            model_name="document",
            index=models.Index(fields=["tenant", "corpus_id", "-occurred_at"], name="document_newest"),
        ),
        migrations.AddIndex(
            model_name="document",
            index=models.Index(fields=["tenant", "batch_id"], name="document_batch"),
        ),
        migrations.AddConstraint(
            model_name="documentkey",
            constraint=models.UniqueConstraint(fields=("tenant", "corpus", "external_id"), name="document_id_once"),
        ),
        migrations.AddConstraint(
            model_name="documentrevision",
            constraint=models.UniqueConstraint(fields=("tenant", "document", "number"), name="revision_number_once"),
        ),
        migrations.AddIndex(
            model_name="ingestjob",
            index=models.Index(fields=["tenant", "-created_at"], name="ingestjob_newest"),
        ),
        migrations.AddIndex(
            model_name="passage",
            index=models.Index(fields=["tenant", "document_id"], name="passage_of_document"),
        ),
        migrations.AddIndex(
            model_name="passage",
            index=models.Index(fields=["tenant", "corpus_id", "occurred_at"], name="passage_window"),
        ),
        migrations.AddIndex(
            model_name="passagevector",
            index=models.Index(fields=["tenant", "corpus_id", "embedder"], name="vector_scan"),
        ),
        migrations.AddIndex(
            model_name="passagevector",
            index=models.Index(fields=["tenant", "embedder", "index_hash"], name="vector_of_text"),
        ),
        migrations.AddIndex(
            model_name="passagevector",
            index=models.Index(fields=["tenant", "document_id"], name="vector_of_document"),
        ),
        migrations.AddConstraint(
            model_name="term",
            constraint=models.UniqueConstraint(fields=("tenant", "corpus", "lexeme"), name="term_lexeme_once"),
        ),
        migrations.AddConstraint(
            model_name="term",
            constraint=models.UniqueConstraint(fields=("tenant", "corpus", "term_id"), name="term_number_once"),
        ),
    ]
