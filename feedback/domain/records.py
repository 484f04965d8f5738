"""Turn what was sent into documents, one row at a time, saying of every refused row what to change."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

import orjson

from feedback.domain.dates import UnreadableDateError, is_in_range, read_moment
from feedback.domain.facets import BadFacetError, Facets, Scalar, read_facets
from feedback.domain.facets import FacetRule as FacetRule
from feedback.domain.languages import UNDETERMINED, read_language

MAX_ID_CHARACTERS: Final = 256
MAX_METADATA_BYTES: Final = 65_536
SHOWN_CHARACTERS: Final = 80

_MAX_CHARACTERS: Final = {
    "title": 1_000,
    "source": 100,
    "theme": 200,
    "account": 200,
    "author": 200,
    "url": 2_000,
    "record_kind": 100,
    "content_kind": 100,
    "origin": 200,
    "attribution": 500,
}
DOCUMENT_KEYS: Final = frozenset(
    {*_MAX_CHARACTERS, "id", "text", "themes", "occurred_at", "lang", "language", "facets"}
)
_STRINGS: Final = frozenset(_MAX_CHARACTERS) - {"theme"}
_NUMBERS_ALLOWED: Final = frozenset({"account", "author"})
_INVISIBLE: Final = "\u200b\u200c\u200d\u2060\ufeff"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_OTHER_SCHEME: Final = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:(?!\d+(?:/|$))", re.IGNORECASE)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class CorpusRules:
    """What a corpus accepts.

    With `declares_sources` an unknown source is accepted as it was sent, and the caller reports it.
    """

    sources: frozenset[str]
    default_source: str
    declares_sources: bool = False
    facets: tuple[FacetRule, ...] = ()
    max_text_characters: int = 100_000


@dataclass(frozen=True, slots=True)
class DocumentInput:
    """One admitted document. An absent string is blank, an absent date or language None.

    `text` is exactly what was sent. `sent_hash` (SHA-256) covers everything that was sent and nothing that
    was derived, so a replay is recognised; `text_hash` covers title, NUL and text, so changed metadata makes
    no revision.
    """

    external_id: str
    text: str
    title: str
    source: str
    themes: tuple[str, ...]
    account: str
    author: str
    occurred_at: datetime | None
    language: str | None
    url: str
    record_kind: str
    content_kind: str
    origin: str
    attribution: str
    facets: Mapping[str, Scalar | list[Scalar]]
    sent_hash: bytes
    text_hash: bytes
    row: int


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why one row was refused; `value` is shortened for display, `message` says what to do."""

    row: int
    column: str
    value: str
    code: str
    message: str


class _Refused(Exception):
    """Carries the verdict on one row to where its Rejection is made."""

    def __init__(self, column: str, value: object, code: str, message: str) -> None:
        self.column, self.value, self.code, self.message = column, value, code, message


def read_documents(
    rows: Iterable[tuple[int, object]],
    *,
    rules: CorpusRules,
    now: datetime,
    day_first: bool | None = None,
) -> tuple[list[DocumentInput], list[Rejection]]:
    """Judge each row by itself, in order.

    A row is a mapping with the keys of the contract (unknown ones become facets, null means absent), or a
    Rejection that an importer made already. A repeated id is refused, unless the rows are identical: then
    the later one is dropped. `day_first` is how the file writes 03/04/2021, None if that is unknown.
    """
    facet_rules = {rule.name: rule for rule in rules.facets}
    documents: list[DocumentInput] = []
    rejections: list[Rejection] = []
    first_seen: dict[str, DocumentInput] = {}
    for row, sent in rows:
        if isinstance(sent, Rejection):
            rejections.append(sent)
            continue
        try:
            document = _read_document(row, sent, rules, facet_rules, now, day_first)
            earlier = first_seen.setdefault(document.external_id, document)
            if earlier is document:
                documents.append(document)
            elif earlier.sent_hash != document.sent_hash:
                raise _Refused(
                    "id",
                    document.external_id,
                    "duplicate_id",
                    f"Row {earlier.row} has the same id with other content; keep one of the two.",
                )
        except _Refused as refused:
            rejections.append(Rejection(row, refused.column, shown(refused.value), refused.code, refused.message))
    return documents, rejections


