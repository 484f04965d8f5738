"""What the tests of the commands share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import Shell


@pytest.fixture
def manage(monkeypatch: pytest.MonkeyPatch, db: None) -> Shell:
    return Shell(monkeypatch)


@pytest.fixture
def ndjson(tmp_path: Path) -> Callable[..., Path]:
    """Give the function that writes documents, or lines as they stand, to a file."""

    def write(*documents: object, name: str = "feedback.ndjson") -> Path:
        path = tmp_path / name
        lines = [line if isinstance(line, str) else json.dumps(line) for line in documents]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    return write
