"""Measure how far two records disagree: about the same thing, and with the opposite to say of it.

Deterministic: words, their negation and direction, praise and complaint, or a rating where records have one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from feedback.domain.polarity import POLES, affirmation, directions
from feedback.domain.text import content_tokens, sentences
from feedback.domain.valence import is_valued, leaning, valence, without_answer

# Below these two records are about different things; cosines of short texts on one topic lie above a half.
LEAST_COSINE: Final = 0.45
LEAST_OVERLAP: Final = 0.34
# An opposition weaker than this is not shown: most pairs differ in some word.
LEAST_OPPOSITION: Final = 0.25
# What a rating must differ by, as a share of its scale, before two records disagree.
_LEAST_APART: Final = 0.5
# What a contradicted word counts when neither side is known to praise or complain.
_WORD_AGAINST_WORD: Final = 0.7
_MOST_SENTENCES: Final = 12
_MOST_CHARACTERS: Final = 4_000


@dataclass(frozen=True, slots=True)
class Stance:
    """What one sentence is about and says: stems of the topic, those denied and affirmed, sides on axes, leaning."""

    topic: frozenset[str]
    denied: frozenset[str]
    affirmed: frozenset[str]
    sides: dict[int, tuple[frozenset[int], str]]
    praise: int
    complaint: int


class Voice:
    """A record as it is compared. `rating` lies on the corpus's scale; None where the record has none."""

    def __init__(self, text: str, *, language: str = "en", rating: float | None = None) -> None:
        self._text = text[:_MOST_CHARACTERS]
        self._language = language
        self.rating = rating

    @cached_property
    def stances(self) -> tuple[Stance, ...]:
        """Return what its first sentences say."""
        return _stances(self._text, self._language)

    @cached_property
    def topic(self) -> frozenset[str]:
        """Return the stems of all that it speaks of."""
        return frozenset().union(*(stance.topic for stance in self.stances))

    def leaning_on(self, topic: frozenset[str]) -> float:
        """Return which way it leans where it speaks of the topic, from -1 to 1; of all it says where it nowhere does."""
        about = [stance for stance in self.stances if stance.topic & topic] or list(self.stances)
        return leaning(sum(each.praise for each in about), sum(each.complaint for each in about))


@dataclass(frozen=True, slots=True)
class Opposition:
    """How far a record disagrees with another, all in [0, 1]: `score` is `topic` times `polarity`."""

    score: float
    topic: float
    polarity: float
    reason: str


def opposition(
    one: Voice,
    other: Voice,
    *,
    cosine: float | None = None,
    scale: tuple[float, float] | None = None,
    about: frozenset[str] = frozenset(),
) -> Opposition | None:
    """Return how far `one` disagrees with `other`, None when they aren't about the same thing.

    The topic is shared as far as their cosine, where both have a vector, else as far as their words overlap: short texts
    share a word such as "say" by chance. Their polarity is how far their ratings lie apart on `scale`, where both have
    one, else what their words say. `about` are the stems of the question.
    """
    topic = _overlap(one.topic, other.topic) if cosine is None else max(0.0, min(1.0, cosine))
    if topic < (LEAST_OVERLAP if cosine is None else LEAST_COSINE):
        return None
    if scale is not None and one.rating is not None and other.rating is not None:
        polarity, reason = _by_rating(one.rating, other.rating, scale)
    else:
        polarity, reason = _by_words(one, other, about)
    return Opposition(topic * polarity, topic, polarity, reason)


def disagreement(found: Sequence[Opposition], *, of: int) -> float:
    """Return how far a record disagrees with a result of `of` records: the mean over those on its topic, in [0, 1].

    At least half of the result counts: one record that is opposed is not the result. Where the records disagree among
    themselves nobody is far from all of them.
    """
    return math.fsum(each.score for each in found) / max(len(found), (of + 1) // 2, 1)


@lru_cache(maxsize=2048)
def _stances(text: str, language: str) -> tuple[Stance, ...]:
    """Read a text; the records on a topic come again with each question about it."""
    spans = sentences(text)[:_MOST_SENTENCES]
    return tuple(_stance(without_answer(text[span.start : span.end]), language) for span in spans)


def _stance(sentence: str, language: str) -> Stance:
    said = affirmation(sentence, language)
    praise, complaint = valence(sentence, said, language)
    topic = {token.stem for token in content_tokens(sentence, language)}
    about = frozenset(stem for stem in topic if stem not in POLES and not is_valued(stem, language))
    if sentence.rstrip().endswith("?"):
        # Who asks says neither.
        return Stance(about, frozenset(), frozenset(), {}, 0, 0)
    return Stance(
        topic=about,
        denied=said.negated - said.plain,
        affirmed=said.plain - said.negated,
        sides=directions(sentence, language, said),
        praise=praise,
        complaint=complaint,
    )


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the shared part of the shorter one's words; a single word is shared by chance."""
    least = min(len(one), len(other))
    shared = len(one & other)
    return shared / max(least, 2) if shared else 0.0


def _by_rating(one: float, other: float, scale: tuple[float, float]) -> tuple[float, str]:
    low, high = scale
    apart = min(1.0, abs(one - other) / (high - low)) if high > low else 0.0
    if apart < _LEAST_APART:
        return 0.0, ""
    return apart, f"rated {one:g} against {other:g}"


def _by_words(one: Voice, other: Voice, about: frozenset[str]) -> tuple[float, str]:
    shared = (one.topic & other.topic) | about
    ours, theirs = one.leaning_on(shared), other.leaning_on(shared)
    if ours * theirs > 0:
        # Both praise or both complain, whatever single words say.
        return 0.0, ""
    contradicted = _contradiction(one, other)
    if ours * theirs < 0:
        apart = abs(ours - theirs) / 2
        way = "praise against complaint" if ours > 0 else "complaint against praise"
        return apart, f"{way}; {contradicted}" if contradicted else way
    return (_WORD_AGAINST_WORD, contradicted) if contradicted else (0.0, "")


def _contradiction(one: Voice, other: Voice) -> str:
    """Name the words in which two sentences that share a topic contradict each other; blank for none."""
    for ours in one.stances:
        for theirs in other.stances:
            if not ours.topic & theirs.topic:
                continue
            for axis, (signs, word) in ours.sides.items():
                if axis in theirs.sides and not signs & theirs.sides[axis][0]:
                    return f"“{word}” against “{theirs.sides[axis][1]}”"
            for denied in ((ours.denied & theirs.affirmed), (theirs.denied & ours.affirmed)):
                # Something else has to be shared besides the word itself.
                if denied and (ours.topic & theirs.topic) - denied:
                    return f"one denies “{min(denied)}”, the other says it"
    return ""
