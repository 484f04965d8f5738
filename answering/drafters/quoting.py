"""Choose the words of a record that carry a point: a full sentence or two, and nothing that only looks like one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from answering.domain.claims import MARKER, Evidence
from feedback.domain.instructions import gives_orders
from feedback.domain.text import Token, TokenKind, content_tokens, sentences

# A text as short as this is quoted whole: its sentences belong together.
_WHOLE_TEXT: Final = 190
_MOST_SENTENCES: Final = 3
_LONG: Final = 200
_IDLE_SENTENCE: Final = 0.08
_FEWEST_WORDS: Final = 4
_SECOND_QUOTE_FROM: Final = 600
_BOILERPLATE: Final = re.compile(
    r"^\W*(?:n\s*/?\s*a|none|nothing(?:\s+(?:at\s+all|really|else|to\s+(?:add|say|improve|report|change)))?|nil|no|yes|ok(?:ay)?|"
    r"no\s+comments?|not\s+(?:applicable|sure)|(?:as|see|same\s+as)\s+above|don['’]?t\s+know|everything|all\s+good|"
    r"test(?:ing)?|thanks?(?:\s+you)?|nichts|keine?|nada|ninguno|rien|aucun)\W*$",
    re.IGNORECASE,
)
_LEAD: Final = re.compile(r"(?:\s|[-*•–‣▪>#]+\s|\(?\d{1,2}[.)]\s)+")
_CUT_AT: Final = re.compile(r"[,;:.!?](?=\s)|\s(?=[–—-]\s)")
# What opens or closes a letter, and what speaks of a sentence that isn't there.
_COURTESY: Final = re.compile(
    r"^\W*(?:hi|hello|hey|dear|good\s+(?:morning|afternoon|evening|day)|morning|guten\s+(?:tag|morgen|abend)|hallo|sehr\s+geehrte\w*|hola|buen[oa]s\b\s+\w+|bonjour|"
    r"fyi|fwd|re|ps)\b[^.!?\n]{0,40}[,:!.]|\b(?:kind|best|warm)\s+regards\b|\b(?:yours\s+(?:sincerely|faithfully)|many\s+thanks|thank\s+you|thanks|cheers|"
    r"mit\s+freundlichen\s+grüßen|saludos|cordialement)\W*(?:\w+\W*){0,3}$|\bsee\s+(?:above|attached|below)\b|\b(?:as|mentioned)\s+above\b",
    re.IGNORECASE,
)
_LEANS_BACK: Final = re.compile(
    r"^\W*(?:it|its|they|them|he|she|this|that|these|those|such|which|and|but|so|also|or|then|there|because|however|instead|"
    r"same|either|neither|too|still|es|er|sie|das|dies\w*|und|aber|auch|pero|y|también|eso|esto)\b",
    re.IGNORECASE,
)
_REFERENCE: Final = re.compile(
    r"\b(?:order|case|ticket|ref(?:erence)?|invoice|ord)\b\W{0,3}(?:no\.?\s*)?#?[A-Z]*-?\d[\w-]*", re.IGNORECASE
)
_ENDS: Final = re.compile(r"[.!?…。！？\"'”’»)\]]\s*$|[\u2600-\u27bf\U0001f300-\U0001faff]\s*$")


@dataclass(frozen=True, slots=True)
class QuoteLimits:
    """Lengths of a quote in characters, and how many different words it has to say something with."""

    shortest: int = 15
    longest: int = 300
    fewest_terms: int = 3


@dataclass(frozen=True, slots=True)
class Quote:
    """A span that could become a claim; offsets into the text of its evidence. `coverage` is of the question's words."""

    evidence: Evidence
    start: int
    end: int
    stems: frozenset[str]
    coverage: float
    score: float

    @property
    def text(self) -> str:
        """Return the words themselves."""
        return self.evidence.text[self.start : self.end]


def quotes_of(
    source: Evidence, weights: Mapping[str, float], limits: QuoteLimits, *, may_order: bool = False
) -> list[Quote]:
    """Return the most telling span of a passage, of a long one a second that shares no sentence with it.

    `weights` are of the question's words. Nothing is quoted of a passage that gives orders unless it may.
    """
    if not may_order and gives_orders(source.passage):
        return []
    rated = [
        quote
        for start, end in _spans(source, limits)
        if (quote := _rated(source, start, end, weights, limits)) is not None
    ]
    rated.sort(key=lambda quote: (-quote.score, quote.start, quote.end))
    chosen = rated[:1]
    if chosen and len(source.passage) >= _SECOND_QUOTE_FROM:
        first = chosen[0]
        chosen += [quote for quote in rated[1:] if quote.end <= first.start or quote.start >= first.end][:1]
    return chosen


