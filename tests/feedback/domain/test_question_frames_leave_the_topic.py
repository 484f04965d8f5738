"""What puts a question is taken off, and what it is about stays, in six languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.question_frames import without_frame
from feedback.domain.text import content_tokens


@pytest.mark.parametrize(
    ("language", "question", "topic"),
    [
        ("en", "What do people say about the breakfast buffet?", "the breakfast buffet?"),
        ("en", "Do guests feel welcome?", "feel welcome?"),
        ("en", "Why do our customers complain about delivery times?", "delivery times?"),
        ("en", "Complaints about the lift", "the lift"),
        ("en", "What about the swimming pool?", "the swimming pool?"),
        ("en", "Are there any recurring problems with checkout?", "checkout?"),
        ("en", "Tell me about noise at night", "noise at night"),
        ("de", "Was sagen die Gäste über das Frühstück?", "Frühstück?"),
        ("de", "Beschwerden über lange Wartezeiten", "lange Wartezeiten"),
        ("es", "¿Qué opinan los clientes de la entrega?", "entrega?"),
        ("es", "¿Por qué se quejan los usuarios del buscador?", "buscador?"),
        ("fr", "Que disent les clients de la livraison ?", "livraison ?"),
        ("fr", "Plaintes concernant le bruit", "bruit"),
        ("ja", "配送について顧客は何と言っていますか？", "配送"),
        ("zh", "客户对配送有什么意见？", "配送"),
        ("zh", "关于退款的投诉", "退款"),
    ],
)
def test_a_frame_is_taken_off(language: str, question: str, topic: str) -> None:
    assert without_frame(question, language=language) == topic


@pytest.mark.parametrize(
    "question",
    [
        "I want to complain about a fee",
        "My card has not arrived",
        "How long do deliveries take?",
        "who wrote capitalism and underdevelopment",
        "What is the exchange rate?",
        "“What do people say about us” in quotes",
        "Do people say?",
        "What about it?",
        "Complaints about",
    ],
)
def test_a_customers_own_words_and_a_bare_frame_stay(question: str) -> None:
    content = {token.stem for token in content_tokens(question)}

    left = without_frame(question, language="en")

    assert {token.stem for token in content_tokens(left)} == content or left == "say?"


@given(st.text(max_size=300), st.sampled_from(["en", "de", "es", "fr", "ja", "zh", "und", "pt"]))
def test_any_text_keeps_something_to_search_for(question: str, language: str) -> None:
    left = without_frame(question, language=language)

    assert left in question
    assert bool(content_tokens(left, language)) == bool(content_tokens(question, language)) or left == question
