"""What is searched by its exact spelling is found by it, in documents and in questions alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.exact_tokens import cjk_bigrams, exact_tokens, lexical_text


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The code SAVE20 fails", ["=save20"]),
        ("(ERR_0x80070005).", ["=err_0x80070005"]),
        ("order #A-10293, again A-10293!", ["=a-10293", "=a-10293"]),
        ("ORD-2026-004417?", ["=ord-2026-004417"]),
        ("ticket #10293", ["=10293"]),
        ("Order 114-3941689-8772232", ["=114-3941689-8772232"]),
        ("INV/2021/0042", ["=inv/2021/0042"]),
        ("since 4.18.0 it crashes", ["=4.18.0"]),
        ("v2.1 and version 17.2", ["=2.1", "=17.2"]),
        ("1.2.3-rc1", ["=1.2.3-rc1"]),
        ("iPhone13,iPhone13", ["=iphone13", "=iphone13"]),
    ],
)
def test_codes_numbers_and_versions_are_kept(text: str, tokens: list[str]) -> None:
    assert exact_tokens(text) == tokens


@pytest.mark.parametrize(
    "text",
    [
        "", "no digits at all", "bob123@example.com", "@user99 said", "https://example.com/a1b2c3", "at 10am on the 2nd",
        "24/7 for 500mg", "3.5 stars", "2021-09-30", "30.09.2021", "30/09/2021", "100 of 200", "12-15 minutes", "# 5",
        "x" * 200 + "1",
    ],
)  # fmt: skip
def test_ordinary_words_addresses_and_dates_give_none(text: str) -> None:
    assert exact_tokens(text) == []


@pytest.mark.parametrize(
    ("text", "bigrams"),
    [
        ("最高です!", ["~最高", "~高で", "~です"]),
        ("app 한국어", ["~한국", "~국어"]),
        ("สวั", ["~สว", "~วั"]),
        ("猫", ["~猫"]),
        ("ｱﾌﾟﾘ", ["~アプ", "~プリ"]),
        ("plain café", []),
    ],
)
def test_scripts_without_spaces_give_character_pairs(text: str, bigrams: list[str]) -> None:
    assert cjk_bigrams(text) == bigrams


def test_lexical_text_keeps_only_what_has_spaces() -> None:
    assert lexical_text("iPhone が最高 app").split() == ["iPhone", "app"]
    assert lexical_text("naïve café") == "naïve café"


@given(st.text())
def test_any_text_gives_prefixed_lower_case_tokens(text: str) -> None:
    for token in exact_tokens(text):
        assert token.startswith("=")
        assert token == token.lower()
        assert 1 < len(token) <= 65
    for bigram in cjk_bigrams(text):
        assert bigram.startswith("~")
        assert len(bigram) in (2, 3)
    assert cjk_bigrams(lexical_text(text)) == []


@given(st.from_regex(r"[A-Z]{2,5}-?[0-9]{3,8}", fullmatch=True))
def test_code_is_found_wherever_it_stands(code: str) -> None:
    assert exact_tokens(f"Please check ({code.lower()}), thanks") == exact_tokens(code) == [f"={code.lower()}"]
