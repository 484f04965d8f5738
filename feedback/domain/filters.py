"""Say which records a search may see, checked against what the corpus holds before anything runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal, NoReturn, Protocol

from core.errors import InvalidInput
from feedback.domain.dates import UnreadableDateError, read_moment
from feedback.domain.facets import FacetType, Normaliser, Scalar, canonical_value, coerce_facet, facet_text, normalised

CorpusKind = Literal["feedback", "notes", "filings"]

_LISTS: Final = ("source", "theme", "account", "language", "ids")
_MOMENTS: Final = ("occurred_from", "occurred_to")
# What bounds the cost of a search: each slice is one.
MOST_SLICES: Final = 16
# A filings corpus names its grid in the plural; each is a facet of its records.
_FILINGS_KEYS: Final = {
    "tickers": "ticker",
    "fiscal_years": "fiscal_year",
    "fiscal_quarters": "fiscal_quarter",
    "content_types": "content_type",
    "event_types": "event_type",
    "content_uids": "content_uid",
}


class InvalidFilter(InvalidInput):
    """A filter with an unknown key, an unknown value or the wrong type; `detail` has the vocabulary."""

    code = "invalid_filter"


@dataclass(frozen=True, slots=True)
class FacetVocabulary:
    """What a facet may be filtered by; `values` None means any value of the type.

    "any" is metadata that nobody declared: its values are compared by `facet_text`.
    """

    type: FacetType | Literal["any"] = "any"
    values: tuple[str, ...] | None = None
    normaliser: Normaliser | None = None
    relax: int | None = None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the corpus holds: the values that a filter may name."""

    sources: tuple[str, ...] = ()
    themes: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    facets: Mapping[str, FacetVocabulary] = field(default_factory=dict)
    kind: CorpusKind = "feedback"

    def as_json(self) -> dict[str, Any]:
        """Return it as the JSON that stands in errors and in the schemas of tools."""
        return {
            "keys": [*_LISTS, *_MOMENTS, "facets", *(_FILINGS_KEYS if self.kind == "filings" else ())],
            "sources": sorted(self.sources),
            "themes": sorted(self.themes),
            "languages": sorted(self.languages),
            "facets": {
                name: {
                    "type": facet.type,
                    "values": None if facet.values is None else list(facet.values),
                    "normaliser": facet.normaliser,
                }
                for name, facet in sorted(self.facets.items())
            },
        }


