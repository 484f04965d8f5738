"""`benchmarks/large.py` reads its words strictly, varies its questions, and calls a leak a leak."""

from __future__ import annotations

import pytest

from benchmarks import large
from benchmarks.environment import quantile, varied_questions

SENTENCES = [
    f"The {noun} was {how} when the {person} came to the {place} on a rainy morning"
    for noun in ("parcel", "kettle", "refund", "ward", "card", "app")
    for how in ("late", "broken", "wrong", "cold", "slow")
    for person in ("courier", "nurse", "clerk", "doctor")
    for place in ("house", "shop", "clinic", "bank")
]


def readings(*megabytes: float) -> list[tuple[int, float]]:
    """Return readings every thousand questions."""
    return [(1_000 * (number + 1), value) for number, value in enumerate(megabytes)]


def test_memory_that_fills_its_caches_and_stays_is_flat() -> None:
    growth = large.judge_memory(readings(150, 180, 181, 180.5, 181.2, 180.8, 181.1, 181.0, 180.9, 181.2))

    assert growth is not None
    assert growth.is_flat


def test_memory_that_goes_on_growing_is_not_flat() -> None:
    growth = large.judge_memory(readings(*(150 + 1.5 * number for number in range(10))))

    assert growth is not None
    assert not growth.is_flat
    assert growth.slope == pytest.approx(1.5)


def test_memory_that_shrinks_is_flat() -> None:
    growth = large.judge_memory(readings(190, 188, 186, 184, 182))

    assert growth is not None
    assert growth.is_flat


def test_too_few_readings_give_no_verdict() -> None:
    assert large.judge_memory(readings(100, 200, 300)) is None
    assert large.judge_memory([]) is None


@pytest.mark.parametrize(
    ("documents", "hybrid", "ask"), [(300, 10, 40), (10_000, 10, 40), (100_000, 20, 60), (1_000_000, 60, 120)]
)
def test_each_size_has_the_bars_that_were_promised(documents: int, hybrid: float, ask: float) -> None:
    bars = large.bars_of(documents)

    assert bars is not None
    assert (bars.hybrid, bars.ask) == (hybrid, ask)


def test_nothing_is_promised_above_a_million() -> None:
    assert large.bars_of(1_000_001) is None


def test_sizes_are_read_in_ascending_order_and_once() -> None:
    options = large.arguments().parse_args(["--sizes", "100000, 10_000,10000"])

    assert options.sizes == [10_000, 100_000]


@pytest.mark.parametrize(
    "words",
    [
        ["--sizes", ""],
        ["--sizes", "10k"],
        ["--sizes", "0"],
        ["--sizes", "1e6"],
        ["--questions", "-5"],
        ["--asked", "0"],
    ],
)
def test_words_that_mean_nothing_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        large.arguments().parse_args(words)

    assert ended.value.code == 2
    assert "error" in capsys.readouterr().err


def test_made_questions_hardly_repeat_and_are_the_same_each_time() -> None:
    asked = varied_questions(2_000, sentences=SENTENCES, seed=3, real=False)

    assert len(set(asked)) > 1_000
    assert asked == varied_questions(2_000, sentences=SENTENCES, seed=3, real=False)
    assert asked != varied_questions(2_000, sentences=SENTENCES, seed=4, real=False)


def test_made_questions_use_the_words_of_the_corpus() -> None:
    asked = varied_questions(200, sentences=SENTENCES, seed=3, real=False)

    words = {word for sentence in SENTENCES for word in sentence.lower().split()}
    assert all(words & set(question.lower().rstrip("?").split()) for question in asked)


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1), (0.5, 3), (0.95, 5), (1.0, 5)])
def test_quantiles_are_values_that_were_measured(share: float, expected: float) -> None:
    assert quantile([5, 1, 4, 2, 3], share) == expected
