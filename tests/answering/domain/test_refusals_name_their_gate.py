"""Every reason has a gate and a text; the fixed texts stay as they are."""

import pytest

from answering.domain.outcome import REFUSAL_TEXT, Gate, RefusalReason, refuse


@pytest.mark.parametrize("reason", list(RefusalReason))
def test_every_reason_has_a_gate_and_a_message(reason: RefusalReason) -> None:
    refusal = refuse(reason, value=0.12, floor=0.25)

    assert refusal.message
    assert isinstance(refusal.gate, Gate)


def test_fixed_texts_are_as_published() -> None:
    assert REFUSAL_TEXT == "I cannot answer that from the indexed feedback."
    assert refuse(RefusalReason.NO_RECORDS).message == "no indexed feedback matched"
    off_topic = refuse(RefusalReason.OFF_TOPIC, value=0.12, floor=0.25)
    assert off_topic.message == "the retrieved feedback does not discuss this topic (relevance 0.12)"
    assert off_topic.gate.value == "evidence_relevance"
    assert refuse(RefusalReason.UNSUPPORTED).message == "the draft contained no verifiable claims"


def test_a_detail_words_what_differs_from_run_to_run() -> None:
    assert refuse(RefusalReason.BUDGET_EXHAUSTED, detail="steps 9 of 8").message == "steps 9 of 8"
