"""Judge one claim against the text it cites."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from answering.domain.grounding.containment import (
    WINDOW_SENTENCES,
    AnalysedText,
    Window,
    analyse,
    best_window,
    fold_loosely,
    kin_of,
    order_kept,
    share_held,
    term_weights,
)
from answering.domain.grounding.entities import HeldWords, held_words, missing_names, names
from answering.domain.grounding.quantifiers import quantifier_conflict
from answering.domain.grounding.quantities import (
    StatedNumbers,
    missing_month,
    missing_quantity,
    months_named,
    quantities,
    stated_numbers,
)
from answering.domain.grounding.verdicts import FAILURE_OF, Check, CheckVerdict, EvidenceSpan, Verdict
from feedback.domain.polarity import clauses, direction_conflict, negation_conflict
from feedback.domain.text import Span, Token, content_tokens, sentences

DEFAULT_FLOOR: Final = 0.6
_QUOTED: Final = re.compile(r"[\"“„«]([^\"“”„«»]{8,300})[\"”“»]")
_SENTENCE_LIMIT: Final = 40
_CONFLICTED: Final = 0.5
_SAME_MATTER: Final = 0.6
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
    idf: Mapping[str, float] | None = None,
    language: str = "en",
    bound_numbers: Iterable[float] = (),
    context: Sequence[str] = (),
) -> Verdict:
    """Judge a claim against the union of its evidence.

    Support blends the weighted share of the claim's terms found anywhere in the evidence, in its best
    three neighbouring sentences and in its best one. A number, name, negation, quantifier, direction
    or quotation that disagrees keeps support below the floor, whatever the overlap. Every sentence of
    the claim has to reach the floor. `bound_numbers` need no evidence, since a query stands behind
    them; `context` may bear out names (the record's account, source) but nothing else.
    """
    return check_analysed(
        claim_text,
        [analyse(text, language) for text in evidence_texts],
        floor=floor,
        idf=idf,
        language=language,
        bound_numbers=bound_numbers,
        context=context,
    )


def check_analysed(
    claim_text: str,
    texts: Sequence[AnalysedText],
    *,
    floor: float = DEFAULT_FLOOR,
    idf: Mapping[str, float] | None = None,
    language: str = "en",
    bound_numbers: Iterable[float] = (),
    context: Sequence[str] = (),
) -> Verdict:
    """Judge a claim against texts that are already cut up; see `check_claim`."""
    cited = _cited(texts, context=context, language=language)
    bound = tuple(bound_numbers)
    parts = [s for s in sentences(claim_text) if content_tokens(claim_text[s.start : s.end], language)]
    if len(parts) > _SENTENCE_LIMIT:
        return _too_long(len(parts))
    verdicts = [
        _check_sentence(claim_text[s.start : s.end], cited, floor=floor, idf=idf, language=language, bound=bound)
        for s in parts or [Span(0, len(claim_text))]
    ]
    return verdicts[0] if len(verdicts) == 1 else _combined(verdicts, parts, floor=floor)


@dataclass(frozen=True, slots=True)
class _Cited:
    """The cited texts with what is looked up in them for each sentence of a claim."""

    texts: Sequence[AnalysedText]
    vocabulary: frozenset[str]
    numbers: StatedNumbers
    words: HeldWords


def _cited(texts: Sequence[AnalysedText], *, context: Sequence[str], language: str) -> _Cited:
    whole = [text.text for text in texts]
    terms = [token for text in texts for token in text.tokens]
    named = [token for text in context for token in content_tokens(text, language)]
    return _Cited(
        texts,
        frozenset(token.stem for token in terms),
        stated_numbers(whole),
        held_words([*terms, *named], [*whole, *context], language=language),
    )


def _combined(verdicts: Sequence[Verdict], parts: Sequence[Span], *, floor: float) -> Verdict:
    """Join the verdicts on the sentences of one claim.

    The mean by length has to reach the floor, no sentence may conflict with the cited text, and none may
    be without any footing in it.
    """
    sizes = [s.end - s.start for s in parts]
    mean = sum(v.support * n for v, n in zip(verdicts, sizes, strict=True)) / sum(sizes)
    worst = min(verdicts, key=lambda v: (not _has_conflict(v), v.support))
    supported = mean >= floor and not _has_conflict(worst) and worst.support >= _FOOTING * floor
    best = max(verdicts, key=lambda v: v.support)
    return Verdict(
        supported=supported,
        support=round(mean if supported else min(mean, floor * 0.99), 4),
        reason=None if supported else worst.reason,
        code=None if supported else worst.code,
        span=best.span,
        checks=worst.checks,
    )


def _too_long(count: int) -> Verdict:
    reason = f"a claim of {count} sentences is too long to be checked, the limit is {_SENTENCE_LIMIT}"
    return Verdict(False, 0.0, reason, FAILURE_OF[Check.SHAPE], None, (CheckVerdict(Check.SHAPE, False, reason),))


def _has_conflict(verdict: Verdict) -> bool:
    return any(not c.agrees for c in verdict.checks if c.check is not Check.CONTAINMENT)


def _check_sentence(
    claim: str, cited: _Cited, *, floor: float, idf: Mapping[str, float] | None, language: str, bound: Sequence[float]
) -> Verdict:
    number = missing_quantity(claim, cited.numbers, bound=bound)
    month = None if number else missing_month(claim, cited.numbers)
    absent = missing_names(claim, cited.words, language=language)
    checks = [
        _verdict(
            Check.NUMBER,
            f"the number {number.surface} isn't in the cited text" if number else None,
            f"the cited text names another month than {month}" if month else None,
        ),
        _verdict(Check.ENTITY, f"the cited text doesn't name {', '.join(absent[:3])}" if absent else None),
        _verdict(Check.QUOTATION, _missing_quotation(claim, [text.text for text in cited.texts])),
    ]
    terms = _terms_to_find(claim, cited, has_number=checks[0].agrees, absent=absent, language=language)
    features, window, best = measure_sentence(claim, terms, cited.texts, cited.vocabulary, idf=idf, language=language)
    checks.extend(_polarity(claim, cited, window, best, language=language))
    raw = blend(features)
    conflicts = [c for c in checks if not c.agrees]
    contained = raw >= floor
    checks.insert(0, CheckVerdict(Check.CONTAINMENT, contained, None if contained else _not_contained(raw, floor)))
    failed = conflicts[0] if conflicts else (None if contained else checks[0])
    support = raw if failed is None else min(raw * _CONFLICTED ** min(len(conflicts), 2), floor * 0.99)
    return Verdict(
        supported=failed is None,
        support=max(round(min(1.0, support), 4), floor) if failed is None else round(support, 4),
        reason=failed.detail if failed else None,
        code=FAILURE_OF[failed.check] if failed else None,
        span=_span(cited.texts, best or window),
        checks=tuple(checks),
    )


def _terms_to_find(claim: str, cited: _Cited, *, has_number: bool, absent: Sequence[str], language: str) -> list[Token]:
    """List the claim's terms without numbers, months and names that the text bears out in another spelling."""
    terms = content_tokens(claim, language)
    spans: list[tuple[int, int]] = []
    if has_number:
        spans += [(q.start, q.unit_end) for q in quantities(claim)]
        numbers = {v for q in cited.numbers.quantities for v in q.values}
        said = {
            word for month, word in months_named(claim).items() if month in cited.numbers.months or month in numbers
        }
        spans += [(t.start, t.end) for t in terms if t.surface in said]
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
    *,
    idf: Mapping[str, float] | None,
    language: str,
) -> tuple[Features, Window | None, Window | None]:
    """Measure a sentence of a claim by its terms; return the best window and the best single sentence beside it."""
    weights = term_weights(terms, idf)
    kin = kin_of(weights, vocabulary)
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
    kin: Mapping[str, frozenset[str]],
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
    shared = 0.4 * features.union + 0.3 * features.window + 0.15 * features.sentence + 0.15 * features.order
    return shared * (1 - _CLAUSE_LOSS * max(0.0, 1 - features.weakest_clause / _CLAUSE_FOOTING))


def _polarity(
    claim: str, cited: _Cited, window: Window | None, best: Window | None, *, language: str
) -> Iterator[CheckVerdict]:
    if window is None or best is None:
        return
    yield _verdict(Check.QUANTIFIER, quantifier_conflict(claim, [_words(cited.texts, window)]))
    if best.share < _SAME_MATTER:  # a sentence about something else contradicts nothing
        return
    sentence = _words(cited.texts, best)
    yield _verdict(Check.NEGATION, negation_conflict(claim, sentence, language=language))
    yield _verdict(Check.DIRECTION, direction_conflict(claim, sentence, language=language))


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
