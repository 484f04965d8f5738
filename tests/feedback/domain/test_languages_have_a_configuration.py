"""Languages are read as exports name them, and each has a configuration that Postgres ships."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.languages import language_of_script, read_language, text_search_configuration


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("en", "en"), ("EN", "en"), ("en-GB", "en"), ("pt_BR", "pt"), ("zh-Hans-CN", "zh"), ("eng", "en"), ("ger", "de"),
        ("English", "en"), ("Deutsch", "de"), ("iw", "he"), ("nb", "no"), ("gsw", "gsw"), ("", "und"), ("unknown", "und"),
    ],
)  # fmt: skip
def test_usual_names_are_read(value: str, code: str) -> None:
    assert read_language(value) == code


@pytest.mark.parametrize("value", ["e", "12", "en GB!", "no idea", "en--x", "x" * 50])
def test_what_names_no_language_is_none(value: str) -> None:
    assert read_language(value) is None


@pytest.mark.parametrize(
    ("language", "configuration"),
    [("en", "english"), ("de", "german"), ("no", "norwegian"), ("ja", "simple"), ("und", "simple"), ("", "simple")],
)
def test_configuration_is_built_in_or_simple(language: str, configuration: str) -> None:
    assert text_search_configuration(language) == configuration


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("最高のアプリ", "ja"), ("非常好用", "zh"), ("좋아요", "ko"), ("ดีมาก", "th"), ("Πολύ καλό", "el"), ("Great app", None),
        ("Très bien", None), ("Отлично", None), ("I love 寿司 and many other things", None), ("12345 👍", None),
    ],
)  # fmt: skip
def test_scripts_of_one_language_tell_it(text: str, language: str | None) -> None:
    assert language_of_script(text) == language


@given(st.text())
def test_any_name_is_a_short_code_or_none(value: str) -> None:
    code = read_language(value)

    assert code is None or 2 <= len(code) <= 3
