"""Whatever the texts, the verdict is well formed."""

from hypothesis import given
from hypothesis import strategies as st

from answering.domain.grounding import check_claim

WORDS = st.sampled_from(
    "patients waited not never all most 3 hours 12% £5 rose fell Leeds NEAS #A-1 “quoted words here” . , \n 等待 2021-03-04 "
    "twenty one of 40 million because".split(" ")
)
TEXTS = st.text(max_size=200) | st.lists(WORDS, max_size=60).map(" ".join)


@given(TEXTS, st.lists(TEXTS, max_size=3), st.floats(0.05, 0.95))
def test_support_reaches_the_floor_exactly_when_supported(claim: str, texts: list[str], floor: float) -> None:
    verdict = check_claim(claim, texts, floor=floor)

    assert 0.0 <= verdict.support <= 1.0
    assert verdict.supported == (verdict.support >= floor)
    assert verdict.supported == (verdict.reason is None) == (verdict.code is None)


@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_the_span_lies_inside_its_text(claim: str, texts: list[str]) -> None:
    span = check_claim(claim, texts).span

    if span is not None:
        assert 0 <= span.start < span.end <= len(texts[span.evidence])


@given(TEXTS.filter(lambda t: any(c.isalpha() for c in t)), TEXTS)
def test_equal_arguments_give_equal_verdicts(claim: str, text: str) -> None:
    assert check_claim(claim, [text]) == check_claim(claim, [text])


@given(
    st.lists(
        st.sampled_from("patients waited long parking lift broken ward nurse".split()),
        min_size=2,
        max_size=12,
        unique=True,
    )
)
def test_a_sentence_supports_itself(words: list[str]) -> None:
    sentence = " ".join(words) + "."

    assert check_claim(sentence, [sentence]).supported
