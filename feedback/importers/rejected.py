"""Write the refused rows of a file in that file's own form, to be fixed and loaded again."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

from core.errors import InvalidInput
from feedback.domain.records import DOCUMENT_KEYS, Rejection, shown
from feedback.importers.mapping import IGNORED, target_of
from feedback.importers.stream import ImportStream, Source, utf8_reader

_MAX_CELL_CHARACTERS: Final = 10_000_000


class UnwritableFile(InvalidInput):
    """A place where refused rows can't be written; nothing has been loaded yet."""

    code = "unwritable_file"


class RejectedRows:
    """A file of refused rows beside the file that they came from.

    A table keeps its header and its columns; lines of NDJSON are copied as they stand; rows of a JSON document
    become NDJSON. It takes its name when it is complete; without a refused row it is empty.

    Raises: UnwritableFile, when it is made.
    """

    def __init__(self, path: Path, *, original: BinaryIO | Path) -> None:
        if isinstance(original, Path) and path.exists() and original.exists() and path.samefile(original):
            raise UnwritableFile(f"{path} is the file that is loaded: name another for --rejects.", field="rejects")
        self._path = path
        self._partial = path.with_name(f"{path.name}.partial")
        self._original = original
        self._stream: ImportStream | None = None
        self._again: dict[int, Rejection] = {}
        try:
            if path.is_dir():
                raise IsADirectoryError(0, "it is a folder")
            self._file = self._partial.open("w", encoding="utf-8", errors="backslashreplace", newline="")
        except OSError as fault:
            reason = (fault.strerror or "unwritable").lower()
            raise UnwritableFile(
                f"{path} can't be written ({reason}): name another file for --rejects.", field="rejects"
            ) from None

    def of(self, stream: ImportStream) -> None:
        """Say which file the rows are from."""
        self._stream = stream

    def keep(self, rejection: Rejection, sent: object) -> None:
        """Keep one row; `sent` is its fields, or anything else where they couldn't be read."""
        assert self._stream is not None, "say which file the rows are from"
        if self._stream.format == "ndjson" or not isinstance(sent, Mapping):
            self._again[rejection.row] = rejection
        elif self._is_table:
            self._write_cells([_cell(sent.get(target)) for target in _targets(self._stream)])
        else:
            self._file.write(json.dumps(sent, ensure_ascii=True, default=str) + "\n")

    @property
    def _is_table(self) -> bool:
        return self._stream is not None and self._stream.format in ("csv", "tsv")

    def _write_cells(self, cells: list[str]) -> None:
        assert self._stream is not None, "only tables have cells"
        writer = csv.writer(self._file, delimiter=self._stream.delimiter or ",", lineterminator="\n")
        if self._file.tell() == 0:
            writer.writerow(self._stream.columns)
        writer.writerow(cells)

    def _read_again(self) -> None:
        """Copy from the original what could not be kept as it was read."""
        assert self._stream is not None, "say which file the rows are from"
        opened = self._original.open("rb") if isinstance(self._original, Path) else self._original
        try:
            if opened.seekable():
                opened.seek(0)
            if self._stream.format == "ndjson":
                reader = utf8_reader(Source(opened), self._stream.encoding)
                for number, line in enumerate(reader, start=1):
                    if number in self._again:
                        self._file.write(line.decode(errors="backslashreplace").rstrip("\r\n") + "\n")
            elif self._is_table:
                for cells in _unread_cells(opened, self._stream, self._again):
                    self._write_cells(cells)
        finally:
            if opened is not self._original:
                opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if fault is None and self._again:
                self._read_again()
        finally:
            self._file.close()
            if fault is None:
                self._partial.replace(self._path)
            else:
                with suppress(OSError):
                    os.unlink(self._partial)


def _targets(stream: ImportStream) -> list[str]:
    """Return the key that each column of a table was sent under."""
    targets = []
    for position, column in enumerate(stream.columns, start=1):
        field = stream.mapping.get(column)
        if field is None:
            targets.append(f"column_{position}" if column in DOCUMENT_KEYS else column)
        else:
            targets.append("" if field == IGNORED else target_of(field))
    return targets


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _unread_cells(opened: BinaryIO, stream: ImportStream, wanted: Mapping[int, Rejection]) -> Iterator[list[str]]:
    """Yield the cells of the records that had too many or too few of them, told by what the rejection shows."""
    values = {rejection.value for rejection in wanted.values()}
    text = io.TextIOWrapper(opened, encoding=stream.encoding, errors="replace", newline="")
    before = csv.field_size_limit(_MAX_CELL_CHARACTERS)
    try:
        for cells in csv.reader(text, delimiter=stream.delimiter or ","):
            if shown(" | ".join(cells)) in values:
                yield cells
    except csv.Error:
        return
    finally:
        # The limit is the whole process's: later files are read by their own.
        csv.field_size_limit(before)
        text.detach()
