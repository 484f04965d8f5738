"""Read source code for queries that don't start from a tenant. What can't be told is refused.

Allowed are `Model.objects.for_tenant(…)`, the models of no tenant by the names that they are imported under, and
SQL that names the tenant as a parameter for each of the tenants' tables that it reads.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MANAGERS = frozenset({"objects", "_base_manager", "_default_manager"})
SHORTCUTS = frozenset({"get_object_or_404", "get_list_or_404", "aget_object_or_404", "aget_list_or_404"})
RAW = frozenset({"raw", "extra", "RawSQL"})
_QUERYSET = MANAGERS | {"for_tenant"}

_STATEMENT = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH|TRUNCATE|MERGE|COPY|LOCK)\b", re.IGNORECASE)
_HOLE = "\0"  # stands for a part of a string that is known at run time only
_TABLE_FROM_OUTSIDE = re.compile(
    rf'\b(?:FROM|JOIN|INTO|UPDATE|TABLE|USING|TRUNCATE)\s+(?:ONLY\s+)?"?(?:{_HOLE}|\{{|%s|%\()', re.IGNORECASE
)
_TENANT_IS_A_PARAMETER = re.compile(r"(?:\b\w+\.)?\btenant_id\s*=\s*%(?:s|\(\w+\)s)")


@dataclass(frozen=True, slots=True)
class Finding:
    """A line that may see the rows of more than one tenant."""

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Schema:
    """What the guard knows of the models: tables of tenants, reverse accessors of theirs, and models of none.

    `global_models` are (module, name) as a file would import them.
    """

    tenant_tables: frozenset[str]
    reverse_accessors: frozenset[str] = frozenset()
    global_models: frozenset[tuple[str, str]] = frozenset()


def findings(path: str, source: str, schema: Schema) -> list[Finding]:
    """Return what the file does without saying for whom, in the order of its lines."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    trusted = _global_names(tree, schema)
    texts = _texts_with_a_name(tree)
    found = []
    for node in ast.walk(tree):
        reason = _reason(node, parents, trusted, schema) or _reason_of_text(node, parents, texts, schema)
        if reason:
            found.append(Finding(path, getattr(node, "lineno", 0), reason))
    return sorted(found, key=lambda finding: finding.line)


def _reason(node: ast.AST, parents: dict[ast.AST, ast.AST], trusted: frozenset[str], schema: Schema) -> str | None:
    if isinstance(node, ast.Attribute):
        if node.attr in MANAGERS and not _starts_from_a_tenant(node, parents) and not _is_global(node.value, trusted):
            return f"`{node.attr}` without for_tenant"
        if node.attr in schema.reverse_accessors and not _starts_from_a_tenant(node, parents):
            return f"`{node.attr}` without for_tenant"
        if node.attr in RAW and (node.attr == "RawSQL" or _is_of_a_queryset(node)):
            return f"`{node.attr}` takes SQL that is read by nobody"
        if node.attr in SHORTCUTS and not _is_given_a_tenants_rows(parents.get(node)):
            return f"`{node.attr}` without for_tenant"
    elif isinstance(node, ast.Name):
        if node.id in SHORTCUTS and not _is_given_a_tenants_rows(parents.get(node)):
            return f"`{node.id}` without for_tenant"
        if node.id in RAW and isinstance(parents.get(node), ast.Call) and parents[node].func is node:  # type: ignore[attr-defined]  # a Call
            return f"`{node.id}` takes SQL that is read by nobody"
    elif isinstance(node, ast.ImportFrom):
        renamed = [alias.name for alias in node.names if alias.name in SHORTCUTS | RAW and alias.asname]
        if renamed:
            return f"`{renamed[0]}` under another name"
    elif isinstance(node, ast.Call):
        if _is_call_of(node, "getattr") and any(_constant(argument) in MANAGERS for argument in node.args):
            return "a manager by getattr"
        if _is_call_of(node, "attrgetter", "methodcaller") and any(
            set(str(_constant(argument)).split(".")) & MANAGERS for argument in node.args
        ):
            return "a manager by name"
        if _is_call_of(node, "across_tenants"):
            reasons = [keyword.value for keyword in node.keywords if keyword.arg == "reason"]
            if not reasons or not str(_constant(reasons[0]) or "").strip():
                return "across_tenants without its reason in words"
    return None


