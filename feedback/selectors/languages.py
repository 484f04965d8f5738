"""Tell the language of a text that is no record."""

from __future__ import annotations

from feedback.clients.language_detector import detect

_WHERE_IN_DOUBT = "en"


def language_of(text: str) -> str:
    """Return the language's two-letter code; English for what is too short to tell."""
    return detect(text, hint=_WHERE_IN_DOUBT)
