import django.db.models.deletion
from django.db import migrations, models

import core.ids
from core.migration_operations import CreateTenantModel


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("core", "0001_roles_and_extensions"),
        ("tenants", "0001_tenants_and_audit"),
    ]

    operations = [
        migrations.CreateModel(
            name="FixedSetting",
            fields=[
                ("name", models.CharField(max_length=60, primary_key=True, serialize=False)),
                ("value", models.CharField(max_length=60)),
            ],
        ),
        CreateTenantModel(
            name="OutboxEvent",
            fields=[
                (
                    "id",
                    models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("type", models.CharField(max_length=60)),
                ("at", models.DateTimeField()),
                ("data", models.JSONField(default=dict)),
                ("published_at", models.DateTimeField(blank=True, null=True)),
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
                        condition=models.Q(("published_at__isnull", True)),
                        fields=["tenant", "id"],
                        name="outbox_unpublished",
                    )
                ],
            },
        ),
    ]
