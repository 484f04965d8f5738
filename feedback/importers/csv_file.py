"""Read CSV and its relatives as people export them: any delimiter, encoding and quoting, ragged or not."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any, Final

from feedback.domain.dates import detect_day_first
from feedback.domain.records import DOCUMENT_KEYS, Rejection, shown
from feedback.importers.csv_dialect import NO_DELIMITER, Dialect, sniff
from feedback.importers.encodings import detect_encoding
from feedback.importers.mapping import IGNORED, guess_mapping, target_of
from feedback.importers.stream import ImportStream, Row, Source, UnreadableFile

MAX_RECORD_CHARACTERS: Final = 1_000_000
# Each unbalanced quote makes up to a million characters be read again.
_MAX_QUOTING_FAULTS: Final = 50
_HEADER_WITHIN: Final = 10
_SAMPLED_ROWS: Final = 1_000
_THEME_SEPARATORS: Final = re.compile(r"\s*[;|]\s*")

# The number of a record and its cells, or why it can't be read.
_Record = tuple[int, "list[str] | Rejection"]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where a table's cells go: `targets` holds (position, key) of the columns that are kept."""

    header_row: int
    columns: tuple[str, ...]
    targets: tuple[tuple[int, str], ...]
    required_width: int
    has_id: bool


def open_csv(
    source: Source, *, mapping: Mapping[str, str] | None, name: str, close: Callable[[], None]
) -> ImportStream:
    """Open a table: encoding, delimiter, quoting, header and the order of dates are found out.

    Raises: UnreadableFile for binary or damaged content and for a file without a header; BadMapping.
    """
    encoding = detect_encoding(source, name=name)
    sample = _decoded_head(source, encoding, name)
    dialect = sniff(sample, is_whole=source.is_whole)
    head = list(islice(_records(io.StringIO(sample, newline=""), dialect), _SAMPLED_ROWS))
    if not source.is_whole and len(head) < _SAMPLED_ROWS:
        head = head[:-1]
    header_row, columns = _header(head, name)
    found = guess_mapping(columns, samples=_samples(head, header_row, columns), wanted=mapping)
    layout = _layout(header_row, columns, found)

    def records() -> Iterator[_Record]:
        # Damaged Unicode is refused; a code page has bytes that mean nothing, and one of them is no reason.
        errors = "strict" if encoding.startswith("utf") else "replace"
        text = io.TextIOWrapper(io.BufferedReader(source.raw()), encoding=encoding, errors=errors, newline="")
        return _records(text, dialect)

    return ImportStream(
        format="tsv" if dialect.delimiter == "\t" else "csv",
        encoding=encoding,
        delimiter=None if dialect.delimiter == NO_DELIMITER else dialect.delimiter,
        mapping=found,
        columns=columns,
        day_first=_day_first(head, records if source.can_rewind else None, layout),
        has_derived_ids=not layout.has_id,
        _read=lambda: _rows(records(), layout),
        _close=close,
    )


def _decoded_head(source: Source, encoding: str, name: str) -> str:
    decoder = io.TextIOWrapper(io.BytesIO(source.head), encoding=encoding, errors="replace", newline="")
    sample = decoder.read()
    if not sample.strip():
        raise UnreadableFile(f"{name} is empty.", code="empty_file")
    return sample


def _records(text: io.TextIOBase, dialect: Dialect) -> Iterator[_Record]:
    """Yield each record with its number, counted as a spreadsheet counts rows; blank ones are left out.

    A quote that is never closed would swallow the rest of the file. Such a record is refused alone and
    reading goes on at the line after its first one.
    """
    lines = _Lines(text)
    for _ in range(dialect.skipped_lines):
        next(lines, None)
        lines.start_record()
    number, faults = dialect.skipped_lines, 0
    while True:
        reader = csv.reader(
            lines,
            delimiter=dialect.delimiter,
            quotechar=dialect.quote,
            escapechar=dialect.escape,
            doublequote=dialect.escape is None,
        )
        try:
            for cells in reader:
                if lines.is_at_end and lines.is_unclosed(cells, dialect):
                    raise _UnclosedQuoteError
                number += 1
                lines.start_record()
                if any(map(str.strip, cells)):
                    yield number, cells
            return
        except (csv.Error, _RecordTooLongError, _UnclosedQuoteError) as fault:
            number += 1
            # What runs over several lines until it is too long is a quote that nothing closes, too.
            if isinstance(fault, _UnclosedQuoteError) or lines.is_several:
                faults += 1
                rejection = lines.go_on_after_first(number)
            else:
                rejection = lines.go_on_after_record(number)
            if faults > _MAX_QUOTING_FAULTS:
                raise UnreadableFile(
                    f"Too many rows have quotes that are never closed, the last at row {number}; export the file "
                    "again with quotes inside cells doubled.",
                    code="bad_quoting",
                    detail={"row": number},
                ) from None
            yield number, rejection


