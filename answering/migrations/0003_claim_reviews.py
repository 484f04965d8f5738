import django.db.models.deletion
from django.db import migrations, models

import core.ids
from core.migration_operations import CreateTenantModel


class Migration(migrations.Migration):
    dependencies = [
        ("answering", "0002_run_total"),
        ("tenants", "0001_tenants_and_audit"),
    ]

    operations = [
        CreateTenantModel(
            name="ClaimReview",
            fields=[
                ("id", models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("corpus_id", models.UUIDField()),
                ("run_id", models.UUIDField()),
                ("claim", models.SmallIntegerField()),
                ("created_at", models.DateTimeField()),
                ("text", models.TextField(blank=True)),
                ("words", models.JSONField(null=True)),
                ("spans", models.JSONField()),
                ("checker", models.JSONField()),
                ("model", models.JSONField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("supported", "Supported"),
                            ("unsupported", "Unsupported"),
                            ("dismissed", "Dismissed"),
                        ],
                        default="open",
                        max_length=12,
                    ),
                ),
                ("decided_by", models.TextField(blank=True)),
                ("decided_at", models.DateTimeField(null=True)),
                ("note", models.TextField(blank=True)),
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
                "indexes": [models.Index(fields=["tenant", "state", "-created_at"], name="review_queue")],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "run_id", "claim"), name="review_of_claim_once")
                ],
            },
        ),
    ]
