"""Call what may be slow or down: bulkhead, then breaker, then attempts, each with its own timeout.

A caller that cannot wait says how long it may take in all. What is counted belongs to this process.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from core.errors import UpstreamTimedOut, UpstreamUnavailable, WisdomError
from core.observability.metrics import RETRIES

Reply = TypeVar("Reply")
Attempt = Callable[[float], Reply]

_FIRST_WAIT_SECONDS: Final = 0.1
_LONGEST_WAIT_SECONDS: Final = 2.0
# With less than this left an attempt would only end in its timeout.
_SHORTEST_ATTEMPT_SECONDS: Final = 0.05


class BreakerOpen(UpstreamUnavailable):
    """It failed too often just now, and is left alone for a while."""

    code = "breaker_open"


class BulkheadFull(UpstreamUnavailable):
    """Too many calls to it are under way."""

    code = "bulkhead_full"


class PermanentFault(UpstreamUnavailable):
    """It answered, and would answer the same again: the call itself is refused."""

    code = "upstream_refused"


@dataclass(frozen=True, slots=True)
class Limits:
    """How often and how long; `failure_threshold` failures in a row open the breaker."""

    timeout_seconds: float = 5.0
    max_attempts: int = 3
    failure_threshold: int = 5
    open_seconds: float = 10.0
    max_concurrent: int = 32


class Policy:
    """The way to one dependency. Safe to share between threads."""

    def __init__(
        self,
        dependency: str,
        limits: Limits,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.dependency = dependency
        self._limits = limits
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._under_way = 0
        self._failures = 0
        self._opened_at: float | None = None
        self._is_probing = False

    def call(self, attempt: Attempt[Reply], *, seconds: float) -> Reply:
        """Return what `attempt` does, which gets the seconds that it may take; all of it in at most `seconds`.

        A PermanentFault is passed on at once and leaves the breaker as it is.
        Raises: BulkheadFull, BreakerOpen, UpstreamTimedOut, and whatever WisdomError the last attempt raised.
        """
        deadline = self._clock() + seconds
        self._enter()
        try:
            for number in range(1, self._limits.max_attempts + 1):
                allowed = self._time_for_one(deadline)
                is_probe = self._admit()
                try:
                    reply = attempt(allowed)
                except PermanentFault:
                    self._succeeded()
                    raise
                except WisdomError:
                    self._failed()
                    if is_probe or number == self._limits.max_attempts or not self._wait(number, deadline):
                        raise
                    RETRIES.labels(dependency=self.dependency).inc()
                except BaseException:
                    self._failed()
                    raise
                else:
                    self._succeeded()
                    return reply
            raise AssertionError("the last attempt returns or raises")
        finally:
            with self._lock:
                self._under_way -= 1

    def _enter(self) -> None:
        with self._lock:
            if self._under_way >= self._limits.max_concurrent:
                raise BulkheadFull(
                    f"{self._limits.max_concurrent} calls to the {self.dependency} are under way already.",
                    detail={"dependency": self.dependency},
                )
            self._under_way += 1

    def _admit(self) -> bool:
        """Let a call through, or not; return whether it is the one that finds out. Raises: BreakerOpen."""
        with self._lock:
            if self._opened_at is None:
                return False
            left = self._opened_at + self._limits.open_seconds - self._clock()
            if left > 0 or self._is_probing:
                raise BreakerOpen(
                    f"The {self.dependency} failed {self._failures} times in a row and is left alone for now.",
                    detail={"dependency": self.dependency},
                )
            self._is_probing = True
            return True

    def _time_for_one(self, deadline: float) -> float:
        left = min(self._limits.timeout_seconds, deadline - self._clock())
        if left >= _SHORTEST_ATTEMPT_SECONDS:
            return left
        # It says nothing of the dependency, and isn't counted against it.
        raise UpstreamTimedOut(f"No time is left to ask the {self.dependency}.", detail={"dependency": self.dependency})

    def _wait(self, number: int, deadline: float) -> bool:
        """Wait before another attempt, unless there is no time for it."""
        longest = min(_LONGEST_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2 ** (number - 1))
        pause = random.uniform(longest / 2, longest)  # noqa: S311  # spreads attempts, guards nothing
        if self._clock() + pause + _SHORTEST_ATTEMPT_SECONDS > deadline:
            return False
        self._sleep(pause)
        return True

    def _failed(self) -> None:
        with self._lock:
            self._failures += 1
            if self._is_probing or self._failures >= self._limits.failure_threshold:
                self._opened_at = self._clock()
            self._is_probing = False

    def _succeeded(self) -> None:
        with self._lock:
            self._failures = 0
            self._opened_at = None
            self._is_probing = False
