"""Read a batch file: one JSON object a line, checked as a whole before any work is done."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import orjson

from core.errors import InvalidInput

Item = TypeVar("Item")
STANDARD_INPUT = "-"


class BadBatchLine(InvalidInput):
    """A line that can't be used; the message has its number."""

    code = "bad_line"


def read_batch(name: str, read: Callable[[dict[str, Any]], Item]) -> list[Item]:
    """Return what `read` makes of each line's object; blank lines are skipped, "-" is standard input.

    Raises: InvalidInput for a file that can't be opened; BadBatchLine, with the number of the line, for a line
    that is no JSON object or that `read` refuses.
    """
    try:
        content = sys.stdin.buffer.read() if name == STANDARD_INPUT else Path(name).read_bytes()
    except OSError as error:
        raise InvalidInput(f"{name} can't be read: {(error.strerror or 'unreadable').lower()}.", field="file") from None
    items = []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            found = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise BadBatchLine(f"Line {number} of {name} is no JSON (column {error.colno}: {error.msg}).") from None
        if not isinstance(found, dict):
            raise BadBatchLine(f"Line {number} of {name} is no JSON object.")
        try:
            items.append(read(found))
        except InvalidInput as error:
            detail = {name: value for name, value in error.detail.items() if name != "field"}
            raise BadBatchLine(
                f"Line {number} of {name}: {error.message}", code=error.error_code, field=error.field, detail=detail
            ) from None
    return items


def line_id(line: dict[str, Any]) -> str | int:
    """Return the id of a line, which its answer carries. Raises: InvalidInput."""
    identity = line.get("id")
    if isinstance(identity, bool) or not isinstance(identity, str | int):
        raise InvalidInput("id is missing: give each line an id, a text or a whole number.", field="id")
    return identity


def line_text(line: dict[str, Any], name: str) -> str:
    """Return a text of a line. Raises: InvalidInput."""
    text = line.get(name)
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"{name} is missing: it must be a text that isn't blank.", field=name)
    return text
