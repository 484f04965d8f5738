"""Start, join and stop the server of a state folder, from any number of processes at once."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from core.embedded_postgres import binaries
from core.embedded_postgres import cluster as clusters
from core.embedded_postgres.accounts import Account, account_owning, give
from core.embedded_postgres.connection import Postmaster, read_postmaster
from core.embedded_postgres.errors import EmbeddedPostgresError, operating_system_errors_explained

_START_TIMEOUT_SECONDS = 300  # recovery after a crash during a bulk load takes minutes on a slow disk
_STOP_TIMEOUT_SECONDS = 60
_ORPHANS_TIMEOUT_SECONDS = 30
_POLL_SECONDS = 0.05

BOOTSTRAP_VERSION = 1
"""Raise it with each change of `bootstrap`: clusters marked with another are then brought up to date."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server; `joined` says that it was running already."""

    data_directory: Path
    socket_directory: Path
    port: int
    joined: bool

    def superuser_dsn(self, database: str = "postgres") -> str:
        """Return a libpq URI for the role that bypasses everything; nothing but set-up may use it."""
        return self._dsn(clusters.SUPERUSER, database)

    def owner_dsn(self, database: str = "wisdom") -> str:
        """Return a libpq URI for the role that owns the schema and migrates it."""
        return self._dsn("wisdom_owner", database)

    def app_dsn(self, database: str = "wisdom") -> str:
        """Return a libpq URI for the role that serves requests, behind row-level security."""
        return self._dsn("wisdom_app", database)

    def _dsn(self, role: str, database: str) -> str:
        folder = quote(str(self.socket_directory), safe="")
        return f"postgresql://{role}@/{quote(database, safe='')}?host={folder}&port={self.port}"


def ensure_running(state_directory: Path) -> Server:
    """Return the state folder's server, made and started if need be.

    Joining one that runs already costs a few milliseconds and takes no lock.
    Raises: EmbeddedPostgresError, in one line that says what to do.
    """
    with operating_system_errors_explained(state_directory):
        state = state_directory.expanduser().resolve()
        if server := _join(state):
            return server
        state.mkdir(parents=True, exist_ok=True)
        with _locked(state):
            # Asked again: another process may have started it while this one waited for the lock.
            if server := _join(state):
                return server
            return _start(state)


def is_there(server: Server) -> bool:
    """Tell whether the process of a server that answered is still in its place, without asking it anything.

    It may be starting anew after a crash of one of its backends: who connects then is told so and tries again.
    """
    postmaster = read_postmaster(server.data_directory)
    return (
        postmaster is not None
        and postmaster.serves(server.data_directory)
        and (postmaster.socket_folder, postmaster.port) == (server.socket_directory, server.port)
    )


def is_running(state_directory: Path) -> bool:
    """Tell whether the state folder's server takes connections."""
    with operating_system_errors_explained(state_directory):
        return _find_answering(state_directory.expanduser().resolve()) is not None


def stop(state_directory: Path) -> bool:
    """End the state folder's server and its connections, its data safe; False if none was running.

    Raises: EmbeddedPostgresError when it doesn't end.
    """
    with operating_system_errors_explained(state_directory):
        state = state_directory.expanduser().resolve()
        if not state.is_dir():
            return False
        with _locked(state):
            cluster = clusters.find_cluster(state)
            postmaster = read_postmaster(cluster) if cluster else None
            if cluster is None or postmaster is None or not postmaster.serves(cluster):
                return False
            account = account_owning(cluster)
            ended = binaries.run(
                [
                    *(binaries.programs_for(account) / "pg_ctl", "stop", "-D", cluster),
                    *("-m", "fast", "-w", "-t", str(_STOP_TIMEOUT_SECONDS)),
                ],
                timeout_seconds=_STOP_TIMEOUT_SECONDS + 10,
                account=account,
            )
            if ended.status != 0 and postmaster.serves(cluster):
                raise EmbeddedPostgresError(f"the server of {cluster} didn't stop: {ended.reason}")
            if postmaster.socket_folder not in (None, cluster):
                with suppress(OSError):  # in /tmp: whoever cleans there may have been first
                    postmaster.socket_folder.rmdir()
            return True


def _join(state: Path) -> Server | None:
    """Return a server that answers and has been bootstrapped."""
    found = _find_answering(state)
    if found is None:
        return None
    cluster, postmaster = found
    if not _is_bootstrapped(cluster):
        return None
    return _server(cluster, postmaster, joined=True)


