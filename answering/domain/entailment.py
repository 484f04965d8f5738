"""Hold what an entailment model says of claims beside what the checker says, and where the two disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from answering.domain.claims import Claim, ClaimKind, Draft, Evidence
from answering.domain.grounding import ClaimVerdict, FailureCode, Grounding, GroundingRules
from answering.domain.grounding.shape import misshapen
from answering.domain.outcome import NO_CLAIMS_TEXT

ENTAILED_FROM: Final = 0.5


class Label(StrEnum):
    """How a claim stands to a text, in the terms of natural language inference."""

    ENTAILMENT = "entailment"
    NEUTRAL = "neutral"
    CONTRADICTION = "contradiction"


class Agreement(StrEnum):
    """How the model's verdict on a claim compares with the checker's."""

    AGREE = "agree"
    DISAGREE = "disagree"
    MISSING = "missing"


class Decides(StrEnum):
    """Whose verdict counts: the checker's alone, or both together."""

    REPORT = "report"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim beside the text that it is judged on."""

    premise: str
    claim: str


@dataclass(frozen=True, slots=True)
class EntailmentVerdict:
    """How likely a text bears a claim out, in [0, 1]; `label` where the model tells three cases apart.

    `tokens` is what the verdict cost at an endpoint.
    """

    probability: float
    label: Label | None = None
    tokens: int = 0

    def __post_init__(self) -> None:
        if not 0.0 <= self.probability <= 1.0:
            raise ValueError(f"a probability lies between 0 and 1, not at {self.probability}")

    @property
    def is_entailed(self) -> bool:
        """Tell whether the claim more likely holds than not."""
        return self.probability >= ENTAILED_FROM


@dataclass(frozen=True, slots=True)
class CitedSpan:
    """Where a piece of the judged text stands; the text itself stays with its record."""

    doc_id: str
    revision: int
    start: int
    end: int

    def as_json(self) -> dict[str, Any]:
        """Return the shape that is stored."""
        return {"doc_id": self.doc_id, "revision": self.revision, "start": self.start, "end": self.end}


@dataclass(frozen=True, slots=True)
class Question:
    """A claim of a draft that a model is to judge, on the texts of these spans; `words` is where a quote stands."""

    claim_id: int
    kind: ClaimKind
    text: str
    spans: tuple[CitedSpan, ...]
    texts: tuple[str, ...]
    language: str
    words: CitedSpan | None = None


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a model says of a claim; None when it gave no verdict."""

    question: Question
    verdict: EntailmentVerdict | None


@dataclass(frozen=True, slots=True)
class Opinions:
    """What one model says of a draft; `note` tells why verdicts are missing."""

    model: str = ""
    decides: Decides = Decides.REPORT
    given: tuple[Opinion, ...] = ()
    note: str = ""

    def on(self, question: Question) -> Opinion:
        """Return what was said of this very claim: one that was drafted anew has had no verdict."""
        return next((each for each in self.given if each.question == question), Opinion(question, None))


@dataclass(frozen=True, slots=True)
class Compared:
    """A claim with both verdicts. `checker` is the checker's own, before the model had a say."""

    opinion: Opinion
    checker: ClaimVerdict
    supported: bool

    @property
    def agreement(self) -> Agreement:
        """Return how the two compare."""
        if self.opinion.verdict is None:
            return Agreement.MISSING
        agrees = self.opinion.verdict.is_entailed == self.supported
        return Agreement.AGREE if agrees else Agreement.DISAGREE


def questions_of(draft: Draft, evidence: Sequence[Evidence]) -> tuple[Question, ...]:
    """Return what of a draft a model can judge: statements on what they cite, quotes on the records said to repeat them.

    Left out is what is no claim (a question, an order, an earlier one again); a claim whose citations are unknown or misquoted, since there is no text to judge it on; a quote of one
    record, which is its words; and whatever states counted numbers, which no record holds.
    """
    known = {source.citation_id: source for source in evidence}
    times = Counter(claim.id for claim in draft.claims)
    first = {claim.text: claim.id for claim in reversed(draft.claims)}
    return tuple(
        _question(claim, known)
        for claim in draft.claims
        if times[claim.id] == 1
        and claim.text.strip()
        and first[claim.text] == claim.id
        and (claim.kind is ClaimKind.QUOTE or misshapen(claim.text) is None)
        and _is_judged(claim)
        and _is_cited_rightly(claim, known)
    )


def _is_judged(claim: Claim) -> bool:
    if claim.kind is ClaimKind.QUOTE:
        return len(claim.citations) > 1
    return claim.kind is ClaimKind.STATEMENT and claim.measure is None and bool(claim.citations)


