"""How time grows with size: an exponent, whether it says anything, and whether it is over its limit.

If time is c · size^e, then log time is a line over log size whose slope is e: 1 is linear, 2 quadratic. Absolute
times belong to a machine and are never judged; the exponent belongs to the code.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

# Below this the clock, the interpreter and the cache are what is measured.
SHORTEST_SECONDS = 0.05e-3
# Sizes that differ by less than this say nothing about growth.
SMALLEST_RANGE = 4.0
FEWEST_SIZES = 3
# Below this share of explained variance, time does not follow size.
POOREST_FIT = 0.8


class Word(StrEnum):
    """What is said of a kernel."""

    OK = "ok"
    OVER = "OVER"
    NOISE = "NOISE"


@dataclass(frozen=True, slots=True)
class Fit:
    """A line through (log size, log time): its slope, the share of variance it explains, the last step's slope."""

    exponent: float
    r_squared: float
    last: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """A word, and why if it isn't ok; `fit` is None where no line could be laid."""

    word: Word
    reason: str
    fit: Fit | None


def fit(sizes: Sequence[float], seconds: Sequence[float]) -> Fit:
    """Lay the least-squares line through log seconds over log sizes.

    Times that are all equal have exponent 0 and explain nothing: R² 0.
    Raises: ValueError for fewer than two distinct sizes, or a size or time that isn't positive.
    """
    if len(sizes) != len(seconds):
        raise ValueError("each size has one time")
    if len(set(sizes)) < 2:
        raise ValueError("growth needs two sizes")
    if min(sizes) <= 0 or min(seconds) <= 0:
        raise ValueError("sizes and times are positive")
    pairs = sorted(zip(map(math.log, sizes), map(math.log, seconds), strict=True))
    mean_x = math.fsum(x for x, _ in pairs) / len(pairs)
    mean_y = math.fsum(y for _, y in pairs) / len(pairs)
    spread = math.fsum((x - mean_x) ** 2 for x, _ in pairs)
    slope = math.fsum((x - mean_x) * (y - mean_y) for x, y in pairs) / spread
    total = math.fsum((y - mean_y) ** 2 for _, y in pairs)
    left = math.fsum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in pairs)
    (before_x, before_y), (last_x, last_y) = pairs[-2:]
    last = (last_y - before_y) / (last_x - before_x) if last_x > before_x else slope
    return Fit(slope, 1 - left / total if total > 1e-12 else 0.0, last)


def judge(sizes: Sequence[float], seconds: Sequence[float], *, limit: float) -> Verdict:
    """Say whether time grows faster than size^limit.

    NOISE, when nothing can be said: the sizes don't vary (fewer than three, or the largest less than four times
    the smallest); fewer than three times reach 0.05 ms (shorter ones are left out of the line); or time doesn't
    follow size (R² below 0.8) and the exponent is within the limit. A poor fit that is over the limit is OVER
    all the same: a cliff at the last size fits no line, and is what the check is for.
    """
    if len(set(sizes)) < FEWEST_SIZES or max(sizes) < SMALLEST_RANGE * min(sizes):
        return Verdict(Word.NOISE, "the input doesn't vary", None)
    told = [(size, second) for size, second in zip(sizes, seconds, strict=True) if second >= SHORTEST_SECONDS]
    if len({size for size, _ in told}) < FEWEST_SIZES:
        return Verdict(Word.NOISE, f"below {SHORTEST_SECONDS * 1e3:g} ms", None)
    line = fit(*zip(*told, strict=True))
    if line.exponent > limit:
        return Verdict(Word.OVER, f"exponent {line.exponent:.2f} is over {limit:.2f}", line)
    if line.r_squared < POOREST_FIT:
        return Verdict(Word.NOISE, f"time doesn't follow size (R² {max(0.0, line.r_squared):.2f})", line)
    return Verdict(Word.OK, "", line)


def sample(
    runs: Sequence[Callable[[], float]],
    *,
    seconds_each: float,
    at_least: int = 3,
    at_most: int = 15,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Run each several times, interleaved, and return the best of each, in order.

    A run returns the seconds that it measured, so that what prepares it isn't counted. One is run again until it
    has been run `at_least` times and has taken `seconds_each` in all, or `at_most` times. Rounds go up the sizes
    and down again: a machine that slows down meanwhile slows all of them. The best is what the code takes; what
    is above it, others took.
    """
    best = [math.inf] * len(runs)
    spent = [0.0] * len(runs)
    for number in range(at_most):
        order = range(len(runs)) if number % 2 == 0 else range(len(runs) - 1, -1, -1)
        for position in order:
            if number >= at_least and spent[position] >= seconds_each:
                continue
            started = clock()
            best[position] = min(best[position], runs[position]())
            spent[position] += clock() - started
    return best


def exit_status(verdicts: Sequence[Verdict]) -> int:
    """Return what `--check` ends with: 1 if anything is over its limit."""
    return int(any(verdict.word is Word.OVER for verdict in verdicts))
