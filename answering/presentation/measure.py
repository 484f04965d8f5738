"""The page behind a number: what it counts, what it was when it was stated, and what has come and gone since."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from answering.presentation.words import Json, counted, points

if TYPE_CHECKING:
    from answering.measures import Drift, Recount, Stated


@dataclass(frozen=True, slots=True)
class Basis:
    """What stands behind a number of an answer: its query in words, and its records, people and denominator."""

    what: str
    records: int
    denominator: int | None
    people: int | None
    accounts: int | None
    undated: str

    @property
    def summary(self) -> str:
        """Return it in one line, for the number itself."""
        of = f" of {self.denominator:,}" if self.denominator is not None else ""
        people = f", {people_text(self.people)}" if self.people else ""
        return f"{self.records:,}{of} records{people}; {self.what}"


def basis(measure: Json) -> Basis:
    """Return what stands behind a measure, in words."""
    return Basis(
        what=what_is_counted(measure["query"]),
        records=int(measure["value"]),
        denominator=measure.get("denominator"),
        people=measure.get("people"),
        accounts=measure.get("accounts"),
        undated=undated_text(measure.get("undated", 0), measure["query"]),
    )


def people_text(people: int) -> str:
    """Return a number of people in words."""
    return f"{people:,} {'person' if people == 1 else 'people'}"


def what_is_counted(query: Json) -> str:
    """Return in one sentence what a stored query counts."""
    found = counted(query)
    if found.is_list:
        return "the records that the answer joined, because they say the same"
    said = " and ".join(found.mentions)
    what = f"records that hold {said}, in any form of the word" if said else "every record"
    if query.get("near_duplicates_of"):
        what = f"records that say in nearly the same words what {query['near_duplicates_of']} says"
    within = "; ".join(f"{chip.name} {chip.value}" for chip in found.chips)
    return f"{what} ({within})" if within else what


def undated_text(undated: int, query: Json) -> str:
    """Say what becomes of records without a date, where that bears on the number; else nothing.

    A period takes them at their receipt, as the contract has it; a trend leaves them out, since the day of a delivery
    would look like a wave of feedback.
    """
    if not undated:
        return ""
    without = f"{undated:,} of them {'has' if undated == 1 else 'have'} no date of their own"
    if "first" in query.get("parts", {}):
        return f"{without} and {'stands' if undated == 1 else 'stand'} in no interval of the trend"
    if _has_period(query):
        return f"{without} and count{'s' if undated == 1 else ''} on the day of receipt"
    return ""


def _has_period(query: Json) -> bool:
    filters = query.get("filters") or {}
    return any(part.get("occurred_from") or part.get("occurred_to") for part in (filters, *filters.get("any_of", ())))


@dataclass(frozen=True, slots=True)
class Line:
    """A number then and now; blank is what was not stated."""

    name: str
    then: str
    now: str
    difference: str


@dataclass(frozen=True, slots=True)
class Named:
    """Records that came or went, in words: how many, and the ids of the first. `are_there` says that they can be read."""

    text: str
    doc_ids: tuple[str, ...]
    more: int
    are_there: bool


@dataclass(frozen=True, slots=True)
class ShownDrift:
    """A number as it was stated and as it is, with what has become of its records in between."""

    run_id: str
    at: datetime
    as_of: datetime | None
    documents: int | None
    text: str
    verdict: str
    lines: tuple[Line, ...]
    named: tuple[Named, ...]
    untold: str


def shown_stated(stated: Stated) -> ShownDrift:
    """Return a number as it was stated, where it can't be counted again."""
    return _shown(stated, "", _lines(stated, None, None), (), "")


def shown_drift(stated: Stated, now: Recount, drift: Drift, query: Json) -> ShownDrift:
    """Return what its page says of a number's drift."""
    changes = drift.changes
    named = (
        _named(changes.added, changes.added_ids, "came in since"),
        _named(changes.deleted, changes.deleted_ids, "went since, deleted", are_there=False),
        _named(changes.edited, changes.edited_ids, "went since: an edited text no longer belongs here"),
    )
    lines = _lines(stated, now, drift) + _intervals(stated, now, query)
    has_moved = any(line.difference not in ("", "0") for line in lines)
    if has_moved:
        verdict = _moved(drift.records)
    elif changes.added or changes.gone:
        verdict = "The number is the same, and the records behind it are not."
    else:
        verdict = "Nothing has changed since: the query counts what the answer stated."
    return _shown(stated, verdict, lines, tuple(each for each in named if each), _untold(drift))


