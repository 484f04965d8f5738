"""Off topic is what no record discusses; what only these records don't, or not as presumed, lacks evidence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answering.domain.gate import LEAST_SHARE, Discussion, judge
from answering.domain.outcome import Gate, RefusalReason
from answering.domain.planner import parts_of, supposes_an_event

FLOOR = 0.25
STRAY = Discussion(relevance=0.05, anywhere=0.05, borne_out=0.05, share=1.0)


def test_what_the_evidence_discusses_passes() -> None:
    assert judge(Discussion(0.9, 0.9, 0.5, 1.0), floor=FLOOR) is None


def test_what_only_the_corpus_discusses_is_stopped_by_the_scope() -> None:
    stopped = judge(Discussion(0.9, 0.95, 0.5, LEAST_SHARE - 0.01), floor=FLOOR)

    assert stopped is not None
    assert (stopped.reason, stopped.gate, stopped.is_scope) == (
        RefusalReason.INSUFFICIENT_EVIDENCE,
        Gate.SCOPE,
        True,
    )


def test_what_nothing_discusses_is_off_topic() -> None:
    stopped = judge(STRAY, floor=FLOOR)

    assert stopped is not None
    assert (stopped.reason, stopped.gate) == (RefusalReason.OFF_TOPIC, Gate.EVIDENCE_RELEVANCE)


def test_a_stray_word_that_filters_keep_away_leaves_it_off_topic() -> None:
    stopped = judge(replace(STRAY, share=0.0), floor=FLOOR)

    assert stopped is not None
    assert stopped.reason is RefusalReason.OFF_TOPIC


@pytest.mark.parametrize(
    "found",
    [
        replace(STRAY, anywhere=0.6),
        replace(STRAY, borne_out=0.4, share=0.1),
        replace(STRAY, holds_names=True),
        replace(STRAY, supposes=True, known=0.4),
    ],
)
def test_a_wrong_slice_or_premise_lacks_evidence(found: Discussion) -> None:
    stopped = judge(found, floor=FLOOR)

    assert stopped is not None
    assert stopped.reason is RefusalReason.INSUFFICIENT_EVIDENCE


def test_an_event_of_another_world_is_off_topic() -> None:
    stopped = judge(replace(STRAY, supposes=True, known=0.1), floor=FLOOR)

    assert stopped is not None
    assert stopped.reason is RefusalReason.OFF_TOPIC


@pytest.mark.parametrize(
    ("question", "supposes"),
    [
        ("Why was the app removed from the store?", True),
        ("How were customers affected when hackers stole card numbers?", True),
        ("Would customers like to be paid in gold?", False),
        ("Which class should I choose after getting married?", False),
        ("What do people say about the van?", False),
    ],
)
def test_an_event_is_supposed_by_grammar(question: str, supposes: bool) -> None:
    assert supposes_an_event(question) is supposes


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("What do people say about the kettle and about drone delivery?", ("kettle", "drone delivery")),
        ("What do people say about the drivers and the landing pad?", ("drivers", "landing pad")),
        ("What is said about parking, food and the nurses?", ("parking", "food", "nurses")),
        ("Is it easy to pause or cancel a membership?", ()),
        ("What trouble have people with blind and partially sighted shoppers?", ()),
        ("What do people say about the app and why is it slow?", ()),
        ("What do people say about the kettle?", ()),
    ],
)
def test_topics_stand_side_by_side_only_where_each_is_whole(question: str, parts: tuple[str, ...]) -> None:
    assert parts_of(question) == parts
