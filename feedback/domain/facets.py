"""Read the values of metadata dimensions: typed where a corpus declares them, compared as text."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from feedback.domain.dates import UnreadableDateError, read_moment

FacetType = Literal["text", "integer", "number", "date", "boolean"]
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
    """A declared metadata dimension; `values` None means that any value of the type is allowed."""

    name: str
    type: FacetType
    values: tuple[str, ...] | None = None


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
        typed = coerce_facet(value.strip() if isinstance(value, str) else value, rule.type)
    except ValueError as fault:
        raise BadFacetError(rule.name, value, f"{rule.name}: {fault}.") from None
    if rule.values is None:
        return _finite(rule.name, typed)
    spelling = canonical_value(facet_text(typed), rule.values)
    if spelling is None:
        raise BadFacetError(rule.name, value, f"Use one of the declared values: {', '.join(rule.values)}.")
    return coerce_facet(spelling, rule.type)
