"""Tell languages with CLD2, which runs in the process and knows 80 of them."""

from __future__ import annotations

import pycld2

from feedback.domain.languages import UNDETERMINED, language_of_script, read_language

# Below this CLD2 guesses: "Great app" comes out as anything.
_MIN_BYTES = 24
_MAX_CHARACTERS = 4_000


class CompactLanguageDetector:
    """The LanguageDetector that ingest uses."""

    def detect(self, text: str, *, hint: str | None = None) -> str:
        """Return an ISO 639-1 code; when the text doesn't tell, the hint, and without one "und"."""
        return detect(text, hint=hint)


def detect(text: str, *, hint: str | None = None) -> str:
    """Return the language of a text as ISO 639-1.

    A text that is too short to tell is in the language of the hint, and without one "und"; a script that
    only one language uses tells at any length.
    """
    return told_language(text, hint=hint) or hint or UNDETERMINED


def told_language(text: str, *, hint: str | None = None) -> str | None:
    """Return the language that a text tells, or None where it doesn't; the hint only tips the scales."""
    if script := language_of_script(text):
        return script
    sample = text[:_MAX_CHARACTERS]
    # CLD2 refuses control characters and lone surrogates, which say nothing about the language.
    if not sample.isprintable():
        sample = "".join(character if character.isprintable() else " " for character in sample)
    encoded = sample.encode()
    if len(encoded) < _MIN_BYTES:
        return None
    try:
        reliable, _, details = pycld2.detect(encoded, hintLanguage=hint)
    except pycld2.error:
        return None
    return _code(details[0][1]) if reliable else None


def _code(found: str) -> str | None:
    language = read_language(found)
    return None if language in (None, UNDETERMINED) else language
