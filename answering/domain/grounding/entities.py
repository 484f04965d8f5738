"""Find the names and codes that a claim states and look for them in the cited text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from feedback.domain.text import Token, TokenKind, content_tokens, fold, sentences

_NAME: Final = re.compile(r"[A-ZÀ-ÞΑ-ΩА-Я][^\W\d_]*(?:['’.-][^\W\d_]+)*")
_ACRONYM: Final = re.compile(r"(?:[A-Z]\.?){2,6}")
# Capitalised by custom, names of nothing: pronouns, titles, nationless nouns of the trade.
_NOT_NAMING: Final = """
i i'm i've i'll i'd mr mrs ms miss dr sir madam ok q1 q2 q3 q4 january february march april may june july august
september october november december jan feb mar apr jun jul aug sep sept oct nov dec
"""
_NO_NAMES: Final = frozenset(_NOT_NAMING.split())
# Days of the week in the ways in which they are written.
_DAYS: Final = {
    form: days.split()[0]
    for days in (
        "monday mon mondays", "tuesday tue tues tuesdays", "wednesday wed weds wednesdays", "thursday thu thur thurs thursdays",
        "friday fri fridays", "saturday sat saturdays", "sunday sun sundays",
    )
    for form in days.split()
}  # fmt: skip
_SHARED_PREFIX: Final = 4
_POSSESSIVE: Final = re.compile(r"['’]s?$")


def names(text: str, *, language: str = "en") -> list[str]:
    """List the names and codes of a text: capitalised words inside a sentence, acronyms, codes.

    A sentence's first word counts when it has a capital further on or a digit. German capitalises all
    nouns, so that only acronyms, codes and what directly follows a noun ("Haushalt Wegener") count there.
    """
    found: list[str] = []
    for sentence in sentences(text):
        words = text[sentence.start : sentence.end]
        opening = next((i for i, c in enumerate(words) if c.isalnum()), 0)
        before: Token | None = None
        for token in content_tokens(words, language):
            surface = token.surface
            follows_a_noun, before = _follows_a_noun(words, before, token), token
            if token.kind is TokenKind.CODE:
                found.append(surface)
            elif token.kind is TokenKind.WORD and _NAME.fullmatch(surface) and fold(surface) not in _NO_NAMES:
                is_acronym = len(surface) > 1 and surface[1:] != surface[1:].lower()
                is_inside = token.start > opening and len(surface) > 1
                if is_acronym or (is_inside and (language != "de" or follows_a_noun)):
                    found.append(surface)
    return found


def _follows_a_noun(words: str, before: Token | None, token: Token) -> bool:
    return before is not None and before.surface[:1].isupper() and words[before.end : token.start] == " "


def foreign_account(claim: str, own: Iterable[str], others: Iterable[str], texts: Sequence[str]) -> str | None:
    """Return an account that a claim names although it is none of those cited nor named by the cited text; else None."""
    said = fold(claim)
    ours = {fold(name) for name in own}
    held = [fold(text) for text in texts]
    for name in others:
        folded = fold(name)
        if folded in ours or folded not in said or any(folded in text for text in held):
            continue
        if re.search(rf"(?<!\w){re.escape(folded)}(?!\w)", said) and not any(folded in our for our in ours):
            return name
    return None


@dataclass(frozen=True, slots=True)
class HeldWords:
    """The words of some text in the forms in which a name is looked for."""

    words: frozenset[str]
    prefixes: frozenset[str]
    initials: frozenset[str]


def held_words(cited: Iterable[Token], texts: Sequence[str], *, language: str = "en") -> HeldWords:
    """Collect the words of texts, `cited` being the content tokens of those that are cut up already."""
    words: set[str] = set()
    for token in cited:
        word = fold(token.surface)
        words.update((word, token.stem, _POSSESSIVE.sub("", word)))
        if word in _DAYS:
            words.add(_DAYS[word])
    prefixes = frozenset(_prefix(word) for word in words if len(word) >= _SHARED_PREFIX)
    return HeldWords(frozenset(words), prefixes, frozenset(_initials("\n".join(texts))))


def missing_names(claim: str, held: HeldWords, *, language: str = "en") -> list[str]:
    """List the names of a claim that the text doesn't hold, in order, each once.

    German and Germany match by their beginning, WHO and World Health Organization by initials.
    """
    wanted = dict.fromkeys(names(claim, language=language))
    if not wanted:
        return []
    spelled_out = {full for short, full in _initials(claim).items() if short in held.words}
    return [name for name in wanted if not _is_held(name, held, spelled_out)]


def _is_held(name: str, held: HeldWords, spelled_out: set[str]) -> bool:
    bare = _POSSESSIVE.sub("", fold(name).lstrip("#"))
    bare = _DAYS.get(bare, bare)
    if bare in held.words or bare.replace(".", "") in held.words:
        return True
    if _ACRONYM.fullmatch(name) and bare.rstrip("s").replace(".", "") in held.initials:
        return True
    if any(c.isdigit() for c in bare):
        return False
    if len(bare) > _SHARED_PREFIX and _prefix(bare) in held.prefixes:
        return True
    if any(bare in full.split() for full in spelled_out):
        return True
    return any(mark in bare and all(part in held.words for part in bare.split(mark)) for mark in "-.")


def _prefix(word: str) -> str:
    return word[: max(_SHARED_PREFIX, len(word) - 3)]


def _initials(text: str) -> dict[str, str]:
    """Return the initials of runs of two to six capitalised words ("of", "and", "the" may stand between)."""
    found = {}
    for run in re.finditer(r"(?:[A-Z][\w’'-]+(?:\s+(?:of|and|the|for|de|&)\s+|\s+|$)){2,6}", text):
        words = [w for w in run.group().split() if w[0].isupper()]
        for size in range(2, len(words) + 1):
            for at in range(len(words) - size + 1):
                part = words[at : at + size]
                found["".join(w[0] for w in part).lower()] = " ".join(part).lower()
    return found
