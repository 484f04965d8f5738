"""The question form: what its fields send, and a filter set put back into them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from answering.presentation import Chip, chips
from core.errors import InvalidInput

LISTS: Final = ("source", "theme", "account", "language")
_MOST_CHARACTERS: Final = 20_000


class Sent(Protocol):
    """What a form or an address sends: each name with all its values."""

    def getlist(self, key: str) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Kept:
    """A filter that has no field of its own: it is kept as JSON and can be unticked."""

    chip: Chip
    json: str


@dataclass(frozen=True, slots=True)
class FilterFields:
    """A filter set as the form's fields hold it. `until` is the last day that counts."""

    source: tuple[str, ...] = ()
    theme: tuple[str, ...] = ()
    account: tuple[str, ...] = ()
    language: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    kept: tuple[Kept, ...] = ()

    @property
    def count(self) -> int:
        """Return how many filters are set."""
        fields = (self.source, self.theme, self.account, self.language, self.since, self.until)
        return sum(map(bool, fields)) + len(self.kept)


def read_filters(sent: Sent) -> dict[str, Any]:
    """Return the filter set of the form's fields, as JSON for `FilterSet.from_json`.

    Raises: InvalidInput for a day that is none, or a kept filter that is no JSON object.
    """
    filters: dict[str, Any] = {}
    for text in sent.getlist("kept"):
        _add(filters, _read_kept(text))
    for name in LISTS:
        values = [value for value in sent.getlist(name) if value.strip()]
        if values:
            filters[name] = [*filters.get(name, []), *values]
    since, until = _last(sent, "since"), _last(sent, "until")
    if since:
        filters["occurred_from"] = _read_day(since, "since").isoformat()
    if until:
        filters["occurred_to"] = (_read_day(until, "until") + timedelta(days=1)).isoformat()
    return filters


def _add(filters: dict[str, Any], kept: Mapping[str, Any]) -> None:
    for name, value in kept.items():
        if name == "facets" and isinstance(value, dict):
            filters["facets"] = {**filters.get("facets", {}), **value}
        else:
            filters[name] = value


def _last(sent: Sent, name: str) -> str:
    values = sent.getlist(name)
    return values[-1].strip() if values else ""


def _read_day(text: str, name: str) -> date:
    try:
        found = date.fromisoformat(text)
        if found < date.max:
            return found
    except ValueError:
        pass
    raise InvalidInput(f"Write the day as 2026-03-31, not {text[:20]!r}.", field=name)


def _read_kept(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text) if len(text) <= _MOST_CHARACTERS else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidInput("A filter of this form can't be read: reload the page.", field="kept")
    return found


def fields_of(filters: Mapping[str, Any]) -> FilterFields:
    """Return the fields for a filter set; what no field can hold exactly is kept as it is."""
    rest = {name: value for name, value in filters.items() if name not in LISTS}
    since = _day_of(rest, "occurred_from", timedelta(0))
    until = _day_of(rest, "occurred_to", timedelta(days=1))
    kept = []
    for name, value in rest.items():
        members = [{name: value}] if name != "facets" else [{"facets": {key: value[key]}} for key in value]
        kept += [Kept(chips(member)[0], json.dumps(member, ensure_ascii=False)) for member in members]
    return _fields(lambda name: filters.get(name, ()), since=since, until=until, kept=tuple(kept))


def _day_of(rest: dict[str, Any], name: str, back: timedelta) -> str:
    """Take a bound out of `rest` when it is a whole day; an hour of the day has no field."""
    if name not in rest:
        return ""
    moment = datetime.fromisoformat(rest[name])
    if moment.time() != moment.min.time():
        return ""
    del rest[name]
    return (moment - back).date().isoformat()


def fields_sent(sent: Sent) -> FilterFields:
    """Return the fields as they were sent, to show them again beside what is wrong with them."""
    return _fields(
        lambda name: [value for value in sent.getlist(name) if value.strip()],
        since=_last(sent, "since"),
        until=_last(sent, "until"),
        kept=(),
    )


def _fields(listed: Callable[[str], Iterable[str]], *, since: str, until: str, kept: tuple[Kept, ...]) -> FilterFields:
    source, theme, account, language = (tuple(listed(name)) for name in LISTS)
    return FilterFields(source, theme, account, language, since, until, kept)


def address_of(filters: Mapping[str, Any], *, question: str, corpus: str) -> str:
    """Return the query string that fills the form with a question and its filters."""
    fields = fields_of(filters)
    pairs = [(name, value) for name in LISTS for value in getattr(fields, name)]
    pairs += [(name, getattr(fields, name)) for name in ("since", "until") if getattr(fields, name)]
    pairs += [("kept", kept.json) for kept in fields.kept]
    return urlencode([("q", question), ("corpus", corpus), *pairs])