class _RecordTooLongError(Exception):
    """Tells the reader of records that its lines will not end."""


class _UnclosedQuoteError(Exception):
    """Tells that the file ended within quotes."""


class _Lines:
    """The lines of a text, remembering those of the current record."""

    def __init__(self, text: io.TextIOBase) -> None:
        self._text = text
        self._pending: deque[str] = deque()
        self._record: list[str] = []
        self._size = 0
        self.is_at_end = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._pending.popleft() if self._pending else self._read_line()
        if not line:
            self.is_at_end = True
            raise StopIteration
        self._record.append(line)
        self._size += len(line)
        if self._size >= MAX_RECORD_CHARACTERS:
            raise _RecordTooLongError
        return line

    def start_record(self) -> None:
        """Forget the lines of the record that was just read."""
        self._record.clear()
        self._size = 0

    @property
    def is_several(self) -> bool:
        """Say whether the record spans lines."""
        return len(self._record) > 1

    def is_unclosed(self, cells: Sequence[str], dialect: Dialect) -> bool:
        """Say whether the last record of a file ends within quotes."""
        quotes = sum(line.count(dialect.quote) for line in self._record)
        if dialect.escape is not None:
            quotes -= sum(line.count(dialect.escape + dialect.quote) for line in self._record)
        # A lone quote within an unquoted cell is an inch sign, and such a cell has no line break.
        return quotes % 2 == 1 and (self.is_several or cells[-1].endswith(("\n", "\r")))

    def go_on_after_first(self, number: int) -> Rejection:
        """Refuse the record's first line, where a quote was left open, and read the others again."""
        first, *others = self._record
        self._pending.extendleft(reversed(others))
        self.is_at_end = False
        self.start_record()
        return Rejection(
            number, "", shown(first), "bad_quoting", "Close the quote in this row; double a quote inside a cell."
        )

    def go_on_after_record(self, number: int) -> Rejection:
        """Refuse a line that is too long, and leave out what is left of it."""
        first = line = self._record[0] if self._record else ""
        while line and not line.endswith(("\n", "\r")):
            line = self._read_line()
        self.start_record()
        return Rejection(
            number, "", shown(first), "too_long", "Shorten this row; a cell holds 131,072 characters at most."
        )

    def _read_line(self) -> str:
        try:
            return self._text.readline(MAX_RECORD_CHARACTERS)
        except UnicodeDecodeError as fault:
            raise UnreadableFile(
                f"The file is not {fault.encoding} throughout; save it again as UTF-8.", code="bad_encoding"
            ) from None


def _header(head: Sequence[_Record], name: str) -> tuple[int, tuple[str, ...]]:
    """Find the header: the first record that is about as wide as most, so that a title above it is skipped."""
    tables = [(number, cells) for number, cells in head if isinstance(cells, list)]
    if not tables:
        raise UnreadableFile(f"{name} has no readable header row.", code="empty_file")
    widths = Counter(sum(1 for cell in cells if cell.strip()) for _, cells in tables)
    wanted = max(2, widths.most_common(1)[0][0] / 2) if len(tables) > 2 else 1
    for number, cells in tables[:_HEADER_WITHIN]:
        if sum(1 for cell in cells if cell.strip()) >= wanted:
            return number, _column_names(cells)
    return tables[0][0], _column_names(tables[0][1])


