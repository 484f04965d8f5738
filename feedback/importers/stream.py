"""What every importer hands over: the rows of a file, with what was found out about it."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

from core.errors import InvalidInput
from feedback.domain.records import Rejection

Row = tuple[int, "dict[str, Any] | Rejection"]

SAMPLE_BYTES: Final = 262_144
# Longer than any document that is accepted, escapes included; what exceeds it is not one record.
MAX_LINE_BYTES: Final = 4_000_000


class UnreadableFile(InvalidInput):
    """A file that can't be read as a whole; the message says how to save it instead."""

    code = "unreadable_file"


@dataclass(frozen=True, slots=True)
class ImportStream:
    """One file, opened: what it is, and its rows.

    `mapping` says which column became which field; `day_first` is how the file writes 03/04/2021, None if
    that can't be told or doesn't matter. `columns` are the headers, or the keys seen in the first rows.
    `has_derived_ids`: no column holds an id, so each row's id is made from its content, the same on a replay.
    """

    format: str
    encoding: str
    delimiter: str | None
    mapping: Mapping[str, str]
    columns: tuple[str, ...]
    day_first: bool | None
    has_derived_ids: bool
    _read: Callable[[], Iterator[Row]] = field(repr=False)
    _close: Callable[[], None] = field(repr=False)

    def rows(self) -> Iterator[Row]:
        """Yield (row number, fields) in the file's order, or a Rejection in place of the fields.

        A row's number is where a person finds it: the line in NDJSON, the row of the sheet in CSV, the place
        in the array in JSON. Call it once: a stream can't be rewound.

        Raises: UnreadableFile if what follows can't be read at all.
        """
        return self._read()

    def close(self) -> None:
        """Close the file, unless it was open when it was handed in."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Source:
    """Bytes with a head that can be looked at before they are read, from a file or a pipe."""

    def __init__(self, opened: BinaryIO) -> None:
        self._opened = opened
        self._start = opened.tell() if opened.seekable() else None
        self.head = _read_up_to(opened, SAMPLE_BYTES)
        self.is_whole = len(self.head) < SAMPLE_BYTES

    def raw(self) -> io.RawIOBase:
        """Return all bytes from the beginning, unbuffered; may be called again only if `can_rewind`."""
        if self._start is None:
            return _Chained(self.head, self._opened)
        self._opened.seek(self._start)
        return _Chained(b"", self._opened)

    def reader(self) -> io.BufferedIOBase:
        """Return all bytes from the beginning, buffered; may be called again only if `can_rewind`."""
        return io.BufferedReader(self.raw(), SAMPLE_BYTES)

    @property
    def can_rewind(self) -> bool:
        """Say whether the bytes can be read more than once."""
        return self._start is not None


def utf8_reader(source: Source, encoding: str, *, head_only: bool = False) -> io.BufferedIOBase:
    """Return a file's bytes in UTF-8 without a byte order mark, whatever Unicode encoding they are in.

    Raises: UnreadableFile, while reading, where a UTF-16 or UTF-32 file is damaged.
    """
    reader: io.BufferedIOBase = io.BytesIO(source.head) if head_only else source.reader()
    if encoding == "utf-8":
        return reader
    return io.BufferedReader(_Transcoded(reader, encoding, is_cut=head_only), SAMPLE_BYTES)


class _Transcoded(io.RawIOBase):
    """Bytes of another Unicode encoding, read as UTF-8; what ends in the middle is forgiven if it was cut."""

    def __init__(self, reader: io.BufferedIOBase, encoding: str, *, is_cut: bool) -> None:
        # UTF-8 is passed on as it is, so that a bad byte spoils its own line only.
        self._reader = reader
        self._is_cut = is_cut
        self._encoding = encoding
        errors = "surrogateescape" if encoding == "utf-8-sig" else "surrogatepass"
        self._errors = errors
        self._decoder = codecs.getincrementaldecoder(encoding)(errors)
        self._pending = memoryview(b"")
        self._is_done = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._pending and not self._is_done:
            chunk = self._reader.read(65_536)
            self._is_done = not chunk
            try:
                text = self._decoder.decode(chunk, final=self._is_done and not self._is_cut)
            except UnicodeDecodeError:
                raise UnreadableFile(
                    f"The file is damaged: it begins as {self._encoding} and is not that throughout.",
                    code="bad_encoding",
                ) from None
            self._pending = memoryview(text.encode(errors=self._errors))
        taken = self._pending[: len(buffer)]
        self._pending = self._pending[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)


class _Chained(io.RawIOBase):
    """A head and then a stream; closing it leaves the stream to whoever opened it."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = memoryview(head)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._head:
            taken = self._head[: len(buffer)]
            self._head = self._head[len(taken) :]
        else:
            taken = memoryview(self._rest.read(len(buffer)))
        buffer[: len(taken)] = taken
        return len(taken)


def _read_up_to(opened: BinaryIO, limit: int) -> bytes:
    # A pipe gives what it has, so one read is not enough.
    parts: list[bytes] = []
    missing = limit
    while missing and (part := opened.read(missing)):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
