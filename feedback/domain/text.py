"""Cut text into sentences and tokens, the units that retrieval and grounding share.

Offsets are Unicode code points, half-open, into the text as it was given.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import Stemmer

from feedback.domain.stop_words import STOP_WORDS

LONGEST_SENTENCE: Final = 400
_LONGEST_CLUSTER: Final = 16

# Scripts that put no spaces between words (and Hangul, whose particles cling to the noun): bigrams.
UNSPACED: Final = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0edf\u1000-\u109f\u1780-\u17d3\u3005-\u3007\u3041-\u3096\u30a1-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f"
)
_LETTER: Final = rf"[^\W_{UNSPACED}]"
_UNIT: Final = (
    r"(?:st|nd|rd|th|s|am|pm|mins?|hrs?|hours?|secs?|days?|weeks?|months?|years?|yrs?|h|m|k|x|p|kg|mg|ml|km|cm|mm|"
    r"gb|mb|kb|bn|er|ers|ème|eme|º|ª)"
)
_TOKEN: Final = re.compile(
    rf"(?P<code>[A-Za-z]&[A-Za-z](?!{_LETTER})"  # A&E
    rf"|\#[A-Za-z]*[-_]?\d[\w-]*\w|\#\d"  # #A-10293, #42
    rf"|[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+"  # ERR_0x80070005
    rf"|v?\d+(?:\.\d+){{2,}}(?:[-+][A-Za-z0-9.]*[A-Za-z0-9])?"  # 4.18.0, v1.2.3-rc1
    rf"|[A-Z]{{1,6}}(?:-[A-Z0-9]+)*-\d[A-Za-z0-9]*(?:-[A-Za-z0-9]+)*(?!{_LETTER})"  # A-10293, ORD-2024-17
    rf"|(?=[A-Za-z]*\d)(?!\d+{_UNIT}\b)[A-Za-z0-9]*(?:[A-Za-z]\d|\d[A-Za-z])[A-Za-z0-9]*(?!{_LETTER}))"  # SAVE20
    rf"|(?P<number>\d+(?:[.,'’\u00a0\u202f]\d{{3}})*(?:[.,]\d+)?(?:(?:st|nd|rd|th)\b)?)"
    rf"|(?P<unspaced>[{UNSPACED}]+)"
    rf"|(?P<word>{_LETTER}[\u0300-\u036f]*(?:{_LETTER}[\u0300-\u036f]*|['’](?={_LETTER}))*)",
)
_ELISION: Final = re.compile(r"^(?:qu|[cdjlmnst])['’]", re.IGNORECASE)
_POSSESSIVE: Final = re.compile(r"['’]s?$")
_GROUPING: Final = re.compile(r"(?<=\d)[,'’\u00a0\u202f](?=\d{3}(?!\d))")
_COMBINING: Final = re.compile(r"[\u0300-\u036f]")

_CAPITAL_NAMES: Final = frozenset({"US", "IT", "WHO"})
_NO_WORDS: Final = frozenset[str]()

_ALGORITHM: Final = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "eu": "basque", "fi": "finnish", "fr": "french", "hu": "hungarian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "nl": "dutch", "no": "norwegian", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip


class TokenKind(StrEnum):
    """What a token is; numbers and codes have to match exactly."""

    WORD = "word"
    NUMBER = "number"
    CODE = "code"
    BIGRAM = "bigram"


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Token:
    """A term of a text: as written, as compared, and where."""

    surface: str
    stem: str
    start: int
    end: int
    kind: TokenKind = TokenKind.WORD


def fold(text: str) -> str:
    """Make spellings comparable: NFKC, casefold, no accents. Offsets into the result are its own."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFC", _COMBINING.sub("", unicodedata.normalize("NFD", folded)))


def content_tokens(text: str, language: str = "en") -> list[Token]:
    """Cut a text into its content terms in order: no stop words, stems by the language's Snowball rules.

    A code (SAVE20, #A-10293, ERR_0x80070005, 4.18.0) is one token, compared without its leading #;
    scripts without spaces give overlapping character bigrams. A language without a list keeps all words.
    """
    return _terms(text, language, with_stop_words=False)


def tokens(text: str, language: str = "en") -> list[Token]:
    """Cut a text into all its terms in order, stop words included."""
    return _terms(text, language, with_stop_words=True)