def _start(state: Path) -> Server:
    """Bring the server from whatever was left behind to one that answers; the caller holds the lock."""
    cluster = clusters.find_cluster(state) or clusters.make_cluster(state)
    account = account_owning(cluster)
    programs = binaries.programs_for(account)
    clusters.refuse_unusable(cluster, account, programs)
    postmaster = _wait_for_running(cluster)
    joined = postmaster is not None
    if postmaster is None:
        clusters.configure(cluster, account)
        postmaster = _start_postmaster(cluster, account, programs)
    server = _server(cluster, postmaster, joined=joined)
    if not _is_bootstrapped(cluster):
        _bootstrap(server, account)
    return server


def _wait_for_running(cluster: Path) -> Postmaster | None:
    """Wait while a server of this cluster is starting, recovering or ending; None once there is none."""
    deadline = time.monotonic() + _START_TIMEOUT_SECONDS
    while True:
        postmaster = read_postmaster(cluster)
        if postmaster is None or not postmaster.serves(cluster):
            break
        if postmaster.answers():
            return postmaster
        if time.monotonic() > deadline:
            raise EmbeddedPostgresError(
                f"the server of {cluster}, process {postmaster.pid}, has not answered for "
                f"{_START_TIMEOUT_SECONDS} seconds: see {cluster / 'server.log'}"
            )
        time.sleep(_POLL_SECONDS)
    # PostgreSQL deals with a dead process's file itself. It refuses to start if it is a zombie, if its
    # number went to another one, as in a container that came up anew, or if a full disk left the file empty.
    if postmaster is None or postmaster.exists():
        (cluster / "postmaster.pid").unlink(missing_ok=True)
    return None


def _start_postmaster(cluster: Path, account: Account | None, programs: Path) -> Postmaster:
    log = cluster / "server.log"
    deadline = time.monotonic() + _ORPHANS_TIMEOUT_SECONDS
    while True:
        log_length = log.stat().st_size if log.exists() else 0
        started = binaries.run(
            [
                *(programs / "pg_ctl", "start", "-D", cluster, "-l", log),
                *("-w", "-t", str(_START_TIMEOUT_SECONDS)),
            ],
            timeout_seconds=_START_TIMEOUT_SECONDS + 10,
            account=account,
        )
        postmaster = read_postmaster(cluster)
        if started.status == 0 and postmaster is not None:
            return postmaster
        complaint = _log_since(log, log_length)
        # After kill -9 the old server's children need a moment to notice that it's gone.
        if "is still in use" in complaint and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS * 4)
            continue
        reason = binaries.Outcome(status=started.status, output=complaint or started.output).reason
        raise EmbeddedPostgresError(f"PostgreSQL didn't start: {reason} (see {log})")


def _log_since(log: Path, position: int) -> str:
    try:
        with log.open("rb") as lines:
            lines.seek(position)
            return lines.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def _bootstrap(server: Server, account: Account | None) -> None:
    import psycopg  # slow to import, and joining a server must stay quick

    from core.embedded_postgres.bootstrap import bootstrap

    try:
        bootstrap(template_dsn=server.superuser_dsn("template1"), maintenance_dsn=server.superuser_dsn())
    except psycopg.Error as error:
        reason = " ".join(str(error).split())
        raise EmbeddedPostgresError(f"{server.data_directory} can't be given its roles: {reason}") from error
    mark = _bootstrap_mark(server.data_directory)
    mark.write_text(f"{BOOTSTRAP_VERSION}\n", encoding="ascii")
    give(mark, account)


def _is_bootstrapped(cluster: Path) -> bool:
    try:
        return _bootstrap_mark(cluster).read_text(encoding="ascii").strip() == str(BOOTSTRAP_VERSION)
    except FileNotFoundError:
        return False


def _bootstrap_mark(cluster: Path) -> Path:
    return cluster / "wisdom_bootstrap"


def _find_answering(state: Path) -> tuple[Path, Postmaster] | None:
    cluster = clusters.find_cluster(state)
    postmaster = read_postmaster(cluster) if cluster else None
    if cluster is None or postmaster is None or not postmaster.answers():
        return None
    return cluster, postmaster


def _server(cluster: Path, postmaster: Postmaster, *, joined: bool) -> Server:
    assert postmaster.socket_folder is not None, "only a server that answers is handed out"
    return Server(
        data_directory=cluster,
        socket_directory=postmaster.socket_folder,
        port=postmaster.port,
        joined=joined,
    )


@contextmanager
def _locked(state: Path) -> Iterator[None]:
    """Hold the state folder's lock; the kernel releases it when the holder dies."""
    with (state / "postgres.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
