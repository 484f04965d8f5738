"""Run the real server, as `manage.py serve` does, on the test's database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from core.configuration import PROJECT_ROOT
from tests.settings import TEST_DATABASE

_START_SECONDS = 60.0
_END_SECONDS = 20.0


@contextmanager
def serving(*, database: str, port: int, folder: Path) -> Iterator[str]:
    """Serve during the block; give the address. What the server says goes to a file in the folder.

    Raises: RuntimeError, with the end of that file, if it doesn't come up.
    """
    url = f"http://127.0.0.1:{port}"
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        TEST_DATABASE: database,
        "WA_HOST": "127.0.0.1",
        "WA_PORT": str(port),
        # Its counts are its own: those of this process are looked at by other tests.
        "PROMETHEUS_MULTIPROC_DIR": str(folder / "metrics"),
    }
    said = folder / "server.log"
    with said.open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "serve"],
            cwd=PROJECT_ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that its worker can be ended with it
        )
    try:
        _wait_until_it_answers(process, f"{url}/health", said)
        yield url
    finally:
        _end(process)


def _wait_until_it_answers(process: subprocess.Popen[bytes], url: str, said: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urlopen(url, timeout=5):  # noqa: S310  # our own address
                return
        except (URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"the server doesn't answer at {url}:\n{said.read_text()[-4000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=_END_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