def _terms(text: str, language: str, *, with_stop_words: bool) -> list[Token]:
    """Cut a text, or return how it was cut: a sentence of an answer is looked at by its draft and by each check."""
    cut = _cut_before if len(text) <= _KEPT_CHARACTERS else _cut
    return list(cut(text, language, with_stop_words=with_stop_words))


def _cut(text: str, language: str, *, with_stop_words: bool) -> tuple[Token, ...]:
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        surface = match.group()
        group = match.lastgroup
        if group == "word":
            if language == "fr" and (elided := _ELISION.match(surface)):
                start += elided.end()
                surface = surface[elided.end() :]
            stem, is_stop_word = _word(surface, language)
            if with_stop_words or not is_stop_word:
                found.append(Token(surface, stem, start, end))
        elif group == "number":
            plain = _GROUPING.sub("", surface.rstrip("stndrh"))
            found.append(Token(surface, plain, start, end, TokenKind.NUMBER))
        elif group == "code":
            found.append(Token(surface, surface.lstrip("#").lower(), start, end, TokenKind.CODE))
        else:
            found.extend(_bigrams(surface, start))
    return tuple(found)


# Two in three of the texts that a question has cut come again; a thousand sentences are some three megabytes.
_cut_before: Final = lru_cache(maxsize=1024)(_cut)
_KEPT_CHARACTERS: Final = 1_000


def respelled(text: str, slips: Sequence[tuple[str, str]]) -> str:
    """Return the text with each slip put right, in any case."""
    for typed, read in slips:
        text = re.sub(rf"(?<!\w){re.escape(typed)}(?!\w)", read.replace("\\", r"\\"), text, flags=re.IGNORECASE)
    return text


def sentences(text: str) -> list[Span]:
    """Cut a text into sentences, in order, trimmed of white space and together holding all the rest of it.

    Run-on text is split at the best mark or gap so that no span is longer than LONGEST_SENTENCE.
    """
    found: list[Span] = []
    start = 0
    for cut in (*_boundaries(text), len(text)):
        if cut <= start:
            continue
        lead, end = start, cut
        while lead < end and text[lead].isspace():
            lead += 1
        while end > lead and text[end - 1].isspace():
            end -= 1
        if lead < end:
            found.extend(_fitting(text, lead, end))
        start = cut
    return found


_ABBREVIATED: Final = """
mr mrs ms dr prof st sr sra jr vs etc eg ie approx inc ltd co corp dept est fig vol ed rev gen col capt sgt
jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun
bzw ca usw vgl evtl ggf inkl nr str tel mme mlle ud uds pág núm cf al
"""
_ABBREVIATIONS: Final = frozenset(_ABBREVIATED.split())
_EMOJI: Final = "\ufe0f\u200d\u2600-\u27bf\U0001f300-\U0001faff"
# Possessive, and never entered in mid-run: a long run of marks stays linear.
_END: Final = re.compile(
    r"(?P<wide>[。！？｡]+[」』”’）】]*)"
    r"|(?P<stop>(?<![.!?…])[.!?…]++[\"'”’»)\]]*+)(?=\s|$)"
    r"|(?P<glued>(?<=[a-zà-ÿ]{2})[.!?]+)(?=[A-Z][a-z])"
    r"|(?P<line>(?<![^\S\n])[^\S\n]*+\n\s*)"
    rf"|(?P<emoji>(?<![{_EMOJI}])[{_EMOJI}]++)(?=\s+[A-ZÀ-Þ])"
)
_LAST_WORD: Final = re.compile(r"([^\W\d_]+(?:\.[^\W\d_])*)$")
_ENUMERATOR: Final = re.compile(r"(?:^|\n)[^\S\n]*\d{1,3}$")
_LIST_ITEM: Final = re.compile(r"[-*•–‣▪]|\d{1,3}[.)]\s|[A-ZÀ-ÞΑ-ΩА-Я\"“«(\[¿¡#]")
_SPLIT_AT: Final = (re.compile(r"[;:](?=\s)|[；：]"), re.compile(r",(?=\s)|[，、]|\s[-–—]\s"), re.compile(r"\s"))


