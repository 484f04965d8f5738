"""Two records oppose each other as far as they are on one topic and say the opposite of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.opposition import Opposition, Voice, disagreement, opposition

OPPOSED = [
    ("The nurses were kind.", "The nurses were rude."),
    ("Delivery was quick.", "Delivery was slow."),
    ("I was not happy with the refund.", "I was happy with the refund."),
    ("Can't fault the kitchen team.", "The kitchen team was terrible."),
    ("Das Personal war freundlich.", "Das Personal war unfreundlich."),
]
AGREEING = [
    ("The nurses were kind.", "Such friendly nurses."),
    ("Nothing, the service was excellent.", "Excellent service."),
    ("No problem with the service.", "The service was great."),
    ("The service could not be better.", "The service was great."),
    ("Nobody answered the phone, terrible.", "They answered the phone after an hour, terrible."),
    ("Was the delivery slow?", "The delivery was quick."),
]


def language(text: str) -> str:
    return "de" if text.startswith("Das") else "en"


def measured(one: str, other: str) -> Opposition | None:
    return opposition(Voice(one, language=language(one)), Voice(other, language=language(other)), cosine=0.8)


@pytest.mark.parametrize(("one", "other"), OPPOSED)
def test_the_opposite_of_one_topic_is_opposed_either_way(one: str, other: str) -> None:
    there, back = measured(one, other), measured(other, one)

    assert there is not None
    assert back is not None
    assert there.polarity == back.polarity >= 0.5
    assert there.reason


@pytest.mark.parametrize(("one", "other"), AGREEING)
def test_what_agrees_is_not_opposed(one: str, other: str) -> None:
    found = measured(one, other)

    assert found is not None
    assert found.score == 0


def test_another_topic_is_not_compared() -> None:
    assert opposition(Voice("The nurses were kind."), Voice("The parking was terrible."), cosine=0.2) is None
    assert opposition(Voice("The nurses were kind."), Voice("The parking was terrible.")) is None


def test_ratings_that_lie_near_each_other_are_no_opposition() -> None:
    found = opposition(Voice("x", rating=4), Voice("x", rating=5), cosine=0.9, scale=(1, 5))

    assert found is not None
    assert found.score == 0


@given(one=st.text(max_size=200), other=st.text(max_size=200), cosine=st.none() | st.floats(-1, 1))
def test_every_measure_lies_between_0_and_1_and_no_record_opposes_itself(
    one: str, other: str, cosine: float | None
) -> None:
    found = opposition(Voice(one), Voice(other), cosine=cosine)
    itself = opposition(Voice(one), Voice(one), cosine=1.0)

    assert found is None or all(0 <= value <= 1 for value in (found.score, found.topic, found.polarity))
    assert itself is not None
    assert itself.score == 0 or itself.reason


def test_a_result_that_is_opposed_in_one_record_is_hardly_opposed() -> None:
    one = Opposition(0.8, 0.8, 1.0, "")

    assert disagreement([one], of=5) == pytest.approx(0.8 / 3)
    assert disagreement([one] * 5, of=5) == pytest.approx(0.8)
    assert disagreement([], of=5) == 0
