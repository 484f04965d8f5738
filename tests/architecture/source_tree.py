"""The Python files that the architecture tests read, and what they need to know of the models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from django.apps import apps
from django.db import models

from core.configuration import PROJECT_ROOT
from core.tenant_scope import TenantModel

# Everything of ours that runs in production; a folder that has no `__init__.py` is no package yet.
PACKAGES = tuple(
    name
    for name in ("core", "tenants", "feedback", "answering", "evals", "monitors", "wisdom_project")
    if (PROJECT_ROOT / name / "__init__.py").exists()
)


def python_files() -> Iterator[tuple[str, str]]:
    """Yield (path from the project's root, text) of each file of ours but the migrations."""
    for package in PACKAGES:
        for path in sorted((PROJECT_ROOT / package).rglob("*.py")):
            if "migrations" not in path.parts:
                yield _relative(path), path.read_text(encoding="utf-8")


def _relative(path: Path) -> str:
    return path.relative_to(PROJECT_ROOT).as_posix()


def tenant_models() -> set[type[models.Model]]:
    return {model for model in apps.get_models() if issubclass(model, TenantModel)}


def tenant_tables() -> set[str]:
    return {model._meta.db_table for model in tenant_models()}
