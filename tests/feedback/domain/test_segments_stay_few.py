"""A corpus that grows has few graphs, none too large to build, and moves each vector seldom."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, log2

from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.segments import MAX_ROWS, MIN_WAITING, Span, most_rows, next_segment


def _grow(arrivals: list[int]) -> tuple[list[Span], int, int]:
    """Let vectors arrive and be taken up; return the segments, how many wait, and how many rows were built in all."""
    serving: list[Span] = []
    waits = built = number = 0
    for arrived in arrivals:
        waits += arrived
        number += arrived
        while True:
            above = serving[-1].upto if serving else 0
            rows = min(waits, MAX_ROWS)
            span = next_segment(serving, Span(above, above + rows, rows))
            if span is None:
                break
            serving = [segment for segment in serving if segment.above < span.above] + [span]
            waits -= rows
            built += span.rows
        assert sum(segment.rows for segment in serving) + waits == number
    return serving, waits, built


@given(st.lists(st.integers(0, 400_000), max_size=60))
def test_segments_hold_every_vector_once_and_are_few(arrivals):
    serving, waits, _ = _grow(arrivals)

    total = sum(arrivals)
    assert waits < MIN_WAITING
    assert all(before.upto == after.above for before, after in pairwise(serving))
    assert all(segment.rows <= MAX_ROWS for segment in serving)
    assert len(serving) <= 2 * ceil(total / MAX_ROWS) + log2(MAX_ROWS / MIN_WAITING) + 1


@given(st.integers(MIN_WAITING, 20_000), st.integers(1, 100))
def test_a_vector_is_moved_a_few_times_only(arrived, times):
    _, _, built = _grow([arrived] * times)

    assert built <= arrived * times * (log2(MAX_ROWS / MIN_WAITING) + 1)


def test_a_few_vectors_build_nothing():
    waiting = Span(100, 100 + MIN_WAITING - 1, MIN_WAITING - 1)

    assert next_segment([Span(0, 100, 100)], waiting) is None


def test_a_graph_is_as_large_as_fits_into_memory():
    megabyte = 1 << 20

    assert most_rows(512 * megabyte, 256) == 512 * megabyte // 1_712
    assert most_rows(512 * megabyte, 384) < most_rows(512 * megabyte, 256)
    assert most_rows(64_000 * megabyte, 256) == MAX_ROWS
    assert most_rows(64 * megabyte, 256) == 100_000


def test_a_full_segment_is_left_alone():
    span = next_segment([Span(0, MAX_ROWS, MAX_ROWS)], Span(MAX_ROWS, 2 * MAX_ROWS, MAX_ROWS))

    assert span == Span(MAX_ROWS, 2 * MAX_ROWS, MAX_ROWS)
