"""Count records, and the people behind them, by what they mention and what they are filed under.

Every count comes with up to five of its records; `list_matching` gives all of them.

What was counted is remembered for as long as the corpus stays as it was (decision 15): a number that is stated and
then checked is read from the records once. Counts without near-duplicates are not: clusters change by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import orjson
from django.db import connection

from core.errors import InvalidInput
from feedback.domain.filters import FilterSet
from feedback.domain.partitions import add_months
from feedback.domain.retrieval import QuestionTerm
from feedback.selectors.clusters import list_ids_like
from feedback.selectors.corpora import corpus_state
from feedback.selectors.remembered import keys_of, recalled, remember, remembered
from feedback.selectors.retrieval import checked_query, question_terms, terms_of_texts
from feedback.selectors.retrieval.arms import filters_json

if TYPE_CHECKING:
    from feedback.models import Corpus

LISTED = 5


class Grouping(StrEnum):
    """What counts can be broken down by."""

    THEME = "theme"
    SOURCE = "source"
    ACCOUNT = "account"
    YEAR = "year"
    QUARTER = "quarter"
    MONTH = "month"
    WEEK = "week"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which records are counted: those that hold a word of every group, within the filters.

    No groups: every record that the filters admit. A group holds lexemes of the index. `within` narrows
    to one group of a break-down, such as (THEME, "Pricing") or (MONTH, "2026-03-01"). `like` is the id of a record:
    only its cluster of near-duplicates is counted.
    """

    groups: tuple[tuple[str, ...], ...] = ()
    filters: FilterSet = field(default_factory=FilterSet)
    within: tuple[Grouping, str] | None = None
    like: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return what tells it from every other selection."""
        return {
            "groups": [list(group) for group in self.groups],
            "filters": [part.as_json() for part in self.filters.slices],
            "within": [self.within[0].value, self.within[1]] if self.within else None,
            **({"like": self.like} if self.like is not None else {}),
        }


@dataclass(frozen=True, slots=True)
class Count:
    """Records, and the distinct people and accounts that they name; a record that names nobody adds no person.

    `distinct` is how many different things they say, near-duplicates once; None where nobody asked for it. `undated` of
    the records have no date of their own: a period takes them at their receipt, a break-down by time leaves them out.
    """

    value: int
    people: int
    accounts: int
    doc_ids: tuple[str, ...]
    distinct: int | None = None
    undated: int = 0


@dataclass(frozen=True, slots=True)
class GroupCount:
    """The count of one group; groups of a theme may overlap, a total counts a record once."""

    key: str
    count: Count


def select_mentions(*, corpus: Corpus, text: str, filters: FilterSet, language: str | None = None) -> Selection:
    """Return the selection of records that hold every word of the text; words that everybody uses don't count."""
    terms = question_terms(corpus=corpus, query=checked_query(text), language=language)
    return _mentioning(terms, filters)


def select_mentions_of_each(
    *, corpus: Corpus, texts: Sequence[str], filters: FilterSet, language: str
) -> list[Selection]:
    """Return `select_mentions` of each of some texts in one language."""
    found = terms_of_texts(corpus=corpus, texts=[checked_query(text) for text in texts], language=language)
    return [_mentioning(terms, filters) for terms in found]


def _mentioning(terms: Sequence[QuestionTerm], filters: FilterSet) -> Selection:
    return Selection(tuple((term.lexeme,) for term in terms), filters)


def count_matching(*, corpus: Corpus, selection: Selection, with_distinct: bool = False) -> Count:
    """Count the records of a selection, with `with_distinct` also what they say without its near-duplicates."""
    selection = _of_cluster(corpus, selection)
    if with_distinct:
        return _count(corpus, selection, with_distinct)
    return remembered(corpus, ["count", selection.as_json()], lambda: _count(corpus, selection, with_distinct))