def is_quotable(text: str, *, language: str, may_order: bool = False) -> bool:
    """Tell whether a passage has a sentence in it that an answer could quote: "Parking." says what about, and no more."""
    terms = content_tokens(text, language)
    says_something = _is_sentence(text.strip(), terms, QuoteLimits()) and not _BOILERPLATE.match(text)
    return says_something and (may_order or not gives_orders(text))


def _spans(source: Evidence, limits: QuoteLimits) -> Iterable[tuple[int, int]]:
    """Offer the whole passage when it is short, else runs of up to three sentences."""
    passage = source.passage
    if len(passage.strip()) <= _WHOLE_TEXT:
        yield _trimmed(source, source.start, source.end, limits)
        return
    if len(passage) <= limits.longest:
        yield _trimmed(source, source.start, source.end, limits)
    found = [(source.start + span.start, source.start + span.end) for span in sentences(passage)]
    for place, (start, _) in enumerate(found):
        for _, end in found[place : place + _MOST_SENTENCES]:
            if end - start > limits.longest:
                break
            yield _trimmed(source, start, end, limits)
    if all(end - start > limits.longest for start, end in found):
        for start, end in found:
            yield _trimmed(source, start, end, limits)


def _trimmed(source: Evidence, start: int, end: int, limits: QuoteLimits) -> tuple[int, int]:
    """Drop bullets and white space round a span and cut what is too long at its last mark."""
    lead = _LEAD.match(source.text, start, end)
    start = lead.end() if lead and lead.end() < end else start
    if end - start > limits.longest:
        limit = start + limits.longest
        marks = [m.end() for m in _CUT_AT.finditer(source.text, start + limits.longest // 3, limit)]
        gap = source.text.rfind(" ", start, limit)
        end = marks[-1] if marks else gap if gap > start else limit
    while end > start and source.text[end - 1].isspace():
        end -= 1
    return start, end


def _rated(source: Evidence, start: int, end: int, weights: Mapping[str, float], limits: QuoteLimits) -> Quote | None:
    """Rate a span by how much of the question it speaks of and how well it stands alone; None for what is no sentence."""
    text = source.text[start:end]
    terms = content_tokens(text, source.language)
    if not _is_sentence(text, terms, limits) or _BOILERPLATE.match(text) or MARKER.search(text):
        return None
    stems = frozenset(t.stem for t in terms)
    total = sum(weights.values())
    coverage = sum(w for term, w in weights.items() if term in stems) / total if total else 0.0
    score = 0.5 * coverage + 0.35 * source.relevance + 0.15 * min(1.0, len(stems) / 10)
    lost = _blemishes(source, start, end, text)
    if coverage and len(text) < len(source.passage.strip()) - 2:
        # A sentence beside the point makes a quote longer, not more telling.
        parts = (content_tokens(text[span.start : span.end], source.language) for span in sentences(text))
        lost += _IDLE_SENTENCE * sum(not any(t.stem in weights for t in part) for part in parts)
    return Quote(source, start, end, stems, coverage, score - lost)


def _blemishes(source: Evidence, start: int, end: int, text: str) -> float:
    """Return what a span loses for what a reader trips over."""
    lost = 0.0 if len(text) < len(source.passage.strip()) - 2 else -0.05
    if start > source.start and _LEANS_BACK.match(text):
        lost += 0.12
    if _COURTESY.search(text):
        lost += 0.06
    if _REFERENCE.search(text):
        lost += 0.04
    if text.rstrip().endswith("?"):
        lost += 0.05
    if not _ENDS.search(text):
        is_cut = end < source.start + len(source.passage.rstrip()) or len(text) > _WHOLE_TEXT
        lost += 0.1 if is_cut else 0.02
    return lost + 0.1 * max(0.0, (len(text) - _LONG) / _LONG)


def _is_sentence(text: str, terms: Sequence[Token], limits: QuoteLimits) -> bool:
    """Tell whether a text says something: three different words, or a sentence that puts two of them together."""
    if any(t.kind is TokenKind.BIGRAM for t in terms):
        return len(terms) >= 3
    different = len({t.stem for t in terms})
    is_enough = different >= limits.fewest_terms or (different == 2 and len(text.split()) >= _FEWEST_WORDS)
    return len(text) >= limits.shortest and is_enough


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard similarity of the words of two quotes."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0
