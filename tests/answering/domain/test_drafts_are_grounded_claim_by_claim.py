"""Each claim of a draft is verified by its kind, each citation on its own."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answering.domain.claims import Citation, Claim, ClaimKind, Draft, Measure
from answering.domain.grounding import FailureCode, GroundingRules, MeasureResult, ground, prune, repair
from tests.answering.domain.evidence_for_tests import make_evidence, quote, statement, unknown_citation

LATE = make_evidence(1, "The transport was two hours late and nobody called us.")
RUDE = make_evidence(2, "Reception staff were rude on the phone.")
PARKING = make_evidence(3, "Parking at the hospital costs far too much.")
EVIDENCE = (LATE, RUDE, PARKING)
WAITING = Measure(312, "records", accounts=4, denominator=6169, query={"query": "waiting"}, doc_ids=("doc-1",))
MENTION = Claim(1, ClaimKind.MEASURE, "312 of 6,169 records from 4 accounts mention “waiting”.", measure=WAITING)
RESULT = MeasureResult(312, accounts=4, denominator=6169)


def judged(*claims: Claim, **options):
    return ground(Draft(claims, "extractive"), EVIDENCE, **options)


def test_exact_quotes_are_fully_supported() -> None:
    grounding = judged(quote(1, LATE), quote(2, RUDE))

    assert grounding.accepted
    assert grounding.groundedness == grounding.citation_precision == 1.0
    assert grounding.failure_reason is None
    assert grounding.claims[0].span is not None
    assert grounding.claims[0].span.citation == "C1"


@pytest.mark.parametrize(
    "text",
    ["The transport was two hours late and nobody called us", "The transport was two hours late and nobody called uѕ."],
)
def test_a_quote_altered_by_one_character_fails(text: str) -> None:
    (verdict,) = judged(replace(quote(1, LATE), text=text)).claims

    assert verdict.code is FailureCode.ALTERED_QUOTE
    assert verdict.support < 0.6


def test_a_quote_that_misstates_its_span_fails() -> None:
    shifted = Citation("C1", 1, len(LATE.text), LATE.text)

    (verdict,) = judged(Claim(1, ClaimKind.QUOTE, LATE.text, (shifted,))).claims

    assert verdict.code is FailureCode.ALTERED_QUOTE


@pytest.mark.parametrize("start_end", [(-1, 5), (0, 10_000), (5, 5), (9, 3)])
def test_a_span_outside_of_the_text_fails(start_end: tuple[int, int]) -> None:
    citation = Citation("C1", *start_end, LATE.text[slice(*start_end)])

    (verdict,) = judged(Claim(1, ClaimKind.QUOTE, citation.quote or "x", (citation,))).claims

    assert not verdict.supported


@pytest.mark.parametrize("name", ["C9", "C01", "c1", "С1", "C1 ", "C¹", ""])
def test_an_unknown_citation_fails_its_whole_claim_and_is_counted(name: str) -> None:
    claim = replace(quote(1, LATE), citations=(*quote(1, LATE).citations, unknown_citation(name, LATE.text)))

    grounding = judged(claim, quote(2, RUDE))

    assert grounding.claims[0].code is FailureCode.UNKNOWN_CITATION
    assert grounding.unknown_citations == 1
    assert [c.id for c in repair(Draft((claim, quote(2, RUDE)), "x"), grounding).draft.claims] == [2]


def test_a_statement_without_a_citation_fails() -> None:
    assert judged(statement(1, "The transport was late.")).claims[0].code is FailureCode.MISSING_CITATION


def test_a_statement_is_judged_on_the_union_of_its_citations() -> None:
    grounding = judged(statement(1, "Transport was two hours late and reception staff were rude.", LATE, RUDE))

    assert grounding.accepted
    assert [c.supports for c in grounding.claims[0].citations] == [True, True]


def test_padding_lowers_precision_and_is_repaired() -> None:
    draft = Draft((statement(1, "Reception staff were rude on the phone.", RUDE, PARKING),), "llm")

    grounding = ground(draft, EVIDENCE)
    mended = repair(draft, grounding)

    assert grounding.citation_precision == 0.5
    assert [c.evidence_id for c in mended.draft.claims[0].citations] == ["C2"]
    assert [d.evidence_id for d in mended.dropped_citations] == ["C3"]
    assert mended.is_downgrade
    assert ground(mended.draft, EVIDENCE).citation_precision == 1.0


def test_a_number_over_several_records_needs_a_query() -> None:
    claim = statement(1, "Three records say the transport was two hours late and nobody called.", LATE)

    assert judged(claim).claims[0].code is FailureCode.UNBOUND_NUMBER


def test_a_statement_may_use_the_numbers_of_its_measure() -> None:
    measured = Measure(312, "records", query={"query": "late"})
    claim = statement(1, "The transport was late and nobody called, in 312 records.", LATE, measure=measured)

    assert judged(claim, measure_results={1: MeasureResult(312)}).claims[0].supported
    assert judged(claim, measure_results={1: MeasureResult(311)}).claims[0].code is FailureCode.MEASURE_MISMATCH


def test_a_measure_holds_when_its_query_gives_the_same_again() -> None:
    grounding = judged(MENTION, measure_results={1: RESULT})

    assert grounding.accepted
    assert grounding.citation_precision == 1.0


@pytest.mark.parametrize(
    "result",
    [None, replace(RESULT, value=313), replace(RESULT, accounts=5), replace(RESULT, denominator=None)],
)
def test_a_measure_that_is_not_reproduced_fails(result: MeasureResult | None) -> None:
    grounding = judged(MENTION, measure_results={1: result} if result else {})

    assert grounding.claims[0].code is FailureCode.MEASURE_MISMATCH
    assert not grounding.accepted


@pytest.mark.parametrize(
    "text",
    [
        "313 of 6,169 records from 4 accounts mention “waiting”.",
        "312 of 6,169 records from 4 accounts mention “waiting”, twenty more than before.",
        "312 of 6,169 records mention “waiting”, up 7%.",
    ],
)
def test_a_measure_may_state_no_other_number(text: str) -> None:
    (verdict,) = judged(replace(MENTION, text=text), measure_results={1: RESULT}).claims

    assert verdict.code is FailureCode.UNBOUND_NUMBER


def test_a_measure_may_state_its_share_and_what_was_asked_for() -> None:
    asked = replace(WAITING, query={"query": "waiting", "occurred_from": "2021-01-01"})
    claim = replace(MENTION, text="312 of 6,169 records (5%) since January 2021 mention “24 hours”.", measure=asked)

    assert judged(claim, measure_results={1: RESULT}).claims[0].supported


def test_a_joined_quote_counts_only_what_it_cites() -> None:
    twin = make_evidence(4, RUDE.text)
    draft = Draft((quote(1, RUDE, twin),), "extractive")

    honest = ground(draft, (*EVIDENCE, twin))
    boasting = ground(Draft((replace(draft.claims[0], merged_count=3),), "extractive"), (*EVIDENCE, twin))

    assert honest.accepted
    assert boasting.claims[0].code is FailureCode.MEASURE_MISMATCH


@pytest.mark.parametrize("text", ["Staff were rude {{C2}}.", "{{C1}}", " ", ""])
def test_a_claim_that_is_no_text_or_marks_citations_itself_fails(text: str) -> None:
    assert judged(statement(1, text, RUDE)).claims[0].code is FailureCode.INVALID_SHAPE


def test_two_claims_with_one_id_fail_both() -> None:
    assert [v.code for v in judged(quote(1, LATE), quote(1, RUDE)).claims] == [FailureCode.INVALID_SHAPE] * 2


@pytest.mark.parametrize("claims", [(), (statement(1, "The food was cold.", RUDE),)])
def test_a_draft_without_a_verifiable_claim_says_so(claims: tuple[Claim, ...]) -> None:
    grounding = judged(*claims)

    assert not grounding.accepted
    assert grounding.failure_reason == "the draft contained no verifiable claims"


def test_acceptance_is_a_share_of_what_was_drafted() -> None:
    wrong = statement(3, "The food was cold.", RUDE)

    grounding = judged(quote(1, LATE), quote(2, RUDE), wrong)

    assert grounding.groundedness == pytest.approx(2 / 3, abs=1e-4)
    assert not grounding.accepted
    assert judged(quote(1, LATE), quote(2, RUDE), wrong, rules=GroundingRules(min_groundedness=0.6)).accepted


def test_what_was_never_checked_does_not_survive() -> None:
    draft = Draft((quote(1, LATE), quote(7, RUDE)), "llm")

    assert [c.id for c in prune(draft, judged(quote(1, LATE))).claims] == [1]


CLAIMS = st.lists(
    st.sampled_from(
        [
            quote(1, LATE), quote(2, RUDE, PARKING), statement(3, "Staff were rude on the phone.", RUDE, LATE),
            statement(4, "Nobody was rude.", RUDE), statement(5, "Parking costs 5 pounds.", PARKING),
            Claim(6, ClaimKind.STATEMENT, "x", (unknown_citation("C7", "x"),)), replace(MENTION, id=8),
        ]
    ),
    max_size=7,
    unique_by=lambda c: c.id,
)  # fmt: skip


@given(CLAIMS)
def test_pruning_twice_changes_nothing_more(claims: list[Claim]) -> None:
    draft = Draft(tuple(claims), "llm")
    grounding = ground(draft, EVIDENCE)
    once = prune(draft, grounding)

    assert prune(once, ground(once, EVIDENCE)) == once
    assert prune(once, grounding).claims == once.claims or len(once.claims) <= len(claims)


@given(CLAIMS)
def test_all_that_remains_is_supported(claims: list[Claim]) -> None:
    draft = Draft(tuple(claims), "llm")

    again = ground(prune(draft, ground(draft, EVIDENCE)), EVIDENCE)

    assert all(v.supported for v in again.claims)
    assert all(c.supports for v in again.claims for c in v.citations)
