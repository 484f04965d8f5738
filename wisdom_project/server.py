"""Serve: Daphne in this process, the worker cluster as a child that never outlives it."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import connections

from core.configuration import PROJECT_ROOT
from core.embedded_postgres import EmbeddedPostgresError, ensure_running
from core.errors import Conflict, InvalidInput
from feedback.clients.embedders.registry import embedder_names
from feedback.embedding import embedder

log = structlog.get_logger("wisdom.server")

# How long the worker may take to end the tasks that it is at; they are taken up again at the next start.
WORKER_GRACE_SECONDS = 4.0
_WORKER_END_SECONDS = WORKER_GRACE_SECONDS + 3.0
_WATCH_SECONDS = 2.0
_RESTART_SECONDS = 5.0
_EXIT_SECONDS = 10.0


class PortBusy(Conflict):
    """Somebody else listens at the address that we were told to serve at."""

    code = "port_busy"


def check_port(*, host: str, port: int) -> None:
    """Make sure that the address can be listened at, before anything costly is begun.

    Raises: PortBusy; InvalidInput for a host or port that can't be had here.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InvalidInput(f"WA_HOST={host!r} is no address of this machine: {error.strerror}.", field="host") from None
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
            probe.listen(1)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise _busy(host, port) from None
            raise InvalidInput(f"{host}:{port} can't be listened at: {error.strerror}.", field="port") from None


def _busy(host: str, port: int) -> PortBusy:
    return PortBusy(
        f"Port {port} of {host} is in use by another program: end that one, or choose another with WA_PORT."
    )


def free_port(host: str) -> int:
    """Return a port that nobody listens at now."""
    family, _, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind(address)
        return int(probe.getsockname()[1])


def url_of(host: str, port: int) -> str:
    """Return the address to open in a browser; a server that listens everywhere is reached at this machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104  # compared, not bound
    return f"http://{name}:{port}"


def serve(*, host: str, port: int, when_ready: Callable[[Callable[[], None]], None]) -> None:
    """Serve until Ctrl-C, a SIGTERM, or the call of what `when_ready` is handed; the worker ends with us.

    Raises: PortBusy.
    """
    forget_dead_metrics()
    schedule_upkeep()
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
    with _Worker() as worker:
        # Imported late: Twisted's reactor is for a server only.
        from daphne.endpoints import build_endpoint_description_strings
        from daphne.server import Server
        from twisted.internet import reactor, task, threads

        from wisdom_project.asgi import application

        running: Any = reactor

        def stop() -> None:
            running.callFromThread(lambda: running.running and running.stop())

        task.LoopingCall(worker.watch).start(_WATCH_SECONDS, now=False)
        if settings.WISDOM.uses_embedded_postgres:
            watch = task.LoopingCall(lambda: threads.deferToThread(_keep_postgres_running))
            watch.start(_RESTART_SECONDS, now=False)
        threads.deferToThread(_warm_up)
        server = Server(
            application=application,
            endpoints=build_endpoint_description_strings(host=host, port=port),
            signal_handlers=True,
            server_name="wisdom",
            ready_callable=lambda: when_ready(stop),
        )
        server.run()
        # From here on nobody waits for a request that is still at work.
        threading.Thread(target=_exit_at_last, daemon=True).start()
        if not server.listening_addresses:
            raise _busy(host, port)
    _close_pools()


def _exit_at_last() -> None:
    time.sleep(_EXIT_SECONDS)
    log.warning("ended without waiting for requests")
    os._exit(0)


def _warm_up() -> None:
    """Load the models before somebody waits for them."""
    try:
        for name in embedder_names(settings.WISDOM.embedder):
            embedder(name).encode_query("warm")
    except Exception:
        log.exception("an embedder can't be loaded")


def _keep_postgres_running() -> None:
    try:
        server = ensure_running(settings.WISDOM.state_dir)
    except EmbeddedPostgresError as error:
        log.error("embedded PostgreSQL is away", reason=str(error))
        return
    if not server.joined:
        log.warning("embedded PostgreSQL was away and runs again")


def _close_pools() -> None:
    for connection in connections.all(initialized_only=True):
        connection.close()
        close_pool = getattr(connection, "close_pool", None)
        if close_pool is not None:
            close_pool()


def forget_dead_metrics() -> None:
    """Remove the counts of processes that have ended; a server that runs beside us keeps its own."""
    folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
    for file in folder.glob("*.db"):
        digits = file.stem.rpartition("_")[2]
        if digits.isdecimal() and not Path(f"/proc/{digits}").exists():
            file.unlink(missing_ok=True)


def schedule_upkeep() -> None:
    """Have the worker look after everything each minute; a second call changes nothing."""
    from django_q.models import Schedule

    Schedule.objects.get_or_create(
        name="upkeep",
        defaults={
            "func": "feedback.tasks.every_minute",
            "schedule_type": Schedule.MINUTES,
            "minutes": 1,
            "repeats": -1,
        },
    )


class _Worker:
    """The child process that runs background tasks; started anew when it dies."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0

    def __enter__(self) -> _Worker:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _start(self) -> None:
        self._started = time.monotonic()
        self._process = subprocess.Popen(  # noqa: S603  # our own program
            [sys.executable, str(PROJECT_ROOT / "manage.py"), "worker", "--parent", str(os.getpid())],
            stdin=subprocess.DEVNULL,
            # A session of its own: Ctrl-C is for us, and we tell it to end.
            start_new_session=True,
        )

    def watch(self) -> None:
        """Start the worker again when it has died, after a pause when it does so at once."""
        if self._process is None or self._process.poll() is None:
            return
        if time.monotonic() - self._started >= _RESTART_SECONDS:
            log.error("the worker died and is started again", exit_status=self._process.returncode)
            self._start()

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(_WORKER_END_SECONDS)
        except subprocess.TimeoutExpired:
            log.warning("the worker didn't end and was killed")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
