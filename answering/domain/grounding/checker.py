"""Judge one claim against the text it cites."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from answering.domain.grounding.causes import invented_cause
from answering.domain.grounding.containment import (
    WINDOW_SENTENCES,
    AnalysedText,
    Kin,
    Nearness,
    Window,
    analyse,
    best_window,
    fold_loosely,
    kin_by_meaning,
    kin_of,
    order_kept,
    share_held,
    term_weights,
)
from answering.domain.grounding.dates import dates_stated, missing_date, missing_weekday
from answering.domain.grounding.denial import denial_conflict, order_conflict
from answering.domain.grounding.entities import HeldWords, held_words, missing_names, names
from answering.domain.grounding.quantifiers import invented_superlative, quantifier_conflict
from answering.domain.grounding.quantities import (
    StatedNumbers,
    missing_ordinal,
    missing_quantity,
    missing_rate,
    quantities,
    stated_numbers,
)
from answering.domain.grounding.roles import swapped_roles
from answering.domain.grounding.shape import holds_instruction, misshapen
from answering.domain.grounding.verdicts import FAILURE_OF, Check, CheckVerdict, EvidenceSpan, Verdict
from feedback.domain.polarity import clauses, direction_conflict
from feedback.domain.text import Span, Token, content_tokens, sentences

DEFAULT_FLOOR: Final = 0.6
_QUOTED: Final = re.compile(r"[\"“„«]([^\"“”„«»]{8,300})[\"”“»]")
_SENTENCE_LIMIT: Final = 40
# What a conflict leaves of the support: it fails the claim in any case, and ranks it among those that failed.
_CONFLICT_LEAVES: Final = 0.5
_WORDING_LEAVES: Final = 0.8
_OF_WORDING: Final = frozenset({Check.QUANTIFIER, Check.SUPERLATIVE, Check.CAUSE, Check.QUOTATION})
_FOOTING: Final = 0.5
_CLAUSE_TERMS: Final = 2
_CLAUSE_FOOTING: Final = 0.5
_CLAUSE_LOSS: Final = 0.4


@dataclass(frozen=True, slots=True)
class Features:
    """What is measured about a sentence of a claim, each in [0, 1]."""

    union: float
    window: float
    sentence: float
    order: float
    weakest_clause: float


def check_claim(
    claim_text: str,
    evidence_texts: Sequence[str],
    *,
    floor: float = DEFAULT_FLOOR,
    language: str = "en",
    subject: Subject | None = None,
) -> Verdict:
    """Judge a claim against the union of its evidence.

    Support blends the weighted share of the claim's terms found anywhere in the evidence, in its best
    three neighbouring sentences and in its best one. A number, date, name, negation, quantifier, superlative,
    direction, cause, role or quotation that disagrees keeps support below the floor, whatever the overlap. Every
    sentence of the claim has to reach the floor.
    """
    return check_analysed(
        claim_text,
        [analyse(text, language) for text in evidence_texts],
        floor=floor,
        language=language,
        subject=subject,
    )


def check_analysed(
    claim_text: str,
    texts: Sequence[AnalysedText],
    *,
    floor: float = DEFAULT_FLOOR,
    language: str = "en",
    subject: Subject | None = None,
) -> Verdict:
    """Judge a claim against texts that are already cut up; see `check_claim`."""
    subject = subject or Subject()
    shape = misshapen(claim_text, question=subject.question, language=language)
    if shape:
        return _no_claim(shape)
    texts = [text for text in texts if not holds_instruction(text.text)]
    cited = _cited(texts, subject, language=language)
    parts = [s for s in sentences(claim_text) if content_tokens(claim_text[s.start : s.end], language)]
    if len(parts) > _SENTENCE_LIMIT:
        return _no_claim(f"a claim of {len(parts)} sentences is too long to be checked, the limit is {_SENTENCE_LIMIT}")
    verdicts = [
        _check_sentence(claim_text[s.start : s.end], cited, floor=floor, language=language)
        for s in parts or [Span(0, len(claim_text))]
    ]
    return verdicts[0] if len(verdicts) == 1 else _combined(verdicts, parts, floor=floor)


@dataclass(frozen=True, slots=True)
class Subject:
    """What is known about a claim beside its text and the words that it cites.

    `bound_numbers` need no evidence, since a query stands behind them. `context` may bear out names (the records'
    accounts, sources) but nothing else, `days` the dates of the records, and `periods` those that a query was asked
    with, as text. `question` is what the claim answers: saying it again is no answer. `idf` weighs terms, `near` tells
    which words mean nearly the same; without it only equal beginnings do. `records` is how many records are cited.
    """

    idf: Mapping[str, float] | None = None
    bound_numbers: tuple[float, ...] = ()
    context: tuple[str, ...] = ()
    days: tuple[date, ...] = ()
    periods: str = ""
    question: str = ""
    near: Nearness | None = None
    records: int = 1


@dataclass(frozen=True, slots=True)
class _Cited:
    """The cited texts with what is looked up in them for each sentence of a claim."""

    texts: Sequence[AnalysedText]
    whole: Sequence[str]
    vocabulary: frozenset[str]
    numbers: StatedNumbers
    words: HeldWords
    subject: Subject


def _cited(texts: Sequence[AnalysedText], subject: Subject, *, language: str) -> _Cited:
    whole = [text.text for text in texts]
    terms = [token for text in texts for token in text.tokens]
    named = [token for text in subject.context for token in content_tokens(text, language)]
    return _Cited(
        texts,
        whole,
        frozenset(token.stem for token in terms),
        stated_numbers(whole),
        held_words([*terms, *named], [*whole, *subject.context], language=language),
        subject,
    )


def _combined(verdicts: Sequence[Verdict], parts: Sequence[Span], *, floor: float) -> Verdict:
    """Join the verdicts on the sentences of one claim.

    The mean by length has to reach the floor, no sentence may conflict with the cited text, and none may
    be without any footing in it.
    """
    sizes = [s.end - s.start for s in parts]
    mean = sum(v.support * n for v, n in zip(verdicts, sizes, strict=True)) / sum(sizes)
    mean_overlap = sum(v.overlap * n for v, n in zip(verdicts, sizes, strict=True)) / sum(sizes)
    worst = min(verdicts, key=lambda v: (not v.has_conflict, v.support))
    supported = mean >= floor and not worst.has_conflict and worst.support >= _FOOTING * floor
    best = max(verdicts, key=lambda v: v.support)
    return Verdict(
        supported=supported,
        support=round(mean if supported else min(mean, floor * 0.99), 4),
        reason=None if supported else worst.reason,
        code=None if supported else worst.code,
        span=best.span,
        checks=worst.checks,
        overlap=round(min(mean_overlap, *(v.overlap / _FOOTING for v in verdicts)), 4),
    )


def _no_claim(reason: str) -> Verdict:
    return Verdict(False, 0.0, reason, FAILURE_OF[Check.SHAPE], None, (CheckVerdict(Check.SHAPE, False, reason),))


def _check_sentence(claim: str, cited: _Cited, *, floor: float, language: str) -> Verdict:
    subject = cited.subject
    undated, dates = _without_known_dates(claim, cited)
    cited_records = (float(subject.records),) if subject.records > 1 else ()
    number = missing_quantity(undated, cited.numbers, bound=(*subject.bound_numbers, *cited_records))
    weekday = missing_weekday(claim, cited.whole)
    ordinal = missing_ordinal(undated, cited.whole, cited.numbers)
    rate = missing_rate(undated, cited.whole)
    absent = missing_names(undated, cited.words, language=language)
    cause = invented_cause(claim, cited.whole, language=language)
    most = invented_superlative(claim, cited.whole)
    swapped = swapped_roles(claim, cited.whole, language=language)
    checks = [
        _verdict(
            Check.DATE,
            f"neither the cited text nor its record is of “{dates}”" if dates else None,
            f"the cited text names another day than {weekday}" if weekday else None,
        ),
        _verdict(
            Check.NUMBER,
            f"the number {number.surface} isn't in the cited text" if number else None,
            f"the cited text doesn't count to “{ordinal}”" if ordinal else None,
            f"the cited text doesn't say “{rate}”" if rate else None,
        ),
        _verdict(Check.ENTITY, f"the cited text doesn't name {', '.join(absent[:3])}" if absent else None),
        _verdict(
            Check.ROLE, f"the cited text tells it the other way round of {' and '.join(swapped)}" if swapped else None
        ),
        _verdict(Check.CAUSE, f"the claim states a cause (“{cause}”), the cited text doesn't" if cause else None),
        _verdict(Check.SUPERLATIVE, f"the cited text doesn't say “{most}”" if most else None),
        _verdict(Check.QUOTATION, _missing_quotation(claim, cited.whole)),
    ]
    terms = _terms_to_find(claim, undated, cited, has_number=checks[1].agrees, absent=absent, language=language)
    kin = _kin_of(claim, cited, language=language)
    features, window, best = measure_sentence(
        claim, terms, cited.texts, cited.vocabulary, kin, idf=subject.idf, language=language
    )
    checks.extend(_polarity(claim, cited, window, kin, language=language))
    raw = blend(features)
    conflicts = [c for c in checks if not c.agrees]
    contained = raw >= floor
    checks.insert(0, CheckVerdict(Check.CONTAINMENT, contained, None if contained else _not_contained(raw, floor)))
    failed = conflicts[0] if conflicts else (None if contained else checks[0])
    support = raw if failed is None else min(raw * _left_of(conflicts), floor * 0.99)
    return Verdict(
        supported=failed is None,
        support=max(round(min(1.0, support), 4), floor) if failed is None else round(support, 4),
        reason=failed.detail if failed else None,
        code=FAILURE_OF[failed.check] if failed else None,
        span=_span(cited.texts, best or window),
        checks=tuple(checks),
        overlap=round(min(1.0, raw), 4),
    )


def _kin_of(claim: str, cited: _Cited, *, language: str) -> Kin:
    """Find the words of the cited texts that stand in for words of the claim which they lack."""
    lacking = [t for t in content_tokens(claim, language) if t.stem not in cited.vocabulary]
    if not lacking:
        return {}
    kin: dict[str, dict[str, float]] = kin_of(dict.fromkeys((t.stem for t in lacking), 1.0), cited.vocabulary)
    if cited.subject.near is not None:
        kin = kin_by_meaning(lacking, cited.texts, cited.subject.near) | kin
    return kin


def _left_of(conflicts: Sequence[CheckVerdict]) -> float:
    """Return the part of the overlap that counts in spite of conflicts: two at most take from it."""
    parts = sorted(_WORDING_LEAVES if c.check in _OF_WORDING else _CONFLICT_LEAVES for c in conflicts)
    return math.prod(parts[:2])


def _without_known_dates(claim: str, cited: _Cited) -> tuple[str, str | None]:
    """Blank the dates of a claim that are borne out, and return the first that isn't."""
    texts = [*cited.whole, cited.subject.periods]
    missing = missing_date(claim, texts, cited.subject.days)
    for name in sorted(cited.subject.context, key=len, reverse=True):
        # "Loft Nine" counts nothing.
        claim = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", lambda m: re.sub(r"\S", " ", m.group()), claim)
    for stated in dates_stated(claim):
        # A date that isn't borne out fails its own check: its parts need not fail the one of numbers as well.
        claim = claim[: stated.start] + " " * (stated.end - stated.start) + claim[stated.end :]
    return claim, missing


