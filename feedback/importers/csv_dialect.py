"""Tell how a CSV file separates and quotes its cells."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import Final

from feedback.importers.mapping import is_field_name

_DELIMITERS: Final = (",", ";", "\t", "|")
# No file separates cells by this: with it, every line is one cell.
NO_DELIMITER: Final = "\x1f"
_NO_TABLE: Final = (False, 0.0, 0)
_SAMPLED_RECORDS: Final = 200
_SEPARATOR_LINE: Final = re.compile(r"sep=(.)\r?\n?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How to read the cells; `skipped_lines` come before the records (Excel's "sep=;")."""

    delimiter: str
    quote: str = '"'
    escape: str | None = None
    skipped_lines: int = 0


def sniff(sample: str, *, is_whole: bool) -> Dialect:
    """Tell the dialect from the beginning of a file.

    The delimiter is the one that makes a header with the name of a field; then the one by which more records
    are as wide as the header; then the one with more cells. A file of one column has none.
    """
    skipped_lines = 0
    declared = _SEPARATOR_LINE.match(sample)
    if declared:
        skipped_lines = 1
        sample = sample[declared.end() :]
    if not is_whole:
        # The sample ends somewhere within a record; what may be half a line is left out.
        sample = sample[: max(sample.rfind("\n"), sample.rfind("\r")) + 1] or sample
    quote = _quote(sample)
    if declared:
        delimiter = declared[1]
    else:
        scored = [(_score(sample, delimiter, quote), delimiter) for delimiter in _DELIMITERS]
        best, delimiter = max(scored, key=lambda pair: pair[0])
        if best == _NO_TABLE:
            delimiter = NO_DELIMITER
    return Dialect(delimiter, quote, _escape(sample, delimiter, quote), skipped_lines)


def _score(sample: str, delimiter: str, quote: str) -> tuple[bool, float, int]:
    """Return (the header names a field, share of records as wide as the header, width of the header)."""
    records: list[list[str]] = []
    try:
        for record in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, quotechar=quote):
            if any(cell.strip() for cell in record):
                records.append(record)
            if len(records) >= _SAMPLED_RECORDS:
                break
    except csv.Error:
        # An unclosed quote further down; what came before it counts.
        pass
    # A title above the header is a single cell.
    header = next((record for record in records if len(record) > 1), None)
    if header is None:
        return _NO_TABLE
    share = sum(len(record) == len(header) for record in records) / len(records)
    names_a_field = any(map(is_field_name, header))
    if share < 0.5 and not names_a_field:
        return _NO_TABLE
    return names_a_field, round(share, 1), len(header)


def _quote(sample: str) -> str:
    first_line = sample.lstrip().partition("\n")[0].strip()
    single = first_line.startswith("'") and first_line.endswith("'") and len(first_line) > 1
    return "'" if single and '"' not in first_line else '"'


def _escape(sample: str, delimiter: str, quote: str) -> str | None:
    """Return the backslash where quotes inside cells are written with it, as databases export them."""
    escaped = re.compile(rf"\\{re.escape(quote)}(?![{re.escape(delimiter)}\r\n]|$)")
    doubled = re.compile(rf"[^{re.escape(delimiter)}\r\n{quote}]{quote}{quote}(?![{quote}])")
    return "\\" if escaped.search(sample) and not doubled.search(sample) else None