def _shown(stated: Stated, verdict: str, lines: tuple[Line, ...], named: tuple[Named, ...], untold: str) -> ShownDrift:
    return ShownDrift(
        run_id=str(stated.run_id),
        at=stated.at,
        as_of=datetime.fromisoformat(stated.as_of) if stated.as_of else None,
        documents=stated.documents,
        text=stated.text,
        verdict=verdict,
        lines=lines,
        named=named,
        untold=untold,
    )


def _moved(records: float) -> str:
    if not records:
        return "As many records as then; what stands beside them has moved."
    return _records(records, f"{'more' if records > 0 else 'fewer'} than the answer stated.")


def _lines(stated: Stated, now: Recount | None, drift: Drift | None) -> tuple[Line, ...]:
    again: tuple[int | None, ...] = (None,) * 4
    differences: tuple[float | None, ...] = (None,) * 4
    if now and drift:
        again = (now.count.value, now.denominator, now.count.people, now.count.accounts)
        differences = (drift.records, drift.denominator, drift.people, drift.accounts)
    names = ("Records", "Out of", "People", "Accounts")
    rows = zip(
        names, (stated.value, stated.denominator, stated.people, stated.accounts), again, differences, strict=True
    )
    return tuple(
        Line(name, _number(then), _number(counted_now), _signed(difference))
        for name, then, counted_now, difference in rows
        if then is not None
    )


def _intervals(stated: Stated, now: Recount, query: Json) -> tuple[Line, ...]:
    """Return the intervals of a trend, each with its share then and now."""
    then = {point.name: point for point in points(query, stated.components)}
    found = []
    for point in points(query, now.components):
        before = then.get(point.name)
        if before:
            parts = [_signed(point.found - before.found), _signed(point.records - before.records)]
            found.append(
                Line(
                    point.name,
                    f"{before.found:,} of {before.records:,}",
                    f"{point.found:,} of {point.records:,}",
                    "0" if parts == ["0", "0"] else " of ".join(parts),
                )
            )
    return tuple(found)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _signed(difference: float | None) -> str:
    if difference is None:
        return ""
    return f"{'+' if difference > 0 else '−' if difference < 0 else ''}{abs(difference):,.0f}"


def _named(count: int, doc_ids: tuple[str, ...], words: str, *, are_there: bool = True) -> Named | None:
    if not count:
        return None
    return Named(_records(count, words), doc_ids, count - len(doc_ids), are_there)


def _records(count: float, words: str) -> str:
    return f"{abs(count):,.0f} record{'' if abs(count) == 1 else 's'} {words}"


def _untold(drift: Drift) -> str:
    """Say what the stored records don't tell of a difference."""
    if drift.untold is None:
        return (
            "So many records were edited or deleted since that they are not read one by one: which of them went, is not"
            " told here."
        )
    if not drift.untold:
        return ""
    return _records(
        drift.untold,
        f"{'more' if drift.untold > 0 else 'fewer'} can’t be told by name: filed under something else, restored or"
        " erased since, or just being written at the time.",
    )


def drift_json(query_id: str, stated: Stated, now: Recount | None, drift: Drift | None, *, at: datetime) -> Json:
    """Return `then`, `now` and `drift` of a number; the last two are None where it can't be counted again."""
    return {
        "then": {
            "run_id": str(stated.run_id),
            "at": _moment(stated.at),
            "corpus": {"documents": stated.documents, "as_of": stated.as_of},
            "value": stated.value,
            "people": stated.people,
            "accounts": stated.accounts,
            "denominator": stated.denominator,
            "components": dict(stated.components),
            "doc_ids": list(stated.doc_ids),
            "query_id": query_id,
        },
        "now": now
        and {
            "at": _moment(at),
            "value": now.count.value,
            "people": now.count.people,
            "accounts": now.count.accounts,
            "denominator": now.denominator,
            "components": dict(now.components),
            "doc_ids": list(now.count.doc_ids),
            "query_id": query_id,
        },
        "drift": drift
        and {
            "records": drift.records,
            "people": drift.people,
            "accounts": drift.accounts,
            "denominator": drift.denominator,
            "components": dict(drift.components),
            "added": {"records": drift.changes.added, "doc_ids": list(drift.changes.added_ids)},
            "gone": {
                "records": drift.changes.gone if drift.changes.was_read else None,
                "deleted": list(drift.changes.deleted_ids),
                "edited": list(drift.changes.edited_ids),
            },
            "untold": drift.untold,
        },
    }


def _moment(value: datetime) -> str:
    return value.isoformat().replace("+00:00", "Z")