def _terms_to_find(
    claim: str, undated: str, cited: _Cited, *, has_number: bool, absent: Sequence[str], language: str
) -> list[Token]:
    """List the claim's terms without dates, numbers and names that are borne out in another spelling."""
    terms = content_tokens(claim, language)
    spans = [(stated.start, stated.end) for stated in dates_stated(claim)]
    if has_number:
        spans += [(q.start, q.unit_end) for q in quantities(undated)]
    known = {t for name in names(claim, language=language) if name not in absent for t in name.split()}
    spans += [(t.start, t.end) for t in terms if t.surface in known]
    borne_out = {
        t.start
        for t in terms
        if t.stem not in cited.vocabulary and any(start <= t.start and t.end <= end for start, end in spans)
    }
    return [t for t in terms if t.start not in borne_out] or terms


def measure_sentence(
    claim: str,
    terms: Sequence[Token],
    texts: Sequence[AnalysedText],
    vocabulary: frozenset[str],
    kin: Kin,
    *,
    idf: Mapping[str, float] | None,
    language: str,
) -> tuple[Features, Window | None, Window | None]:
    """Measure a sentence of a claim by its terms; return the best window and the best single sentence beside it."""
    weights = term_weights(terms, idf)
    window = best_window(weights, texts, size=WINDOW_SENTENCES, kin=kin)
    best = best_window(weights, texts, size=1, kin=kin)
    if window is None or best is None:
        return Features(0.0, 0.0, 0.0, 0.0, 0.0), None, None
    sequence = texts[window.evidence].sequence(window.first, window.last)
    union = share_held(weights, vocabulary, kin)
    return (
        Features(
            union=union,
            window=window.share,
            sentence=best.share,
            order=order_kept(terms, sequence),
            weakest_clause=min(union, _weakest_clause(claim, weights, vocabulary, kin, language)),
        ),
        window,
        best,
    )