def _column_names(cells: Sequence[str]) -> tuple[str, ...]:
    """Name blank headers by their position and number repeated ones."""
    names: dict[str, None] = {}
    repeats: Counter[str] = Counter()
    for position, cell in enumerate(cells, start=1):
        base = name = " ".join(cell.split()) or f"column_{position}"
        while name in names:
            repeats[base] += 1
            name = f"{base}_{repeats[base] + 1}"
        names[name] = None
    return tuple(names)


def _samples(head: Sequence[_Record], header_row: int, columns: Sequence[str]) -> dict[str, list[str]]:
    samples: dict[str, list[str]] = {column: [] for column in columns}
    for number, cells in head:
        if number > header_row and isinstance(cells, list):
            for column, cell in zip(columns, cells, strict=False):
                samples[column].append(cell)
    return samples


def _layout(header_row: int, columns: tuple[str, ...], mapping: Mapping[str, str]) -> _Layout:
    targets: list[tuple[int, str]] = []
    for position, column in enumerate(columns):
        field = mapping.get(column)
        if field is not None and field != IGNORED:
            targets.append((position, target_of(field)))
        elif field is None:
            # Metadata must not pass for a field of the contract that another column fills.
            targets.append((position, f"column_{position + 1}" if column in DOCUMENT_KEYS else column))
    fields = set(mapping.values())
    needed = [position for position, column in enumerate(columns) if mapping.get(column) in ("id", "text")]
    return _Layout(header_row, columns, tuple(targets), max(needed) + 1, "id" in fields)


def _day_first(
    head: Sequence[_Record], records: Callable[[], Iterator[_Record]] | None, layout: _Layout
) -> bool | None:
    """Tell the order of dates from the head, and only if that doesn't, from the whole file."""
    position = next((position for position, key in layout.targets if key == "occurred_at"), None)
    if position is None:
        return None

    def cells(rows: Iterator[_Record]) -> Iterator[str]:
        for number, row in rows:
            if number > layout.header_row and isinstance(row, list) and len(row) > position:
                yield row[position]

    day_first = detect_day_first(cells(iter(head)))
    if day_first is None and records is not None and any("/" in cell or "-" in cell for cell in cells(iter(head))):
        return detect_day_first(cells(records()))
    return day_first


def _rows(records: Iterator[_Record], layout: _Layout) -> Iterator[Row]:
    width = len(layout.columns)
    repeats: Counter[bytes] = Counter()
    for number, cells in records:
        if number <= layout.header_row:
            continue
        if isinstance(cells, Rejection):
            yield number, cells
            continue
        if len(cells) != width and (len(cells) < layout.required_width or any(map(str.strip, cells[width:]))):
            yield number, _ragged(number, cells, width)
            continue
        fields = _fields(cells, layout)
        if number == layout.header_row + 1 and layout.has_id and "id" not in fields:
            yield number, _second_header(number, cells)
            continue
        if not layout.has_id:
            fields["id"] = _derived_id(fields, repeats)
        yield number, fields


def _fields(cells: Sequence[str], layout: _Layout) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for position, key in layout.targets:
        cell = cells[position] if position < len(cells) else ""
        if not cell or cell.isspace():
            continue
        if key == "themes":
            fields[key] = [theme for theme in _THEME_SEPARATORS.split(cell.strip()) if theme]
        else:
            fields[key] = cell
    return fields


def _derived_id(fields: Mapping[str, Any], repeats: Counter[bytes]) -> str:
    """Make an id of a row's content; equal rows are told apart by which of them it is."""
    digest = sha256(repr(sorted(fields.items())).encode(errors="replace")).digest()[:10]
    repeats[digest] += 1
    return f"row-{digest.hex()}" + (f"-{repeats[digest]}" if repeats[digest] > 1 else "")


def _ragged(number: int, cells: Sequence[str], width: int) -> Rejection:
    return Rejection(
        number,
        "",
        shown(" | ".join(cells)),
        "ragged_row",
        f"This row has {len(cells)} cells and the header {width}; put cells with delimiters or line breaks in quotes.",
    )


def _second_header(number: int, cells: Sequence[str]) -> Rejection:
    return Rejection(
        number,
        "id",
        shown(" | ".join(filter(str.strip, cells))),
        "second_header",
        "This looks like a second header row and was left out; if it is a record, give it an id.",
    )
