"""What may be given up when a search finds nothing, and in which order. A filter that the caller set is not among it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from feedback.domain.filters import FilterSet

# An answer about another period or account than was named answers another question: a corpus that wants these given
# up says so in its options.
DEFAULT_ORDER: Final = ("theme", "source")
PERIOD: Final = "period"
_FIELDS: Final = ("source", "theme", "account", "language")


@dataclass(frozen=True, slots=True)
class Relaxation:
    """One thing that is given up: the wording of the query, or an inferred filter by its key."""

    key: str
    dropped: tuple[str, ...]
    query: str | None = None

    @property
    def text(self) -> str:
        """Say it to a reader."""
        if self.query is not None:
            return f"Nothing was found for “{self.dropped[0]}”; “{self.query}” was searched for instead."
        name = self.key.replace("_", " ")
        return f"Nothing was found within {name} {' or '.join(self.dropped)}, as the question was read; the search went on without it."

    def as_json(self) -> dict[str, Any]:
        """Return it as answers and traces show it."""
        instead = {} if self.query is None else {"query": self.query}
        return {"key": self.key, "dropped": list(self.dropped), **instead, "note": self.text}


def relax_order(declared: Mapping[str, int | None], chosen: object = None) -> tuple[str, ...]:
    """Return the keys of filters that may be given up, the first first.

    `declared` maps the corpus's facets to their places in the order, None for those that stay; `chosen` is the
    corpus's own list of keys, if it has one.
    """
    if isinstance(chosen, list | tuple):
        return tuple(dict.fromkeys(str(key) for key in chosen))
    placed = sorted((place, name) for name, place in declared.items() if place is not None)
    return (*(name for _, name in placed), *DEFAULT_ORDER)


def filters_to_give_up(inferred: FilterSet, order: Iterable[str]) -> tuple[Relaxation, ...]:
    """Return the inferred filters that may be given up, in that order, each once."""
    return tuple(Relaxation(key, values) for key in order if (values := _values(inferred, key)))


def without(inferred: FilterSet, key: str) -> FilterSet:
    """Return the inferred filters without one key."""
    if key == PERIOD:
        return replace(inferred, occurred_from=None, occurred_to=None)
    if key in _FIELDS:
        nothing: dict[str, Any] = {key: ()}
        return replace(inferred, **nothing)
    return replace(inferred, facets={name: values for name, values in inferred.facets.items() if name != key})


def remaining(shown: Mapping[str, Any], dropped: Sequence[str]) -> dict[str, Any]:
    """Return inferred filters as JSON without the keys that were given up."""
    gone = {*dropped, *(("occurred_from", "occurred_to") if PERIOD in dropped else ())}
    kept = {name: value for name, value in shown.items() if name not in gone}
    if "facets" in kept:
        kept["facets"] = {name: value for name, value in kept["facets"].items() if name not in gone}
    return {name: value for name, value in kept.items() if value}


def _values(inferred: FilterSet, key: str) -> tuple[str, ...]:
    if key == PERIOD:
        ends = (("from", inferred.occurred_from), ("before", inferred.occurred_to))
        return tuple(f"{word} {moment:%Y-%m-%d}" for word, moment in ends if moment)
    if key in _FIELDS:
        return tuple(getattr(inferred, key))
    return tuple(map(str, inferred.facets.get(key, ())))
