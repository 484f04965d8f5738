"""Open a file by what is in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import orjson

from feedback.importers.csv_file import open_csv
from feedback.importers.encodings import marked_encoding
from feedback.importers.json_file import open_json
from feedback.importers.ndjson import open_ndjson
from feedback.importers.stream import ImportStream, Source, UnreadableFile

STANDARD_INPUT: Final = "-"


class _Opens(Protocol):
    def __call__(
        self, source: Source, *, mapping: Mapping[str, str] | None, name: str, close: Callable[[], None]
    ) -> ImportStream: ...


FORMATS: Final[Mapping[str, _Opens]] = {
    "ndjson": open_ndjson,
    "json": open_json,
    "csv": open_csv,
}


def open_file(
    path_or_stream: str | Path | BinaryIO, *, mapping: Mapping[str, str] | None = None, name: str | None = None
) -> ImportStream:
    """Open a path, or a binary stream that the caller closes; the format is told from content, then name.

    `mapping` is column -> field and overrides the guess. `name` is the file's own name, for streams. "-" is
    standard input, always NDJSON.

    Raises: UnreadableFile, BadMapping.
    """
    if path_or_stream == STANDARD_INPUT:
        path_or_stream, name = sys.stdin.buffer, STANDARD_INPUT
    if isinstance(path_or_stream, str | Path):
        path = Path(path_or_stream)
        try:
            opened: BinaryIO = path.open("rb")
        except OSError as fault:
            raise UnreadableFile(
                f"{path} can't be opened: {(fault.strerror or 'unreadable').lower()}.", code="no_such_file"
            ) from None
        try:
            return _open(opened, mapping, name or path.name, opened.close)
        except BaseException:
            opened.close()
            raise
    return _open(path_or_stream, mapping, name or "The file", lambda: None)


def _open(opened: BinaryIO, mapping: Mapping[str, str] | None, name: str, close: Callable[[], None]) -> ImportStream:
    source = Source(opened)
    if name == STANDARD_INPUT:
        return open_ndjson(source, mapping=mapping, name="Standard input", close=close)
    if not source.head.strip():
        raise UnreadableFile(f"{name} is empty.", code="empty_file")
    return FORMATS[_format(source, name)](source, mapping=mapping, name=name, close=close)


def _format(source: Source, name: str) -> str:
    suffix = Path(name).suffix.lower()
    encoding = marked_encoding(source.head) or "utf-8"
    sample = source.head.decode(encoding, errors="replace").lstrip()
    if suffix in (".csv", ".tsv", ".tab"):
        return "csv"
    if sample.startswith("["):
        return "json"
    if suffix in (".ndjson", ".jsonl", ".ldjson"):
        return "ndjson"
    if not sample.startswith("{"):
        return "json" if suffix == ".json" else "csv"
    return _object_format(sample, suffix)


def _object_format(sample: str, suffix: str) -> str:
    """Tell lines of objects from one object that spans lines, or is a single line with an array of rows."""
    first_line, line_feed, rest = sample.partition("\n")
    try:
        first = orjson.loads(first_line)
    except orjson.JSONDecodeError:
        # A line longer than the sample, the first line of an object spread over several, or a bad line.
        is_spread = first_line.rstrip().endswith(("{", "[", ",")) or not rest.lstrip().startswith("{")
        return "json" if is_spread else "ndjson"
    if line_feed and rest.strip():
        return "ndjson"
    has_rows = "text" not in first and any(isinstance(value, list) for value in first.values())
    return "json" if has_rows else "ndjson"
