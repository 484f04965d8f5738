"""The first screen of the README: its commands run on a new machine's state, and print what it shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = ".venv/bin/python"


def shown() -> list[tuple[str, str]]:
    """Return each `$ command` of the README with the output that stands below it."""
    found = []
    for block in re.findall(r"^```\n(.*?)^```$", README, re.MULTILINE | re.DOTALL):
        if block.startswith("$ "):
            command, _, output = block.removeprefix("$ ").partition("\n")
            found.append((command, output))
    return found


@pytest.fixture(scope="module")
def demo() -> Iterator[dict[str, str]]:
    """Set up what `make demo` sets up, in a state folder of its own; give the environment of it."""
    with tempfile.TemporaryDirectory(prefix="wisdom-readme-") as folder:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("WA_", "WISDOM_", "PROMETHEUS_"))
        }
        environment = {
            **kept,
            "WA_STATE_DIR": f"{folder}/state",
            "WA_LOG_LEVEL": "ERROR",
            "DJANGO_SETTINGS_MODULE": "wisdom_project.settings",
        }
        checked = subprocess.run(
            [sys.executable, "manage.py", "demo", "--check"], cwd=ROOT, env=environment, capture_output=True, text=True
        )
        assert checked.returncode == 0, checked.stderr
        assert checked.stdout.strip()
        yield environment
        subprocess.run(
            [sys.executable, "-m", "core.embedded_postgres", "stop", "--state-dir", f"{folder}/state"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            check=False,
        )


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.xdist_group("readme")
@pytest.mark.parametrize(("command", "output"), shown(), ids=[command for command, _ in shown()])
def test_a_command_prints_what_the_readme_shows(command: str, output: str, demo: dict[str, str]) -> None:
    words = shlex.split(command)
    assert words[0] == PYTHON

    done = subprocess.run([sys.executable, *words[1:]], cwd=ROOT, env=demo, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == output.strip()


def test_the_readme_shows_an_answer_and_a_refusal() -> None:
    outputs = [output for _, output in shown()]

    assert any("[1]" in output for output in outputs)
    assert any("I cannot answer that from the indexed feedback." in output for output in outputs)


def test_the_two_commands_of_the_readme_are_targets_of_make() -> None:
    first_screen = README[: README.index("## ")]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    for target in ("demo", "test"):
        assert f"make {target}" in first_screen
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_what_the_readme_links_to_exists() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)

    assert links
    for link in links:
        assert link.startswith("http") or (ROOT / link).exists(), link


def test_every_command_that_the_readme_lists_exists() -> None:
    listed = re.findall(r"^\| `([a-z_]+)[` ]", README, re.MULTILINE)
    listed += re.findall(r"`(partitions|check_index)`", README)

    assert len(listed) >= 8
    for name in listed:
        assert list(ROOT.glob(f"*/management/commands/{name}.py")), name
