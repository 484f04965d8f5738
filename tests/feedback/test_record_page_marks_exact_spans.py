"""A record's page shows its text exactly as stored, with exactly the named span marked, and acts on none of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedback.domain.marked_text import excerpt, pieces
from tests.factories import make_document

TEXTS = st.text(max_size=200)
OFFSETS = st.integers(min_value=0, max_value=220)


@given(text=TEXTS, marks=st.lists(st.tuples(OFFSETS, OFFSETS), max_size=5))
def test_pieces_joined_are_the_text(text: str, marks: list[tuple[int, int]]) -> None:
    assert "".join(piece.text for piece in pieces(text, marks)) == text


@given(text=TEXTS, start=OFFSETS, end=OFFSETS)
def test_what_is_marked_is_the_span_in_code_points(text: str, start: int, end: int) -> None:
    marked = "".join(piece.text for piece in pieces(text, [(start, end)]) if piece.is_marked)

    assert marked == (text[start:end] if start < end else "")


@given(text=st.text(alphabet="ab \n\u202e\u200b\u2066", max_size=60))
def test_no_misleading_control_is_part_of_a_plain_piece(text: str) -> None:
    plain = "".join(piece.text for piece in pieces(text, [(3, 9)]) if not piece.control)

    assert not set(plain) & {"\u202e", "\u200b", "\u2066"}


def test_joiners_and_direction_marks_that_scripts_need_stay() -> None:
    family = "👩\u200d👧 \u200fסלום\u200e می\u200cخواهم"

    assert [piece.control for piece in pieces(family, [])] == [""]


@given(text=st.text(alphabet="ab ", max_size=1500), start=st.integers(0, 1500), length=st.integers(1, 200))
def test_an_excerpt_holds_every_mark_within_the_text(text: str, start: int, length: int) -> None:
    marks = [(start, start + length)] if start + length <= len(text) else []

    first, last = excerpt(text, marks)

    assert 0 <= first <= last <= len(text)
    assert all(first <= mark_start and mark_end <= last for mark_start, mark_end in marks)


def test_an_excerpt_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        excerpt("text", [], longest=0)


@pytest.fixture
def show(client_of: Callable[..., Any], member: Any) -> Callable[..., Any]:
    """Give the function that fetches a path as an analyst of the tenant."""
    return client_of(member).get


def test_the_cited_span_is_marked_by_code_points(ingest: Any, show: Any) -> None:
    text = "🎈🎈 The delivery came late. Thanks."
    ingest(make_document("d1", text))

    page = show("/records/d1?start=3&end=26").content.decode()

    assert "🎈🎈 <mark>The delivery came late.</mark> Thanks." in page


def test_hostile_text_is_shown_and_not_acted_on(ingest: Any, show: Any) -> None:
    hostile = "<script>alert(1)</script> & \u202eevil"
    ingest(make_document("d1", hostile, title="<img src=x>", account="<b>A</b>", themes=["<i>T</i>"], note="<u>n</u>"))

    page = show("/records/d1").content.decode()

    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; " in page
    assert "U+202E</span>evil" in page
    for tag in ("<script>alert", "<img src=x", "<b>A", "<i>T", "<u>n", "\u202e"):
        assert tag not in page


def test_white_space_stays_as_it_was_sent(ingest: Any, show: Any) -> None:
    ingest(make_document("d1", "One line.\n\n   And\tanother."))

    page = show("/records/d1").content.decode()

    assert ">One line.\n\n   And\tanother.<" in page


def test_an_older_revision_stays_readable(ingest: Any, show: Any) -> None:
    ingest(make_document("d1", "The delivery came late."))
    ingest(make_document("d1", "The delivery came on time."))

    older = show("/records/d1?revision=1").content.decode()
    current = show("/records/d1").content.decode()

    assert "The delivery came late." in older
    assert "revision 2</a>" in older
    assert "The delivery came on time." in current
    assert "The delivery came late." not in current


def test_a_span_outside_of_the_text_marks_nothing_and_says_so(ingest: Any, show: Any) -> None:
    ingest(make_document("d1", "Short."))

    page = show("/records/d1?start=2&end=900").content.decode()

    assert "<mark>" not in page
    assert "doesn’t lie within this text" in page


@pytest.mark.parametrize("doc_id", ["2026/03/x", "a?b#c", "50% off & more", "ä ö 漢"])
def test_an_id_may_hold_what_an_address_gives_a_meaning(ingest: Any, show: Any, doc_id: str) -> None:
    from django.urls import reverse

    ingest(make_document(doc_id, "The delivery came late."))

    reply = show(reverse("record", args=[doc_id]))

    assert reply.status_code == 200
    assert "The delivery came late." in reply.content.decode()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/records/absent", 404),
        ("/records/d1?revision=7", 404),
        ("/records/d1?corpus=absent", 404),
        ("/records/d1%00", 404),
        ("/records/d1?revision=one", 422),
        ("/records/d1?start=-1&end=4", 422),
    ],
)
def test_what_isnt_there_or_cant_be_read_is_told_apart(ingest: Any, show: Any, path: str, status: int) -> None:
    ingest(make_document("d1"))

    assert show(path).status_code == status


def test_a_deleted_record_is_gone_at_once(ingest: Any, show: Any, corpus: Any, caller: Any, now: Any) -> None:
    from feedback.services.deletion import delete_document

    ingest(make_document("d1"))
    delete_document(caller=caller, corpus=corpus, external_id="d1", now=now)

    assert show("/records/d1").status_code == 404


def test_without_signing_in_a_record_leads_to_the_sign_in_and_back(ingest: Any, client: Any) -> None:
    ingest(make_document("d1"))

    reply = client.get("/records/d1?start=0&end=3")

    assert reply.status_code == 302
    assert reply["Location"] == "/sign-in?next=%2Frecords%2Fd1%3Fstart%3D0%26end%3D3"


def test_a_record_page_only_reads(ingest: Any, client_of: Any, member: Any) -> None:
    ingest(make_document("d1"))

    assert client_of(member).post("/records/d1").status_code == 405


def test_a_record_page_needs_few_queries(ingest: Any, show: Any, django_assert_max_num_queries: Any) -> None:
    ingest(make_document("d1"))

    with django_assert_max_num_queries(14):
        show("/records/d1")
