"""The words that people and the CI use exist, are described, and lead to the same place."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
MAKEFILE = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
WORDS = ("setup", "demo", "serve", "test", "check", "bench", "bench-peers", "bench-large", "lock")


def plan(word: str) -> str:
    """Return what make would run for a word, running nothing."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    ended = subprocess.run(
        ["make", "--dry-run", word], cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=True
    )
    return ended.stdout


@pytest.mark.parametrize("word", WORDS)
def test_each_promised_word_is_a_target_that_help_explains(word: str) -> None:
    rule = re.search(rf"^{word}:", MAKEFILE, re.MULTILINE)

    assert rule, f"make {word} is promised"
    assert f"make {word} " in MAKEFILE


@pytest.mark.parametrize(
    ("word", "aim"),
    [
        ("demo", "manage.py demo"),
        ("serve", "manage.py serve"),
        ("bench", "run.py"),
        ("bench-peers", "peers.py"),
        ("bench-large", "large.py"),
        ("test", "pytest"),
    ],
)
def test_a_word_that_runs_the_application_sets_it_up_first(word: str, aim: str) -> None:
    commands = plan(word)

    installing = commands.index("deploy/install_requirements.sh base")
    starting = commands.index("core.embedded_postgres start")
    running = commands.index(aim)
    assert installing < starting < running


def test_the_benchmarks_fail_when_a_kernel_grows_too_fast() -> None:
    assert "benchmarks/kernels.py --check" in plan("bench")


def test_only_the_comparison_installs_the_peers() -> None:
    installing = {word: "install_requirements.sh base peers" in plan(word) for word in WORDS}

    assert [word for word, installs in installing.items() if installs] == ["bench-peers"]


def test_a_demo_does_not_wait_for_what_only_tests_need() -> None:
    assert "install_requirements.sh base dev" not in plan("demo")


def test_a_test_run_includes_the_checks_and_the_browser() -> None:
    commands = plan("test")

    parts = ["ruff format --check", "ruff check", "mypy", "lint_imports", "makemigrations --check", "-m browser"]
    assert [part for part in parts if part not in commands] == []


@pytest.mark.parametrize("word", [*WORDS, "clean"])
def test_no_word_removes_data_or_the_environment(word: str) -> None:
    removed = re.findall(r"rm -rf ([^\n]*)", plan(word))

    assert not [line for line in removed if re.search(r"\.wisdom|\.venv", line)]


def test_the_ci_runs_the_same_words() -> None:
    script = REPOSITORY / ".ci" / "run"

    assert os.access(script, os.X_OK)
    assert "CI=1 make test" in script.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["install_requirements.sh", "install_chromium.sh"])
def test_scripts_are_valid_shell(name: str) -> None:
    ended = subprocess.run(["sh", "-n", str(REPOSITORY / "deploy" / name)], capture_output=True, check=False)

    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("part", ["base", "dev", "models", "reranker", "multilingual", "peers"])
def test_requirements_are_pinned_and_hashed(part: str) -> None:
    lines = (REPOSITORY / "requirements" / f"{part}.txt").read_text(encoding="utf-8").splitlines()

    packages = [line for line in lines if line and line[0] not in " #"]

    assert packages
    assert all("==" in package and package.endswith("\\") for package in packages)
