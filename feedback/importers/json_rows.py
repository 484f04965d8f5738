"""Name the fields of rows that are JSON objects already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from feedback.importers.mapping import IGNORED, guess_mapping, resolve_wanted, target_of


def row_mapping(
    rows: Sequence[Mapping[str, Any]], *, wanted: Mapping[str, str] | None
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the renaming that rows need, and the keys seen.

    Rows with a `text` follow the contract and keep every key as it is, so that metadata is never taken for a
    field; of others the fields are guessed. What the user wanted is done in both cases.

    Raises: BadMapping.
    """
    columns = tuple(dict.fromkeys(key for row in rows for key in row))
    if not columns:
        return dict(wanted or {}), ()
    if "text" in columns:
        return resolve_wanted(columns, wanted or {}), columns
    samples = {column: [value for row in rows if isinstance(value := row.get(column), str)] for column in columns}
    mapping = guess_mapping(columns, samples=samples, wanted=wanted)
    return {column: field for column, field in mapping.items() if column != field}, columns


def map_row(row: Mapping[str, Any], mapping: Mapping[str, str]) -> dict[str, Any]:
    """Rename the mapped keys of one row; a key of the contract that another column now fills is dropped."""
    renamed: dict[str, Any] = {}
    for column, value in row.items():
        field = mapping.get(column)
        if field is None:
            renamed.setdefault(column, value)
        elif field != IGNORED:
            renamed[target_of(field)] = value
    return renamed
