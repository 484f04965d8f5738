"""Read source code for writes to the tables whose statistics only `feedback/services` keeps exact."""

from __future__ import annotations

import ast
import re

from tests.architecture.tenant_guard import Finding

HOME = "feedback/services/"
GUARDED = frozenset(
    {
        *("Document", "DocumentKey", "DocumentRevision", "Passage", "PassageVector", "Term", "CorpusStatistics"),
        *("DistinctText", "ClusterMember", "ClusterDecision", "MergedCluster"),
        *("VectorSegment", "SegmentVector"),
    }
)
WRITES = frozenset(
    {
        *("save", "asave", "delete", "adelete", "update", "aupdate", "create", "acreate", "_raw_delete"),
        *("bulk_create", "abulk_create", "bulk_update", "abulk_update"),
        *("get_or_create", "aget_or_create", "update_or_create", "aupdate_or_create"),
    }
)
_SQL = re.compile(
    r"\b(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM|MERGE\s+INTO|TRUNCATE(?:\s+TABLE)?|COPY)\s+(?:ONLY\s+)?\"?(feedback_(?:"
    + "|".join(sorted(name.lower() for name in GUARDED))
    + r"))\b",
    re.IGNORECASE,
)


def findings(path: str, source: str) -> list[Finding]:
    """Return where a file outside the services writes, or makes a row that it could write."""
    if path.startswith(HOME):
        return []
    tree = ast.parse(source)
    names = _names_of_guarded_models(tree)
    rows = _names_of_their_rows(tree, names)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in names:
                found.append(Finding(path, node.lineno, f"makes a {called.id}"))
            elif isinstance(called, ast.Attribute) and called.attr in WRITES and _root(called) in names | rows:
                found.append(Finding(path, node.lineno, f"`{called.attr}` of {_root(called)}"))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            written = _SQL.search(node.value)
            if written:
                found.append(Finding(path, node.lineno, f"SQL writes to {written[1]}"))
    return sorted(found, key=lambda finding: finding.line)


def _names_of_guarded_models(tree: ast.Module) -> frozenset[str]:
    """Return what the models are called in the file, also where it gives them another name."""
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "feedback.models"
        for alias in node.names
        if alias.name in GUARDED
    }
    return frozenset(_closure(tree, names, only_names=True))


def _names_of_their_rows(tree: ast.Module, names: frozenset[str]) -> frozenset[str]:
    """Return the variables that hold rows or querysets of the models."""
    return frozenset(_closure(tree, set(names), only_names=False) - names)


def _closure(tree: ast.Module, names: set[str], *, only_names: bool) -> set[str]:
    """Add the targets of assignments and loops over the names until there are no more."""
    known = set(names)
    while True:
        before = len(known)
        for node in ast.walk(tree):
            value: ast.expr | None = None
            targets: list[ast.expr] = []
            if isinstance(node, ast.Assign):
                value, targets = node.value, node.targets
            elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
                value, targets = node.value, [node.target]
            elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
                value, targets = node.iter, [node.target]
            if value is None or (only_names and not isinstance(value, ast.Name)) or _root(value) not in known:
                continue
            known.update(target.id for target in targets if isinstance(target, ast.Name))
        if len(known) == before:
            return known


def _root(node: ast.expr) -> str | None:
    """Return the name that a chain of attributes, calls and subscripts begins with."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript | ast.Await):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None
