"""What is called may be slow, broken or gone: attempts are bounded, and after enough failures nothing is sent."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from core.errors import UpstreamTimedOut, UpstreamUnavailable
from core.resilience import BreakerOpen, BulkheadFull, Limits, PermanentFault, Policy


class Clock:
    """Time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


class Dependency:
    """Fails so many times, and then answers."""

    def __init__(self, failures: int, fault: Callable[[], Exception] = lambda: UpstreamUnavailable("down")) -> None:
        self.failures = failures
        self.allowed: list[float] = []
        self._fault = fault

    def __call__(self, seconds: float) -> str:
        self.allowed.append(seconds)
        if len(self.allowed) <= self.failures:
            raise self._fault()
        return "answer"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def policy(clock: Clock) -> Policy:
    limits = Limits(timeout_seconds=5.0, max_attempts=3, failure_threshold=4, open_seconds=10.0, max_concurrent=2)
    return Policy("oracle", limits, clock=clock, sleep=clock.sleep)


def test_an_attempt_that_fails_is_made_again(policy, clock):
    dependency = Dependency(failures=2)

    assert policy.call(dependency, seconds=60) == "answer"
    assert len(dependency.allowed) == 3
    assert 0.05 <= clock.waits[0] <= 0.1 <= clock.waits[1] <= 0.2


def test_the_last_failure_is_the_callers(policy):
    dependency = Dependency(failures=9)

    with pytest.raises(UpstreamUnavailable, match="down"):
        policy.call(dependency, seconds=60)
    assert len(dependency.allowed) == 3


def test_what_would_be_refused_again_is_not_sent_again(policy):
    dependency = Dependency(failures=9, fault=lambda: PermanentFault("no such model"))

    for _ in range(6):
        with pytest.raises(PermanentFault):
            policy.call(dependency, seconds=60)

    # An answer, whatever it says, is a sign of life.
    assert len(dependency.allowed) == 6


def test_an_attempt_gets_no_more_time_than_the_caller_has(policy):
    dependency = Dependency(failures=0)

    policy.call(dependency, seconds=60)
    policy.call(dependency, seconds=2)

    assert dependency.allowed == [5.0, 2.0]


def test_without_time_nothing_is_sent_and_nothing_is_held_against_it(policy):
    dependency = Dependency(failures=0)

    for _ in range(9):
        with pytest.raises(UpstreamTimedOut):
            policy.call(dependency, seconds=0.01)

    assert dependency.allowed == []
    assert policy.call(dependency, seconds=60) == "answer"


def test_no_wait_goes_past_the_callers_time(policy, clock):
    dependency = Dependency(failures=9)

    with pytest.raises(UpstreamUnavailable):
        policy.call(dependency, seconds=0.08)

    assert clock.now < 100.08


def test_enough_failures_in_a_row_open_the_breaker(policy):
    dependency = Dependency(failures=99)
    for _ in range(2):
        with pytest.raises(UpstreamUnavailable):
            policy.call(dependency, seconds=60)
    sent = len(dependency.allowed)

    with pytest.raises(BreakerOpen):
        policy.call(dependency, seconds=60)

    assert len(dependency.allowed) == sent == 4


def test_a_success_between_starts_the_count_anew(policy):
    for _ in range(5):
        assert policy.call(Dependency(failures=2), seconds=60) == "answer"


def opened(policy: Policy) -> None:
    for _ in range(2):
        with pytest.raises(UpstreamUnavailable):
            policy.call(Dependency(failures=99), seconds=60)


def test_after_a_while_one_call_finds_out_and_closes_it(policy, clock):
    opened(policy)
    clock.now += 10.0

    assert policy.call(Dependency(failures=0), seconds=60) == "answer"
    assert policy.call(Dependency(failures=1), seconds=60) == "answer"


def test_a_probe_that_fails_is_not_repeated_and_keeps_it_open(policy, clock):
    opened(policy)
    clock.now += 10.0
    dependency = Dependency(failures=99)

    with pytest.raises(UpstreamUnavailable, match="down"):
        policy.call(dependency, seconds=60)
    with pytest.raises(BreakerOpen):
        policy.call(dependency, seconds=60)

    assert len(dependency.allowed) == 1


def test_while_one_finds_out_the_others_are_turned_away(policy, clock):
    opened(policy)
    clock.now += 10.0
    turned_away = []

    def probe(seconds: float) -> str:
        with pytest.raises(BreakerOpen):
            policy.call(Dependency(failures=0), seconds=60)
        turned_away.append(True)
        return "answer"

    assert policy.call(probe, seconds=60) == "answer"
    assert turned_away == [True]


def test_only_so_many_calls_are_under_way(policy):
    arrived = threading.Barrier(3)
    may_end = threading.Event()

    def slow(seconds: float) -> str:
        arrived.wait(10)
        may_end.wait(10)
        return "answer"

    threads = [threading.Thread(target=policy.call, args=(slow,), kwargs={"seconds": 60}) for _ in range(2)]
    for thread in threads:
        thread.start()
    arrived.wait(10)
    with pytest.raises(BulkheadFull):
        policy.call(Dependency(failures=0), seconds=60)
    may_end.set()
    for thread in threads:
        thread.join(10)

    assert policy.call(Dependency(failures=0), seconds=60) == "answer"


def test_a_fault_nobody_foresaw_leaves_no_call_under_way(policy):
    def stumble(seconds: float) -> str:
        raise ZeroDivisionError

    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            policy.call(stumble, seconds=60)

    assert policy.call(Dependency(failures=0), seconds=60) == "answer"