def count_each(*, corpus: Corpus, selections: Sequence[Selection]) -> list[Count]:
    """Count several selections in one statement; each is remembered as if it had been counted by itself."""
    selections = [_of_cluster(corpus, selection) for selection in selections]
    keys = keys_of(corpus, [["count", selection.as_json()] for selection in selections])
    found: list[Count | None] = [recalled(key) for key in keys]
    missing = [place for place, count in enumerate(found) if count is None]
    if not missing:
        return [count for count in found if count is not None]
    values = [value for place in missing for value in (place, *_arguments(corpus, selections[place]))]
    with connection.cursor() as cursor:
        cursor.execute(
            " UNION ALL ".join(
                _within_slices(
                    "SELECT %s::integer, count(*), count(DISTINCT m.person), count(DISTINCT m.account),"
                    " count(*) FILTER (WHERE NOT m.has_date),"
                    f" (array_agg(m.external_id ORDER BY m.occurred_at DESC, m.external_id))[1:{LISTED}]"
                    f"  FROM feedback_matching(%s, %s::jsonb, %s::jsonb) m {_condition(selections[place])}",
                    selections[place],
                )
                for place in missing
            ),
            values,
        )
        for place, value, people, accounts, undated, doc_ids in cursor.fetchall():
            found[place] = Count(value, people, accounts, tuple(doc_ids or ()), undated=undated)
            remember(keys[place], found[place])
    return [count for count in found if count is not None]


def _of_cluster(corpus: Corpus, selection: Selection) -> Selection:
    """Return a selection within a cluster as the list of its records; any other as it is.

    Clusters change while their corpus doesn't, so only what lists its records may be remembered.
    """
    if selection.like is None:
        return selection
    members = list_ids_like(corpus=corpus, doc_id=selection.like)
    rest = replace(selection, like=None)
    if rest != Selection():
        condition = _condition(rest)
        with connection.cursor() as cursor:
            cursor.execute(
                _within_slices(
                    f"SELECT m.external_id FROM feedback_matching(%s, %s::jsonb, %s::jsonb) m {condition}"
                    f" {'AND' if condition else 'WHERE'} m.external_id = ANY (%s)",
                    rest,
                ),
                [*_arguments(corpus, rest), members],
            )
            members = [row[0] for row in cursor.fetchall()]
    # No record holds a blank word.
    return Selection(filters=FilterSet(ids=tuple(members))) if members else Selection(groups=(("",),))


def _count(corpus: Corpus, selection: Selection, with_distinct: bool) -> Count:
    distinct, clusters, arguments = _clusters(corpus, with_distinct)
    with connection.cursor() as cursor:
        cursor.execute(
            _within_slices(
                "SELECT count(*), count(DISTINCT m.person), count(DISTINCT m.account),"
                f" (array_agg(m.external_id ORDER BY m.occurred_at DESC, m.external_id))[1:{LISTED}], {distinct},"
                " count(*) FILTER (WHERE NOT m.has_date)"
                f"  FROM feedback_matching(%s, %s::jsonb, %s::jsonb) m {clusters} {_condition(selection)}",
                selection,
            ),
            _arguments(corpus, selection, arguments),
        )
        value, people, accounts, doc_ids, said, undated = cursor.fetchone()
    return Count(value, people, accounts, tuple(doc_ids or ()), said, undated)


def count_admitted(*, corpus: Corpus, filters: FilterSet) -> int:
    """Return how many records the filters admit: the denominator of what is counted within them."""
    if filters.is_empty:
        return corpus_state(corpus=corpus).documents
    return count_matching(corpus=corpus, selection=Selection(filters=filters)).value


def list_matching(*, corpus: Corpus, selection: Selection, limit: int, offset: int = 0) -> list[str]:
    """Return the ids of the records of a selection, newest first."""
    selection = _of_cluster(corpus, selection)
    with connection.cursor() as cursor:
        cursor.execute(
            _within_slices(
                f"SELECT m.external_id FROM feedback_matching(%s, %s::jsonb, %s::jsonb) m {_condition(selection)}"
                " ORDER BY m.occurred_at DESC, m.external_id LIMIT %s OFFSET %s",
                selection,
            ),
            [*_arguments(corpus, selection), limit, offset],
        )
        return [row[0] for row in cursor.fetchall()]


def list_received_since(
    *, corpus: Corpus, selection: Selection, moment: datetime, limit: int
) -> tuple[int, tuple[str, ...]]:
    """Return how many records of a selection first came in after a moment, and the newest of them by id."""
    with connection.cursor() as cursor:
        cursor.execute(
            _within_slices(
                "SELECT m.external_id, count(*) OVER () FROM feedback_matching(%s, %s::jsonb, %s::jsonb) m"
                "  JOIN feedback_documentrevision r"
                "    ON r.tenant_id = %s AND r.document_id = m.document_id AND r.number = 1 AND r.created_at > %s"
                f" {_condition(selection)} ORDER BY m.occurred_at DESC, m.external_id LIMIT %s",
                selection,
            ),
            [*_arguments(corpus, selection, [corpus.tenant_id, moment]), limit],
        )
        rows = cursor.fetchall()
    return (rows[0][1] if rows else 0), tuple(row[0] for row in rows)


