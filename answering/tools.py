"""The four tools: one catalogue for the saga and every door.

A tool that can't be carried out returns a failed result with its reason; it doesn't raise.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Generic, TypeVar

import structlog
from django.db import Error as DatabaseError
from django.db import transaction

from answering.domain.planner import Tool
from core.errors import WisdomError
from core.observability.metrics import TOOL_CALLS, TOOL_DURATION
from feedback.domain.filter_sets import Scope
from feedback.domain.filters import FilterSet
from feedback.domain.retrieval import Mode, Retrieved
from feedback.selectors.aggregates import (
    Count,
    GroupCount,
    Grouping,
    Selection,
    count_matching,
    first_and_last,
    group_matching,
    select_mentions,
)
from feedback.selectors.retrieval import retrieve_scope

if TYPE_CHECKING:
    from feedback.models import Corpus

Value = TypeVar("Value")
log = structlog.get_logger("wisdom.tools")


@dataclass(frozen=True, slots=True)
class ToolResult(Generic[Value]):
    """What a tool found, or why it failed."""

    tool: Tool
    value: Value | None
    reason: str | None = None

    @property
    def ok(self) -> bool:
        """Say whether there is a value."""
        return self.value is not None


@dataclass(frozen=True, slots=True)
class AccountContext:
    """One account: how many records, about what, since when."""

    account: str
    selection: Selection
    total: Count
    themes: tuple[GroupCount, ...]
    first_at: datetime | None
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Counts by group, with what was counted and out of how many."""

    query: str
    selection: Selection
    by: Grouping
    total: Count
    groups: tuple[GroupCount, ...]


def search_feedback(
    *,
    corpus: Corpus,
    query: str,
    scope: Scope,
    top_k: int | None,
    language: str | None = None,
    as_of: datetime | None = None,
    only_contenders: bool = False,
) -> ToolResult[Retrieved]:
    """Find the records that a query is about, in one slice or in several sets, which is one call.

    `language` is the query's where it is known, here and below. `only_contenders` leaves out what could not come
    among the first top_k.
    """
    return _call(
        Tool.SEARCH,
        lambda: retrieve_scope(
            corpus=corpus,
            query=query,
            scope=scope,
            top_k=top_k,
            mode=Mode.HYBRID,
            language=language,
            as_of=as_of,
            only_contenders=only_contenders,
        ),
    )


def aggregate_by_theme(
    *, corpus: Corpus, query: str, filters: FilterSet, limit: int | None = None, language: str | None = None
) -> ToolResult[Breakdown]:
    """Count the records that mention the words of a query, by theme; a blank query counts all."""
    return _call(Tool.AGGREGATE, lambda: _breakdown(corpus, query, filters, Grouping.THEME, limit, language))


def trend_over_time(
    *,
    corpus: Corpus,
    query: str,
    filters: FilterSet,
    interval: Grouping = Grouping.MONTH,
    language: str | None = None,
) -> ToolResult[Breakdown]:
    """Count the records that mention the words of a query, by interval; a blank query counts all."""
    return _call(Tool.TREND, lambda: _breakdown(corpus, query, filters, interval, None, language))


def get_account_context(
    *, corpus: Corpus, account: str, filters: FilterSet, limit: int | None = None
) -> ToolResult[AccountContext]:
    """Say what an account's records are about, of those that the filters admit."""

    def context() -> AccountContext:
        selection = Selection(filters=filters, within=(Grouping.ACCOUNT, account))
        first, last = first_and_last(corpus=corpus, selection=selection)
        return AccountContext(
            account=account,
            selection=selection,
            total=count_matching(corpus=corpus, selection=selection),
            themes=tuple(group_matching(corpus=corpus, selection=selection, by=Grouping.THEME, limit=limit)),
            first_at=first,
            last_at=last,
        )

    return _call(Tool.ACCOUNT, context)


def _breakdown(
    corpus: Corpus, query: str, filters: FilterSet, by: Grouping, limit: int | None, language: str | None
) -> Breakdown:
    if query.strip():
        selection = select_mentions(corpus=corpus, text=query, filters=filters, language=language)
    else:
        selection = Selection(filters=filters)
    return Breakdown(
        query=query,
        selection=selection,
        by=by,
        total=count_matching(corpus=corpus, selection=selection),
        groups=tuple(group_matching(corpus=corpus, selection=selection, by=by, limit=limit)),
    )


def _call(tool: Tool, work: Callable[[], Value]) -> ToolResult[Value]:
    started = time.perf_counter()
    outcome = "ok"
    try:
        with transaction.atomic():
            return ToolResult(tool, work())
    except WisdomError as error:
        outcome = "failed"
        return ToolResult(tool, None, error.message)
    except DatabaseError as error:
        # A statement that ran into its time limit breaks this tool, not the whole run's explanation.
        outcome = "failed"
        log.warning("tool failed", tool=tool.value, exc_info=error)
        return ToolResult(tool, None, "the search took too long or the database was away")
    finally:
        TOOL_CALLS.labels(tool=tool.value, outcome=outcome).inc()
        TOOL_DURATION.labels(tool=tool.value).observe(time.perf_counter() - started)
