"""What the tests of the commands share."""

from __future__ import annotations

import pytest

from tests.commands import Shell


@pytest.fixture
def manage(monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(monkeypatch)
