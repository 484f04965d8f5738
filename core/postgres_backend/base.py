"""Django's PostgreSQL backend with the two things that this application needs of every connection.

It starts the embedded server when the first connection is wanted, and it refuses a query on a
tenant's table outside a tenant session (row-level security would answer it with no rows, in silence).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.apps import apps
from django.db.backends.postgresql import base

from core.tenant_session import TenantSessionMissing

if TYPE_CHECKING:
    from core.embedded_postgres import Server


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that knows whose session it is in."""

    def __init__(self, settings_dict: dict[str, Any], alias: str = "default") -> None:
        super().__init__(settings_dict, alias)
        self.wisdom_tenant_id: UUID | None = None
        self.wisdom_seen: dict[Any, Any] | None = None
        if settings_dict.get("WISDOM_GUARDED"):
            self.execute_wrappers.append(_refuse_without_session)

    def get_connection_params(self) -> dict[str, Any]:
        state_directory = self.settings_dict.get("WISDOM_EMBEDDED_IN")
        if not state_directory:
            return super().get_connection_params()
        server = _server_of(state_directory, is_pooled=bool(self.settings_dict["OPTIONS"].get("pool")))
        params = super().get_connection_params()
        params["host"] = str(server.socket_directory)
        params["port"] = server.port
        return params


_joined: dict[str, Server] = {}


def _server_of(state_directory: str, *, is_pooled: bool) -> Server:
    """Return the embedded server, started if need be.

    A pool's connections are asked for with every request, and to ask the server each time would cost as much as the
    request: there it is enough that its process is there, since a pool waits for a server that can't answer yet.
    """
    from core.embedded_postgres import ensure_running, is_there

    server = _joined.get(state_directory)
    if server is None or not is_pooled or not is_there(server):
        server = _joined[state_directory] = ensure_running(Path(state_directory))
    return server


def _refuse_without_session(
    execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
) -> Any:
    connection = context["connection"]
    if connection.wisdom_tenant_id is None:
        found = _tenant_tables().search(str(sql))
        if found:
            raise TenantSessionMissing(
                f"a query on {found.group(0)} outside tenant_session(tenant): it would see no rows"
            )
    return execute(sql, params, many, context)


@lru_cache(maxsize=1)
def _tenant_tables() -> re.Pattern[str]:
    from core.tenant_scope import TenantModel

    tables = [model._meta.db_table for model in apps.get_models() if issubclass(model, TenantModel)]
    return re.compile(r"\b(?:" + "|".join(map(re.escape, sorted(tables, key=len, reverse=True))) + r")\b")
