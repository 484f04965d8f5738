"""A module imports what lies below it: the contracts are in pyproject.toml, and they cover everything."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

from core.configuration import PROJECT_ROOT
from tests.architecture.source_tree import PACKAGES

CONFIGURATION = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
CONTRACTS = {contract["name"]: contract for contract in CONFIGURATION["contracts"]}
LINT = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True, no_logo=True))"


def _lint(folder: os.PathLike[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", LINT], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_every_contract_is_kept():
    done = _lint(PROJECT_ROOT)

    assert done.returncode == 0, done.stdout


def test_a_rule_that_imports_django_is_refused(tmp_path):
    for package in CONFIGURATION["root_packages"]:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    for name in ("answering", "feedback", "tenants"):
        (tmp_path / name / "domain.py").touch()
        (tmp_path / name / "models.py").touch()
    for name in CONTRACTS["The plain part of the foundation knows no framework either"]["source_modules"]:
        (tmp_path / f"{name.replace('.', '/')}.py").touch()
    (tmp_path / "pyproject.toml").write_text((PROJECT_ROOT / "pyproject.toml").read_text())
    assert _lint(tmp_path).returncode == 0

    (tmp_path / "feedback" / "domain.py").write_text("def late():\n    import django.db\n")

    assert _lint(tmp_path).returncode != 0


def test_every_package_of_ours_is_held_to_the_contracts():
    assert set(CONFIGURATION["root_packages"]) == set(PACKAGES)


def test_the_rules_of_every_app_are_kept_plain():
    with_rules = {f"{name}.domain" for name in PACKAGES if (PROJECT_ROOT / name / "domain").is_dir()}

    plain = set(CONTRACTS["Rules know no framework, no network and no database"]["source_modules"])

    assert plain == with_rules


def test_the_foundation_imports_nothing_by_being_imported():
    # An import in here would be one of every module of the foundation, and import-linter would not see it.
    assert (PROJECT_ROOT / "core" / "__init__.py").read_text() == ""
