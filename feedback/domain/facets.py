"""Read the values of metadata dimensions: typed where a corpus declares them, compared as text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from feedback.domain.dates import UnreadableDateError, read_moment

FacetType = Literal["text", "integer", "number", "date", "boolean"]
Normaliser = Literal["fiscal_year", "fiscal_quarter", "upper", "lower"]
Scalar = str | int | float | bool
Facets = dict[str, Scalar | list[Scalar]]

_PLAIN: Final = frozenset({str, int, bool})


class BadFacetError(ValueError):
    """A value that its facet can't hold; the message says what it can."""

    def __init__(self, name: str, value: object, message: str) -> None:
        super().__init__(message)
        self.name, self.value = name, value


@dataclass(frozen=True, slots=True)
class FacetRule:
    """A declared metadata dimension; `values` None means that any value of the type is allowed.

    The normaliser reads a value as people write it ("FY22") before it is typed. A facet with a place in the relax
    order may be left out of a search that finds nothing, the lowest place first, if the question implied it.
    """

    name: str
    type: FacetType = "text"
    values: tuple[str, ...] | None = None
    normaliser: Normaliser | None = None
    relax: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as a corpus stores it; `read_rule` of it gives an equal rule."""
        return {
            "name": self.name,
            "type": self.type,
            "values": None if self.values is None else list(self.values),
            "normaliser": self.normaliser,
            "relax": self.relax,
        }


# The grid of a filings corpus. What may be declared there besides, such as the tickers, is up to the corpus.
FILINGS_FACETS: Final = (
    FacetRule("ticker", "text", normaliser="upper", relax=5),
    FacetRule("fiscal_year", "integer", normaliser="fiscal_year", relax=4),
    FacetRule("fiscal_quarter", "integer", ("1", "2", "3", "4"), normaliser="fiscal_quarter", relax=1),
    FacetRule("content_type", "text", relax=2),
    FacetRule("event_type", "text", relax=3),
    FacetRule("content_uid", "text"),
)


def read_rule(raw: object) -> FacetRule:
    """Read the declaration of a facet: name, type, and perhaps values, normaliser and place in the relax order.

    Raises: ValueError with what to write instead.
    """
    if not isinstance(raw, Mapping):
        raise ValueError("declare a facet as a JSON object with a name")
    name, kind = raw.get("name"), raw.get("type", "text")
    if not isinstance(name, str) or not name.strip() or len(name) > 100:
        raise ValueError("a facet needs a name of at most 100 characters")
    if unknown := sorted(map(str, set(raw) - {"name", "type", "values", "normaliser", "relax"})):
        raise ValueError(f"facet {name!r} has an unknown key {unknown[0]!r}")
    if kind not in get_args(FacetType):
        raise ValueError(f"facet {name!r}: type is one of {', '.join(get_args(FacetType))}")
    normaliser, relax = raw.get("normaliser"), raw.get("relax")
    if normaliser is not None and normaliser not in get_args(Normaliser):
        raise ValueError(f"facet {name!r}: normaliser is one of {', '.join(get_args(Normaliser))}")
    if relax is not None and (isinstance(relax, bool) or not isinstance(relax, int) or relax < 1):
        raise ValueError(f"facet {name!r}: relax is a place from 1")
    values = raw.get("values")
    if values is not None and (
        not isinstance(values, list | tuple) or not values or not all(isinstance(value, Scalar) for value in values)
    ):
        raise ValueError(f"facet {name!r}: values is a list of what is allowed, or null for any")
    allowed = None
    if values is not None:
        allowed = tuple(facet_text(coerce_facet(normalised(value, normaliser), kind)) for value in values)
    return FacetRule(name, kind, allowed, normaliser, relax)


def normalised(value: Scalar, normaliser: Normaliser | None) -> Scalar:
    """Return a value as the facet means it: "FY22" as 2022, "Q3" as 3. Raises: ValueError with what was expected."""
    return value if normaliser is None else _NORMALISERS[normaliser](value)


_YEAR: Final = re.compile(r"(?:FY|fiscal(?:\s+year)?)?\s*[-’']?\s*(\d{4}|\d{2})", re.IGNORECASE)
_QUARTER: Final = re.compile(r"(?:fiscal\s+)?(?:Q(?:uarter)?\s*[-.]?\s*([1-4])|([1-4])\s*Q|([1-4]))", re.IGNORECASE)


def _fiscal_year(value: Scalar) -> int:
    match = None if isinstance(value, bool) else _YEAR.fullmatch(facet_text(value).strip())
    year = int(match[1]) if match else 0
    if match and len(match[1]) == 2:
        year += 2000 if year < 70 else 1900
    if not 1900 <= year <= 2199:
        raise ValueError("a fiscal year such as 2022 or FY22 is expected")
    return year


def _fiscal_quarter(value: Scalar) -> int:
    match = None if isinstance(value, bool) else _QUARTER.fullmatch(facet_text(value).strip())
    if match is None:
        raise ValueError("a quarter from 1 to 4 is expected, such as Q3")
    return int(match[1] or match[2] or match[3])


_NORMALISERS: Final[Mapping[str, Callable[[Scalar], Scalar]]] = {
    "fiscal_year": _fiscal_year,
    "fiscal_quarter": _fiscal_quarter,
    "upper": lambda value: facet_text(value).strip().upper(),
    "lower": lambda value: facet_text(value).strip().lower(),
}


def read_facets(*sources: Mapping[str, Any], rules: Mapping[str, FacetRule], but: Collection[str] = ()) -> Facets:
    """Collect facets from the first mapping, and from the others without the keys in `but`; the last one wins.

    Declared facets are typed, others kept as they are. Objects are flattened to dotted names, blank texts and
    nulls are absent.

    Raises: BadFacetError.
    """
    found: Facets = {}
    for place, source in enumerate(sources):
        for name, value in source.items():
            if place and name in but:
                continue
            kind = value.__class__
            # Most metadata is a plain text or number that nobody declared; only the rest needs judging.
            if kind in _PLAIN and name not in rules:
                if value != "":
                    found[name] = value
            else:
                _add(found, name, value, rules)
    return found


def facet_text(value: Scalar) -> str:
    """Return the text by which two facet values are compared: as JSON writes it, without quotes.

    A whole number written as 5.0 is 5.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def coerce_facet(value: Scalar, type_: FacetType) -> Scalar:
    """Convert a value to the facet's type, as files and command lines write everything as text.

    Raises: ValueError with what was expected.
    """
    match type_:
        case "text":
            return facet_text(value)
        case "integer":
            return _coerce_integer(value)
        case "number":
            return _coerce_number(value)
        case "boolean":
            return _coerce_boolean(value)
        case "date":
            try:
                return read_moment(value).date().isoformat()
            except UnreadableDateError as fault:
                raise ValueError(str(fault)) from None


