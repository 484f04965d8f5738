import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import core.ids
from core.migration_operations import CreateTenantModel


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("core", "0001_roles_and_extensions"),
    ]

    operations = [
        migrations.CreateModel(
            name="Tenant",
            fields=[
                (
                    "id",
                    models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("slug", models.CharField(editable=False, max_length=63)),
                ("name", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="TenantSlug",
            fields=[
                (
                    "slug",
                    models.CharField(
                        max_length=63,
                        primary_key=True,
                        serialize=False,
                        validators=[django.core.validators.RegexValidator("^[a-z0-9][a-z0-9-]{0,62}$")],
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="slugs",
                        to="tenants.tenant",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                (
                    "id",
                    models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "viewer"),
                            ("analyst", "analyst"),
                            ("curator", "curator"),
                            ("admin", "admin"),
                        ],
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                (
                    "user",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "user"), name="membership_once"),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["viewer", "analyst", "curator", "admin"])),
                        name="membership_role_known",
                    ),
                ],
            },
        ),
        CreateTenantModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("at", models.DateTimeField()),
                ("actor", models.CharField(max_length=200)),
                ("action", models.CharField(max_length=60)),
                ("subject", models.CharField(max_length=300)),
                ("detail", models.JSONField(default=dict)),
                ("address", models.CharField(blank=True, max_length=64)),
                ("correlation_id", models.CharField(blank=True, max_length=128)),
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
                "verbose_name_plural": "audit entries",
                "indexes": [models.Index(fields=["tenant", "-at"], name="audit_newest")],
            },
            append_only=True,
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                (
                    "id",
                    models.UUIDField(default=core.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("name", models.CharField(max_length=100)),
                ("prefix", models.CharField(max_length=8, unique=True)),
                ("digest", models.CharField(max_length=64)),
                ("scopes", models.JSONField(default=list)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_keys",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["tenant", "-created_at"], name="apikey_of_tenant")],
            },
        ),
    ]
