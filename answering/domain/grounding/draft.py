"""Judge a whole draft: every claim by the verifier of its kind, every citation on its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from answering.domain.claims import MARKER, Citation, Claim, ClaimKind, Draft, Evidence
from answering.domain.grounding.checker import Subject, check_analysed
from answering.domain.grounding.containment import AnalysedText, Nearness, analyse
from answering.domain.grounding.entities import foreign_account
from answering.domain.grounding.measured import (
    QUOTED,
    asked_with,
    measure_mismatch,
    said_beyond_the_count,
    unbound_number,
)
from answering.domain.grounding.shape import holds_markup, misshapen
from answering.domain.grounding.verdicts import (
    FAILURE_OF,
    Check,
    CheckVerdict,
    CitationVerdict,
    ClaimVerdict,
    DroppedCitation,
    DroppedClaim,
    FailureCode,
    Grounding,
    GroundingRules,
    MeasureResult,
    SupportingSpan,
    Verdict,
)
from answering.domain.outcome import NO_CLAIMS_TEXT
from feedback.domain.text import fold

_NO_RESULTS: Final[Mapping[int, MeasureResult]] = {}
_DEFAULT_RULES: Final = GroundingRules()
# From this support on a citation needs no comparison with what else was retrieved.
_PLAINLY_HELD: Final = 0.8
_BETTER: Final = 0.05


@dataclass(frozen=True, slots=True)
class GroundingContext:
    """What a draft answers, and with what help it is judged.

    `occurred_from` and `occurred_to` (exclusive) bound the records that may be cited. `idf` weighs terms, `near` tells
    which words mean nearly the same. `names` are those that any claim may use: of whom the feedback is about.
    """

    question: str = ""
    occurred_from: datetime | None = None
    occurred_to: datetime | None = None
    idf: Mapping[str, float] | None = None
    near: Nearness | None = None
    names: tuple[str, ...] = ()


_NO_CONTEXT: Final = GroundingContext()


@dataclass(frozen=True, slots=True)
class Repair:
    """A draft without what failed, and what that was."""

    draft: Draft
    dropped_citations: tuple[DroppedCitation, ...]
    dropped_claims: tuple[DroppedClaim, ...]

    @property
    def is_downgrade(self) -> bool:
        """Tell whether anything had to go."""
        return bool(self.dropped_citations or self.dropped_claims)


def ground(
    draft: Draft,
    evidence: Sequence[Evidence],
    *,
    rules: GroundingRules = _DEFAULT_RULES,
    measure_results: Mapping[int, MeasureResult] = _NO_RESULTS,
    context: GroundingContext = _NO_CONTEXT,
) -> Grounding:
    """Judge every claim of a draft against the evidence and say whether the draft is acceptable.

    `measure_results` holds, by claim id, what re-running a measure's query gave; a measure without one
    fails. `accepted` means that the share of supported claims reaches its floor: what remains after
    `repair` may then be shown.
    """
    judge = _Judge(evidence, rules=rules, context=context)
    repeated = {number for number, times in Counter(c.id for c in draft.claims).items() if times > 1}
    said: dict[str, int] = {}
    verdicts = []
    for claim in draft.claims:
        words = " ".join(fold(claim.text).split())
        if claim.id in repeated:
            reason = f"two claims have the id {claim.id}"
            verdicts.append(_failed(claim, FailureCode.INVALID_SHAPE, reason, Check.SHAPE))
        elif words and words in said:
            reason = f"the claim says claim {said[words]} again"
            verdicts.append(_failed(claim, FailureCode.INVALID_SHAPE, reason, Check.SHAPE))
        else:
            verdicts.append(judge.verdict(claim, measure_results.get(claim.id)))
        said.setdefault(words, claim.id)
    cited = [c for v in verdicts for c in v.citations]
    share = sum(v.supported for v in verdicts) / len(verdicts) if verdicts else 0.0
    precision = sum(c.supports for c in cited) / len(cited) if cited else float(bool(verdicts))
    accepted = share >= rules.min_groundedness and share > 0
    return Grounding(
        groundedness=round(share, 4),
        citation_precision=round(precision, 4),
        accepted=accepted,
        failure_reason=None if accepted else _failure(verdicts, share, rules),
        claims=tuple(verdicts),
        unknown_citations=sum(not c.is_known for c in cited),
    )


def repair(draft: Draft, grounding: Grounding) -> Repair:
    """Take out claims that failed, and from the others the known citations that don't support them.

    A claim with an unknown citation is taken out whole. Repairing twice changes nothing more.
    """
    verdicts = {v.id: v for v in grounding.claims}
    kept: list[Claim] = []
    dropped_citations: list[DroppedCitation] = []
    dropped_claims: list[DroppedClaim] = []
    for claim in draft.claims:
        verdict = verdicts.get(claim.id)
        if verdict is None or not verdict.supported:
            code, reason = (verdict.code, verdict.reason) if verdict else (None, "the claim was never checked")
            dropped_claims.append(DroppedClaim(claim.id, code, reason))
            continue
        idle = {c.number: c for c in verdict.citations if not c.supports}
        idle = idle if len(idle) < len(claim.citations) and len(verdict.citations) == len(claim.citations) else {}
        dropped_citations.extend(DroppedCitation(claim.id, c.evidence_id, c.support) for c in idle.values())
        kept.append(_without(claim, idle.keys()))
    return Repair(replace(draft, claims=tuple(kept)), tuple(dropped_citations), tuple(dropped_claims))


def prune(draft: Draft, grounding: Grounding) -> Draft:
    """Return the draft that `repair` leaves."""
    return repair(draft, grounding).draft


class _Judge:
    """The evidence of one draft, cut up once however many claims cite it."""

    def __init__(self, evidence: Sequence[Evidence], *, rules: GroundingRules, context: GroundingContext) -> None:
        self._evidence = {e.citation_id: e for e in evidence}
        self._rules = rules
        self._context = context
        self._analysed: dict[tuple[str, int, int], AnalysedText] = {}

    def verdict(self, claim: Claim, result: MeasureResult | None) -> ClaimVerdict:
        """Judge a claim by the verifier of its kind."""
        if not claim.text.strip():
            return _failed(claim, FailureCode.INVALID_SHAPE, "the claim has no text", Check.SHAPE)
        if MARKER.search(claim.text):
            reason = "the claim's text holds a citation marker of its own"
            return _failed(claim, FailureCode.INVALID_SHAPE, reason, Check.SHAPE)
        # A count quotes themes, accounts and filters as the records have them: these words are not its own.
        own = QUOTED.sub(" ", claim.text) if claim.kind is ClaimKind.MEASURE else claim.text
        if claim.kind is not ClaimKind.QUOTE and holds_markup(own):
            return _failed(claim, FailureCode.INVALID_SHAPE, "the claim holds markup or a link", Check.SHAPE)
        unknown = [c for c in claim.citations if c.evidence_id not in self._evidence]
        if unknown:
            return self._with_unknown(claim, unknown)
        misquoted = next((c for c in claim.citations if not c.matches(self._evidence[c.evidence_id].text)), None)
        if misquoted:
            reason = f"the span cited as {misquoted.evidence_id} doesn't hold these words"
            return self._mismatched(claim, reason)
        outside = next((c for c in claim.citations if not self._is_within(self._evidence[c.evidence_id])), None)
        if outside:
            reason = f"the record cited as {outside.evidence_id} lies outside of the period that was asked for"
            return _failed(claim, FailureCode.UNKNOWN_CITATION, reason, Check.CITATION)
        if claim.kind is ClaimKind.MEASURE:
            return self._measured(claim, result)
        if not claim.citations:
            return _failed(claim, FailureCode.MISSING_CITATION, "the claim cites nothing", Check.CITATION)
        return self._quoted(claim) if claim.kind is ClaimKind.QUOTE else self._stated(claim, result)

    def _is_within(self, source: Evidence) -> bool:
        """Tell whether a record lies in the period that was asked for; one without a date isn't held against it."""
        begins, ends, at = self._context.occurred_from, self._context.occurred_to, source.occurred_at
        return at is None or ((begins is None or at >= begins) and (ends is None or at < ends))

    def _quoted(self, claim: Claim) -> ClaimVerdict:
        """A quote is the words of its first citation; the others say the same and are checked for it."""
        first = claim.citations[0]
        if first.quote != claim.text:
            return self._mismatched(claim, "the text isn't, character by character, the span that it cites")
        citations = [CitationVerdict(0, first.evidence_id, is_known=True, supports=True, support=1.0)]
        for number, citation in enumerate(claim.citations[1:], 1):
            alone = self._check(claim, [citation])
            supports = alone.supported and not _is_within_another(claim.citations, number)
            citations.append(CitationVerdict(number, citation.evidence_id, True, supports, alone.support))
        miscount = self._miscount(claim)
        if miscount:
            return _failed(claim, FailureCode.MEASURE_MISMATCH, miscount, Check.MEASURE, tuple(citations))
        span = SupportingSpan(first.evidence_id, first.start, first.end)
        exact = CheckVerdict(Check.EXACT_SPAN, agrees=True)
        return ClaimVerdict(claim.id, True, 1.0, span, None, None, tuple(citations), (exact,))

    def _miscount(self, claim: Claim) -> str | None:
        """Say how a quote's count differs from the records, accounts and people that it cites."""
        sources = [self._evidence[c.evidence_id] for c in claim.citations]
        documents = {s.document_id for s in sources}
        counted = claim.measure
        for name, said, found in (
            ("records", claim.merged_count, len(documents)),
            ("records", counted and counted.value, len(documents)),
            ("accounts", counted and counted.accounts, len({s.account for s in sources if s.account})),
            ("people", counted and counted.people, len({s.person or s.document_id for s in sources})),
        ):
            if said is not None and said != found:
                return f"the claim counts {said:g} {name} and cites {found}"
        return None

    def _stated(self, claim: Claim, result: MeasureResult | None) -> ClaimVerdict:
        bound: tuple[float, ...] = ()
        periods = ""
        if claim.measure:
            mismatch = measure_mismatch(claim.measure, result)
            if mismatch:
                return _failed(claim, FailureCode.MEASURE_MISMATCH, mismatch, Check.MEASURE)
            bound = claim.measure.numbers()
            periods = asked_with(claim.measure)
        distinct = list(dict.fromkeys(claim.citations))
        union = self._check(claim, distinct, bound, periods)
        if union.supported:
            union = self._of_another_account(claim, union)
        if union.supported:
            union = self._or_better_elsewhere(claim, union)
        citations = []
        for number, citation in enumerate(claim.citations):
            alone = union if len(distinct) == 1 else self._check(claim, [citation], bound, periods)
            supports = alone.supported
            if not supports and len(distinct) > 1:
                rest = [c for c in distinct if c != citation]
                loss = union.support - self._check(claim, rest, bound, periods).support
                supports = loss >= self._rules.min_removal_effect
            # The same span once more, or a part of it, bears out nothing more.
            supports = supports and not _is_within_another(claim.citations, number)
            citations.append(CitationVerdict(number, citation.evidence_id, True, supports, alone.support))
        return ClaimVerdict(
            claim.id, union.supported, union.support, self._span(claim, union), union.reason, union.code,
            tuple(citations), union.checks,
        )  # fmt: skip

    def _of_another_account(self, claim: Claim, union: Verdict) -> Verdict:
        """Fail a claim that speaks of an account whose records were retrieved, but aren't the ones that it cites."""
        cited = [self._evidence[c.evidence_id] for c in claim.citations]
        own = [source.account for source in cited if source.account]
        others = dict.fromkeys(source.account for source in self._evidence.values() if source.account)
        texts = [*(source.text for source in cited), *(source.label for source in cited), *self._context.names]
        name = foreign_account(claim.text, own, others, texts)
        if name is None:
            return union
        return self._rejected(
            union, Check.ENTITY, f"the records cited aren't those of {name}", floor=self._floor(claim.citations)
        )

    def _rejected(self, union: Verdict, failed: Check, reason: str, *, floor: float) -> Verdict:
        """Return a verdict as it stands after one more check has failed."""
        checks = (*(each for each in union.checks if each.check is not failed), CheckVerdict(failed, False, reason))
        support = min(union.support, round(floor * 0.99, 4))
        return replace(union, supported=False, support=support, reason=reason, code=FAILURE_OF[failed], checks=checks)

    def _or_better_elsewhere(self, claim: Claim, union: Verdict) -> Verdict:
        """Fail a claim that another retrieved record bears out while the cited ones hold little of it: a wrong citation."""
        if union.overlap >= _PLAINLY_HELD:
            return union
        cited = {c.evidence_id for c in claim.citations}
        for source in self._evidence.values():
            if source.citation_id in cited:
                continue
            whole = Citation(source.citation_id, source.start, source.end, source.passage)
            other = self._check(claim, [whole])
            if other.supported and other.overlap >= union.overlap + _BETTER:
                reason = (
                    f"{source.citation_id} bears the claim out (support {other.support:.2f}), what it cites hardly does"
                )
                return replace(
                    self._rejected(union, Check.CITATION, reason, floor=self._floor(claim.citations)),
                    code=FailureCode.UNSUPPORTED,
                )
        return union

    def _measured(self, claim: Claim, result: MeasureResult | None) -> ClaimVerdict:
        """A measure is right when its query, run again, gives the same numbers and the text states no others."""
        if claim.measure is None:
            return _failed(claim, FailureCode.INVALID_SHAPE, "a measure without its query", Check.SHAPE)
        shape = misshapen(QUOTED.sub(" ", claim.text), question=self._context.question)
        if shape:
            return _failed(claim, FailureCode.INVALID_SHAPE, shape, Check.SHAPE)
        mismatch = measure_mismatch(claim.measure, result)
        if mismatch:
            return _failed(claim, FailureCode.MEASURE_MISMATCH, mismatch, Check.MEASURE)
        number = unbound_number(claim.text, claim.measure)
        if number:
            reason = f"the number {number} is neither quoted nor made by the claim's query"
            return _failed(claim, FailureCode.UNBOUND_NUMBER, reason, Check.NUMBER)
        beyond = said_beyond_the_count(claim.text, claim.measure)
        if beyond:
            return _failed(claim, FailureCode.MEASURE_MISMATCH, beyond, Check.MEASURE)
        stands = self._evidence
        documents = set(claim.measure.doc_ids)
        citations = tuple(
            CitationVerdict(i, c.evidence_id, True, supports, float(supports))
            for i, c in enumerate(claim.citations)
            for supports in (stands[c.evidence_id].document_id in documents,)
        )
        checks = (CheckVerdict(Check.MEASURE, agrees=True), CheckVerdict(Check.NUMBER, agrees=True))
        return ClaimVerdict(claim.id, True, 1.0, None, None, None, citations, checks)

    def _with_unknown(self, claim: Claim, unknown: Sequence[Citation]) -> ClaimVerdict:
        citations = tuple(
            CitationVerdict(i, c.evidence_id, is_known=c.evidence_id in self._evidence, supports=False)
            for i, c in enumerate(claim.citations)
        )
        reason = f"no record was retrieved as {unknown[0].evidence_id}"
        return _failed(claim, FailureCode.UNKNOWN_CITATION, reason, Check.CITATION, citations)

    def _mismatched(self, claim: Claim, reason: str) -> ClaimVerdict:
        """Fail a claim whose quoted words aren't there; the support says how near it came."""
        near = self._check(claim, claim.citations).support if claim.citations else 0.0
        citations = tuple(
            CitationVerdict(i, c.evidence_id, is_known=True, supports=False) for i, c in enumerate(claim.citations)
        )
        failed = _failed(claim, FailureCode.ALTERED_QUOTE, reason, Check.EXACT_SPAN, citations)
        return replace(failed, support=min(near, round(self._floor(claim.citations) * 0.99, 4)))

    def _check(
        self, claim: Claim, citations: Sequence[Citation], bound: Sequence[float] = (), periods: str = ""
    ) -> Verdict:
        sources = [self._evidence[c.evidence_id] for c in citations]
        return check_analysed(
            claim.text,
            [self._cut(source, c) for source, c in zip(sources, citations, strict=True)],
            floor=self._floor(citations),
            language=Counter(s.language for s in sources).most_common(1)[0][0],
            subject=Subject(
                idf=self._context.idf,
                bound_numbers=tuple(bound),
                context=(
                    *(s.label for s in sources),
                    *(s.account for s in sources if s.account),
                    *self._context.names,
                ),
                days=tuple(s.occurred_at.date() for s in sources if s.occurred_at),
                periods=periods,
                question=self._context.question,
                near=self._context.near,
                records=len({s.document_id for s in sources}),
            ),
        )

    def _floor(self, citations: Sequence[Citation]) -> float:
        return self._rules.floor(sum(c.end - c.start for c in citations))

    def _cut(self, source: Evidence, citation: Citation) -> AnalysedText:
        key = (citation.evidence_id, citation.start, citation.end)
        if key not in self._analysed:
            self._analysed[key] = analyse(source.text[citation.start : citation.end], source.language)
        return self._analysed[key]

    def _span(self, claim: Claim, verdict: Verdict) -> SupportingSpan | None:
        if verdict.span is None:
            return None
        citation = claim.citations[verdict.span.evidence]
        start = max(0, citation.start)
        return SupportingSpan(citation.evidence_id, start + verdict.span.start, start + verdict.span.end)


