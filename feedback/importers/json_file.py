"""Read a JSON document: an array of objects, or an object that holds one such array."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from feedback.domain.dates import detect_day_first
from feedback.domain.records import Rejection, shown
from feedback.importers.encodings import marked_encoding, refuse_binary
from feedback.importers.json_rows import map_row, row_mapping
from feedback.importers.stream import ImportStream, Row, Source, UnreadableFile, utf8_reader

MAX_JSON_BYTES: Final = 100_000_000
_SAMPLED_ROWS: Final = 1_000


def open_json(
    source: Source, *, mapping: Mapping[str, str] | None, name: str, close: Callable[[], None]
) -> ImportStream:
    """Open a JSON document; all of it is held in memory, since its end may contradict its beginning.

    Raises: UnreadableFile for what isn't JSON, has no array of rows or several, or exceeds 100 MB; BadMapping.
    """
    refuse_binary(source.head, name=name)
    encoding = marked_encoding(source.head) or "utf-8"
    content = utf8_reader(source, encoding).read(MAX_JSON_BYTES + 1)
    if len(content) > MAX_JSON_BYTES:
        raise UnreadableFile(
            f"{name} exceeds {MAX_JSON_BYTES // 1_000_000} MB; save it as NDJSON, one object a line.",
            code="too_long",
        )
    members = _members(_parsed(content, name), name)
    sampled = [member for member in members[:_SAMPLED_ROWS] if isinstance(member, dict)]
    found, columns = row_mapping(sampled, wanted=mapping)
    return ImportStream(
        format="json",
        encoding=encoding,
        delimiter=None,
        mapping=found,
        columns=columns,
        day_first=_day_first(members, found),
        has_derived_ids=False,
        _read=lambda: _rows(members, found),
        _close=close,
    )


def _parsed(content: bytes, name: str) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as fault:
        raise UnreadableFile(
            f"{name} is not valid JSON: line {fault.lineno}, column {fault.colno}: {fault.msg}.",
            code="bad_json",
            detail={"line": fault.lineno, "column": fault.colno},
        ) from None


def _members(document: Any, name: str) -> list[Any]:
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        raise UnreadableFile(f"{name} holds a single value; send an array of objects with id and text.")
    if "text" in document:
        return [document]
    arrays = {
        key: value
        for key, value in document.items()
        if isinstance(value, list) and (not value or any(isinstance(member, dict) for member in value))
    }
    filled = {key: value for key, value in arrays.items() if value} or arrays
    if len(filled) == 1:
        return list(*filled.values())
    found = ", ".join(filled) if filled else "none"
    raise UnreadableFile(
        f"{name} must hold one array of objects; found: {found}. Send only that array.",
        detail={"arrays": list(filled)},
    )


def _rows(members: Sequence[Any], mapping: Mapping[str, str]) -> Iterator[Row]:
    for row, member in enumerate(members, start=1):
        if isinstance(member, dict):
            yield row, map_row(member, mapping) if mapping else member
        else:
            yield (
                row,
                Rejection(row, "", shown(member), "not_an_object", "Write each row as a JSON object with id and text."),
            )


def _day_first(members: Sequence[Any], mapping: Mapping[str, str]) -> bool | None:
    column = next((column for column, field in mapping.items() if field == "occurred_at"), "occurred_at")
    return detect_day_first(
        value for member in members if isinstance(member, dict) and isinstance(value := member.get(column), str)
    )