def _coerce_integer(value: Scalar) -> int:
    if isinstance(value, bool):
        raise ValueError("a whole number is expected")
    if isinstance(value, float):
        if not value.is_integer():
            raise ValueError("a whole number is expected")
        return int(value)
    # Longer digits are an identifier or an attack on the parser, never a rating.
    if isinstance(value, str) and (len(value) > 20 or not value.strip().lstrip("+-").isdecimal()):
        raise ValueError("a whole number is expected")
    return int(value)


def _coerce_number(value: Scalar) -> int | float:
    if isinstance(value, bool) or (isinstance(value, str) and (len(value) > 40 or "_" in value)):
        raise ValueError("a number is expected")
    if isinstance(value, int):
        return value
    try:
        number = float(value)
    except ValueError:
        raise ValueError("a number is expected") from None
    if not math.isfinite(number):
        raise ValueError("a finite number is expected")
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _coerce_boolean(value: Scalar) -> bool:
    if isinstance(value, bool):
        return value
    spelled = facet_text(value).strip().casefold()
    if spelled in ("true", "yes", "y", "1"):
        return True
    if spelled in ("false", "no", "n", "0"):
        return False
    raise ValueError("true or false is expected")


def canonical_value(value: str, allowed: Iterable[str]) -> str | None:
    """Find the declared spelling of a value, ignoring case when only that differs; None if there is none."""
    folded = value.strip().casefold()
    alike = None
    for candidate in allowed:
        if candidate == value:
            return candidate
        if candidate.casefold() == folded:
            alike = candidate
    return alike


def _add(found: Facets, name: str, value: Any, rules: Mapping[str, FacetRule]) -> None:
    if value is None or value == "":
        return
    rule = rules.get(name)
    if rule is not None:
        members = value if isinstance(value, list | tuple) else [value]
        typed = [_declared_value(rule, member) for member in members if member is not None and member != ""]
        if typed:
            found[name] = typed if isinstance(value, list | tuple) else typed[0]
    elif isinstance(value, Scalar):
        found[name] = _finite(name, value)
    elif isinstance(value, list | tuple):
        found[name] = [
            _finite(name, member) if isinstance(member, Scalar) else json.dumps(member, sort_keys=True)
            for member in value
            if member is not None
        ]
    elif isinstance(value, Mapping):
        for key, member in value.items():
            _add(found, f"{name}.{key}", member, rules)
    else:
        raise BadFacetError(name, value, "Send texts, numbers, booleans and lists of them as JSON.")


def _finite(name: str, value: Scalar) -> Scalar:
    if isinstance(value, float) and not math.isfinite(value):
        raise BadFacetError(name, value, "Use a finite number; NaN and infinity can't be stored.")
    return value


def _declared_value(rule: FacetRule, value: object) -> Scalar:
    try:
        if not isinstance(value, Scalar):
            raise ValueError("a text, number or boolean is expected")
        typed = coerce_facet(normalised(value.strip() if isinstance(value, str) else value, rule.normaliser), rule.type)
    except ValueError as fault:
        raise BadFacetError(rule.name, value, f"{rule.name}: {fault}.") from None
    if rule.values is None:
        return _finite(rule.name, typed)
    spelling = canonical_value(facet_text(typed), rule.values)
    if spelling is None:
        raise BadFacetError(rule.name, value, f"Use one of the declared values: {', '.join(rule.values)}.")
    return coerce_facet(spelling, rule.type)
