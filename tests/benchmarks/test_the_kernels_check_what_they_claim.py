"""`benchmarks/kernels.py` measures the eleven kernels of the field and exits by their verdicts."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from benchmarks import kernels
from benchmarks.growth import Word
from benchmarks.kernels import Kernel

LIMITS = {
    "tokenise": 1.35,
    "lexical query": 1.35,
    "vector query": 1.35,
    "embed": 1.35,
    "index": 1.40,
    "full ask": 1.40,
    "vector build": 1.45,
    "RRF": 1.30,
    "weighted fusion": 1.30,
    "rerank": 1.30,
    "grounding": 1.30,
}


def planted(growth: Callable[[int], float], *, name: str = "planted") -> Kernel:
    """Return a kernel whose time is what `growth` says, in seconds."""
    return Kernel(name, "things", (100, 400, 1_600, 6_400), "a claim", 1.30, lambda size: lambda: growth(size))


def only(monkeypatch: pytest.MonkeyPatch, *chosen: Kernel) -> None:
    monkeypatch.setattr(kernels, "kernels", lambda texts: list(chosen))


def test_the_eleven_kernels_stand_under_their_limits() -> None:
    found = {kernel.name: kernel.limit for kernel in kernels.kernels(kernels.Texts())}

    assert {name: found.get(name) for name in LIMITS} == LIMITS


def test_each_kernel_has_four_sizes_that_grow_by_one_factor() -> None:
    for kernel in kernels.kernels(kernels.Texts()):
        factors = {larger / smaller for smaller, larger in itertools.pairwise(kernel.sizes)}

        assert len(kernel.sizes) == 4, kernel.name
        assert len(factors) == 1, kernel.name
        assert factors.pop() >= 3, kernel.name


def test_a_quadratic_kernel_fails_the_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    only(monkeypatch, planted(lambda n: 1e-6 * n * n), planted(lambda n: 1e-4 * n, name="fine"))

    assert kernels.main(["--check"]) == 1
    assert "OVER: exponent 2.00 is over 1.30" in capsys.readouterr().out


def test_a_quadratic_kernel_is_only_told_of_without_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, planted(lambda n: 1e-6 * n * n))

    assert kernels.main([]) == 0


def test_a_linear_kernel_passes_the_check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    only(monkeypatch, planted(lambda n: 1e-4 * n))

    assert kernels.main(["--check"]) == 0
    assert capsys.readouterr().out.splitlines()[2].endswith(" ok")


def test_a_constant_kernel_is_noise_and_passes_the_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    only(monkeypatch, planted(lambda n: 0.01))

    assert kernels.main(["--check"]) == 0
    assert "NOISE" in capsys.readouterr().out


def test_a_kernel_that_was_disturbed_once_is_measured_again() -> None:
    calls = itertools.count()
    disturbed = Kernel(
        "disturbed", "things", (100, 400, 1_600, 6_400), "linear", 1.30,
        lambda size: lambda: 1e-4 * size * (1_000 if size == 6_400 and next(calls) < 3 else 1),
        seconds_each=0,
    )  # fmt: skip

    assert kernels.measure(disturbed).verdict.word is Word.OK


@pytest.mark.parametrize("words", [["--only", "nothing"], ["--scale", "0"], ["--scale", "many"], ["--sizes", "3"]])
def test_words_that_mean_nothing_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        kernels.main(words)

    assert ended.value.code == 2
    assert "error" in capsys.readouterr().err


def test_the_kernels_without_a_database_run_on_the_project_s_own_functions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kernels.main(["--scale", "0.01", "--only", "tokenise,embed,RRF,weighted fusion,rerank,grounding"])

    lines = capsys.readouterr().out.splitlines()
    assert [line[:16].strip() for line in lines[2:-1]] == [
        "tokenise", "embed", "RRF", "weighted fusion", "rerank", "grounding",
    ]  # fmt: skip
    assert not [line for line in lines if "inf" in line]