def _boundaries(text: str) -> Iterator[int]:
    for match in _END.finditer(text):
        if match.lastgroup == "line":
            if _breaks_line(text, match):
                yield match.end()
        elif match.lastgroup != "stop" or _ends_sentence(text, match):
            yield match.end()


def _breaks_line(text: str, match: re.Match[str]) -> bool:
    """Tell a paragraph or list item from a line that was merely wrapped."""
    if match.group().count("\n") > 1 or match.end() == len(text):
        return True
    before = text[match.start() - 1] if match.start() else "\n"
    return before in ".!?…:;。！？" or _LIST_ITEM.match(text, match.end()) is not None


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    mark = match.group()
    if mark[0] in "!?":
        return True
    following = text[match.end() : match.end() + 12].lstrip()
    if mark.startswith(("..", "…")):
        return not following[:1].islower()
    if mark != ".":
        return True
    word = _LAST_WORD.search(text, max(0, match.start() - 24), match.start())
    if word is None:
        return _ENUMERATOR.search(text, max(0, match.start() - 5), match.start()) is None
    last = word.group().lower()
    if last == "no":
        return not following[:1].isdigit()
    if "." in last:  # e.g. and U.S. go on; a.m. may end a sentence
        return last in ("a.m", "p.m") and following[:1].isupper()
    if len(last) == 1 and last not in "aiyou":
        return not (word.group().isupper() and following[:1].isupper())
    return last not in _ABBREVIATIONS or not following


def _fitting(text: str, start: int, end: int) -> Iterator[Span]:
    """Split a span that is too long, at the last good mark of its second half, else at the limit."""
    while end - start > LONGEST_SENTENCE:
        limit = start + LONGEST_SENTENCE
        middle = start + LONGEST_SENTENCE // 2
        cut = next((c for p in _SPLIT_AT if (c := _last_end(p, text, middle, limit))), limit)
        cut = next((c for c in range(cut, cut - _LONGEST_CLUSTER, -1) if not _joins(text, c)), cut)
        stop = cut
        while stop > start and text[stop - 1].isspace():
            stop -= 1
        if stop > start:
            yield Span(start, stop)
        start = cut
        while start < end and text[start].isspace():
            start += 1
    if start < end:
        yield Span(start, end)


def _last_end(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    found = 0
    for match in pattern.finditer(text, start, end):
        found = match.end()
    return found


def _joins(text: str, cut: int) -> bool:
    """Tell whether a cut would part a letter from its accent or an emoji from its modifier."""
    return (
        text[cut] == "\u200d"
        or text[cut - 1] == "\u200d"
        or "\U0001f3fb" <= text[cut] <= "\U0001f3ff"
        or unicodedata.category(text[cut]) in ("Mn", "Me")
    )


def _bigrams(run: str, start: int) -> Iterator[Token]:
    if len(run) == 1:
        yield Token(run, run, start, start + 1, TokenKind.BIGRAM)
    for i in range(len(run) - 1):
        pair = run[i : i + 2]
        yield Token(pair, pair, start + i, start + i + 2, TokenKind.BIGRAM)


def _plain(word: str) -> str:
    """Lower a word and drop its possessive; accents stay, since stemming rules read them."""
    if not word.isascii():
        word = unicodedata.normalize("NFC", word).replace("’", "'")
    return _POSSESSIVE.sub("", word.casefold())


class _Stemmers(threading.local):
    """Snowball stemmers of this thread; one object can't serve two threads at once."""

    def __init__(self) -> None:
        self.by_language: dict[str, Any] = {}


_STEMMERS: Final = _Stemmers()


@lru_cache(maxsize=100_000)
def _word(surface: str, language: str) -> tuple[str, bool]:
    """Return a word's stem and whether it is a stop word; in capitals US, IT and WHO are names."""
    plain = _plain(surface)
    is_stop_word = plain in STOP_WORDS.get(language, _NO_WORDS) and surface not in _CAPITAL_NAMES
    return _stem(plain, language), is_stop_word


def _stem(word: str, language: str) -> str:
    algorithm = _ALGORITHM.get(language)
    if algorithm is None or len(word) > 64:
        return fold(word)
    stemmer = _STEMMERS.by_language.get(language)
    if stemmer is None:
        stemmer = _STEMMERS.by_language[language] = Stemmer.Stemmer(algorithm)
    return fold(stemmer.stemWord(word))
