import django.db.models.deletion
from django.db import migrations, models

import core.ids
from core.migration_operations import CreateTenantModel


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("tenants", "0001_tenants_and_audit"),
    ]

    operations = [
        CreateTenantModel(
            name="Run",
            fields=[
                ("id", models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("corpus_id", models.UUIDField()),
                ("created_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[("running", "Running"), ("finished", "Finished"), ("failed", "Failed")],
                        default="running",
                        max_length=10,
                    ),
                ),
                ("actor", models.TextField()),
                ("question", models.TextField()),
                ("request", models.JSONField(default=dict)),
                ("outcome", models.CharField(blank=True, max_length=12)),
                ("answer", models.JSONField(default=dict)),
                ("fingerprint", models.JSONField(default=dict)),
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
                "indexes": [models.Index(fields=["tenant", "corpus_id", "-created_at"], name="run_newest")],
            },
            partition_by="RANGE (created_at)",
        ),
        CreateTenantModel(
            name="RunStep",
            fields=[
                ("id", models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("run_id", models.UUIDField()),
                ("position", models.SmallIntegerField()),
                ("step", models.CharField(max_length=20)),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("started", "Started"),
                            ("ok", "Ok"),
                            ("failed", "Failed"),
                            ("timed_out", "Timed Out"),
                            ("exhausted", "Exhausted"),
                        ],
                        default="started",
                        max_length=10,
                    ),
                ),
                ("started_at", models.DateTimeField()),
                ("milliseconds", models.FloatField(null=True)),
                ("detail", models.JSONField(default=dict)),
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
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "run_id", "position"), name="step_position_once")
                ],
            },
        ),
        CreateTenantModel(
            name="StoredQuery",
            fields=[
                ("id", models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("corpus_id", models.UUIDField()),
                ("query_id", models.CharField(max_length=40)),
                ("specification", models.JSONField()),
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
                "verbose_name_plural": "stored queries",
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "corpus_id", "query_id"), name="stored_query_once")
                ],
            },
        ),
    ]
