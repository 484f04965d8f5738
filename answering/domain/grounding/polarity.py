"""Compare what two sentences affirm: negation, quantifiers, direction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from answering.domain.grounding.quantities import share_stated
from feedback.domain.text import content_tokens

_NEGATOR: Final = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|neither|nor|nowhere|without|cannot|cant|wont|dont|didnt|doesnt|isnt|wasnt|"
    r"arent|werent|hasnt|havent|couldnt|wouldnt|shouldnt|hardly|barely|scarcely|rarely|seldom|lack(?:s|ed|ing)?|"
    r"unable|avoid(?:s|ed|ing)?|prevent(?:s|ed|ing)?|prohibit(?:s|ed|ing)?|fail(?:s|ed|ing)?\s+to|failure\s+to|refus(?:e|es|ed|ing)\s+to|\w+n['’]t|"
    r"kein\w*|nicht|nie|niemals|ohne|ningún|ninguna?|nunca|jamás|sin|jamais|aucune?|sans)\b",
    re.IGNORECASE,
)
_NOT_NEGATING: Final = re.compile(
    r"\b(?:not\s+(?:only|just|least)|no\s+(?:doubt|matter|wonder)|no\.\s*\d|nothing\s+but|if\s+not|or\s+not|never\s+(?:seen|known|met)\s+such|"
    r"(?:cannot|can\s?not|can['’]?t|could\s+not|couldn['’]?t)\s+(?:fault|thank|praise|recommend|ask\s+for|have\s+been|be\s+\w+er)|"
    r"no\s+(?:complaints?|problems?|issues?)|nicht\s+nur|no\s+s[oó]lo)\b",
    re.IGNORECASE,
)
_CLAUSE_END: Final = re.compile(
    r"[.!?;:,()–—\n]|\b(?:but|and|because|although|though|however|while|whereas|until|which|who|aber|und|weil|pero|porque|mais|et)\b",
    re.IGNORECASE,
)
_SCOPE: Final = 2
# Words that mean the opposite of each other, by stem; a claim on the other side of the record is wrong.
_OPPOSITES: Final = (
    ("rise rose risen increas grow grew grown climb surg soar gain doubl tripl expand rais higher upward steigt "
     "gestiegen zugenommen aumentó subió", "fall fell fallen decreas declin drop shrink shrank reduc lower plung "
     "halv slump cut contract downward sinkt gesunken abgenommen bajó disminuyó cayó"),
    ("better improv best upgrad besser mejor mejoró", "wors worst worsen deterior degrad declin schlechter peor empeoró"),
    ("faster quicker fast quick quickli rapid prompt promptli sooner", "slower slow slowli delay later"),
    ("longer long lengthi", "shorter short brief"),
    ("more", "fewer less"),
    ("good great excel brilliant wonder fantast amaz", "bad poor terribl aw horribl appal dread"),
    ("clean spotless", "dirti filthi unclean"),
    ("kind friendli polit courteous", "rude unkind unfriendli impolit abrupt"),
    ("easi simpl", "difficult hard"),
    ("happi pleas satisfi", "unhappi dissatisfi displeas upset"),
    ("earli earlier", "late later"),
    ("safe", "unsaf danger"),
    ("success succeed", "failur fail"),
    ("open", "close shut"),
    ("accept approv agre", "reject refus disapprov disagre declin"),
    ("support", "oppos"),
    ("win won winner", "lose lost loser"),
    ("cheap cheaper inexpens", "expens dear costlier"),
    ("hot warm", "cold freez"),
    ("possibl", "imposs"),
    ("love enjoy", "dislik hate"),
    ("helpful", "unhelp useless"),
    ("comfort", "uncomfort"),
    ("clear", "unclear confus"),
    ("adequ suffici enough", "inadequ insuffici"),
    ("before", "after"),
)  # fmt: skip


def _poles() -> Mapping[str, tuple[tuple[int, int], ...]]:
    found: dict[str, tuple[tuple[int, int], ...]] = {}
    for axis, (one, other) in enumerate(_OPPOSITES):
        for sign, words in ((1, one), (-1, other)):
            for word in words.split():
                found[word] = (*found.get(word, ()), (axis, sign))
    return MappingProxyType(found)


_POLES: Final = _poles()

_UNIVERSAL: Final = re.compile(
    r"\b(?:all(?!\s+(?:right|over|along|day|night|time|in\s+all|sorts|kinds|the\s+(?:way|time|best))\b|-)|every(?!\s+(?:now|so|other|second|minute|hour|day|week|month|year)\b)|everyone|everybody|everything|"
    r"always|each(?!\s+(?:second|minute|hour|day|week|month|year|time)\b)|entirely|without\s+exception|alle[nrs]?|jede[nrsm]?|immer|todos|todas|siempre|cada|tous|toutes|toujours|chaque)\b",
    re.IGNORECASE,
)
_NOT_UNIVERSAL: Final = re.compile(
    r"\b(?:at|above|after|over|not|in|first\s+of|best\s+of|worst\s+of|most\s+of|of)\s+all\b|\b(?:nearly|almost|not|virtually|practically)\s+(?:all|every\w*|always)\b"
    r"|\beach\s+other\b|\ball\s+(?:two|three|four|five|\d+)\b",
    re.IGNORECASE,
)
_MAJORITY: Final = re.compile(
    r"\b(?:most(?=\s+(?:of|people|patients|customers|users|clients|respondents|\w+s)\b)|mostly|majority|nearly\s+(?:all|every\w*)|"
    r"almost\s+(?:all|every\w*|always)|virtually\s+all|the\s+bulk\s+of|predominantly|"
    r"die\s+meisten|mehrheit|la\s+mayor[ií]a|la\s+plupart)\b",
    re.IGNORECASE,
)
_SUPERLATIVE: Final = re.compile(r"\b(?:the|its|his|her|their|our|your|my|one\s+of\s+the)\s+most\b", re.IGNORECASE)
_ABSENCE: Final = re.compile(r"\b(?:never|nobody|none|no\s+one|nie|niemals|nunca|jamais)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Affirmation:
    """The content stems of a text: those that a negator reaches, those that stand free of one, all."""

    negated: frozenset[str]
    first_negated: frozenset[str]
    plain: frozenset[str]
    stems: frozenset[str]
    has_negator: bool


def clauses(text: str) -> list[str]:
    """Cut a sentence where one statement ends and another begins."""
    return [part for part in _CLAUSE_END.split(text) if part.strip()]


def negation_conflict(claim: str, sentence: str, *, language: str) -> str | None:
    """Say which word one side denies and the other affirms; None when they agree.

    A word counts as denied when it is among the first content words after a negator of its clause.
    "Not happy" and "unhappy" agree. A question denies nothing.
    """
    if sentence.rstrip().endswith("?"):
        return None
    ours, theirs = _affirmation(claim, language), _affirmation(sentence, language)
    if not ours.has_negator and not theirs.has_negator:
        return None
    if ours.negated & theirs.negated:
        return None
    both = ours.has_negator and theirs.has_negator
    denied = ((ours.first_negated if both else ours.negated) - ours.plain) & theirs.plain
    affirmed = ((theirs.first_negated if both else theirs.negated) - theirs.plain) & ours.plain
    if ours.has_negator and not both and _opposed(ours.negated, theirs.stems):
        return None
    if theirs.has_negator and not both and _opposed(theirs.negated, ours.stems):
        return None
    if denied:
        return f"the claim denies “{min(denied)}”, which the record affirms"
    if affirmed:
        return f"the claim affirms “{min(affirmed)}”, which the record denies"
    if not both and _is_same_but_negated(claim, ours, sentence, theirs, language):
        return "only one side is negated"
    return None


def direction_conflict(claim: str, sentence: str, *, language: str) -> str | None:
    """Say which word of the claim has its opposite in the record (rose, fell); None when they agree.

    The clause that shares most with the claim decides, so that "sales rose while costs fell" doesn't
    bear out "sales fell". Negated words count for the other side.
    """
    ours = _directions(claim, language)
    if not ours:
        return None
    stems = {t.stem for t in content_tokens(claim, language)} - _POLES.keys()
    parts = clauses(sentence)
    theirs = _directions(sentence, language)
    if len(parts) > 1:
        shared = [len(stems & {t.stem for t in content_tokens(p, language)}) for p in parts]
        best = max(range(len(parts)), key=shared.__getitem__)
        if shared[best] > sum(shared) - shared[best]:
            theirs = _directions(parts[best], language) or theirs
    for axis, (signs, word) in ours.items():
        if axis in theirs and not signs & theirs[axis][0]:
            return f"the claim says “{word}”, the record “{theirs[axis][1]}”"
    return None


def quantifier_level(text: str) -> int:
    """Rate the widest quantifier: 4 all or always, 3 most, 0 none of these; a stated share counts too."""
    narrowed = _NOT_UNIVERSAL.sub(" ", text)
    share = share_stated(text)
    if _UNIVERSAL.search(narrowed) or share >= 0.995:
        return 4
    if _MAJORITY.search(_SUPERLATIVE.sub(" ", text)) or share > 0.5:
        return 3
    return 0


def quantifier_conflict(claim: str, cited: Iterable[str]) -> str | None:
    """Say which quantifier of the claim is wider than anything that the cited text states; else None."""
    narrowed = _NOT_UNIVERSAL.sub(" ", claim)
    wide = _UNIVERSAL.search(narrowed)
    major = None if wide else _MAJORITY.search(_SUPERLATIVE.sub(" ", claim))
    match = wide or major
    if match is None:
        return None
    level = 4 if wide else 3
    if max((quantifier_level(text) for text in cited), default=0) >= level:
        return None
    if wide and any(_ABSENCE.search(text) for text in cited):
        return None
    return f"the claim says “{match.group().lower()}”, the record doesn't"


def _is_same_but_negated(claim: str, ours: _Affirmation, sentence: str, theirs: _Affirmation, language: str) -> bool:
    """Tell whether claim and record say the same words and a negator stands in what they share."""
    if theirs.has_negator:
        parts = [p for p in clauses(sentence) if _NEGATOR.search(p)]
        negated = frozenset(t.stem for p in parts for t in content_tokens(p, language))
    else:
        parts = [p for p in clauses(claim) if _NEGATOR.search(p)]
        negated = frozenset(t.stem for p in parts for t in content_tokens(p, language))
    other = ours.stems if theirs.has_negator else theirs.stems
    return len(negated & other) >= 3 and len(negated & other) / len(negated) >= 0.75


def _affirmation(text: str, language: str) -> _Affirmation:
    idle = [m.span() for m in _NOT_NEGATING.finditer(text)]
    content = content_tokens(text, language)
    reached: set[int] = set()
    first: set[str] = set()
    has_negator = False
    for match in _NEGATOR.finditer(text):
        if any(start <= match.start() < end for start, end in idle):
            continue
        has_negator = True
        stop = _CLAUSE_END.search(text, match.end())
        end = stop.start() if stop else len(text)
        scope = [i for i, t in enumerate(content) if match.end() <= t.start < end][:_SCOPE]
        reached.update(scope)
        first.update(content[i].stem for i in scope[:1])
    return _Affirmation(
        negated=frozenset(content[i].stem for i in reached),
        first_negated=frozenset(first),
        plain=frozenset(t.stem for i, t in enumerate(content) if i not in reached),
        stems=frozenset(t.stem for t in content),
        has_negator=has_negator,
    )


def _directions(text: str, language: str) -> dict[int, tuple[frozenset[int], str]]:
    words = content_tokens(text, language)
    found: dict[int, tuple[frozenset[int], str]] = {}
    negated = _affirmation(text, language).negated if words else frozenset()
    for token in words:
        for axis, sign in _POLES.get(token.stem, ()):
            signs = found.get(axis, (frozenset(), token.surface))[0]
            found[axis] = (signs | {-sign if token.stem in negated else sign}, token.surface)
    return found


def _opposed(negated: frozenset[str], stems: frozenset[str]) -> bool:
    """Tell whether a negated word's opposite stands on the other side: "not happy", "unhappy"."""
    return any(
        (axis, -sign) in _POLES.get(other, ())
        for stem in negated
        for axis, sign in _POLES.get(stem, ())
        for other in stems
    )