def _is_within_another(citations: Sequence[Citation], number: int) -> bool:
    """Tell whether a cited span lies within another one of the same record; of two equal ones the later does."""
    this = citations[number]
    return any(
        other.evidence_id == this.evidence_id
        and other.start <= this.start
        and this.end <= other.end
        and (place < number or (other.start, other.end) != (this.start, this.end))
        for place, other in enumerate(citations)
        if place != number
    )


def _without(claim: Claim, numbers: Container[int]) -> Claim:
    """Take citations off a claim, and off its count of records what they stood for."""
    citations = tuple(c for i, c in enumerate(claim.citations) if i not in numbers)
    if len(citations) == len(claim.citations):
        return claim
    if claim.kind is not ClaimKind.QUOTE:
        return replace(claim, citations=citations)
    return replace(claim, citations=citations, merged_count=len({c.evidence_id for c in citations}), measure=None)


def _failed(
    claim: Claim,
    code: FailureCode,
    reason: str,
    check: Check,
    citations: tuple[CitationVerdict, ...] | None = None,
) -> ClaimVerdict:
    """Build the verdict on a claim that isn't worth weighing: all of its citations count as padding."""
    if citations is None:
        citations = tuple(
            CitationVerdict(i, c.evidence_id, is_known=True, supports=False) for i, c in enumerate(claim.citations)
        )
    return ClaimVerdict(claim.id, False, 0.0, None, reason, code, citations, (CheckVerdict(check, False, reason),))


def _failure(verdicts: Sequence[ClaimVerdict], share: float, rules: GroundingRules) -> str:
    if not verdicts or not any(v.supported for v in verdicts):
        return NO_CLAIMS_TEXT
    return f"{share:.2f} of the drafted claims are supported, the floor is {rules.min_groundedness:.2f}"
