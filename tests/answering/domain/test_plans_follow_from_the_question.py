"""A plan is a function of question, vocabulary and the corpus's date."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answering.domain.planner import Intent, Tool, Vocabulary, coverage, covered_facets, facets_of, loop_score, plan

AS_OF = date(2026, 11, 30)
VOCABULARY = Vocabulary(
    sources=("survey", "app_review", "support_ticket", "complaint"),
    accounts=("NEAS", "Acme", "Acme Corp"),
    themes=("Timeliness of care",),
)


def planned(question: str):
    return plan(question, vocabulary=VOCABULARY, as_of=AS_OF)


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("Why do refunds fail?", Intent.WHY),
        ("What do patients say about parking?", Intent.WHAT),
        ("How long are patients waiting?", Intent.WHAT),
        ("How many customers mention refunds?", Intent.HOW_MANY),
        ("Is waiting getting worse over time?", Intent.TREND),
        ("Compare parking and transport", Intent.COMPARE),
        ("How does NEAS differ from Acme Corp on parking?", Intent.COMPARE),
        ("Who complained about parking?", Intent.WHO),
        ("Tell me about NEAS", Intent.ACCOUNT_CONTEXT),
        ("Warum warten die Kunden?", Intent.WHY),
        ("Wie viele Kunden warten?", Intent.HOW_MANY),
        ("¿Por qué esperan los clientes?", Intent.WHY),
        ("¿Cuántos clientes esperan?", Intent.HOW_MANY),
    ],
)
def test_the_intent_is_read_from_the_question(question: str, intent: Intent) -> None:
    assert planned(question).intent is intent


@pytest.mark.parametrize(
    ("question", "tools"),
    [
        ("Why do refunds fail?", [Tool.SEARCH]),
        ("What are the main complaints?", [Tool.AGGREGATE, Tool.SEARCH]),
        ("How many customers mention refunds?", [Tool.AGGREGATE, Tool.SEARCH]),
        ("Is waiting getting worse?", [Tool.TREND, Tool.SEARCH]),
        ("Tell me about NEAS", [Tool.ACCOUNT, Tool.SEARCH]),
        ("Compare NEAS and Acme Corp", [Tool.AGGREGATE, Tool.AGGREGATE, Tool.SEARCH]),
    ],
)
def test_tools_follow_from_the_intent(question: str, tools: list[Tool]) -> None:
    assert [call.tool for call in planned(question).tools] == tools


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("refunds in March 2026", date(2026, 3, 1), date(2026, 4, 1)),
        ("refunds in march", date(2026, 3, 1), date(2026, 4, 1)),
        ("refunds in December", date(2025, 12, 1), date(2026, 1, 1)),
        ("refunds since January", date(2026, 1, 1), None),
        ("refunds last month", date(2026, 10, 1), date(2026, 11, 1)),
        ("refunds last quarter", date(2026, 7, 1), date(2026, 10, 1)),
        ("refunds this year", date(2026, 1, 1), date(2027, 1, 1)),
        ("refunds in the last 30 days", date(2026, 11, 1), date(2026, 12, 1)),
        ("refunds in 2025", date(2025, 1, 1), date(2026, 1, 1)),
        ("refunds in Q3 2025", date(2025, 7, 1), date(2025, 10, 1)),
        ("refunds before March 2025", None, date(2025, 3, 1)),
        ("refunds after March 2025", date(2025, 4, 1), None),
        ("refunds until March 2025", None, date(2025, 4, 1)),
        ("refunds between March and May 2026", date(2026, 3, 1), date(2026, 6, 1)),
        ("refunds between November and February 2026", date(2025, 11, 1), date(2026, 3, 1)),
        ("refunds from 2026-01-05 to 2026-02-05", date(2026, 1, 5), date(2026, 2, 6)),
        ("refunds on 30 September 2021", date(2021, 9, 30), date(2021, 10, 1)),
        ("refunds yesterday", date(2026, 11, 29), date(2026, 11, 30)),
        ("Erstattungen im März 2026", date(2026, 3, 1), date(2026, 4, 1)),
        ("Erstattungen letzten Monat", date(2026, 10, 1), date(2026, 11, 1)),
        ("reembolsos en marzo de 2026", date(2026, 3, 1), date(2026, 4, 1)),
        ("reembolsos el mes pasado", date(2026, 10, 1), date(2026, 11, 1)),
    ],
)
def test_a_period_is_inferred(question: str, start: date | None, end: date | None) -> None:
    period = planned(question).inferred.period

    assert period is not None
    assert (period.start, period.end) == (start, end)


@pytest.mark.parametrize(
    "question",
    [
        "may I park here",
        "they march on",
        "error 2025 again",
        "refunds in 2026-13-45",
        "between 2026 and 2025 it grew",
        "last resort",
        "",
    ],
)
def test_no_period_is_made_up(question: str) -> None:
    assert planned(question).inferred.period is None


@pytest.mark.parametrize(
    ("question", "accounts"),
    [
        ("parking at Acme Corp", ("Acme Corp",)),
        ("parking at Acme", ("Acme",)),
        ("parking at neas", ()),
        ("parking in pneasant", ()),
        ("NEAS and acme corp", ("NEAS", "Acme Corp")),
    ],
)
def test_accounts_are_whole_names(question: str, accounts: tuple[str, ...]) -> None:
    assert planned(question).inferred.accounts == accounts


@pytest.mark.parametrize(
    ("question", "sources"),
    [
        ("crashes in reviews", ("app_review",)),
        ("what do our tickets say about refunds", ("support_ticket",)),
        ("How many surveys mention parking?", ("survey",)),
        ("main complaints about parking", ()),
        ("is there a review process", ()),
    ],
)
def test_sources_are_inferred_where_the_question_is_confined_to_them(question: str, sources: tuple[str, ...]) -> None:
    assert planned(question).inferred.sources == sources


def test_inferred_filters_have_the_shape_of_a_filter_set() -> None:
    filters = planned("parking at NEAS in reviews in March 2026").inferred.as_filters()

    assert filters == {
        "source": ["app_review"], "account": ["NEAS"], "occurred_from": "2026-03-01", "occurred_to": "2026-04-01",
    }  # fmt: skip


def test_the_topic_is_what_is_left_to_search_for() -> None:
    assert planned("Why did refunds fail in March 2026?").topic == "Why did refunds fail ?"


@pytest.mark.parametrize(
    ("question", "facets"),
    [
        ("How long are patients waiting?", ["waiting"]),
        ("What do patients say about the cryptocurrency rewards programme?", ["cryptocurrency rewards programme"]),
        ("Is parking expensive or hard to find?", ["parking expensive", "hard"]),
        ("Tell me about NEAS", []),
        ('Who said "the lift was broken again"?', ["lift was broken"]),
    ],
)
def test_facets_are_what_the_question_asks_about(question: str, facets: list[str]) -> None:
    assert [f.text for f in planned(question).facets] == facets


def test_coverage_is_the_share_of_facets_spoken_of() -> None:
    facets = facets_of("parking, transport, food")

    assert [f.text for f in covered_facets(facets, ["Parking was dear.", "The food was cold."])] == ["parking", "food"]
    assert coverage(facets, ["Parking was dear."]) == pytest.approx(1 / 3)
    assert coverage((), ["anything"]) == 1.0
    assert coverage((), []) == 0.0


@pytest.mark.parametrize(("covered", "score"), [(0.0, 1), (0.5, 5), (8 / 9, 9), (1.0, 10)])
def test_the_loop_score_grows_with_coverage(covered: float, score: int) -> None:
    assert loop_score(covered) == score


@given(st.text(max_size=200), st.dates(date(1990, 1, 1), date(2090, 1, 1)))
def test_any_question_has_a_plan_and_always_the_same(question: str, as_of: date) -> None:
    once = plan(question, vocabulary=VOCABULARY, as_of=as_of)

    assert once == plan(question, vocabulary=VOCABULARY, as_of=as_of)
    assert once.tools[-1].tool is Tool.SEARCH


@pytest.mark.parametrize(
    ("question", "start", "end", "interval"),
    [
        ("Is parking mentioned more in January 2026 than in February 2026?", "2026-01-01", "2026-03-01", "month"),
        ("Was parking worse in Q1 2025 than in Q2 2025?", "2025-01-01", "2025-07-01", "quarter"),
    ],
)
def test_two_periods_are_compared_as_the_ends_of_a_trend(question: str, start: str, end: str, interval: str) -> None:
    plan = planned(question)

    assert plan.intent is Intent.TREND
    assert plan.interval.value == interval
    assert len(plan.inferred.compared) == 2
    assert plan.inferred.as_filters() == {"occurred_from": start, "occurred_to": end}
    assert [facet.text for facet in plan.facets] == ["parking"]


def test_a_topic_at_an_account_is_asked_about_and_not_the_account() -> None:
    assert planned("Tell me about parking at NEAS.").intent is Intent.WHAT
    assert planned("Tell me about NEAS.").intent is Intent.ACCOUNT_CONTEXT
