"""Keep what a text search parser loses: codes, order numbers, versions, and scripts without spaces.

Documents and questions go through the same functions. What they return is added beside the stemmed words;
the prefixes "=" and "~" keep them apart from those.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_ADDRESSES: Final = re.compile(r"[a-z][a-z0-9+.-]*://\S+|\S+@\S+|(?<!\w)@\w+", re.IGNORECASE)

_SUFFIX: Final = r"(?:[-+](?=[a-z.]*\d)[a-z0-9.]*[a-z0-9])?"  # -rc1, +build.7
_TOKEN: Final = re.compile(
    r"(?<![\w.])(?:"
    rf"(?:(?:version\s+|v\.?\s?)(?P<said>\d+(?:\.\d+)+{_SUFFIX})|(?P<version>\d+(?:\.\d+){{2,}}{_SUFFIX}))"
    r"(?!\w)(?!\.\d)"
    r"|\#?(?P<code>[^\W_]+(?:[-_/][^\W_]+)*))",
    re.IGNORECASE,
)

# 2nd, 10am, 24h, 500mg: words of ordinary speech that happen to hold a digit.
_MEASURE: Final = re.compile(
    r"\d+(?:st|nd|rd|th|s|am|pm|h|hr|hrs|min|mins|sec|secs|m|k|x|km|kg|g|mg|ml|l|cm|mm|yr|yrs|yo|p)",
    re.IGNORECASE,
)
_DATE_LIKE: Final = re.compile(r"\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:19|20)\d\d")
_MAX_CODE_CHARACTERS: Final = 64

# Scripts written without spaces between words, and Hangul, whose particles cling to the word: Thai, Lao,
# Myanmar, Khmer, kana, Han, Hangul, half-width forms.
_CJK_CHARACTERS: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
    "\u3005-\u3007\u3041-\u3096\u3099-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\uffa0-\uffdc"
    "\U00020000-\U0003ffff"
)
_CJK_RUN: Final = re.compile(f"[{_CJK_CHARACTERS}]+")
# Full-width letters, digits and marks, as Japanese and Chinese keyboards write them.
_NARROW: Final = {0x3000: " ", **{wide: chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)}}
_DIGIT: Final = re.compile(r"\d")


def exact_tokens(text: str) -> list[str]:
    """Return codes, order numbers and versions in order, lower-case and prefixed with "=".

    A code joins letters and digits (SAVE20, ERR_0x80070005, ORD-2026-004417), is a number behind # or is a
    long number in groups (114-3941689-8772232); # is dropped, so that A-10293 finds #A-10293. A version has
    three parts, or is said to be one (v2.1); the v is dropped. Addresses, links and handles give nothing. A code may
    stand in the middle of a script without spaces, and in full width.
    """
    text = lexical_text(text)
    if _DIGIT.search(text) is None:
        return []
    if "@" in text or "://" in text:
        text = _ADDRESSES.sub(" ", text)
    found: list[str] = []
    for match in _TOKEN.finditer(text):
        version = match["said"] or match["version"]
        if version is not None:
            if _DATE_LIKE.fullmatch(version) is None:
                found.append(f"={version.lower()}")
            continue
        code = match["code"]
        if _is_code(code, numbered=match[0][0] == "#"):
            found.append(f"={code.lower()}")
    return found


def cjk_bigrams(text: str) -> list[str]:
    """Return the overlapping character pairs of each run in a script without spaces, prefixed with "~".

    Covers Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese, after compatibility normalisation (half-
    width kana). A run of one character is that character.
    """
    if text.isascii():
        return []
    found: list[str] = []
    for run in _CJK_RUN.findall(unicodedata.normalize("NFKC", text)):
        if len(run) == 1:
            found.append(f"~{run}")
        found.extend(f"~{run[i : i + 2]}" for i in range(len(run) - 1))
    return found


def lexical_text(text: str) -> str:
    """Blank the runs that `cjk_bigrams` covers, which Postgres would index as one long word each; narrow what is wide."""
    return text if text.isascii() else _CJK_RUN.sub(" ", text.translate(_NARROW))


def _is_code(code: str, *, numbered: bool) -> bool:
    if len(code) > _MAX_CODE_CHARACTERS or not code.isascii() or _DIGIT.search(code) is None:
        return False
    if code.replace("-", "").replace("/", "").replace("_", "").isdigit():
        if numbered:
            return True
        digits = sum(map(str.isdigit, code))
        return digits >= 8 and digits < len(code) and _DATE_LIKE.fullmatch(code) is None
    if "/" in code and not (code == code.upper() and sum(map(str.isdigit, code)) >= 4):
        return False
    return len(code) >= 2 and _MEASURE.fullmatch(code) is None