_IN_TIME = frozenset({Grouping.YEAR, Grouping.QUARTER, Grouping.MONTH, Grouping.WEEK, Grouping.DAY})
_KEYS = {
    Grouping.THEME: "unnest(m.themes)",
    Grouping.SOURCE: "m.source",
    Grouping.ACCOUNT: "m.account",
} | {
    # An interval is named by its first day, in UTC.
    by: f"CASE WHEN m.has_date THEN to_char(date_trunc('{by}', m.occurred_at AT TIME ZONE 'UTC'), 'YYYY-MM-DD') END"
    for by in _IN_TIME
}


def group_matching(
    *, corpus: Corpus, selection: Selection, by: Grouping, limit: int | None = None, with_distinct: bool = False
) -> list[GroupCount]:
    """Count the records of a selection by group: the largest first, intervals in the order of time.

    An interval without a record is not listed; a record without the grouping's value is in no group, as one
    without a date of its own is in no interval.
    """
    if with_distinct:
        return _group(corpus, selection, by, limit, with_distinct)

    def count() -> list[GroupCount]:
        groups = _group(corpus, selection, by, limit, with_distinct)
        if selection.within is None and limit is not None:
            # Who names a group counts it again as a selection of its own.
            asked = [["count", replace(selection, within=(by, group.key)).as_json()] for group in groups]
            for key, group in zip(keys_of(corpus, asked), groups, strict=True):
                remember(key, group.count)
        return groups

    return remembered(corpus, ["groups", selection.as_json(), by.value, limit], count)


def _group(
    corpus: Corpus, selection: Selection, by: Grouping, limit: int | None, with_distinct: bool
) -> list[GroupCount]:
    order = "x.key" if by in _IN_TIME else "count(*) DESC, x.key"
    distinct, clusters, arguments = _clusters(corpus, with_distinct)
    with connection.cursor() as cursor:
        cursor.execute(
            _within_slices(
                "SELECT x.key, count(*), count(DISTINCT x.person), count(DISTINCT x.account),"
                f" (array_agg(x.external_id ORDER BY x.occurred_at DESC, x.external_id))[1:{LISTED}], {distinct},"
                " count(*) FILTER (WHERE NOT x.has_date)"
                f"  FROM (SELECT {_KEYS[by]} AS key, m.document_id, m.person, m.account, m.external_id, m.occurred_at, m.has_date"
                f"          FROM feedback_matching(%s, %s::jsonb, %s::jsonb) m {_condition(selection)}) x"
                f" {clusters.replace('m.document_id', 'x.document_id')}"
                f" WHERE x.key IS NOT NULL GROUP BY x.key ORDER BY {order} LIMIT %s",
                selection,
            ),
            [*_arguments(corpus, selection), *arguments, limit],
        )
        return [
            GroupCount(row[0], Count(row[1], row[2], row[3], tuple(row[4]), row[5], row[6]))
            for row in cursor.fetchall()
        ]


def first_and_last(*, corpus: Corpus, selection: Selection) -> tuple[datetime | None, datetime | None]:
    """Return when the oldest and the newest record of a selection occurred; records without a date don't say."""
    return remembered(corpus, ["bounds", selection.as_json()], lambda: _bounds(corpus, selection))


def _bounds(corpus: Corpus, selection: Selection) -> tuple[datetime | None, datetime | None]:
    with connection.cursor() as cursor:
        cursor.execute(
            _within_slices(
                "SELECT min(m.occurred_at) FILTER (WHERE m.has_date), max(m.occurred_at) FILTER (WHERE m.has_date)"
                f"  FROM feedback_matching(%s, %s::jsonb, %s::jsonb) m {_condition(selection)}",
                selection,
            ),
            _arguments(corpus, selection),
        )
        first, last = cursor.fetchone()
    return first, last


