"""Read one JSON object a line."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from feedback.domain.records import Rejection, shown
from feedback.importers.encodings import marked_encoding, refuse_binary
from feedback.importers.json_rows import map_row, row_mapping
from feedback.importers.stream import MAX_LINE_BYTES, ImportStream, Row, Source, utf8_reader


def open_ndjson(
    source: Source, *, mapping: Mapping[str, str] | None, name: str, close: Callable[[], None]
) -> ImportStream:
    """Open NDJSON: UTF-8, or UTF-16 and UTF-32 with a byte order mark. Lines end with a line feed only.

    Raises: UnreadableFile for binary content, BadMapping.
    """
    refuse_binary(source.head, name=name)
    encoding = marked_encoding(source.head) or "utf-8"
    sampled = _sampled(source, encoding)
    found, columns = row_mapping(sampled, wanted=mapping)
    return ImportStream(
        format="ndjson",
        encoding=encoding,
        delimiter=None,
        mapping=found,
        columns=columns,
        day_first=None,
        has_derived_ids=False,
        _read=lambda: _rows(_lines(utf8_reader(source, encoding)), found),
        _close=close,
    )


def parse_line(row: int, line: bytes) -> dict[str, Any] | Rejection | None:
    """Read one line: its object, a Rejection with the position of the fault, or None for a blank line."""
    line = line.strip()
    if not line:
        return None
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as fault:
        found = _with_lone_surrogates(line)
        if found is None:
            return Rejection(row, "", _excerpt(line), "bad_json", _what_is_wrong(line, fault))
    if not isinstance(found, dict):
        return Rejection(row, "", shown(found), "not_an_object", "Write each line as a JSON object with id and text.")
    return found


def _what_is_wrong(line: bytes, fault: orjson.JSONDecodeError) -> str:
    try:
        line.decode()
    except UnicodeDecodeError:
        return "The line isn't UTF-8 text: save the file as UTF-8, or send it as CSV, whose encoding is found out."
    return f"Column {fault.colno}: {fault.msg}."


def _with_lone_surrogates(line: bytes) -> Any:
    """Parse what only the standard library accepts, so that the column with the half character can be named."""
    if b"\\ud" not in line.lower():
        return None
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _rows(lines: Iterator[tuple[int, bytes | None]], mapping: Mapping[str, str]) -> Iterator[Row]:
    for row, line in lines:
        if line is None:
            yield row, Rejection(row, "", "", "too_long", f"Shorten the line; {MAX_LINE_BYTES} bytes are the most.")
            continue
        parsed = parse_line(row, line)
        if isinstance(parsed, dict):
            yield row, map_row(parsed, mapping) if mapping else parsed
        elif parsed is not None:
            yield row, parsed


def _lines(reader: io.BufferedIOBase) -> Iterator[tuple[int, bytes | None]]:
    """Yield (number, bytes) of each line, None for one that is too long to hold."""
    number = 0
    while line := reader.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) <= MAX_LINE_BYTES or line.endswith(b"\n"):
            yield number, line
            continue
        while (rest := reader.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
            pass
        yield number, None


def _sampled(source: Source, encoding: str) -> list[dict[str, Any]]:
    lines = list(_lines(utf8_reader(source, encoding, head_only=True)))
    if not source.is_whole:
        # The head ends somewhere within a line.
        lines = lines[:-1]
    parsed = (parse_line(number, line) for number, line in lines if line is not None)
    return [row for row in parsed if isinstance(row, dict)]


def _excerpt(line: bytes) -> str:
    return shown(line[:400].decode(errors="replace"))