def _weakest_clause(
    claim: str,
    weights: Mapping[str, float],
    vocabulary: frozenset[str],
    kin: Kin,
    language: str,
) -> float:
    """Return the share held of the claim's least supported clause; a clause of one term is none."""
    shares = [1.0]
    for clause in clauses(claim):
        own = {t.stem: weights[t.stem] for t in content_tokens(clause, language) if t.stem in weights}
        if len(own) >= _CLAUSE_TERMS:
            shares.append(share_held(own, vocabulary, kin))
    return min(shares)


def blend(features: Features) -> float:
    """Weigh the features into one support in [0, 1]; a clause without footing takes from it."""
    shared = 0.6 * features.union + 0.2 * features.window + 0.1 * features.sentence + 0.1 * features.order
    return shared * (1 - _CLAUSE_LOSS * max(0.0, 1 - features.weakest_clause / _CLAUSE_FOOTING))


def _polarity(claim: str, cited: _Cited, window: Window | None, kin: Kin, *, language: str) -> Iterator[CheckVerdict]:
    if window is None:
        return
    near_by = [_words(cited.texts, window)]
    yield _verdict(Check.QUANTIFIER, quantifier_conflict(claim, near_by, records=cited.subject.records))
    yield _verdict(Check.NEGATION, denial_conflict(claim, cited.whole, kin, language=language))
    yield _verdict(
        Check.DIRECTION,
        direction_conflict(claim, "\n".join(cited.whole), language=language),
        order_conflict(claim, cited.whole),
    )


def _verdict(check: Check, *details: str | None) -> CheckVerdict:
    detail = next((d for d in details if d), None)
    return CheckVerdict(check, detail is None, detail)


def _missing_quotation(claim: str, whole: Sequence[str]) -> str | None:
    quoted = [q for q in _QUOTED.findall(claim) if len(q.split()) >= 3]
    if not quoted:
        return None
    held = [fold_loosely(text) for text in whole]
    for quotation in quoted:
        if not any(fold_loosely(quotation).strip(" .,;:!?'") in text for text in held):
            return f"the cited text doesn't hold the quotation “{quotation[:60]}”"
    return None


def _words(texts: Sequence[AnalysedText], window: Window) -> str:
    text = texts[window.evidence]
    return text.text[text.sentences[window.first].start : text.sentences[window.last - 1].end]


def _span(texts: Sequence[AnalysedText], window: Window | None) -> EvidenceSpan | None:
    if window is None:
        return None
    spans = texts[window.evidence].sentences
    return EvidenceSpan(window.evidence, spans[window.first].start, spans[window.last - 1].end)


def _not_contained(raw: float, floor: float) -> str:
    return f"the cited text holds too little of the claim (support {raw:.2f}, floor {floor:.2f})"