def _is_cited_rightly(claim: Claim, known: Mapping[str, Evidence]) -> bool:
    return all(c.evidence_id in known and c.matches(known[c.evidence_id].text) for c in claim.citations)


def _question(claim: Claim, known: Mapping[str, Evidence]) -> Question:
    spans = [
        CitedSpan(known[c.evidence_id].document_id, known[c.evidence_id].revision, c.start, c.end)
        for c in claim.citations
    ]
    is_quote = claim.kind is ClaimKind.QUOTE
    return Question(
        claim_id=claim.id,
        kind=claim.kind,
        text=claim.text,
        spans=tuple(spans[1:] if is_quote else spans),
        texts=tuple(c.quote for c in (claim.citations[1:] if is_quote else claim.citations)),
        language=known[claim.citations[0].evidence_id].language,
        words=spans[0] if is_quote else None,
    )


def compare(
    draft: Draft, evidence: Sequence[Evidence], grounding: Grounding, opinions: Opinions
) -> tuple[Compared, ...]:
    """Put each opinion beside the checker's verdict on the same claim; none without a model.

    Of a quote the checker's verdict is whether every further record says the same.
    """
    if not opinions.model:
        return ()
    verdicts = {verdict.id: verdict for verdict in grounding.claims}
    found = []
    for question in questions_of(draft, evidence):
        verdict = verdicts[question.claim_id]
        if verdict.code is FailureCode.INVALID_SHAPE:
            # A question, an order or a claim made twice is no claim: there is nothing to agree about.
            continue
        supported = verdict.supported
        if question.kind is ClaimKind.QUOTE:
            supported = all(citation.supports for citation in verdict.citations[1:])
        found.append(Compared(opinions.on(question), verdict, supported))
    return tuple(found)


def decide(grounding: Grounding, compared: Iterable[Compared], *, model: str, rules: GroundingRules) -> Grounding:
    """Return the grounding in which a statement also fails that the model doesn't find supported.

    A missing verdict changes nothing, and neither does one on a quote: its words stand in the record.
    """
    refused = {
        each.checker.id: each.opinion.verdict.probability
        for each in compared
        if each.opinion.verdict is not None
        and not each.opinion.verdict.is_entailed
        and each.checker.supported
        and each.opinion.question.kind is ClaimKind.STATEMENT
    }
    if not refused:
        return grounding
    claims = tuple(
        replace(
            verdict,
            supported=False,
            support=min(verdict.support, round(rules.min_support * 0.99, 4)),
            code=FailureCode.UNSUPPORTED,
            reason=f"the model {model} doesn't find it in the cited text (probability {refused[verdict.id]:.2f})",
        )
        if verdict.id in refused
        else verdict
        for verdict in grounding.claims
    )
    held = sum(verdict.supported for verdict in claims)
    share = held / len(claims)
    accepted = held > 0 and share >= rules.min_groundedness
    short = f"{share:.2f} of the drafted claims are supported, the floor is {rules.min_groundedness:.2f}"
    return replace(
        grounding,
        groundedness=round(share, 4),
        accepted=accepted,
        failure_reason=None if accepted else short if held else NO_CLAIMS_TEXT,
        claims=claims,
    )


def with_opinions(grounding: Mapping[str, Any], compared: Sequence[Compared], opinions: Opinions) -> dict[str, Any]:
    """Add the model's verdicts to the `grounding` of an answer: `model` at each judged claim, a sum at the top."""
    if not opinions.model:
        return dict(grounding)
    beside = {each.checker.id: opinion_json(each, opinions.model) for each in compared}
    counted = [each.agreement for each in compared]
    return {
        **grounding,
        "claims": [{**claim, "model": beside.get(claim["id"])} for claim in grounding["claims"]],
        "model": {
            "name": opinions.model,
            "decides": opinions.decides.value,
            "judged": len(counted),
            "disagreed": counted.count(Agreement.DISAGREE),
            "missing": counted.count(Agreement.MISSING),
            "note": opinions.note or None,
        },
    }


def opinion_json(compared: Compared, model: str) -> dict[str, Any] | None:
    """Return a claim's `model`, None when it gave no verdict. The checker's own verdict is `checker_supported`."""
    verdict = compared.opinion.verdict
    if verdict is None:
        return None
    return {
        "name": model,
        "entailed": verdict.is_entailed,
        "probability": round(verdict.probability, 4),
        "label": None if verdict.label is None else verdict.label.value,
        "agrees": compared.agreement is Agreement.AGREE,
        "checker_supported": compared.supported,
    }
