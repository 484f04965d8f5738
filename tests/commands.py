"""Run management commands as a shell would: words in; status, output and complaints out."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.management import get_commands, load_command_class
from django.db import connections

from core.configuration import PROJECT_ROOT

# Above any test's own expectation: it ends what hangs.
LIMIT_SECONDS = 90


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Return the one JSON document of standard output."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Return the JSON documents of standard output, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def complaint(self) -> str:
        """Return the one line that standard error has."""
        assert self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err
        return self.err.strip()


class Shell:
    """Runs commands within the test's own process and transaction."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        # A command ends by closing its connections; here they are the test's.
        monkeypatch.setattr(connections, "close_all", lambda: None)

    def __call__(self, *words: object, stdin: str | bytes = b"") -> Done:
        """Run one command; the words are those after `manage.py`."""
        name, *rest = map(str, words)
        sent = stdin.encode() if isinstance(stdin, str) else stdin
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with self._monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(sent)))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            command = load_command_class(get_commands()[name], name)
            status = 0
            try:
                command.run_from_argv(["manage.py", name, *rest])
            except SystemExit as ended:
                status = int(ended.code or 0)
        texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]  # it is a BytesIO
        return Done(status, *texts)


NOWHERE = "postgresql://nobody:x@127.0.0.1:9/nowhere"


def environment(database: str | None = None, **settings: str) -> dict[str, str]:
    """Return the environment of a process: on the test's database, or where there is none at all."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WA_") or name == "WA_STATE_DIR"}
    if database is None:
        return {**kept, "DJANGO_SETTINGS_MODULE": "wisdom_project.settings", "WA_DATABASE_DSN": NOWHERE, **settings}
    return {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", "WISDOM_TEST_DATABASE": database, **settings}


def in_a_process(*words: object, env: dict[str, str], stdin: bytes = b"") -> Done:
    """Run a command as a process of its own."""
    ended = subprocess.run(
        [sys.executable, "manage.py", *map(str, words)],
        cwd=PROJECT_ROOT,
        env=env,
        input=stdin,
        capture_output=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    return Done(ended.returncode, ended.stdout.decode(), ended.stderr.decode())
