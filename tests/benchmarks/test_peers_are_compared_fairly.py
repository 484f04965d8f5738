"""`benchmarks/peers.py` uses each peer as its users do, and names one that isn't there."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import peers
from benchmarks.environment import real_questions
from benchmarks.peers import BM25S, FTS5, Missing, Peer, Tantivy, race

ROWS = [
    {"id": "r-1", "text": "The delivery came two weeks late."},
    {"id": "r-2", "text": "Deliveries are never late, and the courier was kind."},
    {"id": "r-3", "text": "My kettle broke; the handle came off."},
]


def built(make: Callable[[], Peer], folder: Path) -> Peer:
    try:
        peer = make()
    except Missing as missing:
        pytest.skip(f"{missing} isn't installed: sh deploy/install_requirements.sh base peers")
    assert peer.build(ROWS, folder) > 0
    return peer


@pytest.mark.parametrize("make", [Tantivy, BM25S, FTS5])
def test_each_peer_finds_an_inflected_word_and_nothing_without_one(make: Callable[[], Peer], tmp_path: Path) -> None:
    peer = built(make, tmp_path)

    assert sorted(peer.search("deliveries")) == ["r-1", "r-2"]
    assert peer.search("kettles") == ["r-3"]
    assert peer.search("submarine") == []


@pytest.mark.parametrize("make", [Tantivy, BM25S, FTS5])
def test_what_is_an_order_to_a_query_language_is_a_word_to_us(make: Callable[[], Peer], tmp_path: Path) -> None:
    peer = built(make, tmp_path)

    assert peer.search('kettle NOT "kettle" -NEAR(2:*)') == ["r-3"]
    assert peer.search("?!") == []


@pytest.mark.parametrize("make", [Tantivy, BM25S, FTS5])
def test_a_peer_s_tokens_are_those_that_it_indexes(make: Callable[[], Peer], tmp_path: Path) -> None:
    peer = built(make, tmp_path)

    indexed, asked = peer.cut(["The kettles broke"]), peer.cut_questions(["kettle"])

    assert asked == [["kettl"]]
    assert "kettl" in indexed[0]


def test_a_peer_that_is_not_installed_is_named_and_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent() -> Peer:
        raise Missing("the absent one")

    monkeypatch.setattr(peers, "PEERS", (absent, FTS5))

    makers = peers.installed()

    assert makers == [FTS5]
    assert "the absent one isn't installed and is left out" in capsys.readouterr().out


def test_searches_take_turns_and_the_first_of_each_is_not_measured() -> None:
    calls: list[str] = []

    def way(name: str) -> Callable[[str], list[str]]:
        return lambda text: calls.append(f"{name} {text}") or [name]  # type: ignore[func-returns-value]

    times = race({"ours": way("ours"), "peer": way("peer")}, ["one", "two"], passes=2)

    first_pass = list(
        itertools.chain.from_iterable([[f"{n} {q}"] * 2 for q in ("one", "two") for n in ("ours", "peer")])
    )
    assert calls == first_pass * 2
    assert len(times["ours"].seconds) == 4
    assert times["peer"].found == [["peer"], ["peer"]]


def test_without_real_data_the_comparison_is_on_a_generated_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "REAL", {"nhs_fft": Path("nowhere") / "queries.jsonl"})

    [(name, rows, asked)] = peers.corpora(peers.arguments().parse_args(["--count", "30"]))

    assert (name, len(rows), len(asked)) == ("generated", 30, 200)
    assert len(set(asked)) > 150
    assert asked[: len(real_questions())] == real_questions()[:200]


@pytest.mark.parametrize("words", [["--count", "0"], ["--count", "-1"], ["--passes", "0"], ["--corpus", "mine"]])
def test_words_that_mean_nothing_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        peers.main(words)

    assert ended.value.code == 2


def test_the_application_does_not_need_the_peers() -> None:
    base = (Path(peers.__file__).parent.parent / "requirements" / "base.txt").read_text(encoding="utf-8")

    assert not [name for name in ("tantivy==", "bm25s==") if name in base]
    assert importlib.util.find_spec("benchmarks.peers") is not None
