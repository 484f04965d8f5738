"""Several slices of a corpus in one request: read them, and merge what each found without ranking it anew."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from core.errors import InvalidInput
from feedback.domain.filters import MOST_SLICES, FilterSet, InvalidFilter, Vocabulary

Item = TypeVar("Item")
_LONGEST_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class NamedSet:
    """One slice with the name that its hits carry; `top_k` None is the request's."""

    name: str
    filters: FilterSet
    top_k: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as it is sent."""
        own = {} if self.top_k is None else {"top_k": self.top_k}
        return {"name": self.name, **self.filters.as_json(), **own}


@dataclass(frozen=True, slots=True)
class Scope:
    """Which records a request may see: one filter set, or several with names."""

    filters: FilterSet = field(default_factory=FilterSet)
    sets: tuple[NamedSet, ...] = ()

    @property
    def admitted(self) -> FilterSet:
        """Return all that the request may see as one filter."""
        return FilterSet.union(named.filters for named in self.sets) if self.sets else self.filters

    def merged_with(self, inferred: FilterSet) -> Scope:
        """Add what was inferred wherever the caller left it open, in every set."""
        return Scope(
            self.filters.merged_with(inferred),
            tuple(NamedSet(each.name, each.filters.merged_with(inferred), each.top_k) for each in self.sets),
        )


@dataclass(frozen=True, slots=True)
class SetRank:
    """The rank that a hit has in one of the sets, from 1."""

    name: str
    rank: int


def read_scope(filters: object, filter_sets: object, *, vocabulary: Vocabulary) -> Scope:
    """Read `filters` or `filter_sets` of a request; neither, or an empty list, is an open search.

    A set is a filter set with an optional `name` and `top_k`. All are checked before anything runs.
    Raises: InvalidInput when both are given or the sets can't be used; InvalidFilter, which names the set.
    """
    if filter_sets is None:
        return Scope(FilterSet.from_json(filters, vocabulary=vocabulary))
    if filters is not None:
        raise InvalidInput("Send either filters or filter_sets, not both.", field="filter_sets")
    if not isinstance(filter_sets, list | tuple):
        raise InvalidInput("filter_sets is a list of filter sets.", field="filter_sets")
    if len(filter_sets) > MOST_SLICES:
        raise InvalidInput(
            f"A request takes at most {MOST_SLICES} filter sets; this one has {len(filter_sets):,}: "
            "list alternatives of a key in one set, or split the request.",
            code="too_many_filter_sets",
            field="filter_sets",
        )
    sets = tuple(_read_set(raw, place, vocabulary) for place, raw in enumerate(filter_sets, start=1))
    names = [named.name for named in sets]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"Two filter sets are called {twice!r}: give each its own name.", field="filter_sets")
    return Scope(sets=sets)


def read_json_sets(texts: Sequence[str]) -> list[object]:
    """Read filter sets that are written as JSON, in an address or on a command line. Raises: InvalidInput."""
    found: list[object] = []
    for text in texts:
        try:
            found.append(json.loads(text))
        except (ValueError, RecursionError):
            raise InvalidInput(
                f'Write a filter set as JSON, such as {{"name": "tickets", "source": ["support_ticket"]}}, not {text[:60]!r}.',
                field="filter_sets",
            ) from None
    return found


def _read_set(raw: object, place: int, vocabulary: Vocabulary) -> NamedSet:
    if not isinstance(raw, Mapping):
        raise InvalidInput(f"Filter set {place} is no JSON object.", field="filter_sets")
    name, top_k = raw.get("name"), raw.get("top_k")
    if name is None:
        name = f"set {place}"
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InvalidInput(
            f"The name of filter set {place} must be a text of 1 to {_LONGEST_NAME} printable characters.",
            field="filter_sets",
        )
    if top_k is not None and (isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1):
        raise InvalidInput(f"top_k of filter set {place} must be a whole number from 1.", field="top_k")
    if "any_of" in raw:
        raise InvalidInput(
            f"Filter set {place} is one slice: send its parts as sets of their own.", field="filter_sets"
        )
    own = {key: value for key, value in raw.items() if key not in ("name", "top_k")}
    try:
        return NamedSet(name.strip(), FilterSet.from_json(own, vocabulary=vocabulary), top_k)
    except InvalidFilter as fault:
        raise InvalidFilter(f"Filter set {place}: {fault.message}", field=fault.field, detail=fault.detail) from None


def merge_ranked(
    ranked: Sequence[tuple[str, Sequence[Item]]], *, key: Callable[[Item], Hashable]
) -> list[tuple[Item, tuple[SetRank, ...]]]:
    """Merge best-first lists by name into one without duplicates; each item keeps its rank in every list.

    The order is that of the best rank, then of the lists: the first of each, the second of each. Scores aren't
    compared: those of two slices are not on one scale. Of equal items the one with the better rank is kept.
    """
    places = [
        (rank, order, name, item)
        for order, (name, items) in enumerate(ranked)
        for rank, item in enumerate(items, start=1)
    ]
    kept: dict[Hashable, tuple[Item, list[SetRank]]] = {}
    for rank, _, name, item in sorted(places, key=lambda place: place[:2]):
        _, ranks = kept.setdefault(key(item), (item, []))
        if all(known.name != name for known in ranks):
            ranks.append(SetRank(name, rank))
    return [(item, tuple(ranks)) for item, ranks in kept.values()]
