"""Compare what a claim denies with what the cited text denies, and which way round it tells of before and after."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from answering.domain.grounding.containment import Kin
from answering.domain.grounding.quantities import quantities
from feedback.domain.polarity import NOT_NEGATING
from feedback.domain.text import content_tokens, fold, sentences

_NEGATOR: Final = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|neither|nor|nowhere|without|cannot|hardly|barely|unable|\w+n['’]t|"
    r"cant|wont|dont|didnt|doesnt|isnt|wasnt|arent|werent|hasnt|havent|couldnt|wouldnt|shouldnt|"
    r"kein\w*|nicht|nichts|nie|niemals|niemand|ohne|ningún|ninguna?|nadie|nada|nunca|jamás|sin|ni|ne|jamais|aucune?|sans|rien|personne)\b",
    re.IGNORECASE,
)
_SPANISH_NO: Final = re.compile(r"\bno\b", re.IGNORECASE)
_CLAUSE_END: Final = re.compile(
    r"[.!?;:()\n]|,(?!\s*\d)|\s[–—-]\s|\b(?:but|although|though|however|while|whereas|until|which|who|so|yet|and|aber|und|weil|obwohl|sondern|pero|porque|aunque|sino|y|mais|et)\b",
    re.IGNORECASE,
)
# What denies without saying no: what failed, is lacking, too little, wished for, or still to come.
_IMPLICIT: Final = re.compile(
    r"\b(?:fail\w*|refus\w*|reject\w*|declin\w*|den(?:y|ied|ies)|lack\w*|miss(?:ed|es|ing)|lost|los(?:e|es|ing)|gone|stop\w*|prevent\w*|avoid\w*|ceas\w*|block\w*|"
    r"cancel\w*|clos\w+|shut|wrong\w*|broke\w*|broken|empty|out\s+of|sold\s+out|unavailable|unsuccessful\w*|impossible|useless|ignor\w+|forg[eo]t\w*|"
    r"un\w{4,}|dis\w{4,}|im(?:possib|prop|per)\w+|in(?:correct|access|adequ|suffic|valid|accur|compl|conven|capab)\w*|wait\w*|yet|only|instead|too|"
    r"few\w*|little|less|least|rare\w*|seldom|scarce\w*|zero|nil|nought|minus|away|against|free|anything\s+but|far\s+from|long\s+since|used\s+to|no\s+longer|"
    r"late\w*|overdue|due|pending|expired?|laps\w+|wasted?|vain|"
    r"hard\w*|difficult\w*|struggl\w*|problem\w*|trouble\w*|error\w*|e\d{3,}|err_\w+|contradict\w*|statt|anstatt|fehl\w*|leider|erst|nur|noch|"
    r"zu\s+(?:spät|kurz|lang|klein|wenig|teuer)|falsch|kaputt|leer|weg|aus|un\w{4,}|verpasst|verlor\w*|abge\w+|abbr\w+|stürz\w*|stornier\w*|gesperrt|"
    r"falta\w*|sin|solo|sólo|todavía|aún|ojalá|falló|fallan?|error|imposible|agotad\w*|perd\w+|desapare\w+|tarde|demasiado|en\s+lugar|vac[ií]\w*|desconoc\w*|imped\w*)\b",
    re.IGNORECASE,
)
_BOUNDS: Final = re.compile(
    r"\b(?:no|not|nicht|no)\s+(?:more|less|fewer|later|mehr|más|menos)\s+(?:than|als|de|que)\b|\bnot\s+(?:over|for)\s+the\b",
    re.IGNORECASE,
)
_IDLE: Final = frozenset(("longer", "long", "anymor", "mehr", "more"))
_CONDITIONAL: Final = re.compile(
    r"\b(?:if|whether|unless|in\s+case|would|could|should|might|ob|wenn|falls|würde|si|sería|podría)\b", re.IGNORECASE
)
_WINDOW: Final = 3
_REACH_BACK: Final = 2
_FIRST_WORDS: Final = 2
_SAME_MATTER: Final = 0.35
_SAME_WORD: Final = 0.2
_KIN_ENOUGH: Final = 0.2
_AFFIRMED_ENOUGH: Final = 0.55


@dataclass(frozen=True, slots=True)
class _Denial:
    """A negator with the words of its clause that it reaches, nearest first, and all words of the clause."""

    word: str
    reached: tuple[str, ...]
    clause: frozenset[str]


@dataclass(frozen=True)
class _Sentence:
    """A sentence of the cited text with what it denies."""

    text: str
    denials: tuple[_Denial, ...]
    language: str

    @property
    def is_question(self) -> bool:
        return self.text.rstrip().endswith("?")

    @cached_property
    def stems(self) -> frozenset[str]:
        return _stems(self.text, self.language)

    @cached_property
    def affirmed(self) -> frozenset[str]:
        """The words that are said without being denied, asked or wished."""
        if self.is_question:
            return frozenset()
        denied = {word for denial in self.denials for word in denial.reached}
        parts = [part for part in _CLAUSE_END.split(self.text) if part and not _CONDITIONAL.search(part)]
        return frozenset(t.stem for part in parts for t in content_tokens(part, self.language)) - denied


def denial_conflict(claim: str, texts: Sequence[str], kin: Kin, *, language: str = "en") -> str | None:
    """Say what only one side denies; None when they agree or the cited text doesn't speak of it.

    A claim's "not" needs one beside the same words in the cited text. Where the text has none of these words, any in the
    sentence that speaks most of the matter or next to it will do, or a word there that denies without saying so
    ("failed", "still waiting", "too short"). What the text denies the claim may not affirm.
    """
    ours = _denials(claim, language)
    if not ours and not any(_NEGATOR.search(text) for text in texts):
        return None
    theirs = [
        _Sentence(text[s.start : s.end], tuple(_denials(text[s.start : s.end], language)), language)
        for text in texts
        for s in sentences(text)
    ]
    for denial in ours:
        if not _is_denied(denial, claim.lower(), theirs, kin):
            reached = denial.reached[0] if denial.reached else "…"
            return f"the claim denies something (“{denial.word} {reached}”), which the cited text doesn't"
    denied = {word for denial in ours for word in denial.clause}
    whole = "\n".join(texts).lower()
    parts = [
        part
        for part in _CLAUSE_END.split(claim)
        if part and all(m.group().lower() in whole for m in _IMPLICIT.finditer(part))
    ]
    plain = frozenset(t.stem for part in parts for t in content_tokens(part, language)) - denied
    return _affirms_what_is_denied(plain, _stems(claim, language), theirs, kin)


def _is_denied(denial: _Denial, claim: str, theirs: Sequence[_Sentence], kin: Kin) -> bool:
    first = frozenset(denial.reached[:_FIRST_WORDS])
    for sentence in theirs:
        for other in sentence.denials:
            if any(_speaks_of(word, frozenset(other.reached), kin, _KIN_ENOUGH) for word in denial.reached):
                return True
    if any(f"un{word}" in sentence.stems for word in first for sentence in theirs):
        return True
    if any(_speaks_of(word, sentence.affirmed, kin, _AFFIRMED_ENOUGH) for word in first for sentence in theirs):
        return False
    shares = [_share_of(denial.clause or first, sentence.stems, kin) for sentence in theirs]
    if not shares:
        return False
    best = max(range(len(shares)), key=shares.__getitem__)
    around = theirs[max(0, best - 1) : best + 2]
    return any(
        sentence.denials or any(m.group().lower() not in claim for m in _IMPLICIT.finditer(sentence.text))
        for sentence in around
    )


def _affirms_what_is_denied(
    plain: frozenset[str], whole: frozenset[str], theirs: Sequence[_Sentence], kin: Kin
) -> str | None:
    for sentence in theirs:
        if sentence.is_question:
            continue
        for denial in sentence.denials:
            word = next((w for w in denial.reached[:1] if _speaks_of(w, plain, kin, _AFFIRMED_ENOUGH)), None)
            if word is None or any(word in other.affirmed for other in theirs):
                continue
            least = _SAME_WORD if word in plain else _SAME_MATTER
            if _share_of(denial.clause, whole, kin) >= least:
                return f"the claim affirms “{word}”, which the record denies"
    return None


def order_conflict(claim: str, texts: Sequence[str]) -> str | None:
    """Say which word of before and after, or course of two numbers, the cited text has the other way round."""
    whole = "\n".join(texts)
    for one, other in ((_BEFORE, _AFTER), (_MORE, _LESS), (_GAIN, _LOSS)):
        for ours, theirs in ((one, other), (other, one)):
            said = ours.search(claim)
            if said is None or theirs.search(claim):
                continue
            if said.group().lower() in _PLAINLY and not _ANY_BEFORE.search(whole):
                return f"the claim says “{said.group().lower()}”, the record tells no such order"
            opposite = theirs.search(whole)
            if opposite and not ours.search(whole):
                return f"the claim says “{said.group().lower()}”, the record “{opposite.group().lower()}”"
    course = _COURSE.search(claim)
    if course is None:
        return None
    ends = [quantities(course[name]) for name in ("first", "last")]
    if not all(ends):
        return None
    first, last = (max(found[0].values) for found in ends)
    if first == last or (last > first) == bool(_RISING.search(course["verb"])):
        return None
    return f"the claim says “{course['verb'].lower()}” of {course['first']} and {course['last']}"


_PLAINLY: Final = frozenset(("before", "bevor", "vor", "antes de", "avant"))
_ANY_BEFORE: Final = re.compile(
    r"\b(?:before\w*|until|till?|prior|ahead|by|earl\w+|ago|already|pre\w*|yet|eve|advance|first|tomorrow|still|due|vor\w*|bevor|bis|früh\w*|schon|erst|zuerst|antes|hasta|ya|previ\w*|avant)\b"
    r"|(?<=\d)\s*[-–]\s*\d",
    re.IGNORECASE,
)
_MORE: Final = re.compile(
    r"\b(?:more(?!\s+or)|above|exceed\w*|greater|higher|dearer|longer|pricier|increase\w*|up\s+by|scaled\s+up|mehr|teurer|höher|länger|más|subid\w+|sub(?:e|en|ió)|caro)\b",
    re.IGNORECASE,
)
_LESS: Final = re.compile(
    r"\b(?:less|fewer|below|under|cheaper|lower|shorter|decrease\w*|down\s+by|weniger|billiger|günstiger|niedriger|menos|baj(?:a|an|ó|ado)|barato)\b",
    re.IGNORECASE,
)
_BEFORE: Final = re.compile(
    r"\b(?:before|until|prior\s+to|ahead\s+of|earlier\s+than|vor(?!\s+(?:ort|allem))|bevor|bis|antes\s+de|hasta|avant)\b",
    re.IGNORECASE,
)
_AFTER: Final = re.compile(
    r"\b(?:after(?!\s+all)|afterwards|since|following|once|then|later|from|nach|nachdem|seit|tras|después\s+de|desde|après|depuis)\b",
    re.IGNORECASE,
)
_GAIN: Final = re.compile(
    r"\b(?:sav(?:e|es|ed|ing)|gain\w*|win|won|found|kept|keeps?|stay\w*|join\w*|liked|likes|prais\w+|lob\w*|on\s+time|pünktlich\w*|puntual\w*)\b",
    re.IGNORECASE,
)
_LOSS: Final = re.compile(
    r"\b(?:los(?:es?|t|ing)|wast\w+|left|leav\w+|quit|dislik\w+|criticis\w+|tadel\w*|late\w*|verspät\w*|unpünktlich\w*|tarde)\b",
    re.IGNORECASE,
)
_COURSE: Final = re.compile(
    r"\b(?P<verb>r(?:ise|ises|ose|isen)|increas\w+|climb\w*|went\s+up|go(?:es)?\s+up|grew|grow\w*|jump\w*|f(?:ell|all|alls|allen)|decreas\w+|drop\w*|went\s+down|go(?:es)?\s+down|sank|shrank|"
    r"stieg\w*|steig\w*|sank\w*|sink\w*|subió|sube|bajó|baja|rebaj\w+|erhöht\w*|gesenkt|raised|lowered|cut|reduced)\b[^.;\d£$€]{0,40}\b(?:from|von|de)\s+(?:\w+\s+)?"
    r"(?P<first>[£$€]?\d(?:[\d.,]*\d)?)[^.;\d£$€]{0,15}\b(?:to|auf|a)\s+(?P<last>[£$€]?\d(?:[\d.,]*\d)?)",
    re.IGNORECASE,
)
_RISING: Final = re.compile(
    r"^(?:r|increas|climb|went\s+up|go(?:es)?\s+up|gr|jump|st|sub|erh)(?!educed|ebaj)", re.IGNORECASE
)


def _denials(text: str, language: str) -> list[_Denial]:
    idle = [m.span() for m in (*NOT_NEGATING.finditer(text), *_BOUNDS.finditer(text))]
    found = []
    for match in _NEGATOR.finditer(text):
        if any(start <= match.start() < end for start, end in idle):
            continue
        if language == "de" and fold(match.group()) in ("no", "ne", "ni", "sin", "nor"):
            continue
        start = max((m.end() for m in _CLAUSE_END.finditer(text, 0, match.start())), default=0)
        stop = _CLAUSE_END.search(text, match.end())
        end = stop.start() if stop else len(text)
        after = [t.stem for t in content_tokens(text[match.end() : end], language) if t.stem not in _IDLE][:_WINDOW]
        before = [t.stem for t in content_tokens(text[start : match.start()], language)]
        # German puts its "nicht" behind the verb; what has nothing behind it denies what went before.
        back = before[::-1][: _REACH_BACK if language == "de" or not after else 0]
        found.append(_Denial(match.group().lower(), (*after, *back), frozenset((*before, *after))))
    return found


def _speaks_of(word: str, stems: frozenset[str], kin: Kin, least: float) -> bool:
    """Tell whether a word, or its kin in either direction, is among the stems."""
    if word in stems:
        return True
    return any(credit >= least for other, credit in kin.get(word, {}).items() if other in stems) or any(
        kin.get(stem, {}).get(word, 0.0) >= least for stem in stems
    )


def _share_of(words: frozenset[str], stems: frozenset[str], kin: Kin) -> float:
    if not words:
        return 0.0
    return sum(_speaks_of(word, stems, kin, _KIN_ENOUGH) for word in words) / len(words)


def _stems(text: str, language: str) -> frozenset[str]:
    return frozenset(t.stem for t in content_tokens(text, language))
