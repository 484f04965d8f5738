"""On the pages a question leads to an address of its own, and from there to every record and number behind it."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from answering.models import Run
from core.clock import utc_now
from core.ids import new_id
from core.tenant_session import tenant_session
from feedback.services.partitions import ensure_partitions_of
from tests.factories import make_document

DOCUMENTS = [
    ("p1", "Parking near the clinic is too expensive.", "North"),
    ("p2", "Parking near the clinic was too expensive!", "South"),
    ("p3", "I could not find any parking this morning.", "North"),
    ("p4", "The nurse was very kind and explained everything.", None),
]


@pytest.fixture
def loaded(corpus: Any, ingest: Callable[..., Any]) -> Any:
    ingest(*(make_document(id, text, account=account, themes=["Parking"]) for id, text, account in DOCUMENTS))
    return corpus


@pytest.fixture
def browser(loaded: Any, member: Any, client_of: Callable[..., Any]) -> Any:
    """Give the client of an analyst whose tenant has records."""
    return client_of(member)


def ask(client: Any, question: str = "Is parking too expensive?", **fields: Any) -> Any:
    return client.post("/", {"q": question, **fields})


def answer_page(client: Any, **fields: Any) -> str:
    return html.unescape(client.get(ask(client, **fields)["Location"]).content.decode())


def test_asking_leads_to_an_address_of_its_own(browser: Any) -> None:
    reply = ask(browser)

    assert reply.status_code == 303
    assert re.fullmatch(r"/answers/[0-9a-f-]{36}", reply["Location"])


def test_reading_an_address_asks_nothing(browser: Any) -> None:
    page = browser.get("/?q=Is+parking+too+expensive%3F").content.decode()

    assert ">Is parking too expensive?</textarea>" in page
    assert "Nobody has asked anything yet" in page


def test_an_answer_quotes_and_links_the_cited_span(browser: Any) -> None:
    page = answer_page(browser)

    assert "<q>Parking near the clinic" in page
    assert 'href="#C1"' in page
    assert 'id="C1"' in page
    assert re.search(r"<mark>Parking near the clinic (is|was) too expensive[.!]</mark>", page)
    assert re.search(r'href="/records/p\d\?corpus=feedback&revision=1&start=0&end=\d+"', page)


def test_every_number_leads_to_its_records(browser: Any) -> None:
    page = answer_page(browser)

    links = re.findall(r'href="(/measures/q_[0-9a-f]+\?corpus=feedback&run=[0-9a-f-]+)"', page)
    # First the records within the filters, then those of the sentence.
    listed = browser.get(links[1]).content.decode()

    assert "<h1>4 of 4 records</h1>" in browser.get(links[0]).content.decode()
    assert "3 of 4 records" in listed
    assert all(f"/records/{id}?" in listed for id in ("p1", "p2", "p3"))
    assert "/records/p4?" not in listed


def test_an_answer_says_what_a_check_can_and_cant_show(browser: Any) -> None:
    page = answer_page(browser)

    assert "A checked citation shows that the record says it, not that it is right" in page
    assert "the check is mechanical and can err" in page
    assert "extractive" in page


def test_an_answer_shows_why_a_record_ranks_where_it_does(browser: Any) -> None:
    page = answer_page(browser)

    assert "Why this order? Rank 1" in page
    assert "Words (BM25)" in page
    assert "Meaning (cosine)" in page
    assert "<meter" in page


def test_a_refusal_names_its_gate_and_the_nearest_topics(browser: Any) -> None:
    page = answer_page(browser, question="How do lemurs digest plutonium isotopes?")

    assert "I cannot answer that from the indexed feedback." in page
    assert "verdict-refused" in page
    assert "stopped at the gate" in page
    assert ">Parking</a>" in page
    assert "<q>" not in page


def test_a_refusal_offers_the_filter_that_stands_in_the_way(browser: Any) -> None:
    page = answer_page(browser, account="Nobody", source="survey")
    kept = re.search(r'name="kept" value="([^>]*)">', page)

    assert "Without the account filter" in page
    assert kept is not None
    again = ask(browser, kept=html.unescape(kept.group(1)))
    assert "<q>Parking near the clinic" in html.unescape(browser.get(again["Location"]).content.decode())


def test_the_follow_up_keeps_the_filters(browser: Any) -> None:
    page = answer_page(browser, account="North", since="2026-01-01", until="2026-03-31")

    assert 'name="account" value="North"' in page
    assert 'name="since" value="2026-01-01"' in page
    assert 'name="until" value="2026-03-31"' in page


def test_asked_questions_are_listed_for_the_tenant(browser: Any, viewer: Any, client_of: Any) -> None:
    location = ask(browser)["Location"]

    page = client_of(viewer).get("/").content.decode()

    assert f'href="{location}"' in page
    assert "Is parking too expensive?" in page


def test_a_question_that_cant_be_asked_stays_in_the_box(browser: Any) -> None:
    reply = ask(browser, "x" * 2001, source="survey")

    page = reply.content.decode()
    assert reply.status_code == 422
    assert 'role="alert"' in page
    assert "2,000" in page
    assert "x" * 2001 in page
    assert 'value="survey" checked' in page


@pytest.mark.parametrize(
    "fields",
    [
        {"question": "   "},
        {"question": "What\x00?"},
        {"source": "no such source"},
        {"account": "a\x00b"},
        {"since": "soon"},
        {"until": "9999-12-31"},
        {"kept": "[1]"},
        {"kept": '{"colour": ["red"]}'},
        {"kept": "{" * 5000},
        {"since": "2026-03-02", "until": "2026-02-01"},
    ],
)
def test_bad_input_is_explained_and_asks_nothing(browser: Any, fields: dict[str, str]) -> None:
    reply = ask(browser, **fields)

    assert reply.status_code == 422
    assert 'role="alert"' in reply.content.decode()
    assert "Nobody has asked anything yet" in browser.get("/").content.decode()


@pytest.mark.parametrize("path", ["/?corpus=absent", "/measures/q_0?corpus=feedback", "/measures/q%00", "/answers/x"])
def test_what_isnt_there_is_404(browser: Any, path: str) -> None:
    assert browser.get(path).status_code == 404


def test_a_question_about_an_unknown_corpus_is_404(browser: Any) -> None:
    assert ask(browser, corpus="absent").status_code == 404


@pytest.mark.parametrize("page", ["0", "-1", "x", "99999999", "²"])
def test_a_page_number_is_a_whole_number_from_one(browser: Any, page: str) -> None:
    link = re.search(r"/measures/q_[0-9a-f]+", answer_page(browser))
    assert link is not None

    assert browser.get(f"{link.group()}?page={page}").status_code == 422


def test_the_form_needs_its_token(loaded: Any, member: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(member, backend="django.contrib.auth.backends.ModelBackend")

    assert ask(client).status_code == 403


def test_words_of_a_deleted_record_are_withheld(browser: Any, loaded: Any, caller: Any, now: Any) -> None:
    from feedback.services.deletion import delete_document

    location = ask(browser)["Location"]
    for doc_id in ("p1", "p2", "p3"):
        delete_document(caller=caller, corpus=loaded, external_id=doc_id, now=now)

    page = html.unescape(browser.get(location).content.decode())

    assert "Parking near the clinic" not in page
    assert "I could not find" not in page
    assert "no longer in the corpus" in page
    assert "Copy as Markdown" not in page


def test_an_edited_record_shows_the_cited_revision_and_says_so(browser: Any, ingest: Any) -> None:
    location = ask(browser)["Location"]
    ingest(make_document("p1", "Something else entirely.", account="North", themes=["Parking"]))

    page = html.unescape(browser.get(location).content.decode())

    assert "<mark>Parking near the clinic is too expensive.</mark>" in page
    assert "edited since; this is revision 1" in page


def test_hostile_words_are_shown_and_not_acted_on(browser: Any, ingest: Any) -> None:
    ingest(make_document("h1", "Parking <script>alert(1)</script> is <b>expensive</b> near the clinic."))

    page = browser.get(ask(browser, "Is parking <script>alert(2)</script> expensive?")["Location"]).content.decode()

    assert "<script>alert" not in page
    assert "<b>expensive" not in page


def test_a_control_that_turns_words_round_is_shown_by_its_name(browser: Any, ingest: Any) -> None:
    ingest(make_document("h1", "Parking near the clinic is \u202etoo expensive for anybody."))

    page = answer_page(browser)

    assert "\u202e" not in page.split("Copy as Markdown")[0]
    assert re.search(r"U\+202E</span>(<mark>)?too expensive", page)


def test_a_fault_shows_its_request_id_and_nothing_else(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> None:
        raise RuntimeError("secret inner words")

    monkeypatch.setattr("answering.views.ask", fail)
    browser.raise_request_exception = False

    reply = ask(browser)

    assert reply.status_code == 500
    assert reply["X-Correlation-Id"] in reply.content.decode()
    assert "secret inner words" not in reply.content.decode()


def test_a_failed_run_shows_its_trace(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the step broke")

    monkeypatch.setattr("answering.saga.judging.draft", fail)
    browser.raise_request_exception = False
    ask(browser)
    monkeypatch.undo()
    link = re.search(r"/answers/[0-9a-f-]{36}", browser.get("/").content.decode())
    assert link is not None

    page = browser.get(link.group()).content.decode()

    assert "This run failed" in page
    assert "step-failed" in page


def test_a_tenant_without_a_corpus_is_told_how_to_load_one(client_of: Any, member: Any) -> None:
    page = client_of(member).get("/").content.decode()

    assert "python manage.py ingest FILE --tenant acme --create" in page


def test_an_empty_corpus_is_told_how_to_be_filled(corpus: Any, client_of: Any, member: Any) -> None:
    page = client_of(member).get("/").content.decode()

    assert "python manage.py ingest FILE --tenant acme --corpus feedback" in page


def test_the_ask_page_needs_few_queries(browser: Any, django_assert_max_num_queries: Any) -> None:
    browser.get("/")

    with django_assert_max_num_queries(12):
        browser.get("/")


@pytest.mark.parametrize(
    ("age", "said"), [(timedelta(seconds=20), "Still at work"), (timedelta(hours=1), "This run failed")]
)
def test_a_run_that_nobody_is_at_work_on_has_failed(client, member, corpus, age, said):
    """Its process was killed: no answer is coming any more."""
    run = Run(
        id=new_id(), tenant=corpus.tenant, corpus_id=corpus.id, created_at=utc_now() - age, actor="a", question="q?"
    )
    ensure_partitions_of("answering_run", run.created_at)
    with tenant_session(corpus.tenant):
        run.save(force_insert=True)
    client.force_login(member, backend="django.contrib.auth.backends.ModelBackend")

    assert said in client.get(f"/answers/{run.id}").content.decode()
