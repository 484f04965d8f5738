"""Which database, as whom: `default` is the application's role, `owner` makes and changes tables."""

from __future__ import annotations

from typing import Any

from psycopg.conninfo import conninfo_to_dict

from core.configuration import BadSetting, WisdomSettings

ENGINE = "core.postgres_backend"
EMBEDDED_DATABASE = "wisdom"
EMBEDDED_APP_ROLE = "wisdom_app"
EMBEDDED_OWNER_ROLE = "wisdom_owner"
_TIMEOUTS = "-c statement_timeout=60000 -c lock_timeout=15000 -c idle_in_transaction_session_timeout=120000"


def databases(settings: WisdomSettings, *, pooled: bool) -> dict[str, Any]:
    """Return Django's DATABASES: the aliases `default` and, where the owner is known, `owner`.

    Raises: BadSetting for a DSN that libpq can't read.
    """
    if settings.database_dsn is None:
        common: dict[str, Any] = {
            "ENGINE": ENGINE,
            "NAME": EMBEDDED_DATABASE,
            "WISDOM_EMBEDDED_IN": str(settings.state_dir),
            "PASSWORD": "",
            "HOST": "",
            "PORT": "",
        }
        app = {**common, "USER": EMBEDDED_APP_ROLE, "OPTIONS": {}}
        owner = {**common, "USER": EMBEDDED_OWNER_ROLE, "OPTIONS": {}}
    else:
        app = _from_dsn("WA_DATABASE_DSN", settings.database_dsn.get_secret_value())
        if settings.database_owner_dsn is None:
            owner = {}
        else:
            owner = _from_dsn("WA_DATABASE_OWNER_DSN", settings.database_owner_dsn.get_secret_value())
    app["WISDOM_GUARDED"] = True
    app["CONN_MAX_AGE"] = 0
    options = app["OPTIONS"]
    options["options"] = f"{options.get('options', '')} {_TIMEOUTS}".strip()
    if pooled:
        # A connection that died with its server is replaced when it is borrowed, not after it has failed a request.
        app["CONN_HEALTH_CHECKS"] = True
        options["pool"] = {"min_size": 2, "max_size": 24, "timeout": 10}
    return {"default": app, **({"owner": owner} if owner else {})}


def _from_dsn(name: str, dsn: str) -> dict[str, Any]:
    try:
        parts: dict[str, Any] = dict(conninfo_to_dict(dsn))
    except Exception as error:
        # The reason that libpq gives may repeat the password.
        raise BadSetting(
            f"{name} can't be read: write it like postgresql://user:password@host:5432/database"
        ) from error
    if not parts.get("user") or not parts.get("dbname"):
        raise BadSetting(f"{name} must name a user and a database: postgresql://user:password@host:5432/database")
    return {
        "ENGINE": ENGINE,
        "NAME": parts.pop("dbname"),
        "USER": parts.pop("user"),
        "PASSWORD": parts.pop("password", ""),
        "HOST": parts.pop("host", ""),
        "PORT": str(parts.pop("port", "")),
        "OPTIONS": parts,
    }


class OwnerMigrates:
    """Database router: the schema belongs to the owner alias, every row to the application's."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == "owner"

    def allow_relation(self, left: Any, right: Any, **hints: Any) -> bool:
        return True
