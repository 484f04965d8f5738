"""Where both decide, a model's no takes a statement out; it changes no other verdict and no reason that was there."""

from __future__ import annotations

from answering.domain.claims import ClaimKind
from answering.domain.entailment import Compared, EntailmentVerdict, Opinion, Question, decide
from answering.domain.grounding import ClaimVerdict, FailureCode, Grounding, GroundingRules

RULES = GroundingRules()


def compared(number: int, *, supported: bool, chance: float | None, kind: ClaimKind = ClaimKind.STATEMENT) -> Compared:
    question = Question(number, kind, "A claim.", (), ("A text.",), "en")
    reason, code = (None, None) if supported else ("a number is missing", FailureCode.UNBOUND_NUMBER)
    verdict = ClaimVerdict(number, supported, 0.9 if supported else 0.3, None, reason, code)
    return Compared(Opinion(question, None if chance is None else EntailmentVerdict(chance)), verdict, supported)


def decided(*claims: Compared) -> Grounding:
    share = sum(each.checker.supported for each in claims) / len(claims)
    before = Grounding(share, 1.0, share >= RULES.min_groundedness, None, tuple(each.checker for each in claims))
    return decide(before, claims, model="tiny", rules=RULES)


def test_a_statement_that_only_the_checker_finds_supported_fails():
    grounding = decided(compared(1, supported=True, chance=0.2), compared(2, supported=True, chance=0.9))

    failed, held = grounding.claims
    assert (failed.supported, failed.code) == (False, FailureCode.UNSUPPORTED)
    assert failed.support < RULES.min_support
    assert held.supported
    assert (grounding.groundedness, grounding.accepted) == (0.5, False)
    assert grounding.failure_reason == "0.50 of the drafted claims are supported, the floor is 0.70"


def test_a_quote_stays_whatever_the_model_says():
    quote = compared(1, supported=True, chance=0.0, kind=ClaimKind.QUOTE)

    assert decided(quote).claims == (quote.checker,)


def test_a_claim_that_the_checker_refuses_keeps_its_reason():
    refused, other = compared(1, supported=False, chance=0.0), compared(2, supported=True, chance=0.0)

    assert decided(refused, other).claims[0] == refused.checker


def test_neither_a_yes_nor_a_missing_verdict_changes_anything():
    claims = (
        compared(1, supported=False, chance=1.0),
        compared(2, supported=True, chance=None),
        compared(3, supported=True, chance=0.5),
    )

    assert decided(*claims).claims == tuple(each.checker for each in claims)