def shown(value: object) -> str:
    """Return a value as a rejection shows it: one line, at most 80 characters, fit for any encoding."""
    text = value if isinstance(value, str) else repr(value)
    text = _CONTROL.sub(" ", _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text[: SHOWN_CHARACTERS + 1]))
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def _read_document(
    row: int,
    sent: Any,
    rules: CorpusRules,
    facet_rules: Mapping[str, FacetRule],
    now: datetime,
    day_first: bool | None,
) -> DocumentInput:
    if sent.__class__ is not dict and not isinstance(sent, Mapping):
        raise _Refused("", sent, "not_an_object", "Send each document as a JSON object with id and text.")
    present = {key: value for key, value in sent.items() if value is not None}
    canonical = _canonical_json(present)
    text = _read_text(present, rules.max_text_characters)
    if len(canonical) > MAX_METADATA_BYTES:
        _check_metadata_size(present)
    strings = {column: _checked_string(column, present[column]) for column in present if column in _STRINGS}
    title = strings.get("title", "")
    return DocumentInput(
        external_id=_read_id(present),
        text=text,
        title=title,
        source=_read_source(strings.get("source", ""), rules),
        themes=_read_themes(present),
        account=strings.get("account", ""),
        author=strings.get("author", ""),
        occurred_at=_read_occurred_at(present, now, day_first),
        language=_read_language(present),
        url=_checked_url(strings.get("url", "")),
        record_kind=strings.get("record_kind", ""),
        content_kind=strings.get("content_kind", ""),
        origin=strings.get("origin", ""),
        attribution=strings.get("attribution", ""),
        facets=_read_facets(present, facet_rules),
        sent_hash=sha256(canonical).digest(),
        text_hash=sha256(title.encode() + b"\0" + text.encode()).digest(),
        row=row,
    )


def _canonical_json(present: Mapping[Any, Any]) -> bytes:
    """Write the row with sorted keys; refuse what Postgres can't store in a text or jsonb column."""
    try:
        canonical = orjson.dumps(present, option=orjson.OPT_SORT_KEYS)
    except TypeError as fault:
        canonical = _canonical_json_slowly(present, fault)
    # The escaped NUL is found in the JSON: one search covers every key and value.
    if b"\\u0000" in canonical:
        _refuse_character(present, "\0", "a NUL character")
    return canonical


