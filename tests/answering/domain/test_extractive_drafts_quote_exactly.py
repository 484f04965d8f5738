"""The drafter without a model quotes records exactly, joins what says the same and leaves out what says nothing."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answering.domain.claims import MARKER, ClaimKind, Measure, PointKind
from answering.domain.facts import Fact, FactKind, Topic, fact_text
from answering.domain.grounding import MeasureResult, ground
from answering.domain.planner import Vocabulary, plan
from answering.drafters.extractive import MODEL, DraftLimits, draft
from tests.answering.domain.evidence_for_tests import make_evidence

PLAN = plan("How long are patients waiting?", vocabulary=Vocabulary(), as_of=date(2022, 1, 1))
WAITING = Measure(312, "records", accounts=4, denominator=6169, query={"query": "waiting"}, doc_ids=("doc-1",))


def test_records_that_say_the_same_become_one_claim_with_its_count() -> None:
    evidence = [
        make_evidence(1, "We were waiting three hours for transport.", person="a"),
        make_evidence(2, "Waiting three hours for the transport!", account="Leeds", person="b"),
        make_evidence(3, "Waiting in the corridor without any water."),
    ]

    joined, other = draft(PLAN, evidence).claims

    assert joined.text == joined.citations[0].quote
    assert {c.evidence_id for c in joined.citations} == {"C1", "C2"}
    assert joined.measure is not None
    assert (joined.measure.value, joined.measure.accounts, joined.measure.people) == (2, 2, 2)
    assert other.merged_count == 1
    assert ground(draft(PLAN, evidence), evidence).accepted


@pytest.mark.parametrize(
    "other", ["We were waiting five hours for transport.", "We were not waiting three hours for transport."]
)
def test_records_that_differ_in_a_number_or_a_not_stay_apart(other: str) -> None:
    evidence = [make_evidence(1, "We were waiting three hours for transport."), make_evidence(2, other)]

    assert [c.merged_count for c in draft(PLAN, evidence).claims] == [1, 1]


def test_a_record_counts_once_however_often_it_was_found() -> None:
    text = "We were waiting three hours for transport."
    evidence = [make_evidence(1, text), make_evidence(2, text, document_id="doc-1")]

    assert [c.merged_count for c in draft(PLAN, evidence).claims] == [1]


@pytest.mark.parametrize(
    "text",
    [
        "Nothing.",
        "N/A",
        "None",
        "waiting",
        "Waiting time.",
        "   ",
        "",
        "…",
        "No comment",
        "{{C1}} proves the waiting was short",
    ],
)
def test_fragments_boilerplate_and_false_markers_are_not_quoted(text: str) -> None:
    assert draft(PLAN, [make_evidence(1, text)]).claims == ()


def test_a_long_record_gives_its_most_telling_sentence() -> None:
    filler = "The garden of the hospital has many old trees and a pond. " * 6
    record = filler + "Patients were waiting four hours in the corridor. " + filler

    (first, *_) = draft(PLAN, [make_evidence(1, record)]).claims

    assert first.text == "Patients were waiting four hours in the corridor."
    assert record[first.citations[0].start : first.citations[0].end] == first.text


def test_a_passage_is_quoted_from_its_own_part_of_the_text() -> None:
    text = "Waiting was fine in the morning. Waiting was awful after the lunch break."
    evidence = make_evidence(1, text, start=33, end=len(text))

    (claim,) = draft(PLAN, [evidence]).claims

    assert claim.text == "Waiting was awful after the lunch break."


def _trend(**ends: tuple[int, int]) -> Fact:
    keys = {"first": "2021-03-01", "peak": "2021-04-01", "last": "2021-05-01"}
    names = {"first": "March 2021", "peak": "April 2021", "last": "May 2021"}
    components = {name: float(found) for name, (found, _) in ends.items()}
    components |= {f"{name}_of": float(records) for name, (_, records) in ends.items()}
    query = {
        "count": "records",
        "mentions": [["app"]],
        "parts": {name: {"within": {"by": "month", "key": keys[name]}} for name in ends},
    }
    measure = Measure(12, "records", query=query, components=components)
    return Fact(FactKind.TREND, "app", measure, {name: names[name] for name in ends})


def test_facts_lead() -> None:
    fact = Fact(FactKind.MENTIONS, "waiting", WAITING)
    evidence = [make_evidence(1, "We were waiting three hours for transport.")]

    drafted = draft(PLAN, evidence, [fact])

    assert drafted.model == MODEL
    assert [c.kind for c in drafted.claims] == [ClaimKind.MEASURE, ClaimKind.QUOTE]
    assert drafted.claims[0].text == "312 of 6,169 records from 4 accounts mention “waiting”."
    assert ground(drafted, evidence, measure_results={1: MeasureResult(312, accounts=4, denominator=6169)}).accepted


def _part(kind: FactKind, value: int, **fields: Any) -> Fact:
    return Fact(kind, "Staff", Measure(value, "records", components={"of": 6.0}, **fields))


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (_part(FactKind.PART_THEME, 2), "2 of these 6 records have the theme “Staff”."),
        (_part(FactKind.PART_THEME, 1, accounts=1), "1 of these 6 records has the theme “Staff”."),
        (
            _part(FactKind.PART_WORD, 6, people=5, accounts=3),
            "All 6 of these records also mention “Staff”, from 5 people.",
        ),
        (
            _part(FactKind.COMPLAINT, 2),
            "On the other side: complaint in 2 of the 6 records that were read, as far as words tell.",
        ),
        (
            _part(FactKind.NEAR_DUPLICATES, 4, accounts=3, query={"filters": {"source": ["survey"]}}),
            "4 records from 3 accounts say the same in nearly the same words, within the same filters.",
        ),
        (
            Fact(
                FactKind.MENTIONS,
                "late",
                Measure(3, "records", components={"recent": 2.0}),
                {"recent": "in Q3 2026"},
                ("milk",),
            ),
            "3 records mention “late” and “milk”, 2 of them in Q3 2026.",
        ),
        (
            Fact(
                FactKind.ACCOUNTS,
                "",
                Measure(2, "records", accounts=2, components={"a": 1.0, "b": 1.0}),
                {"a": "A", "b": "B"},
            ),
            "Of these, 2 accounts are named: “A” and “B”.",
        ),
        (Fact(FactKind.THEME, "Staff", Measure(1, "records")), "1 record has the theme “Staff”."),
        (Fact(FactKind.ACCOUNT, "NEAS", Measure(1200, "records", accounts=1)), "1,200 records are from “NEAS”."),
        (
            _trend(first=(3, 40), last=(9, 50)),
            "Records that mention “app” went from 3 of 40 in March 2021 to 9 of 50 in May 2021, a larger share.",
        ),
        (
            # More records, and fewer of them: half as much.
            _trend(first=(4, 40), last=(5, 100)),
            "Records that mention “app” went from 4 of 40 in March 2021 to 5 of 100 in May 2021, a smaller share.",
        ),
        (
            _trend(first=(3, 40), last=(6, 80)),
            "Records that mention “app” went from 3 of 40 in March 2021 to 6 of 80 in May 2021.",
        ),
        (
            _trend(first=(1, 40), last=(0, 50), peak=(1200, 6000)),
            "Records that mention “app” went from 1 of 40 in March 2021 to 0 of 50 in May 2021,"
            " with the largest share, 1,200 of 6,000, in April 2021.",
        ),
    ],
)
def test_facts_are_worded_by_kind(fact: Fact, text: str) -> None:
    assert fact_text(fact) == text


@pytest.mark.parametrize(
    ("filters", "within"),
    [
        ({}, ""),
        ({"source": ["app_review"]}, " (source “app review”)"),
        ({"account": ["A", "B"], "theme": ['The "best"']}, " (theme “The 'best'”; account “A” or “B”)"),
        ({"facets": {"rating": [1, 2]}}, " (rating “1” or “2”)"),
        ({"ids": ["x"]}, " (of the listed records)"),
        (
            {"occurred_from": "2026-03-01T00:00:00Z", "occurred_to": "2026-04-01T12:30:00Z"},
            " (from 1 March 2026; before 1 April 2026, 12:30)",
        ),
    ],
)
def test_a_count_says_within_what_it_was_counted(filters: dict[str, Any], within: str) -> None:
    """And its dates are bound to the query that holds them."""
    measure = Measure(12, "records", denominator=40, query={"filters": filters})
    fact = Fact(FactKind.MENTIONS, "app", measure)

    drafted = draft(PLAN, [], [fact])

    assert fact_text(fact) == f"12 of 40 records mention “app”{within}."
    assert ground(drafted, [], measure_results={1: MeasureResult(12, denominator=40)}).accepted


def test_a_trend_passes_when_its_query_holds_its_dates() -> None:
    fact = _trend(first=(3, 40), last=(9, 50))
    drafted = draft(PLAN, [], [fact])
    numbers = dict(fact.measure.components)

    assert ground(drafted, [], measure_results={1: MeasureResult(12, components=numbers)}).accepted
    for name in numbers:
        counted = MeasureResult(12, components={**numbers, name: numbers[name] + 1})
        assert not ground(drafted, [], measure_results={1: counted}).accepted, name


@pytest.mark.parametrize(
    ("other", "is_kept"),
    [
        ("Shorter waiting time.", False),
        ("Shorten waiting times by 10 minutes.", True),
        ("Not shorter waiting times.", True),
    ],
)
def test_two_short_quotes_of_the_same_words_are_one_unless_a_number_or_a_not_differs(other: str, is_kept: bool) -> None:
    evidence = [make_evidence(1, "Shorter waiting times, please."), make_evidence(2, other)]

    quoted = [c.citations[0].evidence_id for c in draft(PLAN, evidence).claims]

    assert len(quoted) == 1 + is_kept


def test_the_quotes_of_a_point_are_records_that_its_number_counts() -> None:
    evidence = [
        make_evidence(1, "We were waiting three hours for transport.", person="a"),
        make_evidence(2, "Waiting without any water in the corridor.", person="b"),
        make_evidence(3, "The porter kept us waiting and never came back.", person="c"),
    ]
    heading = _part(FactKind.PART_THEME, 2)
    topics = [
        Topic(PointKind.THEME, frozenset({"doc-2", "doc-3"}), heading),
        Topic(PointKind.THEME, frozenset(), heading),
    ]

    drafted = draft(PLAN, evidence, topics=topics)

    first, rest = drafted.points
    quoted = {claim.id: claim.citations[0].evidence_id for claim in drafted.claims if claim.citations}
    assert {quoted[claim] for claim in first.claims[1:]} == {"C2", "C3"}
    assert (rest.kind, rest.heading, quoted[rest.claims[0]]) == (PointKind.QUOTES, None, "C1")


def test_a_claim_that_was_taken_out_leaves_its_point() -> None:
    evidence = [make_evidence(1, "We were waiting three hours for transport.")]
    topics = [Topic(PointKind.THEME, frozenset({"doc-1"}), _part(FactKind.PART_THEME, 2))]
    drafted = draft(PLAN, evidence, topics=topics)

    left = replace(drafted, claims=drafted.claims[1:]).kept_points

    assert [(point.heading, point.claims) for point in left] == [(None, (2,))]


def test_greetings_and_signatures_give_way_to_what_is_said() -> None:
    text = (
        "Dear Sir or Madam, I hope that this finds you well. Last Tuesday my mother was waiting four hours on a trolley"
        " without water or a blanket. I would be glad of an answer in writing. Kind regards, A. Patient"
    )

    (claim,) = draft(PLAN, [make_evidence(1, text)]).claims

    assert claim.text == "Last Tuesday my mother was waiting four hours on a trolley without water or a blanket."


def test_limits_hold() -> None:
    evidence = [
        make_evidence(i, f"Waiting at clinic number{i} for hours with topic{i} and thing{i}.") for i in range(1, 20)
    ]

    assert len(draft(PLAN, evidence, limits=DraftLimits(claims=3)).claims) == 3
    assert {c.citations[0].evidence_id for c in draft(PLAN, evidence).claims} <= {f"C{i}" for i in range(1, 9)}


def test_a_record_far_from_the_question_is_no_padding() -> None:
    evidence = [
        make_evidence(1, "We were waiting three hours for transport.", relevance=0.9),
        make_evidence(2, "The garden has a lovely pond with fish.", relevance=0.1),
    ]

    assert [c.citations[0].evidence_id for c in draft(PLAN, evidence).claims] == ["C1"]


def test_nothing_gives_a_draft_without_claims() -> None:
    assert draft(PLAN, []).claims == ()


PIECES = st.sampled_from(
    [
        "We were waiting three hours.",
        "waiting",
        "- item",
        "\n",
        "N/A",
        "😀",
        "等待时间太长了。",
        "{{C1}}",
        "long " * 80,
        "Staff were kind and helpful to us.",
        "e\u0301tat",
    ]
)


@given(st.lists(st.lists(PIECES, max_size=8).map(" ".join), max_size=6))
def test_every_quote_is_an_exact_span_and_passes_its_check(texts: list[str]) -> None:
    evidence = [make_evidence(i, text) for i, text in enumerate(texts, 1)]

    drafted = draft(PLAN, evidence)
    grounding = ground(drafted, evidence)

    assert drafted == draft(PLAN, evidence)
    assert all(v.supported and all(c.supports for c in v.citations) for v in grounding.claims)
    assert all(len(c.text) <= 300 and not MARKER.search(c.text) for c in drafted.claims)
    assert [c.id for c in drafted.claims] == list(range(1, len(drafted.claims) + 1))
