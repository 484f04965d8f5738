"""Compare what two sentences affirm: negation, direction, and whether they praise or complain.

Grounding asks whether a claim contradicts its record, retrieval which records contradict what was found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from feedback.domain.text import content_tokens

_NEGATOR: Final = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|neither|nor|nowhere|without|cannot|cant|wont|dont|didnt|doesnt|isnt|wasnt|"
    r"arent|werent|hasnt|havent|couldnt|wouldnt|shouldnt|hardly|barely|scarcely|rarely|seldom|lack(?:s|ed|ing)?|"
    r"unable|avoid(?:s|ed|ing)?|prevent(?:s|ed|ing)?|prohibit(?:s|ed|ing)?|fail(?:s|ed|ing)?\s+to|failure\s+to|refus(?:e|es|ed|ing)\s+to|\w+n['’]t|"
    r"kein\w*|nicht|nie|niemals|ohne|ningún|ninguna?|nunca|jamás|sin|jamais|aucune?|sans)\b",
    re.IGNORECASE,
)
NOT_NEGATING: Final = re.compile(
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
    ("prais lob lobt elogia", "criticis critic complain blame condemn tadelt tadeln beklagt critica"),
    ("like", "dislik"),
    ("excess surplus", "shortfal deficit"),
    ("punctual punktlich puntual", "late delay tardi unpunktlich verspat retras"),
    ("full", "empti"),
)  # fmt: skip


def _poles() -> Mapping[str, tuple[tuple[int, int], ...]]:
    found: dict[str, tuple[tuple[int, int], ...]] = {}
    for axis, (one, other) in enumerate(_OPPOSITES):
        for sign, words in ((1, one), (-1, other)):
            for word in words.split():
                found[word] = (*found.get(word, ()), (axis, sign))
    return MappingProxyType(found)


POLES: Final = _poles()


@dataclass(frozen=True, slots=True)
class Affirmation:
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
    ours, theirs = affirmation(claim, language), affirmation(sentence, language)
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
    ours = directions(claim, language)
    if not ours:
        return None
    stems = {t.stem for t in content_tokens(claim, language)} - POLES.keys()
    parts = clauses(sentence)
    theirs = directions(sentence, language)
    if len(parts) > 1:
        shared = [len(stems & {t.stem for t in content_tokens(p, language)}) for p in parts]
        best = max(range(len(parts)), key=shared.__getitem__)
        if shared[best] > sum(shared) - shared[best]:
            theirs = directions(parts[best], language) or theirs
    for axis, (signs, word) in ours.items():
        if axis in theirs and not signs & theirs[axis][0]:
            return f"the claim says “{word}”, the record “{theirs[axis][1]}”"
    return None


def _is_same_but_negated(claim: str, ours: Affirmation, sentence: str, theirs: Affirmation, language: str) -> bool:
    """Tell whether claim and record say the same words and a negator stands in what they share."""
    if theirs.has_negator:
        parts = [p for p in clauses(sentence) if _NEGATOR.search(p)]
        negated = frozenset(t.stem for p in parts for t in content_tokens(p, language))
    else:
        parts = [p for p in clauses(claim) if _NEGATOR.search(p)]
        negated = frozenset(t.stem for p in parts for t in content_tokens(p, language))
    other = ours.stems if theirs.has_negator else theirs.stems
    return len(negated & other) >= 3 and len(negated & other) / len(negated) >= 0.75


def affirmation(text: str, language: str) -> Affirmation:
    """Sort the content stems of a sentence by whether a negator of their clause reaches them."""
    idle = [m.span() for m in NOT_NEGATING.finditer(text)]
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
    return Affirmation(
        negated=frozenset(content[i].stem for i in reached),
        first_negated=frozenset(first),
        plain=frozenset(t.stem for i, t in enumerate(content) if i not in reached),
        stems=frozenset(t.stem for t in content),
        has_negator=has_negator,
    )


def directions(text: str, language: str, said: Affirmation | None = None) -> dict[int, tuple[frozenset[int], str]]:
    """Return the sides that a sentence takes on each axis of opposites, with the word that says so.

    A side is 1 or -1; a negated word takes the other one. `said` is the text's affirmation where it is known.
    """
    words = content_tokens(text, language)
    found: dict[int, tuple[frozenset[int], str]] = {}
    negated = (said or affirmation(text, language)).negated if words else frozenset()
    for token in words:
        for axis, sign in POLES.get(token.stem, ()):
            signs = found.get(axis, (frozenset(), token.surface))[0]
            found[axis] = (signs | {-sign if token.stem in negated else sign}, token.surface)
    return found


def _opposed(negated: frozenset[str], stems: frozenset[str]) -> bool:
    """Tell whether a negated word's opposite stands on the other side: "not happy", "unhappy"."""
    return any(
        (axis, -sign) in POLES.get(other, ())
        for stem in negated
        for axis, sign in POLES.get(stem, ())
        for other in stems
    )
