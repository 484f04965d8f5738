"""Tell of a statement whether a database distributed by tenant could send it to the one place of that tenant.

The rules are those that Citus states for its router planner (docs.citusdata.com: "Query Processing", "SQL support and
workarounds"): each tenant's table of each part of a statement has its tenant as a constant, by itself or by equality
with one that has; nothing that a place would compute differently from another is written.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

TENANT = "tenant_id"
_VOLATILE = {"now", "statement_timestamp", "clock_timestamp", "random", "gen_random_uuid", "current_setting"}
_CONSTANT = (exp.Literal, exp.Placeholder, exp.Parameter)
_SCOPES = (exp.Select, exp.Update, exp.Delete)


@dataclass(frozen=True, slots=True)
class _Source:
    """A table as one part of a statement names it."""

    scope: int
    alias: str


def why_it_cant_be_routed(sql: str, tables: Collection[str]) -> str | None:
    """Return what stands in the way, or None; `tables` are those of tenants. Parameters are written as psycopg's.

    Raises: sqlglot.errors.ParseError for what is no statement.
    """
    tree = sqlglot.parse_one(sql, read="postgres")
    return _why_not_written(tree, tables) or _why_not_found(tree, tables)


def _why_not_written(tree: exp.Expression, tables: Collection[str]) -> str | None:
    for insert in tree.find_all(exp.Insert):
        target = insert.this
        columns = [column.name for column in target.expressions] if isinstance(target, exp.Schema) else []
        table = target.this if isinstance(target, exp.Schema) else target
        if table.name in tables and TENANT not in columns:
            return f"INSERT INTO {table.name} without {TENANT}"
        conflict = insert.args.get("conflict")
        if conflict is not None and _is_volatile(conflict):
            return "ON CONFLICT computes what differs from place to place"
    for update in tree.find_all(exp.Update):
        if update.this.name not in tables:
            continue
        for assignment in update.expressions:
            if assignment.this.name == TENANT:
                return f"UPDATE {update.this.name} sets {TENANT}"
            if _is_volatile(assignment.expression):
                return f"UPDATE {update.this.name} computes what differs from place to place"
    return None


def _is_volatile(node: exp.Expression) -> bool:
    return any(
        isinstance(part, exp.CurrentTimestamp | exp.Rand)
        or (isinstance(part, exp.Anonymous) and part.name.lower() in _VOLATILE)
        for part in node.walk()
    )


def _why_not_found(tree: exp.Expression, tables: Collection[str]) -> str | None:
    inserted_into = {id(_table_of(insert)) for insert in tree.find_all(exp.Insert)}
    of_a_query = {cte.alias for cte in tree.find_all(exp.CTE)}
    sources: dict[_Source, str] = {}
    for table in tree.find_all(exp.Table):
        if table.name in tables and table.name not in of_a_query and id(table) not in inserted_into:
            sources[_Source(id(table.find_ancestor(*_SCOPES)), table.alias_or_name)] = table.name
    pinned = _pinned(tree, sources)
    open_ones = sorted({f"{sources[source]} {source.alias}" for source in sources.keys() - pinned})
    return f"no constant tenant on {', '.join(open_ones)}" if open_ones else None


def _table_of(insert: exp.Insert) -> exp.Expression:
    target: exp.Expression = insert.this
    return target.this if isinstance(target, exp.Schema) else target


def _pinned(tree: exp.Expression, sources: dict[_Source, str]) -> set[_Source]:
    """Return the sources whose tenant is a constant, by themselves or through others."""
    pinned: set[_Source] = set()
    equal: list[tuple[_Source, _Source]] = []
    for node in tree.find_all(exp.EQ, exp.In):
        if not _always_holds(node):
            continue
        if isinstance(node, exp.In):
            left, right = node.this, node.expressions[0] if len(node.expressions) == 1 else None
        else:
            left, right = node.this, node.expression
        one, other = _tenant_of(left, sources), _tenant_of(right, sources)
        if not _restricts(node, one, other):
            continue
        if one and other:
            equal.append((one, other))
        elif one and _is_constant(right):
            pinned.add(one)
        elif other and _is_constant(left):
            pinned.add(other)
    while True:
        reached = {b for a, b in equal if a in pinned} | {a for a, b in equal if b in pinned}
        if reached <= pinned:
            return pinned
        pinned |= reached


def _always_holds(node: exp.Expression) -> bool:
    """Tell whether the condition holds for every row: one under OR, NOT or CASE holds for some."""
    parent = node.parent
    while isinstance(parent, exp.And | exp.Paren):
        parent = parent.parent
    return isinstance(parent, exp.Where | exp.Join)


def _restricts(node: exp.Expression, one: _Source | None, other: _Source | None) -> bool:
    """Tell whether a join's condition narrows what is read: an outer one does so only for its optional table."""
    join = node.find_ancestor(exp.Where, exp.Join)
    if isinstance(join, exp.Where) or join is None or not join.side:
        return True
    joined = join.this.alias_or_name
    return join.side == "LEFT" and joined in {source.alias for source in (one, other) if source}


def _tenant_of(node: exp.Expression | None, sources: dict[_Source, str]) -> _Source | None:
    """Return whose tenant a column is, by the nearest part of the statement that knows its table."""
    node = _bare(node)
    if not isinstance(node, exp.Column) or node.name != TENANT:
        return None
    scope = node.find_ancestor(*_SCOPES)
    while scope is not None:
        here = [source for source in sources if source.scope == id(scope) and node.table in ("", source.alias)]
        if here:
            return here[0] if len(here) == 1 else None
        scope = scope.find_ancestor(*_SCOPES)
    return None


def _is_constant(node: exp.Expression | None) -> bool:
    return isinstance(_bare(node), _CONSTANT)


def _bare(node: exp.Expression | None) -> exp.Expression | None:
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    return node
