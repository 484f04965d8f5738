"""A claim that says something else than its record fails, however many words they share."""

import pytest

from answering.domain.grounding import Check, FailureCode, Subject, check_claim

RECORD = (
    "The clinic in Leeds cancelled 14 of 40 appointments in March 2021. Some patients waited 3 hours and the "
    "staff were not helpful. Complaints rose by 12% after the change."
)

MUTATIONS = [
    ("The clinic in Leeds cancelled 15 of 40 appointments.", FailureCode.UNBOUND_NUMBER),
    ("The clinic in Leeds cancelled fifteen of forty appointments.", FailureCode.UNBOUND_NUMBER),
    ("Some patients waited 3 days.", FailureCode.UNBOUND_NUMBER),
    ("Some patients waited 14 hours.", FailureCode.UNBOUND_NUMBER),
    ("Complaints rose by 12 after the change.", FailureCode.UNBOUND_NUMBER),
    ("The clinic in Leeds cancelled 14 of 40 appointments in May 2021.", FailureCode.DATE_MISMATCH),
    ("The clinic in Leeds cancelled appointments in March 2022.", FailureCode.DATE_MISMATCH),
    ("The staff were helpful.", FailureCode.NEGATION_MISMATCH),
    ("The clinic in Leeds never cancelled appointments.", FailureCode.NEGATION_MISMATCH),
    ("No patients waited.", FailureCode.NEGATION_MISMATCH),
    ("All patients waited 3 hours.", FailureCode.QUANTIFIER_RAISED),
    ("Most patients waited 3 hours.", FailureCode.QUANTIFIER_RAISED),
    ("Patients always waited 3 hours.", FailureCode.QUANTIFIER_RAISED),
    ("Complaints fell by 12% after the change.", FailureCode.DIRECTION_REVERSED),
    ("The clinic in Derby cancelled 14 of 40 appointments.", FailureCode.UNKNOWN_ENTITY),
    ("The staff said “we are not helpful to anybody here”.", FailureCode.ALTERED_QUOTE),
    ("Parking was dear and the food cold.", FailureCode.UNSUPPORTED),
]


@pytest.mark.parametrize(("claim", "code"), MUTATIONS)
def test_a_mutated_claim_fails_with_its_reason(claim: str, code: FailureCode) -> None:
    verdict = check_claim(claim, [RECORD])

    assert not verdict.supported
    assert verdict.support < 0.6
    assert verdict.code is code, verdict.reason
    assert verdict.reason


@pytest.mark.parametrize(
    "claim",
    [
        "The clinic in Leeds cancelled 14 of 40 appointments in March 2021.",
        "The Leeds clinic cancelled fourteen of forty appointments.",
        "Some patients waited 3 hours.",
        "Some patients waited 180 minutes.",
        "The staff were not helpful.",
        "Complaints rose by 12 percent after the change.",
        "Complaints rose by about 12% after the change.",
    ],
)
def test_a_faithful_claim_passes(claim: str) -> None:
    verdict = check_claim(claim, [RECORD])

    assert verdict.supported, verdict
    assert verdict.support >= 0.6
    assert verdict.reason is None


def test_most_needs_a_majority_in_the_record() -> None:
    few = check_claim("Most patients complained about parking.", ["3 of 40 patients complained about parking."])
    many = check_claim("Most patients complained about parking.", ["31 of 40 patients complained about parking."])

    assert few.code is FailureCode.QUANTIFIER_RAISED
    assert many.supported


@pytest.mark.parametrize(
    ("claim", "record"),
    [
        ("Revenue was 1,234,567 dollars.", "Revenue was 1.234.567 dollars."),
        ("Revenue was 2.5 million dollars.", "Revenue was $2,500,000."),
        ("It cost 1,50 euro.", "It cost 1.50 euro."),
        ("Twenty-five patients waited.", "25 patients waited."),
        ("Two hundred patients waited.", "200 patients waited."),
        ("Over 600 patients waited.", "612 patients waited."),
        ("It began on 3 March 2021.", "It began on 2021-03-03."),
    ],
)
def test_a_number_may_be_written_in_another_way(claim: str, record: str) -> None:
    assert check_claim(claim, [record]).supported


