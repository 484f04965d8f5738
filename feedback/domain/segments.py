"""Decide which vectors the next graph holds: few graphs to search, and no vector moved too often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Fewer than these are scanned in about the time that a graph takes.
MIN_WAITING = 4_000
# A graph of so many rows is built within the minutes that a worker has; the fewer graphs, the sooner a search is done.
MAX_ROWS = 1_000_000
# However little memory there is: what doesn't fit is built on disk, slowly.
_LEAST_MAX_ROWS = 100_000
# What a row of a graph takes while it is built, beside its halfvec: by pgvector's structs with m 16, rounded up.
_NODE_BYTES = 1_200
# A segment is taken up into a new one that is at least this share of it.
_TAKEN_UP = 2


@dataclass(frozen=True, slots=True)
class Span:
    """The vectors with a number in (above, upto], and how many rows of one embedder these are."""

    above: int
    upto: int
    rows: int


def most_rows(memory_bytes: int, dimensions: int) -> int:
    """Return how many rows a graph may have that is built within `memory_bytes` (PostgreSQL's maintenance_work_mem)."""
    return max(_LEAST_MAX_ROWS, min(MAX_ROWS, memory_bytes // (_NODE_BYTES + 2 * dimensions)))


def next_segment(serving: Sequence[Span], waiting: Span, *, max_rows: int = MAX_ROWS) -> Span | None:
    """Return what the next segment has to hold, or None: too little waits.

    `serving` ascend and don't overlap; `waiting` are the first that lie above them, at most max_rows. Earlier segments
    are taken up as long as they are not much larger than what takes them up: their number grows with the logarithm
    of the corpus up to max_rows each, and so does how often a vector is moved (the logarithmic method of Bentley and
    Saxe, Decomposable Searching Problems, J. Algorithms 1980).
    """
    if waiting.rows < MIN_WAITING:
        return None
    above, rows = waiting.above, waiting.rows
    for segment in reversed(serving):
        if segment.rows > _TAKEN_UP * rows or segment.rows + rows > max_rows:
            break
        above, rows = segment.above, segment.rows + rows
    return Span(above, waiting.upto, rows)
