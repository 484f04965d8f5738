"""Long enough texts tell their language; short ones take the hint and are never guessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.clients.language_detector import CompactLanguageDetector, detect
from feedback.domain.languages import LanguageDetector


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The app crashes every time I open my order history, please fix it.", "en"),
        ("Die Lieferung kam zwei Tage zu spät und der Kundendienst war nicht erreichbar.", "de"),
        ("L'application plante à chaque fois que j'ouvre mon historique de commandes.", "fr"),
        ("La entrega llegó dos días tarde y nadie contestó el teléfono.", "es"),
        ("Приложение вылетает каждый раз, когда я открываю историю заказов.", "ru"),
        ("注文履歴を開くたびにアプリが落ちます", "ja"),
        ("好用", "zh"),
        ("ดีมาก", "th"),
    ],
)
def test_language_is_told(text: str, language: str) -> None:
    assert detect(text) == language


@pytest.mark.parametrize(
    "text", ["", "ok", "Great app", "5/5", "👍👍👍", "SAVE20", "asdkjh qweoiu zxmcnb lkjqwe pqowie"]
)
def test_what_does_not_tell_is_undetermined(text: str) -> None:
    assert detect(text) == "und"
    assert detect(text, hint="nl") == "nl"


def test_text_outweighs_the_hint() -> None:
    text = "Die Lieferung kam zwei Tage zu spät und der Kundendienst war nicht erreichbar."

    assert detect(text, hint="en") == "de"


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_gives_a_code(text: str) -> None:
    detector: LanguageDetector = CompactLanguageDetector()

    assert 2 <= len(detector.detect(text)) <= 3
