"""Which browser is driven is predictable, and a machine without one says how to get it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser import chromium


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty folder that is all of PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("WA_CHROMIUM", raising=False)
    return tmp_path


def make_program(place: Path) -> str:
    place.write_text("#!/bin/sh\n")
    place.chmod(0o755)
    return str(place)


@pytest.mark.parametrize("name", chromium.NAMES)
def test_a_browser_on_the_path_is_found(programs: Path, name: str) -> None:
    expected = make_program(programs / name)

    assert chromium.find_chromium() == expected


def test_the_setting_goes_before_the_path(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_program(programs / "chromium")
    chosen = make_program(programs / "my-chromium")
    monkeypatch.setenv("WA_CHROMIUM", chosen)

    assert chromium.find_chromium() == chosen


def test_a_setting_that_names_nothing_is_not_replaced_in_silence(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_program(programs / "chromium")
    monkeypatch.setenv("WA_CHROMIUM", "/nowhere/chromium")

    assert chromium.find_chromium() is None


def test_no_browser_is_no_browser(programs: Path) -> None:
    assert chromium.find_chromium() is None


@pytest.mark.parametrize(("value", "expected"), [("1", True), ("true", True), ("", False), ("false", False)])
def test_continuous_integration_is_known_by_its_sign(
    monkeypatch: pytest.MonkeyPatch, value: str, expected: bool
) -> None:
    monkeypatch.setenv("CI", value)

    assert chromium.is_continuous_integration() is expected
