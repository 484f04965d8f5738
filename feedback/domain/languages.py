"""Name languages, and say which text search configuration of Postgres stems each."""

from __future__ import annotations

import re
from typing import Final, Protocol

UNDETERMINED: Final = "und"

# Present in every supported Postgres (16 or newer) under these names.
_CONFIGURATIONS: Final = {
    "ar": "arabic",
    "hy": "armenian",
    "eu": "basque",
    "ca": "catalan",
    "da": "danish",
    "nl": "dutch",
    "en": "english",
    "fi": "finnish",
    "fr": "french",
    "de": "german",
    "el": "greek",
    "hi": "hindi",
    "hu": "hungarian",
    "id": "indonesian",
    "ga": "irish",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "no": "norwegian",
    "nb": "norwegian",
    "nn": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "es": "spanish",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}

_NAMES: Final = {
    **{name: code for code, name in _CONFIGURATIONS.items() if code not in ("nb", "nn")},
    "chinese": "zh",
    "czech": "cs",
    "hebrew": "he",
    "japanese": "ja",
    "korean": "ko",
    "polish": "pl",
    "thai": "th",
    "ukrainian": "uk",
    "vietnamese": "vi",
    "deutsch": "de",
    "español": "es",
    "français": "fr",
    "italiano": "it",
    "nederlands": "nl",
    "português": "pt",
}

# Three-letter codes and withdrawn two-letter ones that exports still write.
_OTHER_CODES: Final = {
    "eng": "en", "deu": "de", "ger": "de", "fra": "fr", "fre": "fr", "spa": "es", "ita": "it", "por": "pt",
    "nld": "nl", "dut": "nl", "rus": "ru", "zho": "zh", "chi": "zh", "jpn": "ja", "kor": "ko", "tha": "th",
    "pol": "pl", "swe": "sv", "dan": "da", "fin": "fi", "nor": "no", "nob": "no", "nb": "no", "nn": "no",
    "tur": "tr", "ara": "ar", "hin": "hi", "ukr": "uk", "ces": "cs", "cze": "cs", "heb": "he", "iw": "he",
    "in": "id", "cmn": "zh", "yue": "zh",
}  # fmt: skip

_UNKNOWN: Final = frozenset({"", "und", "unknown", "un", "xx", "zxx", "mul", "n/a", "none", "null"})
_TAG: Final = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]{1,8})*", re.ASCII)

_SCRIPTS: Final = (
    # Kana before Han: Japanese writes both.
    ("ja", re.compile("[\u3041-\u3096\u30a1-\u30fa\uff66-\uff9d]")),
    ("ko", re.compile("[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]")),
    ("th", re.compile("[\u0e01-\u0e3a\u0e40-\u0e5b]")),
    ("zh", re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("he", re.compile("[\u05d0-\u05ea]")),
)
_LETTERS: Final = re.compile(r"[^\W\d_]")


_FROM_SPELT_OUT: Final = {"ae": "ä", "oe": "ö", "ue": "ü"}
_SPELT_OUT: Final = re.compile("ae|oe|(?<![aeäq])ue", re.IGNORECASE)
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


class LanguageDetector(Protocol):
    """Tells the language of a text."""

    def detect(self, text: str, *, hint: str | None = None) -> str:
        """Return an ISO 639-1 code; when the text doesn't tell, the hint, and without one "und"."""
        ...


def read_language(value: str) -> str | None:
    """Read a language as exports name it ("en-GB", "pt_BR", "eng", "English") into ISO 639-1.

    Returns "und" for what says that it is unknown, and None for what is no language name at all.
    A three-letter code without a two-letter one is kept.
    """
    spelled = value.strip().casefold()
    if spelled in _UNKNOWN:
        return UNDETERMINED
    if spelled in _NAMES:
        return _NAMES[spelled]
    match = _TAG.fullmatch(spelled)
    if match is None:
        return None
    return _OTHER_CODES.get(match[1], match[1])


def text_search_configuration(language: str) -> str:
    """Return the name of the built-in Postgres configuration for a language; "simple" where it has none."""
    return _CONFIGURATIONS.get(language, "simple")


def transliterations(text: str, language: str) -> list[str]:
    """Return the other ways in which a text may be spelt where letters are missing on a keyboard: ae for ä, and back.

    Only German has such; elsewhere accents are left out, which the index does as well.
    """
    if language != "de":
        return []
    spelt_out = text.translate(_UMLAUTS)
    with_umlauts = _SPELT_OUT.sub(lambda match: _FROM_SPELT_OUT[match[0].lower()], text)
    return [other for other in (spelt_out, with_umlauts) if other != text]


def language_of_script(text: str) -> str | None:
    """Tell the language from its script where most letters are of one that a single language uses.

    Returns None for shared scripts such as Latin, Cyrillic and Arabic.
    """
    if text.isascii():
        return None
    letters = len(_LETTERS.findall(text))
    for language, script in _SCRIPTS:
        count = len(script.findall(text))
        if language == "ja" and count:
            count += len(_SCRIPTS[3][1].findall(text))
        if letters and count * 2 > letters:
            return language
    return None
