"""Server and worker start together and end together, whoever is killed; a busy port is named before anything starts."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest
from django.db import connections

from core.configuration import PROJECT_ROOT
from core.errors import InvalidInput
from tests.commands import LIMIT_SECONDS, environment, in_a_process
from tests.databases import connect_as
from wisdom_project.server import PortBusy, check_port, forget_dead_metrics, free_port, url_of


@pytest.fixture
def busy_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        yield listener.getsockname()[1]


@pytest.mark.parametrize("words", [["serve"], ["demo"], ["demo", "--check"]])
def test_a_busy_port_is_named_before_the_database_is_touched(busy_port, words):
    done = in_a_process(*words, env=environment(WA_PORT=str(busy_port)))

    assert (done.status, done.out) == (2, "")
    assert str(busy_port) in done.complaint
    assert "WA_PORT" in done.complaint


def test_a_free_port_is_let_be():
    check_port(host="127.0.0.1", port=free_port("127.0.0.1"))


def test_a_busy_port_is_a_conflict(busy_port):
    with pytest.raises(PortBusy, match=str(busy_port)):
        check_port(host="127.0.0.1", port=busy_port)


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(InvalidInput):
        check_port(host="192.0.2.1", port=8000)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),  # noqa: S104  # read, not bound
        ("::", "http://[::1]:80"),
        ("::1", "http://[::1]:80"),
    ],
)
def test_the_address_can_be_opened(host, url):
    assert url_of(host, 80) == url


def test_the_demo_is_for_ones_own_machine():
    env = environment(WA_ENVIRONMENT="production", WA_SECRET_KEY="k" * 40, WA_ALLOWED_HOSTS="example.org")

    done = in_a_process("demo", env=env)

    assert done.status == 2
    assert "WA_ENVIRONMENT" in done.complaint


def test_counts_of_ended_processes_are_forgotten_and_those_of_living_ones_kept(tmp_path, monkeypatch):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead, living = tmp_path / f"counter_{ended.pid}.db", tmp_path / f"counter_{os.getpid()}.db"
    for file in (dead, living):
        file.touch()
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))

    forget_dead_metrics()

    assert (dead.exists(), living.exists()) == (False, True)


class Served:
    """A server in a process of its own, with all that it started."""

    def __init__(self, database: str, folder: Path) -> None:
        self.port = free_port("127.0.0.1")
        (folder / "metrics").mkdir()
        env = environment(database, WA_PORT=str(self.port), PROMETHEUS_MULTIPROC_DIR=str(folder / "metrics"))
        self.errors = folder / "stderr"
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve"],
                cwd=PROJECT_ROOT,
                env=env,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                # Whoever runs the tests in the background of a shell has Ctrl-C ignored, and so would this.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            )

    def get(self, path: str) -> httpx2.Response:
        return httpx2.get(f"http://127.0.0.1:{self.port}{path}", timeout=30, trust_env=False)

    def wait_until_up(self) -> None:
        assert self.process.stdout is not None
        assert b"Wisdom serves" in self.process.stdout.readline(), self.errors.read_text()
        # The worker, its sentinel, and what that makes: workers, a pusher, a monitor.
        assert comes_true(lambda: len(self.family()) >= 5)

    def family(self) -> set[int]:
        """Return the processes that were started for this server and live."""
        words = f"--parent\0{self.process.pid}\0".encode()
        found = set()
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    if words in (entry / "cmdline").read_bytes():
                        found.add(int(entry.name))
                except OSError:
                    continue
        return found


def comes_true(condition) -> bool:
    """Wait for a condition; say whether it came within the limit."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


@pytest.fixture
def served(test_database, transactional_db, tmp_path):
    server = Served(test_database.name, tmp_path)
    yield server
    server.process.kill()
    server.process.wait()
    assert comes_true(lambda: not server.family())
    if server.process.stdout:
        server.process.stdout.close()


on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc, which Linux has")


@on_linux
@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_end_ends_both(served, how):
    served.wait_until_up()

    served.process.send_signal(how)

    assert served.process.wait(LIMIT_SECONDS) == 0
    assert comes_true(lambda: not served.family())
    assert "Traceback" not in served.errors.read_text()


@on_linux
@pytest.mark.slow
def test_a_killed_server_leaves_no_orphan(served):
    served.wait_until_up()

    served.process.kill()
    served.process.wait()

    assert comes_true(lambda: not served.family())


@on_linux
@pytest.mark.slow
def test_a_killed_worker_is_started_again(served):
    served.wait_until_up()
    before = served.family()

    for pid in before:
        os.kill(pid, signal.SIGKILL)

    # A killed process is listed until the kernel has taken it down, and a new one may have been forked in between.
    assert comes_true(lambda: not served.family() & before and len(served.family()) >= 5)
    assert served.get("/health").status_code == 200


@on_linux
@pytest.mark.slow
def test_it_answers_over_http_and_refuses_sockets(served):
    served.wait_until_up()
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "x3JHMbDL1EzLkh9GBhXDEw==",
    }

    socket_answer = httpx2.get(f"http://127.0.0.1:{served.port}/ws/", headers=upgrade, timeout=30, trust_env=False)

    assert served.get("/ready").json()["status"] == "ready"
    assert socket_answer.status_code == 403
    assert "Traceback" not in served.errors.read_text()


@on_linux
@pytest.mark.slow
def test_connections_that_died_cost_nobody_a_request(served, test_database):
    """As after a restart of the database: the pool is full of connections that lead nowhere."""
    served.wait_until_up()
    for _ in range(4):
        assert served.get("/ready").status_code == 200

    connections.close_all()
    with connect_as("default", test_database.name) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()"
        )

    assert [served.get("/ready").status_code for _ in range(4)] == [200] * 4
