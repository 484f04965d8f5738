"""Text with markers equals the claims; Markdown shows hostile text and does nothing else with it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answering.domain.claims import MARKER, Claim, ClaimKind, Measure, Point, PointKind, cite, number_citations
from answering.domain.render import answer_text, escape, filing_label, locator, markdown, record_label
from tests.answering.domain.evidence_for_tests import make_evidence, quote, statement

LATE = make_evidence(4, "The transport was late.")
RUDE = make_evidence(2, "Staff were rude.")


@given(st.lists(st.text(min_size=1, max_size=40).filter(lambda t: not MARKER.search(t)), max_size=5))
def test_without_its_markers_an_answer_is_its_claims(texts: list[str]) -> None:
    evidence = [make_evidence(i, text) for i, text in enumerate(texts, 1)]
    claims = [
        Claim(i, ClaimKind.QUOTE, t, (cite(e, 0, len(t)),))
        for i, (t, e) in enumerate(zip(texts, evidence, strict=True), 1)
    ]

    assert MARKER.sub("", answer_text(claims)) == " ".join(texts)


def test_citations_are_numbered_in_order_of_first_citation() -> None:
    claims = [quote(1, LATE), quote(2, RUDE), statement(3, "Rude and late.", RUDE, LATE)]

    assert answer_text(claims) == "The transport was late.{{C1}} Staff were rude.{{C2}} Rude and late.{{C2}}{{C1}}"
    assert [label for label, _ in number_citations(claims).citations] == ["C1", "C2"]


def test_two_spans_of_one_record_are_two_citations() -> None:
    first, second = (
        Claim(i, ClaimKind.QUOTE, LATE.text[a:b], (cite(LATE, a, b),))
        for i, (a, b) in enumerate([(0, 13), (14, 23)], 1)
    )

    assert [label for label, _ in number_citations([first, second]).citations] == ["C1", "C2"]


def test_a_claim_with_a_marker_of_its_own_is_refused() -> None:
    with pytest.raises(ValueError, match="marker"):
        answer_text([statement(1, "Late {{C1}}.", LATE)])


def test_markdown_has_superscripts_and_a_footnote_for_each_citation() -> None:
    shown = markdown([quote(1, LATE), statement(2, "Rude and late.", RUDE, LATE)], [LATE, RUDE])

    assert shown == (
        "“The transport was late.”¹\n\nRude and late.² ¹\n\n"
        "|  | record | locator | date |\n| --- | --- | --- | --- |\n"
        "| ¹ | survey · NEAS · 4 Sep 2021 | doc-4, characters 0–23 | 30 Sep 2021 |\n"
        "| ² | survey · NEAS · 2 Sep 2021 | doc-2, characters 0–16 | 30 Sep 2021 |"
    )


def test_uids_are_shown_on_request() -> None:
    shown = markdown([quote(1, LATE)], [LATE], with_uids=True)

    assert "| uid |" in shown
    assert "| passage-4 |" in shown


def test_a_joined_quote_says_how_many_share_it() -> None:
    counted = replace(quote(1, LATE, RUDE), measure=Measure(2, "records"))

    assert "*(2 records say this)*" in markdown([counted], [LATE, RUDE])


def test_a_point_is_a_heading_with_a_list_below_it() -> None:
    counted = Claim(1, ClaimKind.MEASURE, "2 records are late.", measure=Measure(2, "records"))
    claims = [counted, quote(2, LATE), quote(3, RUDE), quote(4, LATE, RUDE)]
    points = [
        Point(PointKind.THEME, (1, 2, 3), heading=1),
        Point(PointKind.NEAR_DUPLICATES, (4,)),
    ]

    body = markdown(claims, [LATE, RUDE], points=points).partition("\n\n|")[0]

    assert body.split("\n") == [
        "2 records are late.",
        "",
        "- “The transport was late.”¹",
        "- “Staff were rude.”²",
        "",
        "- “The transport was late.”¹ ²",
    ]


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("![x](http://evil.example/a.png)", r"!\[x\](http&#58;//evil.example/a.png)"),
        ("[click](javascript:alert(1))", r"\[click\](javascript:alert(1))"),
        ("see www.evil.example", "see www&#46;evil.example"),
        ("mail me@evil.example", "mail me&#64;evil.example"),
        ("mailto:me", "mailto&#58;me"),
        ("{{C1}}", r"\{\{C1\}\}"),
        ("proved¹", r"proved\^1"),
        ("a | b", r"a \| b"),
        ("# Title", r"\# Title"),
        ("1. item", r"1\. item"),
        ("- item\n\n> quote", r"\- item &gt; quote"),
        ("**bold** `code` ~~gone~~", r"\*\*bold\*\* \`code\` \~\~gone\~\~"),
        ("a\u202eb\u0000c", "abc"),
        ("R&D &amp; more", "R&amp;D &amp;amp; more"),
    ],
)
def test_hostile_text_becomes_inert(hostile: str, shown: str) -> None:
    assert escape(hostile) == shown


@given(st.text(max_size=80))
def test_escaped_text_is_one_line_without_live_marks(text: str) -> None:
    escaped = escape(text)

    assert "\n" not in escaped
    assert "<" not in escaped
    assert "://" not in escaped
    assert not MARKER.search(escaped)


def test_labels_name_a_record_as_people_do() -> None:
    day = datetime(2021, 9, 30, tzinfo=UTC)

    assert record_label(source="survey", account="NEAS", occurred_at=day) == "survey · NEAS · 30 Sep 2021"
    assert (
        record_label(source="app_review", account=None, occurred_at=day, is_dated=False)
        == "app review · received 30 Sep 2021"
    )
    assert filing_label(ticker="NVDA", content_type="10-Q", fiscal_year=2024, fiscal_quarter=3) == "NVDA 10-Q Q3 FY-24"
    assert filing_label(ticker="NVDA", content_type="10-K", fiscal_year=2024, fiscal_quarter=None) == "NVDA 10-K FY-24"


def test_a_locator_is_as_fine_as_the_record_allows() -> None:
    citation = cite(LATE, 0, 5)

    assert locator(make_evidence(1, "text here", page_no=7), citation) == "doc-1, page 7"
    assert locator(make_evidence(1, "text here", lines=(3, 9)), citation) == "doc-1, lines 3–9"
    assert locator(LATE, citation) == "doc-4, characters 0–5"