@dataclass(frozen=True, slots=True)
class FilterSet:
    """One slice of a corpus. Values of a key are alternatives, keys are all required.

    `occurred_from` is inclusive and `occurred_to` exclusive. An id list overrides the other fields: they
    are dropped on construction, so that equal slices are equal objects. Values are sorted and unique.
    `any_of` makes it several slices, of which a record must be in one; then no other field is set, and it is
    made by `union`.

    Raises: InvalidFilter if the period is empty.
    """

    source: tuple[str, ...] = ()
    theme: tuple[str, ...] = ()
    account: tuple[str, ...] = ()
    language: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    occurred_from: datetime | None = None
    occurred_to: datetime | None = None
    facets: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    any_of: tuple[FilterSet, ...] = ()

    def __post_init__(self) -> None:
        for name in _LISTS:
            object.__setattr__(self, name, tuple(sorted(set(getattr(self, name)))))
        facets = {name: _unique(self.facets[name]) for name in sorted(self.facets) if self.facets[name]}
        object.__setattr__(self, "facets", facets)
        if self.ids:
            for name in ("source", "theme", "account", "language"):
                object.__setattr__(self, name, ())
            for name in _MOMENTS:
                object.__setattr__(self, name, None)
            object.__setattr__(self, "facets", {})
        if self.occurred_from and self.occurred_to and self.occurred_from >= self.occurred_to:
            raise InvalidFilter(
                "occurred_to is exclusive and must lie after occurred_from.",
                field="occurred_to",
                detail={
                    "occurred_from": self.occurred_from.isoformat(),
                    "occurred_to": self.occurred_to.isoformat(),
                },
            )

    def __hash__(self) -> int:
        return hash(
            (
                self.source,
                self.theme,
                self.account,
                self.language,
                self.ids,
                self.occurred_from,
                self.occurred_to,
                tuple(self.facets.items()),
                self.any_of,
            )
        )

    @classmethod
    def union(cls, members: Iterable[FilterSet]) -> FilterSet:
        """Return what any of the slices admits: everything when one of them does, or when there is none."""
        parts = [part for member in members for part in member.slices]
        unique = sorted(dict.fromkeys(parts), key=lambda part: repr(part.as_json()))
        if not unique or any(part.is_empty for part in unique):
            return cls()
        return unique[0] if len(unique) == 1 else cls(any_of=tuple(unique))

    @property
    def slices(self) -> tuple[FilterSet, ...]:
        """Return the slices of which a record must be in one; a single slice is its own."""
        return self.any_of or (self,)

    @property
    def accounts(self) -> tuple[str, ...]:
        """Return the accounts to which it is confined; none when some slice admits any account."""
        named = [part.account for part in self.slices]
        return tuple(sorted({account for accounts in named for account in accounts})) if all(named) else ()

    def narrowed(self, **fields: Any) -> FilterSet:
        """Return it with these fields replaced, in every slice."""
        if not self.any_of:
            return replace(self, **fields)
        return FilterSet.union(replace(part, **fields) for part in self.any_of)

    @property
    def is_empty(self) -> bool:
        """Say whether it admits every record."""
        return self == FilterSet()

    @classmethod
    def from_json(cls, raw: object, *, vocabulary: Vocabulary) -> FilterSet:
        """Read the JSON form; None is the empty filter, and a lone value stands for a list of one.

        Accounts and ids are no vocabulary: an unknown one matches nothing.

        Raises: InvalidFilter, with the vocabulary in its detail.
        """
        if raw is None:
            return cls()
        if not isinstance(raw, Mapping):
            _refuse("Filters must be a JSON object.", "filters", vocabulary)
        if "any_of" in raw:
            return cls._read_union(raw, vocabulary)
        fields: dict[str, Any] = {}
        facets: dict[str, tuple[Scalar, ...]] = {}
        for key, value in raw.items():
            if value is None:
                continue
            if key in _LISTS:
                fields[key] = _read_list(key, value, vocabulary)
            elif key in _MOMENTS:
                fields[key] = _read_filter_moment(key, value, vocabulary)
            elif key == "facets":
                if not isinstance(value, Mapping):
                    _refuse("facets must be an object of name and values.", "facets", vocabulary)
                for name, values in value.items():
                    if values is not None:
                        facets[name] = facets.get(name, ()) + _read_facet(name, values, vocabulary)
            elif vocabulary.kind == "filings" and key in _FILINGS_KEYS:
                name = _FILINGS_KEYS[key]
                facets[name] = facets.get(name, ()) + _read_facet(name, value, vocabulary)
            else:
                _refuse(f"Unknown filter {_shown(key)}.", "filters", vocabulary)
        return cls(**fields, facets=facets)

    @classmethod
    def _read_union(cls, raw: Mapping[str, Any], vocabulary: Vocabulary) -> FilterSet:
        members = raw["any_of"]
        if len(raw) > 1 or not isinstance(members, list | tuple) or not 1 <= len(members) <= MOST_SLICES:
            _refuse(f"any_of is a list of 1 to {MOST_SLICES} filters, and stands alone.", "filters", vocabulary)
        if any(isinstance(member, Mapping) and "any_of" in member for member in members):
            _refuse("any_of can't hold another any_of.", "filters", vocabulary)
        return cls.union(cls.from_json(member or {}, vocabulary=vocabulary) for member in members)

    @classmethod
    def from_pairs(cls, pairs: Iterable[str], *, vocabulary: Vocabulary) -> FilterSet:
        """Read `key=value` pairs of a command line; a repeated key adds an alternative.

        A name that is no field of a FilterSet is a facet; `facets.name=value` says so explicitly.

        Raises: InvalidFilter.
        """
        raw: dict[str, Any] = {}
        facets: dict[str, list[str]] = {}
        for pair in pairs:
            key, separator, value = pair.partition("=")
            key, value = key.strip(), value.strip()
            if not separator or not key or not value:
                _refuse(f"Write a filter as key=value, not {_shown(pair)}.", "filters", vocabulary)
            if key in _MOMENTS:
                if key in raw:
                    _refuse(f"{key} can be given once.", key, vocabulary)
                raw[key] = value
            elif key in _LISTS or (vocabulary.kind == "filings" and key in _FILINGS_KEYS):
                raw.setdefault(key, []).append(value)
            else:
                name = key.removeprefix("facets.")
                facets.setdefault(name, []).append(value)
        if facets:
            raw["facets"] = facets
        return cls.from_json(raw, vocabulary=vocabulary)

    def as_json(self) -> dict[str, Any]:
        """Return the canonical JSON form without empty keys; `from_json` of it gives an equal object."""
        if self.any_of:
            return {"any_of": [part.as_json() for part in self.any_of]}
        found: dict[str, Any] = {name: list(getattr(self, name)) for name in _LISTS if getattr(self, name)}
        for name in _MOMENTS:
            moment: datetime | None = getattr(self, name)
            if moment is not None:
                found[name] = _written(moment)
        if self.facets:
            found["facets"] = {name: list(values) for name, values in self.facets.items()}
        return found

    def merged_with(self, inferred: FilterSet) -> FilterSet:
        """Add what was inferred where the caller left a field open; what the caller set is never changed.

        An inferred bound that would empty the caller's period is left out. An id list is left alone.
        """
        if self.any_of:
            return FilterSet.union(part.merged_with(inferred) for part in self.any_of)
        if self.ids:
            return self
        occurred_from = self.occurred_from or inferred.occurred_from
        occurred_to = self.occurred_to or inferred.occurred_to
        if occurred_from and occurred_to and occurred_from >= occurred_to:
            occurred_from, occurred_to = self.occurred_from, self.occurred_to
        return FilterSet(
            source=self.source or inferred.source,
            theme=self.theme or inferred.theme,
            account=self.account or inferred.account,
            language=self.language or inferred.language,
            ids=() if not self.is_empty else inferred.ids,
            occurred_from=occurred_from,
            occurred_to=occurred_to,
            facets={**inferred.facets, **self.facets},
        )

    def mismatches(self, record: Filed) -> tuple[Mismatch, ...]:
        """Return which keys of this one slice keep a record out, and with which value; none when it is admitted.

        Agrees with the condition of the search functions.
        Raises: ValueError for several slices: ask each.
        """
        if self.any_of:
            raise ValueError("several slices are asked one by one")
        if self.ids:
            return () if record.doc_id in self.ids else (Mismatch("ids", record.doc_id, self.ids),)
        held: dict[str, str | None] = {
            "source": record.source,
            "account": record.account,
            "language": record.language,
        }
        found = [
            Mismatch(key, value, getattr(self, key))
            for key, value in held.items()
            if getattr(self, key) and value not in getattr(self, key)
        ]
        if self.theme and not set(self.theme) & set(record.themes):
            found.append(Mismatch("theme", list(record.themes), self.theme))
        if self.occurred_from and record.occurred_at < self.occurred_from:
            found.append(Mismatch("occurred_from", _written(record.occurred_at), (_written(self.occurred_from),)))
        if self.occurred_to and record.occurred_at >= self.occurred_to:
            found.append(Mismatch("occurred_to", _written(record.occurred_at), (_written(self.occurred_to),)))
        for name, wanted in self.facets.items():
            value = record.facets.get(name)
            members = value if isinstance(value, list) else [] if value is None else [value]
            if not {facet_text(member) for member in members} & {facet_text(each) for each in wanted}:
                found.append(Mismatch(name, value, wanted))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A key of a filter that keeps a record out: what the record has there, and what was wanted."""

    key: str
    value: Any
    wanted: Sequence[Any]

    def as_json(self) -> dict[str, Any]:
        """Return it as the explanation shows it."""
        return {"key": self.key, "value": self.value, "wanted": list(self.wanted)}


class Filed(Protocol):
    """What a record is filed under, as filters ask for it."""

    @property
    def doc_id(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def themes(self) -> Sequence[str]: ...
    @property
    def account(self) -> str | None: ...
    @property
    def language(self) -> str: ...
    @property
    def occurred_at(self) -> datetime: ...
    @property
    def facets(self) -> Mapping[str, Any]: ...


def _written(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _read_list(key: str, value: object, vocabulary: Vocabulary) -> tuple[str, ...]:
    members = value if isinstance(value, list | tuple) else [value]
    found: list[str] = []
    for member in members:
        # Ids and accounts are often numbers in the system that they come from.
        if isinstance(member, int) and not isinstance(member, bool) and key in ("ids", "account"):
            member = str(member)
        if not isinstance(member, str) or not member.strip():
            _refuse(f"{key} must be a list of texts.", key, vocabulary)
        _refuse_no_text(key, member, vocabulary)
        found.append(member)
    allowed: tuple[str, ...] | None = {
        "source": vocabulary.sources,
        "theme": vocabulary.themes,
        "language": vocabulary.languages,
    }.get(key)
    if allowed is None:
        return tuple(member.strip() for member in found)
    known: list[str] = []
    for member in found:
        spelling = canonical_value(member, allowed)
        if spelling is None:
            _refuse(f"The corpus has no {key} {_shown(member)}.", key, vocabulary)
        known.append(spelling)
    return tuple(known)


def _read_filter_moment(key: str, value: object, vocabulary: Vocabulary) -> datetime:
    if not isinstance(value, str | datetime):
        _refuse(f"{key} must be a date such as 2021-04-03 or 2021-04-03T14:05:00Z.", key, vocabulary)
    try:
        return read_moment(value if isinstance(value, str) else value.isoformat())
    except UnreadableDateError as fault:
        _refuse(f"{key}: {fault}", key, vocabulary)


def _read_facet(name: object, value: object, vocabulary: Vocabulary) -> tuple[Scalar, ...]:
    facet = vocabulary.facets.get(name) if isinstance(name, str) else None
    if facet is None:
        _refuse(f"The corpus has no facet {_shown(name)}.", "facets", vocabulary)
    members = value if isinstance(value, list | tuple) else [value]
    found: list[Scalar] = []
    for member in members:
        if not isinstance(member, str | int | float | bool) or (
            isinstance(member, float) and not math.isfinite(member)
        ):
            _refuse(f"Facet {_shown(name)} takes texts, numbers or booleans.", "facets", vocabulary)
        if isinstance(member, str):
            _refuse_no_text("facets", member, vocabulary)
        try:
            plain = normalised(member, facet.normaliser)
            typed = plain if facet.type == "any" else coerce_facet(plain, facet.type)
        except ValueError as fault:
            _refuse(f"Facet {_shown(name)}: {fault}, not {_shown(member)}.", "facets", vocabulary)
        if facet.values is not None:
            spelling = canonical_value(facet_text(typed), facet.values)
            if spelling is None:
                _refuse(f"Facet {_shown(name)} has no value {_shown(member)}.", "facets", vocabulary)
            typed = spelling if facet.type == "any" else coerce_facet(spelling, facet.type)
        found.append(typed)
    return tuple(found)


def _refuse_no_text(key: str, value: str, vocabulary: Vocabulary) -> None:
    """Refuse what no record can hold, and what the database could not even be asked for."""
    if "\x00" in value or any(0xD800 <= ord(character) <= 0xDFFF for character in value):
        _refuse(f"{key} holds a character that is no text (NUL or half a surrogate).", key, vocabulary)


def _unique(values: Iterable[Scalar]) -> tuple[Scalar, ...]:
    # 1, 1.0 and True are equal in Python and are not the same facet value.
    return tuple(v for _, v in sorted({(facet_text(v), type(v).__name__): v for v in values}.items()))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _refuse(message: str, name: str, vocabulary: Vocabulary) -> NoReturn:
    raise InvalidFilter(message, field=name, detail={"vocabulary": vocabulary.as_json()})