@pytest.mark.parametrize(
    ("claim", "record"),
    [
        ("Over 600 patients waited.", "912 patients waited."),
        ("About 600 patients waited.", "512 patients waited."),
        ("600 patients waited.", "612 patients waited."),
        ("30% of patients waited.", "30 patients waited."),
        ("One hour was lost in the queue.", "Two hours were lost in the queue."),
        ("It cost £50 to park the car.", "It cost $50 to park the car."),
    ],
)
def test_a_number_close_by_is_another_number(claim: str, record: str) -> None:
    assert check_claim(claim, [record]).code is FailureCode.UNBOUND_NUMBER


@pytest.mark.parametrize(
    ("claim", "record"),
    [
        ("I was not happy with the ward.", "I was unhappy with the ward."),
        ("I have seen kind staff.", "I have never seen such kind staff."),
        ("The staff were kind and helpful.", "The staff were not only kind but also helpful."),
        ("Did your hair fall out? Hair fell out.", "Didn't your hair fall out? Hair fell out."),
    ],
)
def test_a_negator_that_denies_nothing_is_no_conflict(claim: str, record: str) -> None:
    verdict = check_claim(claim, [record])

    assert all(c.agrees for c in verdict.checks if c.check is Check.NEGATION), verdict


def test_direction_is_read_in_the_clause_about_the_same_thing() -> None:
    record = "Sales rose in the north while costs fell in the south."

    assert check_claim("Sales fell in the north.", [record]).code is FailureCode.DIRECTION_REVERSED
    assert check_claim("Sales rose in the north.", [record]).supported


def test_a_name_may_be_spelled_out_or_short() -> None:
    assert check_claim("The WHO praised the ward.", ["The World Health Organization praised the ward."]).supported
    assert check_claim("The World Health Organization praised the ward.", ["The WHO praised the ward."]).code is None


def test_a_code_has_to_match_exactly() -> None:
    record = "Order #A-10293 failed with ERR_0x80070005 in the shop."

    assert check_claim("Order A-10293 failed with ERR_0x80070005 in the shop.", [record]).supported
    assert check_claim("Order A-10294 failed in the shop.", [record]).code is FailureCode.UNKNOWN_ENTITY


def test_names_of_the_record_itself_may_be_used() -> None:
    record = "The transport was late again."

    assert not check_claim("The transport in NEAS was late again.", [record]).supported
    assert check_claim(
        "The transport in NEAS was late again.", [record], subject=Subject(context=("survey · NEAS",))
    ).supported


def test_every_sentence_needs_support() -> None:
    claim = "The staff were not helpful. Some patients waited 3 hours. The food came from Paris and was cold."

    verdict = check_claim(claim, [RECORD])

    assert not verdict.supported
    assert verdict.support < 0.6


def test_support_is_judged_on_the_union_of_the_texts() -> None:
    texts = ["The lift was broken on Monday.", "The stairs were slippery and wet on Monday."]
    claim = "The lift was broken and the stairs were slippery and wet on Monday."

    assert check_claim(claim, texts).supported
    assert not check_claim(claim, texts[:1]).supported


def test_idf_weighs_what_is_rare() -> None:
    idf = {"staff": 0.1, "said": 0.1, "ward": 0.2, "helipad": 6.0}

    plain = check_claim("Staff of the ward use the helipad", ["Staff of the ward use the lift"])
    weighed = check_claim(
        "Staff of the ward use the helipad", ["Staff of the ward use the lift"], subject=Subject(idf=idf)
    )

    assert weighed.support < plain.support


@pytest.mark.parametrize("texts", [[], [""], ["   "], ["\u200b\n"]])
def test_no_text_supports_nothing(texts: list[str]) -> None:
    verdict = check_claim("Patients waited.", texts)

    assert not verdict.supported
    assert verdict.span is None
    assert verdict.support == 0.0


@pytest.mark.parametrize("claim", ["", "   ", "the of and", "?!"])
def test_a_claim_without_content_is_not_supported(claim: str) -> None:
    assert not check_claim(claim, [RECORD]).supported


def test_a_claim_too_long_to_be_checked_fails() -> None:
    verdict = check_claim("Some patients waited 3 hours. " * 41, [RECORD])

    assert verdict.code is FailureCode.INVALID_SHAPE
