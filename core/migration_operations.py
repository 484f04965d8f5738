"""Migration operations that make a tenant's table distributable and walled off, in one line a table."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import migrations, models

SEARCH_ROLE = "wisdom_search"


def app_role() -> str:
    """Return the database role that the application connects as, from the settings."""
    return str(settings.DATABASES["default"]["USER"])


class CreateTenantModel(migrations.CreateModel):
    """`CreateModel` for a tenant's table.

    Beyond the columns it gives the table: a primary key that starts with the tenant; foreign keys
    that pair the tenants; a forced row-level policy; grants for the application's role (parents only:
    a policy on a parent doesn't guard a partition that is read directly); for `partition_by`
    native partitions with a default one. `append_only` withholds UPDATE and DELETE.
    """

    def __init__(
        self,
        name: str,
        fields: Any,
        options: Any = None,
        bases: Any = None,
        managers: Any = None,
        *,
        partition_by: str | None = None,
        append_only: bool = False,
    ) -> None:
        super().__init__(name, fields, options, bases, managers)
        self.partition_by = partition_by
        self.append_only = append_only

    def deconstruct(self) -> Any:
        name, args, kwargs = super().deconstruct()
        if self.partition_by:
            kwargs["partition_by"] = self.partition_by
        if self.append_only:
            kwargs["append_only"] = True
        return name, args, kwargs

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        super().database_forwards(app_label, schema_editor, from_state, to_state)
        model = to_state.apps.get_model(app_label, self.name)
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        for statement in self._statements(model):
            schema_editor.execute(statement)

    def _statements(self, model: type[models.Model]) -> list[str]:
        table = model._meta.db_table
        key = ["tenant_id", "id"]
        statements: list[str] = []
        if self.partition_by:
            column = self.partition_by.split("(")[1].rstrip(") ")
            if column not in key:
                key.insert(1, column)
            statements += [
                f'ALTER TABLE "{table}" RENAME TO "{table}_shape"',
                f'CREATE TABLE "{table}" (LIKE "{table}_shape" INCLUDING DEFAULTS INCLUDING CONSTRAINTS'
                f" INCLUDING STORAGE) PARTITION BY {self.partition_by}",
                f'DROP TABLE "{table}_shape"',
                f'CREATE TABLE "{table}_default" PARTITION OF "{table}" DEFAULT',
            ]
        else:
            statements.append(f'ALTER TABLE "{table}" DROP CONSTRAINT "{table}_pkey"')
        statements.append(f'ALTER TABLE "{table}" ADD PRIMARY KEY ({", ".join(key)})')
        for field in model._meta.local_fields:
            if not isinstance(field, models.ForeignKey) or field.name == "tenant":
                continue
            target: Any = field.remote_field.model
            if any(other.name == "tenant" for other in target._meta.local_fields):
                statements.append(
                    f'ALTER TABLE "{table}" ADD CONSTRAINT "{table}_{field.column}_fk"'
                    f' FOREIGN KEY (tenant_id, "{field.column}")'
                    f' REFERENCES "{target._meta.db_table}" (tenant_id, id) ON DELETE CASCADE'
                )
        if not self.partition_by:
            statements.append(
                f'ALTER TABLE "{table}" ADD CONSTRAINT "{table}_tenant_fk"'
                " FOREIGN KEY (tenant_id) REFERENCES tenants_tenant (id) ON DELETE CASCADE"
            )
        rights = "SELECT, INSERT" if self.append_only else "SELECT, INSERT, UPDATE, DELETE"
        mine = "tenant_id = (SELECT nullif(current_setting('app.tenant_id', true), '')::uuid)"
        statements += [
            f'ALTER TABLE "{table}" ENABLE ROW LEVEL SECURITY',
            f'ALTER TABLE "{table}" FORCE ROW LEVEL SECURITY',
            f'CREATE POLICY tenant_rows ON "{table}" USING ({mine}) WITH CHECK ({mine})',
            f'GRANT {rights} ON "{table}" TO "{app_role()}"',
            f'GRANT SELECT ON "{table}" TO {SEARCH_ROLE}',
        ]
        return statements