def _reason_of_text(
    node: ast.AST, parents: dict[ast.AST, ast.AST], texts: dict[str, str], schema: Schema
) -> str | None:
    if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp) and not _is_part_of_a_text(node, parents):
        return _reason_of_sql(_text(node, texts), schema)
    return None


def _starts_from_a_tenant(manager: ast.Attribute, parents: dict[ast.AST, ast.AST]) -> bool:
    after = parents.get(manager)
    if not isinstance(after, ast.Attribute) or after.attr != "for_tenant":
        return False
    call = parents.get(after)
    return isinstance(call, ast.Call) and call.func is after


def _is_given_a_tenants_rows(call: ast.AST | None) -> bool:
    return (
        isinstance(call, ast.Call)
        and bool(call.args)
        and any(_is_call_of(part, "for_tenant") for part in ast.walk(call.args[0]))
    )


def _is_of_a_queryset(node: ast.Attribute) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr in _QUERYSET for part in ast.walk(node.value))


def _is_global(owner: ast.expr, trusted: frozenset[str]) -> bool:
    if isinstance(owner, ast.Name):
        return owner.id in trusted
    if _is_call_of(owner, "get_user_model"):
        return True
    # apps.get_model("tenants", "Tenant")
    return _is_call_of(owner, "get_model") and tuple(map(_constant, owner.args)) in {("tenants", "Tenant")}  # type: ignore[attr-defined]  # a Call


def _global_names(tree: ast.Module, schema: Schema) -> frozenset[str]:
    """Return the names that stand for a model of no tenant, and for nothing else, in the file."""
    names = set()
    rebound = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                (names if (node.module, alias.name) in schema.global_models else rebound).add(name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            rebound.add(node.id)
        elif isinstance(node, ast.arg):
            rebound.add(node.arg)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            rebound.add(node.name)
    return frozenset(names - rebound)


def _is_call_of(node: ast.AST, *names: str) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    return (isinstance(called, ast.Name) and called.id in names) or (
        isinstance(called, ast.Attribute) and called.attr in names
    )


def _constant(node: ast.AST) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _is_part_of_a_text(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Tell a piece from a whole: pieces are judged together. Documentation is no SQL."""
    parent = parents.get(node)
    if isinstance(parent, ast.JoinedStr) or (
        isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add | ast.Mod)
    ):
        return True
    return isinstance(parent, ast.Expr)


def _texts_with_a_name(tree: ast.Module) -> dict[str, str]:
    """Return the strings that a name stands for wherever it stands in the file."""
    found: dict[str, str] = {}
    bound = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    bound += [node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if bound.count(name) == 1 and isinstance(node.value, ast.Constant | ast.JoinedStr | ast.BinOp):
                found[name] = _text(node.value, found)
    return found


def _text(node: ast.AST, texts: dict[str, str]) -> str:
    """Return the text of a string expression, with holes for what only running it would tell."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else _HOLE
    if isinstance(node, ast.Name):
        return texts.get(node.id, _HOLE)
    if isinstance(node, ast.FormattedValue):
        return _text(node.value, texts)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(value, texts) for value in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left, texts) + _text(node.right, texts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _text(node.left, texts).replace("%s", _HOLE)
    return _HOLE


def _reason_of_sql(text: str, schema: Schema) -> str | None:
    if not _STATEMENT.match(text):
        return None
    outside = _TABLE_FROM_OUTSIDE.search(text)
    if outside:
        return "SQL on a table that is named at run time"
    reads = list(_tables(text, schema.tenant_tables))
    if len(_TENANT_IS_A_PARAMETER.findall(text)) < len(reads):
        return f"SQL on {', '.join(sorted(set(reads)))} without `tenant_id = %s` for each"
    for table, columns in re.findall(r'\bINTO\s+"?(\w+)"?(?:\s+AS\s+\w+)?\s*(\([^)]*\))?', text, re.IGNORECASE):
        if table in schema.tenant_tables and "tenant_id" not in columns:
            return f"SQL writes to {table} without its tenant_id"
    return None


def _tables(text: str, tables: Iterable[str]) -> Iterator[str]:
    """Yield each mention of a tenant's table as something to read, change or delete from."""
    mention = re.compile(
        rf'(?<!INTO )(?<!INTO ")\b({"|".join(map(re.escape, sorted(tables, key=len, reverse=True)))})\b"?(?!")'
    )
    for match in mention.finditer(text):
        if not re.match(r"\s*\.\s*\w", text[match.end() :]):  # a column of it
            yield match[1]
