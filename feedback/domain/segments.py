"""Decide which vectors the next graph holds: few graphs to search, and no vector moved too often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Fewer than these are scanned in about the time that a graph takes.
MIN_WAITING = 4_000
# A graph of this many rows is built within the memory and the minutes that a worker has.
MAX_ROWS = 250_000
# A segment is taken up into a new one that is at least this share of it.
_TAKEN_UP = 2


@dataclass(frozen=True, slots=True)
class Span:
    """The vectors with a number in (above, upto], and how many rows of one embedder these are."""

    above: int
    upto: int
    rows: int


def next_segment(serving: Sequence[Span], waiting: Span) -> Span | None:
    """Return what the next segment has to hold, or None: too little waits.

    `serving` ascend and don't overlap; `waiting` are the first that lie above them, at most MAX_ROWS. Earlier segments
    are taken up as long as they are not much larger than what takes them up: their number grows with the logarithm
    of the corpus up to MAX_ROWS each, and so does how often a vector is moved (the logarithmic method of Bentley and
    Saxe, Decomposable Searching Problems, J. Algorithms 1980).
    """
    if waiting.rows < MIN_WAITING:
        return None
    above, rows = waiting.above, waiting.rows
    for segment in reversed(serving):
        if segment.rows > _TAKEN_UP * rows or segment.rows + rows > MAX_ROWS:
            break
        above, rows = segment.above, segment.rows + rows
    return Span(above, waiting.upto, rows)
