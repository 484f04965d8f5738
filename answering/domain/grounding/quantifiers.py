"""Compare how much two sentences say: all, most, many, and who or what is said to exceed the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from answering.domain.grounding.quantities import share_stated

_UNIVERSAL: Final = re.compile(
    r"\b(?:all(?!\s+(?:right|over|along|day|night|time|in\s+all|sorts|kinds|the\s+(?:way|time|best))\b|-)|every(?!\s+(?:now|so|other|second|minute|hour|day|week|month|year)\b)|everyone|everybody|everything|"
    r"always|each(?!\s+(?:second|minute|hour|day|week|month|year|time|of\s+(?:the\s+)?(?:two|three|four|five|six|\d+))\b|\s*(?:[.,;:)]|$))|entirely|without\s+exception|alle[nrs]?|jede[nrsm]?|immer|todos|todas|siempre|cada|tous|toutes|toujours|chaque)\b",
    re.IGNORECASE,
)
_NOT_UNIVERSAL: Final = re.compile(
    r"\b(?:at|above|after|over|not|in|first\s+of|best\s+of|worst\s+of|most\s+of|of)\s+all\b|\b(?:nearly|almost|not|virtually|practically)\s+(?:all|every\w*|always)\b"
    r"|\beach\s+other\b|\ball\s+(?:two|three|four|five|\d+)\b",
    re.IGNORECASE,
)
# How a record may say it, beside the words that a claim uses.
_ALL_OF_IT: Final = re.compile(
    r"\b(?:all\s+(?:the\s+|of\s+)?(?:two|three|four|five|six|[\d,.]+)|the\s+lot|both|sämtlich\w*|todo|toda|entero|entera)\b",
    re.IGNORECASE,
)
# A claim about customers at large needs a record that speaks of them.
_PEOPLE: Final = (
    r"(?:customers?|records?|workers?|guests?|people|users?|clients?|shoppers?|buyers?|reviewers?|respondents?|patients?|members?|others?|households?|"
    r"kund(?:en|innen|e|in)|leute|nutzer\w*|haushalte?|client[ea]s?|personas|usuari[oa]s)"
)
_OF_PEOPLE: Final = re.compile(
    rf"\b(?:most|all|every|each|(?:nearly|almost|virtually)\s+(?:all|every)|the\s+majority\s+of|many|meisten|alle[nr]?|jede[rnm]?|fast\s+(?:alle|jede\w*)|"
    rf"casi\s+tod[oa]s|tod[oa]s|la\s+mayoría\s+de|muchos)\s+(?:of\s+)?(?:(?!of\b|the\s+time)[\w-]+\s+){{0,2}}{_PEOPLE}\b|\b(?:everyone|everybody)\b",
    re.IGNORECASE,
)
_OF_US: Final = re.compile(
    rf"\b(?:all\s+of\s+(?:us|them)|we\s+all|everyone|everybody|nobody|no\s+one|alle|todos|we['’]re\s+all|most\s+of\s+us)\b|{_OF_PEOPLE.pattern}",
    re.IGNORECASE,
)
_MAJORITY: Final = re.compile(
    r"\b(?:most(?=\s+(?:of|people|patients|customers|users|clients|respondents|\w+s)\b)|mostly|majority|nearly\s+(?:all|every\w*)|"
    r"almost\s+(?:all|every\w*|always)|virtually\s+all|the\s+bulk\s+of|predominantly|"
    r"die\s+meisten|mehrheit|la\s+mayor[ií]a|la\s+plupart)\b",
    re.IGNORECASE,
)
_THE_MOST: Final = re.compile(r"\b(?:the|its|his|her|their|our|your|my|one\s+of\s+the)\s+most\b", re.IGNORECASE)
_MANY: Final = re.compile(
    r"\b(?:many(?!\s+thanks)|numerous|countless|lots\s+of|plenty\s+of|a\s+(?:large|great)\s+(?:number|part|deal)|widespread|widely|"
    r"often|regularly|constantly|repeatedly|"
    r"viele[nr]?|häufig|oft|ständig|much[oa]s|a\s+menudo|frecuentemente|beaucoup|souvent)\b",
    re.IGNORECASE,
)
_MANY_TIMES: Final = re.compile(
    r"\b(?:again(?:\s+and\s+again)?|every|each|always|keeps?|kept|still|yet\s+another|once\s+more|times|twice|second|third|fourth|several|multiple|various|"
    r"wieder|mehrmals|mehrere|jede[nrsm]?|otra\s+vez|varias|varios|cada|siempre|loads|tons|dozens|hundreds|lot|so\s+much|a\s+(?:day|week|month)|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days|(?:week|month|day|night|morning)s)\b",
    re.IGNORECASE,
)
_NOT_MANY: Final = re.compile(r"\b(?:how|not|as|so|too)\s+(?:many|often|much)\b", re.IGNORECASE)
_SUPERLATIVE_WORDS: Final = (
    "worst best biggest largest greatest highest lowest fastest slowest longest shortest smallest cheapest dearest easiest hardest "
    "poorest oldest newest loudest commonest busiest safest happiest strongest weakest cleanest dirtiest nicest kindest friendliest "
    "rudest quickest simplest heaviest richest youngest toughest"
)
_MOST_AND_WORD: Final = r"(?:the|its|his|her|their|our|your|my)\s+(?:\w+\s+)?(?:most|least)\s+\w+"
_SUPERLATIVE: Final = re.compile(
    rf"\b(?:{'|'.join(_SUPERLATIVE_WORDS.split())}|{_MOST_AND_WORD}|number\s+one|top\s+(?:complaint|reason|issue|problem|concern|cause|request)|"
    r"(?:the|their)\s+(?:main|chief|primary|leading|key|biggest)\s+(?:\w+\s+)?(?:complaint|reason|issue|problem|concern|cause|request|driver|source|topic)s?|"
    r"more\s+(?:\w+\s+)?than\s+any(?:thing|one|body|\s+other)\w*|(?:than\s+)?ever\s+(?:before|seen|had)|"
    r"no\s+other\s+\w+(?:\s+\w+){0,3}\s+(?:as|so)\s+\w+|like\s+no\s+other|than\s+any\w*(?:\s+else)?|als\s+alles\s+andere|más\s+que\s+(?:cualquier|ning)\w+|"
    r"the\s+(?!rest\b|west\b|test\b|guest\b|quest\b|latest\b|nearest\b|interest\b|request\b|contest\b|forest\b|harvest\b|chest\b|nest\b|protest\b|invest\b)[a-z]{3,}est|"
    r"schlimmste\w*|beste[nrs]?|größte\w*|häufigste\w*|wichtigste\w*|schlechteste\w*|"
    r"(?:el|la|lo|los|las)\s+(?:peor|mejor|mayor|menor)(?:es)?|(?:el|la|los|las)\s+(?:\w+\s+)?más\s+\w+)\b",
    re.IGNORECASE,
)
_NO_SUPERLATIVE: Final = re.compile(
    r"\b(?:at\s+(?:best|worst|(?:the\s+)?(?:least|most|latest))|best\s+(?:before|regards|wishes|of\s+luck)|do\s+(?:my|their|his|her|our|your|its)\s+best|"
    r"(?:did|does|doing|tried|try)\s+(?:\w+\s+)?best|had\s+better|the\s+most\s+of)\b",
    re.IGNORECASE,
)
_MANY_CITED: Final = 4
_WHOLE: Final = 0.995
_HALF: Final = 0.5
_ABSENCE: Final = re.compile(r"\b(?:never|nobody|none|no\s+one|nie|niemals|nunca|jamais)\b", re.IGNORECASE)


def quantifier_level(text: str) -> int:
    """Rate the widest quantifier: 4 all or always, 3 most, 2 many or often, 0 none of these; a stated share counts too."""
    narrowed = _NOT_UNIVERSAL.sub(" ", text)
    share = share_stated(text)
    if share and share < _WHOLE and not _UNIVERSAL.search(narrowed):
        return 3 if share > _HALF else 2
    if _UNIVERSAL.search(narrowed) or share >= _WHOLE or _ALL_OF_IT.search(text):
        return 4
    if _MAJORITY.search(_THE_MOST.sub(" ", text)) or share > _HALF:
        return 3
    return 2 if _MANY.search(_NOT_MANY.sub(" ", text)) or _MANY_TIMES.search(text) else 0


def quantifier_conflict(claim: str, cited: Iterable[str], *, records: int = 1) -> str | None:
    """Say which quantifier of the claim is wider than anything that the cited text states; else None.

    `records` is how many records are cited: four that say the same are many.
    """
    narrowed = _NOT_UNIVERSAL.sub(" ", claim)
    wide = _UNIVERSAL.search(narrowed)
    major = None if wide else _MAJORITY.search(_THE_MOST.sub(" ", claim))
    many = None if wide or major or records >= _MANY_CITED else _MANY.search(_NOT_MANY.sub(" ", claim))
    match = wide or major or many
    cited = list(cited)
    people = _OF_PEOPLE.search(claim)
    if people and not any(_OF_US.search(text) or share_stated(text) > _HALF for text in cited):
        return f"the claim says “{people.group().lower()}”, the record doesn't"
    if match is None:
        return None
    level = 4 if wide else 3 if major else 2
    if max((quantifier_level(text) for text in cited), default=0) >= level:
        return None
    if wide and _ABSENCE.search(claim) and any(_ABSENCE.search(text) for text in cited):
        return None
    return f"the claim says “{match.group().lower()}”, the record doesn't"


def invented_superlative(claim: str, cited: Iterable[str]) -> str | None:
    """Return a superlative of the claim ("the worst", "the main reason") that the cited text doesn't bear out; else None."""
    held = {kind for text in cited for _, kind in _superlatives(text)}
    return next((words for words, kind in _superlatives(claim) if kind not in held), None)


def _superlatives(text: str) -> Iterator[tuple[str, str]]:
    """Yield each superlative with what it comes down to: good, bad, first of all, or its own word."""
    for match in _SUPERLATIVE.finditer(_NO_SUPERLATIVE.sub(" ", text)):
        words = match.group().lower()
        last = words.split()[-1]
        if last in _GOOD or words.split()[0] in _GOOD:
            yield words, "good"
        elif last in _BAD or words.split()[0] in _BAD:
            yield words, "bad"
        elif _FIRST_OF_ALL.search(words):
            yield words, "first"
        else:
            yield words, last[:5]


_GOOD: Final = frozenset(
    "best nicest kindest friendliest safest happiest beste besten bester bestes mejor mejores".split()
)
_BAD: Final = frozenset(
    "worst rudest dirtiest schlimmste schlimmsten schlimmster schlimmstes schlechteste schlechtesten peor peores".split()
)
_FIRST_OF_ALL: Final = re.compile(
    r"\b(?:number\s+one|top|main|chief|primary|leading|key|biggest|largest|greatest|commonest|most\s+(?:common|frequent|important)|"
    r"more\b.*\bthan\s+any\w*|häufigste\w*|wichtigste\w*|größte\w*|mayor(?:es)?)\b"
)
