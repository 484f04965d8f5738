"""`migrate` as the owner of the schema, with the application's rights brought up to date afterwards."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.commands import migrate
from django.db import connections

from core.configuration import BadSetting
from core.database_roles import grant_global_tables, record_fixed_settings


class Command(migrate.Command):
    help = migrate.Command.help

    def add_arguments(self, parser: Any) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database="owner")

    def handle(self, *args: Any, **options: Any) -> None:
        if "owner" not in settings.DATABASES:
            raise BadSetting(
                "WA_DATABASE_OWNER_DSN is needed to migrate: the role of WA_DATABASE_DSN may not own the tables"
            )
        super().handle(*args, **options)
        if options["database"] == "owner" and not options.get("plan") and not options.get("check_unapplied"):
            connection = connections["owner"]
            grant_global_tables(connection)
            record_fixed_settings(connection, settings.WISDOM)
