"""Measure how the share of what a question is about went from interval to interval."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, timedelta
from statistics import median
from typing import TYPE_CHECKING

from answering.domain.facts import Fact, FactKind
from answering.domain.periods import Interval, interval_name, whole_intervals
from answering.measures import measured
from answering.tools import Breakdown
from feedback.domain.filters import FilterSet
from feedback.selectors.aggregates import Selection, first_and_last, group_matching

if TYPE_CHECKING:
    from feedback.models import Corpus

# An interval with fewer records than these, or than this part of the middling one, says nothing of a trend.
_LEAST_RECORDS = 5
_LEAST_SHARE = 0.25


def trend_of(corpus: Corpus, breakdown: Breakdown, admitted: int) -> list[Fact]:
    """Compare the shares of the first and the last whole interval of what the filters admit, and the largest between.

    Fewer complaints among fewer records are no fall. Intervals with few records for this corpus say nothing.
    """
    if not breakdown.query or not breakdown.total.value:
        return []
    by, mentions = breakdown.by, breakdown.selection
    everything = Selection(filters=mentions.filters)
    days = _covered_days(corpus, mentions.filters)
    whole = whole_intervals(*days, Interval(by.value)) if days else None
    if whole is None:
        return []
    found = {group.key: group.count.value for group in breakdown.groups}
    records = {
        group.key: group.count.value
        for group in group_matching(corpus=corpus, selection=everything, by=by)
        if whole[0] <= date.fromisoformat(group.key) <= whole[1]
    }
    enough = max(_LEAST_RECORDS, median(records.values()) * _LEAST_SHARE) if records else 0
    records = {key: value for key, value in records.items() if value >= enough}
    if len(records) < 2:
        return []
    shares = {key: found.get(key, 0) / value for key, value in records.items()}
    keys = {"first": min(records), "last": max(records)}
    peak = max(sorted(shares), key=shares.__getitem__)
    if shares[peak] > max(shares[key] for key in keys.values()):
        keys = {"first": keys["first"], "peak": peak, "last": keys["last"]}
    parts = {}
    for name, key in keys.items():
        parts[name] = found.get(key, 0), replace(mentions, within=(by, key))
        parts[f"{name}_of"] = records[key], replace(everything, within=(by, key))
    measure = measured(breakdown.total, mentions, denominator=admitted, parts=parts)
    labels = {name: interval_name(date.fromisoformat(key), Interval(by.value)) for name, key in keys.items()}
    return [Fact(FactKind.TREND, breakdown.query, measure, labels)]


def _covered_days(corpus: Corpus, filters: FilterSet) -> tuple[date, date] | None:
    """Return the first and the last day of the filters' period on which there could be records."""
    anytime = Selection(filters=filters.narrowed(occurred_from=None, occurred_to=None))
    oldest, newest = first_and_last(corpus=corpus, selection=anytime)
    if oldest is None or newest is None:
        return None
    begins = [part.occurred_from for part in filters.slices]
    ends = [part.occurred_to for part in filters.slices]
    # Several slices cover what any of them does: one without a bound is open there.
    if None not in begins:
        oldest = max(oldest, min(moment for moment in begins if moment))
    if None not in ends:
        newest = min(newest, max(moment for moment in ends if moment) - timedelta(microseconds=1))
    return oldest.astimezone(UTC).date(), newest.astimezone(UTC).date()
