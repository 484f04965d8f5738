"""Say which column of a file is which field of a document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from core.errors import InvalidInput
from feedback.domain.records import DOCUMENT_KEYS

# In order of trust: the first alias that a file has wins.
_ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "id": (
        "id", "document id", "doc id", "external id", "record id", "feedback id", "review id", "ticket id",
        "response id", "respondent id", "comment id", "message id", "submission id", "case id", "ticket number",
        "case number", "complaint id", "complaint number", "uid", "uuid", "reference", "ref",
    ),
    "text": (
        "text", "comment", "comments", "review text", "review body", "review", "feedback", "feedback text",
        "verbatim", "verbatim comment", "comment text", "free text", "open ended response", "message", "body",
        "content", "complaint", "description", "answer", "response", "note", "notes",
    ),
    "title": ("title", "subject", "headline", "review title", "summary"),
    "source": ("source",),
    "theme": ("theme", "category", "topic"),
    "themes": ("themes", "categories", "topics", "tags", "labels"),
    "account": (
        "account", "account name", "account id", "customer", "customer id", "customer name", "company",
        "company name", "organisation", "organization", "client", "trust",
    ),
    "author": ("author", "user", "username", "user name", "user id", "reviewer", "reviewer name"),
    "occurred_at": (
        "occurred at", "date", "created at", "created", "date created", "creation date", "submitted at",
        "submitted", "submission date", "response date", "review date", "date submitted", "end date",
        "start date", "timestamp", "datetime", "date time", "time",
    ),
    "language": ("language", "lang", "locale", "reviewer language"),
    "url": ("url", "link", "permalink", "review url"),
    "record_kind": ("record kind",),
    "content_kind": ("content kind",),
    "origin": ("origin",),
    "attribution": ("attribution",),
}  # fmt: skip

FIELDS: Final = tuple(_ALIASES)
_EVERY_ALIAS: Final = frozenset(alias for aliases in _ALIASES.values() for alias in aliases)
IGNORED: Final = "ignore"
_FACET_PREFIX: Final = "facets."

# A survey's open question is its own header: "Please tell us why you gave this score".
_OPEN_QUESTION: Final = re.compile(
    r"\b(?:comments?|feedback|reviews?|verbatim|tell us|why|open.?ended|describe|improve|reasons?)\b", re.IGNORECASE
)
_NOT_WORDS: Final = re.compile(r"[\W_]+")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


class BadMapping(InvalidInput):
    """A mapping that the file can't follow; `detail` has the columns seen and the fields there are."""

    code = "bad_mapping"


def parse_pairs(pairs: Iterable[str]) -> dict[str, str]:
    """Read `column=field` pairs of a command line; the column may hold an equals sign.

    Raises: BadMapping.
    """
    mapping: dict[str, str] = {}
    for pair in pairs:
        column, separator, field = pair.rpartition("=")
        if not separator or not column.strip() or not field.strip():
            raise BadMapping(
                f"Write a mapping as column=field, not {pair[:80]!r}.", detail={"fields": [*FIELDS, IGNORED]}
            )
        mapping[column.strip()] = field.strip()
    return mapping


def guess_mapping(
    columns: Sequence[str],
    *,
    samples: Mapping[str, Sequence[str]] | None = None,
    wanted: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return column -> field for the columns that are fields; all others are metadata under their own name.

    `wanted` is what the user said and always wins: a field, `facets.name`, or "ignore". `samples` are cells of
    a column; between several columns that could be the text, the one with the longest cells is chosen.

    Raises: BadMapping if `wanted` names a column that isn't there, an unknown field or a field twice, or if no
    column is the text.
    """
    mapping = resolve_wanted(columns, wanted or {})
    taken = set(mapping.values())
    by_alias: dict[str, str] = {}
    for column in columns:
        by_alias.setdefault(_plain(column), column)
    for field, aliases in _ALIASES.items():
        if field in taken:
            continue
        for alias in aliases:
            column = by_alias.get(alias, "")
            if column and column not in mapping:
                mapping[column] = field
                break
    if "text" not in mapping.values():
        open_question = _open_question([c for c in columns if c not in mapping], samples or {})
        if open_question is None:
            raise BadMapping(
                "No column looks like the text of the feedback. Columns: "
                + ", ".join(columns[:40])
                + ". Say which it is with --map COLUMN=text.",
                field="mapping",
                detail={"columns": list(columns), "fields": [*FIELDS, IGNORED]},
            )
        mapping[open_question] = "text"
    return mapping


def is_field_name(column: str) -> bool:
    """Say whether a column would be guessed to be a field."""
    return _plain(column) in _EVERY_ALIAS


def target_of(field: str) -> str:
    """Return the key under which a mapped column is sent."""
    return field.removeprefix(_FACET_PREFIX)


def resolve_wanted(columns: Sequence[str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Check what the user mapped, and spell its columns as the file does.

    Raises: BadMapping for a column that isn't there, an unknown field, or a field given twice.
    """
    mapping: dict[str, str] = {}
    detail = {"columns": list(columns), "fields": [*FIELDS, IGNORED]}
    for named, field in wanted.items():
        column = next((c for c in columns if c == named), None) or next(
            (c for c in columns if c.strip().casefold() == named.strip().casefold()), None
        )
        if column is None:
            raise BadMapping(
                f"The file has no column {named!r}. Columns: {', '.join(columns[:40])}.",
                field="mapping",
                detail=detail,
            )
        field = {"lang": "language"}.get(field, field)
        if field not in FIELDS and field != IGNORED and not _names_facet(field):
            raise BadMapping(
                f"There is no field {field!r}. Use {', '.join(FIELDS)}, {IGNORED}, or facets.NAME.",
                field="mapping",
                detail=detail,
            )
        if field != IGNORED and field in mapping.values():
            raise BadMapping(f"Two columns are mapped to {field}.", field="mapping", detail=detail)
        mapping[column] = field
    return mapping


def _names_facet(field: str) -> bool:
    name = field.removeprefix(_FACET_PREFIX)
    return field != name and name != "" and name not in DOCUMENT_KEYS


def _open_question(columns: Sequence[str], samples: Mapping[str, Sequence[str]]) -> str | None:
    candidates = [column for column in columns if _OPEN_QUESTION.search(column)]
    if not candidates:
        return None
    return max(candidates, key=lambda column: _mean_length(samples.get(column, ())))


def _mean_length(cells: Sequence[str]) -> float:
    return sum(map(len, cells)) / len(cells) if cells else 0.0


def _plain(column: str) -> str:
    return _NOT_WORDS.sub(" ", _CAMEL.sub(" ", column)).strip().casefold()