def grouping(name: str) -> Grouping:
    """Read the name of a grouping. Raises: InvalidInput."""
    try:
        return Grouping(name)
    except ValueError as error:
        names = ", ".join(Grouping)
        raise InvalidInput(f"There is no grouping {name!r}: use one of {names}.", field="by") from error


def _clusters(corpus: Corpus, is_wanted: bool) -> tuple[str, str, list[Any]]:
    """Return how clusters are counted, where they come from, and the values that go with it."""
    if not is_wanted:
        return "NULL::bigint", "", []
    return (
        # A record that isn't clustered yet stands for itself.
        "count(DISTINCT coalesce(j.merged_id, c.cluster_id, c.id))",
        "JOIN feedback_clustermember c ON c.tenant_id = %s AND c.id = m.document_id"
        " LEFT JOIN feedback_mergedcluster j ON j.tenant_id = %s AND j.id = coalesce(c.cluster_id, c.id)",
        [corpus.tenant_id, corpus.tenant_id],
    )


_LENGTHS = {Grouping.MONTH: 1, Grouping.QUARTER: 3, Grouping.YEAR: 12}


def interval_of(by: Grouping, key: str) -> tuple[datetime, datetime] | None:
    """Return when an interval begins and when it is over, by its first day; None for a key that names no day."""
    try:
        first = date.fromisoformat(key)
        last = add_months(first, _LENGTHS[by]) if by in _LENGTHS else first + timedelta(7 if by is Grouping.WEEK else 1)
    except (ValueError, OverflowError):
        return None
    begins, ends = (datetime(day.year, day.month, day.day, tzinfo=UTC) for day in (first, last))
    return begins, ends


def _confined(part: FilterSet, within: tuple[Grouping, str]) -> FilterSet:
    """Return filters that leave out what is in no case within the group: partitions and indexes act on filters only.

    What they admit beyond the group `_condition` leaves out.
    """
    by, key = within
    if part.ids:
        return part
    if by in _IN_TIME:
        interval = interval_of(by, key)
        if interval is None:
            return part
        begins = max(interval[0], part.occurred_from or interval[0])
        ends = min(interval[1], part.occurred_to or interval[1])
        return replace(part, occurred_from=begins, occurred_to=ends) if begins < ends else part
    chosen: tuple[str, ...] = getattr(part, by.value)
    return part.narrowed(**{by.value: (key,)}) if not chosen or key in chosen else part


def _condition(selection: Selection) -> str:
    if selection.within is None:
        return ""
    by, _ = selection.within
    return "WHERE %s = ANY (m.themes)" if by is Grouping.THEME else f"WHERE {_KEYS[by]} = %s"


_OF_ONE_SLICE = "feedback_matching(%s, %s::jsonb, %s::jsonb) m"
_OF_SEVERAL = (
    "(SELECT DISTINCT ON (u.document_id) u.* FROM unnest(%s::jsonb[]) f(slice)"
    " CROSS JOIN LATERAL feedback_matching(%s, %s::jsonb, f.slice) u ORDER BY u.document_id) m"
)


def _within_slices(statement: str, selection: Selection) -> str:
    """Let a statement read the records of several slices, where there are several: each record once."""
    return statement.replace(_OF_ONE_SLICE, _OF_SEVERAL) if selection.filters.any_of else statement


def _arguments(corpus: Corpus, selection: Selection, joined: Sequence[Any] = ()) -> list[Any]:
    groups = orjson.dumps(_term_groups(corpus, selection.groups)).decode()
    confined = [_confined(part, selection.within) if selection.within else part for part in selection.filters.slices]
    slices = [filters_json(part) for part in confined]
    arguments: list[Any] = [slices, corpus.id, groups] if selection.filters.any_of else [corpus.id, groups, slices[0]]
    arguments += joined
    return arguments if selection.within is None else [*arguments, selection.within[1]]


def _term_groups(corpus: Corpus, groups: Sequence[Sequence[str]]) -> list[list[int]]:
    """Return the term ids of each group; -1 stands for a lexeme that no record holds."""
    wanted = sorted({lexeme for group in groups for lexeme in group})
    if not wanted:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT lexeme, term_id FROM feedback_term WHERE tenant_id = %s AND corpus_id = %s AND lexeme = ANY (%s)",
            [corpus.tenant_id, corpus.id, wanted],
        )
        known = dict(cursor.fetchall())
    return [[known.get(lexeme, -1) for lexeme in group] for group in groups]
