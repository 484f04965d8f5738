"""Tell a stated cause from a mere sequence."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from feedback.domain.text import content_tokens, sentences

# What a claim says when it states a cause; (cause comes after it?).
_AFTER: Final = (
    r"because(?:\s+of)?|due\s+to|owing\s+to|thanks\s+to|as\s+a\s+(?:result|consequence)\s+of|on\s+account\s+of|"
    r"(?:was|were|is|are|been|being)\s+caused\s+by|caused\s+by|(?:was|were|is|are)\s+the\s+(?:result|fault)\s+of|"
    r"(?:results?|resulted|resulting|stems?|stemmed)\s+from|driven\s+by|blam(?:e|es|ed|ing)\b(?:\s+\w+){0,3}?\s+on|"
    r"weil|wegen|aufgrund|verursacht\s+durch|infolge|porque|debido\s+a|a\s+causa\s+de|por\s+culpa\s+de|por\s+(?:un|una)\s+(?:fallo|error|problema|descuido|avería)|causad[oa]s?\s+por|"
    r"parce\s+que|à\s+cause\s+de"
)
_BEFORE: Final = (
    r"caus(?:e|es|ed|ing)|le(?:d|ads?|ading)\s+to|result(?:s|ed|ing)?\s+in|(?:is|was|are|were)\s+the\s+(?:reason|cause)\s+(?:why|for|that|of)|"
    r"(?:is|was|are|were)\s+(?:why|to\s+blame\s+for|behind)|as\s+a\s+(?:result|consequence)|therefore|for\s+(?:that|this)\s+(?:very\s+)?reason|consequently|hence|thereby|"
    r"trigger(?:s|ed)?|provok(?:e|es|ed)|deshalb|daher|deswegen|führt(?:e|en)?\s+(?:dazu|zu)|por\s+eso|por\s+lo\s+tanto|provoc(?:a|ó|aron)|"
    r"caus(?:a|ó|aron)"
)
_CLAIMED: Final = re.compile(rf"\b(?:(?P<after>{_AFTER})|(?P<before>{_BEFORE}))\b", re.IGNORECASE)
_NOT_CLAIMED: Final = re.compile(
    r"\b(?:lost\s+cause|cause\s+for\s+concern|good\s+cause|led\s+to\s+believe|(?:the|a|any|no|what|possible|likely|hints?\s+at\s+a)\s+causes?)\b",
    re.IGNORECASE,
)
# What a record may say for it: looser, since people state causes in many ways.
_STATED: Final = re.compile(
    rf"\b(?:{_AFTER}|{_BEFORE}|cos|coz|cuz|['’]cause|so(?!\s+(?:far|many|much|long|good|bad))|reason\w*|fault|blame\w*|cause\w*|mean(?:s|t)|that['’]s\s+(?:why|how)|"
    r"made\s+(?:me|us|him|her|it|them|the)|makes?|mak(?:e|ing)\s+(?:me|us|it|them)|forc\w+|thanks|out\s+of|over\s+the|for\s+(?:being|having|not)|"
    r"why|hence|thus|if|unless|damit|sodass|denn|grund\w*|ya\s+que|pues|así\s+que|car|donc|puisque)\b|[;:—–-]\s",
    re.IGNORECASE,
)
_SIDE_TERMS: Final = 1


def invented_cause(claim: str, cited: Iterable[str], *, language: str = "en") -> str | None:
    """Return the words by which a claim states a cause that no cited text states; None when there are none.

    A text states it where a word of cause stands in a sentence, or its neighbour, that shares a word with each side.
    """
    idle = [m.span() for m in _NOT_CLAIMED.finditer(claim)]
    matches = [m for m in _CLAIMED.finditer(claim) if not any(a <= m.start() < b for a, b in idle)]
    if not matches:
        return None
    windows = [window for text in cited for window in _windows(text)]
    for match in matches:
        sides = [
            {t.stem for t in content_tokens(part, language)} for part in (claim[: match.start()], claim[match.end() :])
        ]
        if not any(_states(window, sides, language) for window in windows):
            return match.group().lower()
    return None


def _windows(text: str) -> Iterable[str]:
    spans = sentences(text)
    for number, span in enumerate(spans):
        following = spans[min(number + 1, len(spans) - 1)]
        yield text[span.start : following.end]


def _states(window: str, sides: list[set[str]], language: str) -> bool:
    if not _STATED.search(window):
        return False
    held = {t.stem for t in content_tokens(window, language)}
    return all(not side or len(side & held) >= _SIDE_TERMS for side in sides)