def _canonical_json_slowly(present: Mapping[Any, Any], fault: TypeError) -> bytes:
    """Take what orjson doesn't: integers above 64 bits, which some systems use as ids."""
    if not all(isinstance(key, str) for key in present):
        raise _Refused("", "", "bad_type", "Send a JSON object: its keys must be strings.") from fault
    try:
        text = json.dumps(present, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode()
    except UnicodeEncodeError:
        for code_point in range(0xD800, 0xE000):
            _refuse_character(present, chr(code_point), "half of a surrogate pair")
        raise _Refused("", "", "bad_character", "Send valid Unicode text.") from fault
    except (TypeError, ValueError, RecursionError):
        raise _Refused(
            "", str(fault), "bad_type", "Send texts, numbers, booleans and lists of them as JSON."
        ) from fault


def _refuse_character(present: Mapping[Any, Any], character: str, named: str) -> None:
    for key, value in present.items():
        if character in key or any(character in text for text in _texts(value)):
            raise _Refused(key, value, "bad_character", f"Remove {named} from this value.")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, member in value.items():
            yield str(key)
            yield from _texts(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from _texts(member)


def _check_metadata_size(present: Mapping[str, Any]) -> None:
    metadata = {key: value for key, value in present.items() if key not in ("text", "title")}
    size = len(_canonical_json(metadata))
    if size > MAX_METADATA_BYTES:
        raise _Refused(
            max(metadata, key=lambda key: len(str(metadata[key]))),
            f"{size} bytes",
            "too_long",
            f"Keep everything beside the text within {MAX_METADATA_BYTES} bytes.",
        )


def _read_id(present: Mapping[str, Any]) -> str:
    value = present.get("id", "")
    if value.__class__ is int:
        value = str(value)
    if not isinstance(value, str):
        raise _Refused("id", value, "bad_id", "Send the id as a text or a whole number.")
    identity = value.strip()
    if not identity:
        raise _Refused("id", value, "bad_id", "Give the document an id that stays the same in every delivery.")
    if len(identity) > MAX_ID_CHARACTERS:
        raise _Refused("id", value, "bad_id", f"Shorten the id to {MAX_ID_CHARACTERS} characters.")
    if not identity.isprintable() and _CONTROL.search(identity):
        raise _Refused("id", value, "bad_id", "Remove line breaks and control characters from the id.")
    return identity


def _read_text(present: Mapping[str, Any], limit: int) -> str:
    text = present.get("text", "")
    if not isinstance(text, str):
        raise _Refused("text", text, "bad_type", "Send text as a JSON string.")
    if not text.strip().strip(_INVISIBLE):
        raise _Refused("text", text, "blank_text", "Give the document a text, or leave the row out.")
    if len(text) > limit:
        raise _Refused("text", text, "too_long", f"Split the text: {len(text)} characters exceed {limit}.")
    return text


def _checked_string(column: str, value: object) -> str:
    if not isinstance(value, str):
        # bool is an int to Python and never a name.
        if column in _NUMBERS_ALLOWED and isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        else:
            raise _Refused(column, value, "bad_type", f"Send {column} as a JSON string.")
    text = value.strip()
    if len(text) > _MAX_CHARACTERS[column]:
        raise _Refused(column, value, "too_long", f"Shorten {column} to {_MAX_CHARACTERS[column]} characters.")
    return text


def _read_source(source: str, rules: CorpusRules) -> str:
    if not source:
        return rules.default_source
    if source in rules.sources:
        return source
    slug = source.casefold().replace(" ", "_").replace("-", "_")
    if slug in rules.sources:
        return slug
    if rules.declares_sources:
        return source
    raise _Refused(
        "source",
        source,
        "unknown_source",
        "Use a declared source (" + ", ".join(sorted(rules.sources)) + ") or add this one to the corpus.",
    )


def _read_themes(present: Mapping[str, Any]) -> tuple[str, ...]:
    theme, themes = present.get("theme"), present.get("themes")
    if theme is None and themes is None:
        return ()
    found: dict[str, None] = {}
    for column, value in (("theme", theme), ("themes", themes)):
        for member in value if isinstance(value, list | tuple) else (value,):
            if member is None:
                continue
            if not isinstance(member, str):
                raise _Refused(column, value, "bad_type", f"Send {column} as a text or a list of texts.")
            if member not in found and (name := _checked_string("theme", member)):
                found[name] = None
    return tuple(found)


def _read_occurred_at(present: Mapping[str, Any], now: datetime, day_first: bool | None) -> datetime | None:
    value = present.get("occurred_at")
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        moment = read_moment(value, day_first=day_first)
    except UnreadableDateError as fault:
        raise _Refused("occurred_at", value, "bad_date", str(fault)) from None
    if not is_in_range(moment, now=now):
        raise _Refused(
            "occurred_at",
            value,
            "date_out_of_range",
            f"This reads as {moment.date().isoformat()}; dates must lie between 1990 and today.",
        )
    return moment


def _read_language(present: Mapping[str, Any]) -> str | None:
    column = "language" if "language" in present else "lang"
    value = present.get(column)
    if value is None:
        return None
    language = _language_code(value) if isinstance(value, str) else None
    if language is None:
        raise _Refused(column, value, "bad_language", 'Name the language by its code, such as "en", or leave it out.')
    return None if language == UNDETERMINED else language


_language_code = lru_cache(maxsize=1024)(read_language)


def _checked_url(url: str) -> str:
    # The address becomes a link on a page: javascript: and data: must never get that far.
    if url and (_OTHER_SCHEME.match(url) or _CONTROL.search(url)):
        raise _Refused("url", url, "bad_url", "Use an address that begins with https:// or http://.")
    return url


def _read_facets(present: Mapping[str, Any], facet_rules: Mapping[str, FacetRule]) -> Facets:
    nested = present.get("facets")
    if nested is not None and not isinstance(nested, Mapping):
        raise _Refused("facets", nested, "bad_type", "Send facets as a JSON object of names and values.")
    try:
        return read_facets(nested or {}, present, rules=facet_rules, but=DOCUMENT_KEYS)
    except BadFacetError as fault:
        raise _Refused(fault.name, fault.value, "bad_facet", str(fault)) from None
