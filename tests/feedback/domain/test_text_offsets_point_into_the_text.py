"""Sentences and tokens are stretches of the very text that was given."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.text import LONGEST_SENTENCE, TokenKind, content_tokens, fold, sentences, tokens

TEXTS = st.text(max_size=1200) | st.lists(
    st.sampled_from(
        [
            "Dr. Smith",
            "waited",
            "3.5 hrs...",
            "very",
            "long!",
            "\n\n",
            "好的。",
            "😀",
            "e.g.",
            "U.S.",
            "No. 5",
            "\u0301",
        ]
    ),
    max_size=200,
).map(" ".join)


@given(TEXTS)
def test_sentences_hold_everything_but_white_space(text: str) -> None:
    spans = sentences(text)

    assert "".join("".join(text[s.start : s.end].split()) for s in spans) == "".join(text.split())
    assert all(a.end <= b.start for a, b in pairwise(spans))


@given(TEXTS)
def test_sentences_are_trimmed_and_no_longer_than_the_limit(text: str) -> None:
    for span in sentences(text):
        words = text[span.start : span.end]

        assert words == words.strip() != ""
        assert len(words) <= LONGEST_SENTENCE


@given(TEXTS, st.sampled_from(["en", "de", "es", "fr", "xx"]))
def test_tokens_are_what_stands_at_their_offsets(text: str, language: str) -> None:
    for token in tokens(text, language):
        assert text[token.start : token.end] == token.surface != ""


@given(TEXTS)
def test_content_tokens_are_some_of_the_tokens_in_order(text: str) -> None:
    whole = iter(tokens(text))

    assert all(token in whole for token in content_tokens(text))


@pytest.mark.parametrize("code", ["SAVE20", "#A-10293", "ERR_0x80070005", "4.18.0", "A&E", "COVID-19"])
def test_a_code_is_one_token(code: str) -> None:
    (token,) = (t for t in content_tokens(f"it says {code} again.") if t.kind is TokenKind.CODE)

    assert token.surface == code


def test_a_code_is_compared_without_case_and_hash() -> None:
    assert content_tokens("#A-10293")[0].stem == content_tokens("A-10293")[0].stem
    assert content_tokens("SAVE20")[0].stem == content_tokens("save20")[0].stem


@pytest.mark.parametrize("words", ["10-minute", "mid-2019", "24/7", "30mins", "3rd"])
def test_a_number_with_its_unit_is_no_code(words: str) -> None:
    assert all(t.kind is not TokenKind.CODE for t in content_tokens(words))


@pytest.mark.parametrize(
    ("text", "language", "stems"),
    [
        ("The staff weren't waiting", "en", ["staff", "wait"]),
        ("Die Wartezeiten waren länger", "de", ["wartezeit", "lang"]),
        ("L'hôpital n'était pas propre", "fr", ["hopital", "propr"]),
        ("Las esperas son largas", "es", ["esper", "larg"]),
        ("等待时间", "zh", ["等待", "待时", "时间"]),
    ],
)
def test_stop_words_go_and_the_rest_is_stemmed(text: str, language: str, stems: list[str]) -> None:
    assert [t.stem for t in content_tokens(text, language)] == stems


def test_composed_and_decomposed_letters_are_one_word() -> None:
    assert [t.stem for t in content_tokens("caf\u00e9")] == [t.stem for t in content_tokens("cafe\u0301")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith was kind. We left.", ["Dr. Smith was kind.", "We left."]),
        ("Waited e.g. 3 hrs... and more.", ["Waited e.g. 3 hrs... and more."]),
        ("See no. 5 at the U.S. office. ok", ["See no. 5 at the U.S. office.", "ok"]),
        ("Cost 3.50 pounds! very dear", ["Cost 3.50 pounds!", "very dear"]),
        ("Great 😀 Staff were nice", ["Great 😀", "Staff were nice"]),
        ("a wrapped\nline\n- an item\nNew line", ["a wrapped\nline", "- an item", "New line"]),
        ("好的。很好！谢谢", ["好的。", "很好！", "谢谢"]),
        ("very kind.The staff", ["very kind.", "The staff"]),
        ("1. First thing\n2. Second thing", ["1. First thing", "2. Second thing"]),
        ("no end", ["no end"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, expected: list[str]) -> None:
    assert [text[s.start : s.end] for s in sentences(text)] == expected


def test_run_on_text_is_split_at_a_mark() -> None:
    text = "we waited and waited for the nurse, " * 30

    assert all(text[s.start : s.end].endswith(",") for s in sentences(text)[:-1])


def test_fold_makes_spellings_comparable() -> None:
    assert fold("ＮＥＡＳ Café STRASSE Straße") == "neas cafe strasse strasse"
