"""The check of the kernels fails for what grows too fast, and says NOISE where it can't tell."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.growth import Verdict, Word, exit_status, fit, judge, sample

SIZES = (1_000, 3_000, 9_000, 27_000)


def times(growth: Callable[[float], float], *, at_first: float = 0.01) -> list[float]:
    """Return seconds at each size that grow so, from `at_first`."""
    return [at_first * growth(size) / growth(SIZES[0]) for size in SIZES]


@given(exponent=st.floats(min_value=0.1, max_value=3.0), start=st.floats(min_value=1e-4, max_value=10.0))
def test_the_exponent_of_a_power_is_found_at_any_speed(exponent: float, start: float) -> None:
    line = fit(SIZES, times(lambda n: n**exponent, at_first=start))

    assert line.exponent == pytest.approx(exponent, abs=1e-6)
    assert line.last == pytest.approx(exponent, abs=1e-6)
    assert line.r_squared == pytest.approx(1.0, abs=1e-6)


def test_the_exponent_is_the_least_squares_slope_of_scattered_times() -> None:
    sizes, seconds = [1, math.e, math.e**2], [math.e**1, math.e**3, math.e**2]

    line = fit(sizes, seconds)

    # log times 1, 3, 2 over log sizes 0, 1, 2: slope 1/2, of a variance of 2 it leaves 3/2.
    assert line.exponent == pytest.approx(0.5)
    assert line.r_squared == pytest.approx(0.25)
    assert line.last == pytest.approx(-1.0)


def test_linear_growth_passes() -> None:
    verdict = judge(SIZES, times(lambda n: n), limit=1.30)

    assert verdict.word is Word.OK


def test_n_log_n_passes_the_strictest_limit() -> None:
    verdict = judge(SIZES, times(lambda n: n * math.log(n)), limit=1.30)

    assert verdict.word is Word.OK


def test_quadratic_growth_is_over_the_widest_limit() -> None:
    verdict = judge(SIZES, times(lambda n: n * n), limit=1.45)

    assert verdict.word is Word.OVER
    assert "2.00" in verdict.reason


def test_quadratic_growth_behind_a_constant_cost_is_over() -> None:
    verdict = judge(SIZES, [0.002 + 1e-8 * size**2 for size in SIZES], limit=1.45)

    assert verdict.word is Word.OVER


def test_a_cliff_at_the_last_size_is_over_though_no_line_fits_it() -> None:
    verdict = judge(SIZES, [0.010, 0.010, 0.010, 10.0], limit=1.45)

    assert verdict.word is Word.OVER
    assert verdict.fit is not None
    assert verdict.fit.r_squared < 0.8


def test_a_time_that_does_not_follow_the_size_is_noise() -> None:
    verdict = judge(SIZES, [0.010, 0.013, 0.009, 0.012], limit=1.30)

    assert verdict.word is Word.NOISE


def test_a_constant_time_is_noise() -> None:
    verdict = judge(SIZES, [0.010] * 4, limit=1.30)

    assert verdict.word is Word.NOISE


def test_times_below_a_twentieth_of_a_millisecond_are_noise_however_they_grow() -> None:
    verdict = judge(SIZES, [1e-8, 1e-7, 1e-6, 4.9e-5], limit=1.30)

    assert verdict.word is Word.NOISE
    assert "0.05 ms" in verdict.reason


def test_sizes_that_are_too_fast_to_tell_are_left_out_of_the_line() -> None:
    told = times(lambda n: n, at_first=1e-3)

    verdict = judge(SIZES, [1e-9, *told[1:]], limit=1.30)

    assert verdict.word is Word.OK
    assert verdict.fit is not None
    assert verdict.fit.exponent == pytest.approx(1.0)


@pytest.mark.parametrize("sizes", [(100, 100, 100, 100), (100, 200, 300, 399), (1, 1_000, 1_000, 1_000)])
def test_an_input_that_does_not_vary_is_noise(sizes: tuple[int, ...]) -> None:
    verdict = judge(sizes, [0.01, 0.1, 1.0, 10.0], limit=1.30)

    assert verdict.word is Word.NOISE
    assert verdict.fit is None


@pytest.mark.parametrize(
    ("sizes", "seconds"),
    [((1, 2), (0.1,)), ((5, 5), (0.1, 0.1)), ((0, 2), (0.1, 0.1)), ((1, 2), (0.0, 0.1))],
)
def test_a_line_is_not_laid_through_what_has_none(sizes: tuple[int, ...], seconds: tuple[float, ...]) -> None:
    with pytest.raises(ValueError):
        fit(sizes, seconds)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((Word.OK, Word.OK), 0),
        ((Word.OK, Word.NOISE), 0),
        ((Word.OK, Word.OVER, Word.NOISE), 1),
        ((), 0),
    ],
)
def test_only_what_is_over_its_limit_fails_the_check(words: tuple[Word, ...], status: int) -> None:
    verdicts = [Verdict(word, "", None) for word in words]

    assert exit_status(verdicts) == status


def test_runs_are_interleaved_and_their_best_counts() -> None:
    order: list[str] = []
    seconds = {"small": iter([3.0, 1.0, 2.0]), "large": iter([5.0, 9.0, 7.0])}

    def run(name: str) -> Callable[[], float]:
        def measured() -> float:
            order.append(name)
            return next(seconds[name])

        return measured

    best = sample([run("small"), run("large")], seconds_each=0, at_least=3, at_most=3)

    assert best == [1.0, 5.0]
    assert order == ["small", "large", "large", "small", "small", "large"]


def test_a_quick_run_is_repeated_and_a_slow_one_is_not() -> None:
    counts = {"quick": 0, "slow": 0}
    now = itertools.count(0.0)
    clock_now = [next(now)]

    def run(name: str, takes: float) -> Callable[[], float]:
        def measured() -> float:
            counts[name] += 1
            clock_now[0] += takes
            return takes

        return measured

    sample([run("quick", 0.1), run("slow", 10.0)], seconds_each=1.0, at_least=1, at_most=50, clock=lambda: clock_now[0])

    assert counts == {"quick": 10, "slow": 1} or counts == {"quick": 11, "slow": 1}
