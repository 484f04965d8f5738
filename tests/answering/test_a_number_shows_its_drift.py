"""A number that an answer stated can be counted again by its link; what has come and gone since is named."""

from __future__ import annotations

import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from answering.domain.claims import Citation, Claim, ClaimKind, Evidence
from answering.domain.render import markdown
from answering.services import ask
from core.tenant_session import tenant_session
from feedback.models import Corpus
from feedback.selectors import changes
from feedback.services.deletion import delete_document
from feedback.services.ingest import ingest_documents
from tenants.caller import operator
from tests.factories import NOW, make_document, rows

LATER = NOW + timedelta(hours=1)


@pytest.fixture
def loaded(corpus, ingest):
    ingest(
        make_document("d1", "The delivery came late.", account="Harbour Cafe", themes=["Delivery"]),
        make_document("d2", "Another late delivery on Monday.", author="ann", themes=["Delivery"]),
        make_document("d3", "Two deliveries were lost.", author="bob", themes=["Delivery", "Staff"]),
        make_document("k1", "A fine kettle, and quick to boil.", author="cleo", themes=["Staff"]),
        now=NOW - timedelta(days=1),
    )
    return corpus


@pytest.fixture
def stated(loaded, caller) -> dict[str, Any]:
    """Ask how many records mention a delivery: three of four, of three people."""
    return ask(caller=caller, question="How many records mention delivery?", now=NOW)


def measure_of(answer: dict[str, Any]) -> dict[str, Any]:
    measure: dict[str, Any] = answer["claims"][0]["measure"]
    return measure


def again(client: Any, answer: dict[str, Any], query_id: str | None = None) -> dict[str, Any]:
    reply = client.get(f"/api/v1/measures/{query_id or measure_of(answer)['query_id']}", {"run": answer["run_id"]})
    assert reply.status_code == 200, reply.content
    body: dict[str, Any] = reply.json()
    return body


def page_of(client: Any, answer: dict[str, Any], **query: Any) -> str:
    reply = client.get(f"/measures/{measure_of(answer)['query_id']}", {"run": answer["run_id"], **query})
    assert reply.status_code == 200
    text: str = reply.content.decode()
    return text


def drift_of(page: str) -> str:
    (section,) = re.findall(r'<section class="drift".*?</section>', page, re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", section).split()).replace(" ,", ",").replace(" .", ".")


def test_an_answer_shows_rows_people_and_denominator_of_its_number(stated, client_of, member):
    measure = measure_of(stated)
    page = client_of(member).get(f"/answers/{stated['run_id']}").content.decode()

    assert (measure["value"], measure["people"], measure["denominator"], measure["undated"]) == (3, 3, 4, 0)
    assert measure["query"] == {"count": "records", "mentions": [["deliveri"]], "filters": {}}
    assert 'title="3 of 4 records, 3 people; records that hold deliveri, in any form of the word"' in page
    assert "3 records of 4 that the filters admit, 3 distinct people, 1 account." in page
    assert f"/measures/{measure['query_id']}?corpus=feedback&amp;run={stated['run_id']}" in page


def test_an_unchanged_corpus_shows_no_drift(stated, client_of, api_key, member):
    body = again(client_of(api_key), stated)
    told = drift_of(page_of(client_of(member), stated))

    assert body["then"]["value"] == body["now"]["value"] == 3
    assert body["then"]["at"] == "2026-03-15T12:00:00Z"
    assert body["then"]["corpus"] == {"documents": 4, "as_of": "2026-03-10T00:00:00Z"}
    assert body["drift"] == {
        "records": 0, "people": 0, "accounts": 0, "denominator": 0, "components": {},
        "added": {"records": 0, "doc_ids": []}, "gone": {"records": 0, "deleted": [], "edited": []}, "untold": 0,
    }  # fmt: skip
    assert "Nothing has changed since: the query counts what the answer stated." in told
    assert "15 Mar 2026, 12:00 UTC, of a corpus of 4 records, the newest of 10 Mar 2026." in told


def test_what_came_in_was_deleted_or_edited_is_named(stated, loaded, ingest, caller, client_of, api_key, member):
    ingest(
        make_document("d4", "My delivery never came.", author="dan"),
        make_document("d3", "Two parcels were lost.", author="bob", themes=["Delivery", "Staff"]),
        make_document("k1", "A fine kettle, and its delivery was quick.", author="cleo", themes=["Staff"]),
        make_document("k2", "A second kettle.", author="dan"),
        now=LATER,
    )
    delete_document(caller=caller, corpus=loaded, external_id="d2", now=LATER)

    body = again(client_of(api_key), stated)
    page = page_of(client_of(member), stated)
    told = drift_of(page)

    assert (body["now"]["value"], body["now"]["people"], body["now"]["denominator"]) == (3, 3, 5)
    assert body["drift"]["added"] == {"records": 2, "doc_ids": ["d4", "k1"]}
    assert body["drift"]["gone"] == {"records": 2, "deleted": ["d2"], "edited": ["d3"]}
    assert (body["drift"]["records"], body["drift"]["denominator"], body["drift"]["untold"]) == (0, 1, 0)
    assert "2 records came in since: d4, k1." in told
    assert "1 record went since, deleted: d2." in told
    assert "1 record went since: an edited text no longer belongs here: d3." in told
    assert "Out of 4 5 +1" in told
    assert '"/records/d4?corpus=feedback"' in page
    assert "/records/d2" not in page


def test_a_number_that_moved_says_by_how_much(stated, ingest, client_of, member):
    ingest(*(make_document(f"n{n}", f"Delivery {n} was late.", author=f"p{n}") for n in range(30)), now=LATER)

    told = drift_of(page_of(client_of(member), stated))

    assert "30 records more than the answer stated." in told
    assert "Records 3 33 +30" in told
    assert "People 3 33 +30" in told
    assert re.search(r"30 records came in since: (n\d+, ){23}n\d+ and 6 more\.", told)


def test_what_the_records_do_not_tell_is_said_to_be_untold(loaded, ingest, caller, client_of, api_key, member):
    answer = ask(caller=caller, question="What do people say about delivery?", filters={"theme": ["Staff"]}, now=NOW)
    assert measure_of(answer)["value"] == 1
    ingest(make_document("d1", "The delivery came late.", account="Harbour Cafe", themes=["Staff"]), now=LATER)

    body = again(client_of(api_key), answer)
    told = drift_of(page_of(client_of(member), answer))

    assert (body["drift"]["records"], body["drift"]["added"]["records"], body["drift"]["untold"]) == (1, 0, 1)
    assert "1 record more can’t be told by name: filed under something else" in told


def test_more_changes_than_are_read_are_not_guessed(stated, loaded, caller, client_of, api_key, member, monkeypatch):
    monkeypatch.setattr(changes, "MOST_READ", 1)
    for doc_id in ("d1", "d2"):
        delete_document(caller=caller, corpus=loaded, external_id=doc_id, now=LATER)

    body = again(client_of(api_key), stated)
    told = drift_of(page_of(client_of(member), stated))

    assert (body["drift"]["records"], body["drift"]["gone"]["records"], body["drift"]["untold"]) == (-2, None, None)
    assert "which of them went, is not told here" in told
    assert "2 records fewer than the answer stated." in told


def test_the_intervals_of_a_trend_drift_each(corpus, ingest, caller, client_of, api_key, member):
    ingest(
        *(make_document(f"a{n}", "Late delivery." if n % 2 else "A kettle.", occurred_at=f"2025-{m:02}-{1 + n:02}")
          for m in (10, 11, 12) for n in range(m, m + 10)),
        *(make_document(f"{m}-{n}", "Late delivery." if n % 3 else "A kettle.", occurred_at=f"2025-{m:02}-{1 + 3 * n:02}")
          for m in (9, 10, 11, 12) for n in range(10)),
        now=NOW - timedelta(days=1),
    )  # fmt: skip
    answer = ask(caller=caller, question="How did late deliveries develop over time?", now=NOW)
    components = measure_of(answer)["components"]
    month = measure_of(answer)["query"]["parts"]["last"]["within"]["key"]
    ingest(make_document("new", "One more late delivery.", occurred_at=month), now=LATER)

    body = again(client_of(api_key), answer)
    told = drift_of(page_of(client_of(member), answer))

    assert body["drift"]["components"] == {name: float(name in ("last", "last_of")) for name in components}
    found, of = components["last"], components["last_of"]
    assert f"{found:.0f} of {of:.0f} {found + 1:.0f} of {of + 1:.0f} +1 of +1" in told


def test_a_count_beside_a_refusal_drifts_too(loaded, ingest, caller, client_of, api_key):
    answer = ask(caller=caller, question="Why is there no submarine in the cafeteria?", now=NOW)
    topic = answer["refusal"]["nearest_topics"][0]
    ingest(make_document("s1", "Hm.", themes=[topic["theme"]]), now=LATER)

    body = again(client_of(api_key), answer, topic["query_id"])

    assert (body["then"]["value"], body["now"]["value"]) == (topic["count"], topic["count"] + 1)
    assert (body["then"]["people"], body["drift"]["people"]) == (None, None)
    assert body["drift"]["added"]["doc_ids"] == ["s1"]


def test_the_size_of_the_slice_that_was_searched_is_a_number_like_any_other(stated, client_of, api_key, member):
    matching = stated["matching"]
    page = client_of(member).get(f"/answers/{stated['run_id']}").content.decode()

    body = again(client_of(api_key), stated, matching["query_id"])

    assert matching["records"] == body["then"]["value"] == body["value"] == 4
    assert re.search(rf'<dt>Within the filters</dt><dd><a class="number" href="/measures/{matching["query_id"]}', page)


@pytest.mark.parametrize("door", ["/api/v1/measures/", "/measures/"])
def test_a_run_that_is_not_ones_own_is_like_none(
    door, stated, loaded, other_corpus, caller, client_of, api_key, member, stranger, stranger_key
):
    """The stranger holds the same ids and has asked the same."""
    ingest_documents(
        caller=operator(other_corpus.tenant),
        corpus=other_corpus,
        rows=rows(make_document("d1", "The delivery came late.")),
        now=NOW - timedelta(days=1),
    )
    theirs = ask(caller=operator(other_corpus.tenant), question="How many records mention delivery?", now=NOW)
    other = ask(caller=caller, question="How many records mention a kettle?", now=NOW)
    query_id = measure_of(stated)["query_id"]
    assert measure_of(theirs)["query_id"] == query_id
    is_program = door.startswith("/api")

    def replies(who: Any, runs: list[str]) -> set[tuple[int, str]]:
        found = set()
        for run in runs:
            reply = client_of(who).get(f"{door}{query_id}", {"run": run})
            body = reply.content.decode()
            for known in (run, reply.headers["X-Correlation-Id"], reply.headers["Date"] if "Date" in reply else run):
                body = body.replace(known, "…")
            found.add((reply.status_code, re.sub(r'(csrfmiddlewaretoken" value=")[^"]+', r"\1", body)))
        return found

    absent, no_id = str(uuid.uuid4()), "no-run"
    ours = replies(api_key if is_program else member, [theirs["run_id"], other["run_id"], absent, no_id])
    strangers = replies(stranger_key if is_program else stranger, [stated["run_id"], absent, no_id])

    assert [status for status, _ in ours] == [404]
    assert [status for status, _ in strangers] == [404]


@pytest.mark.parametrize("gone", ["theme", "source"])
def test_a_filter_whose_word_is_gone_is_told(gone, loaded, caller, client_of, api_key, member):
    filters = {"theme": ["Delivery"]} if gone == "theme" else {"source": ["survey"]}
    answer = ask(caller=caller, question="How many records mention delivery?", filters=filters, now=NOW)
    with tenant_session(loaded.tenant):
        left = {"themes": ["Staff"]} if gone == "theme" else {"sources": ["call"]}
        Corpus.objects.for_tenant(loaded.tenant).filter(pk=loaded.pk).update(**left)

    body = again(client_of(api_key), answer)
    page = page_of(client_of(member), answer)

    assert body["problem"]["code"] == "vocabulary_gone"
    assert filters[gone][0] in body["problem"]["message"]
    assert (body["value"], body["now"], body["drift"], body["doc_ids"]) == (None, None, None, [])
    assert body["then"]["value"] == 3
    assert "This number can’t be counted again" in page
    assert filters[gone][0] in page
    assert "Records 3" in drift_of(page)


def test_a_group_whose_theme_is_gone_is_told(loaded, caller, client_of, api_key):
    answer = ask(caller=caller, question="What are the main themes?", now=NOW)
    measure = next(claim["measure"] for claim in answer["claims"] if claim["measure"])
    assert measure["query"]["within"]["by"] == "theme"
    with tenant_session(loaded.tenant):
        Corpus.objects.for_tenant(loaded.tenant).filter(pk=loaded.pk).update(themes=["Other"])

    body = again(client_of(api_key), answer, measure["query_id"])

    assert measure["query"]["within"]["key"] in body["problem"]["message"]


def test_words_of_customers_stay_text(corpus, ingest, caller, client_of, member):
    hostile = '<img src=x onerror="alert(1)">'
    ingest(make_document("x1", "Late delivery.", themes=[hostile], account=hostile), now=NOW - timedelta(days=1))
    answer = ask(caller=caller, question="How many records mention delivery?", filters={"theme": [hostile]}, now=NOW)
    ingest(make_document(f"d/{hostile}", "Late delivery.", themes=[hostile]), now=LATER)

    page = page_of(client_of(member), answer)
    answered = client_of(member).get(f"/answers/{answer['run_id']}").content.decode()

    assert "<img src=x" not in page
    assert "<img src=x" not in answered
    assert "1 record came in since" in drift_of(page)


def test_a_period_says_which_records_stand_at_their_receipt(corpus, ingest, caller, client_of, api_key, member):
    undated = make_document("u1", "Late delivery.")
    del undated["occurred_at"]
    ingest(undated, make_document("d1", "Late delivery.", occurred_at="2026-03-02"), now=NOW - timedelta(days=1))

    answer = ask(caller=caller, question="How many records mention delivery in March 2026?", now=NOW)
    page = page_of(client_of(member), answer)

    assert (measure_of(answer)["value"], measure_of(answer)["undated"]) == (2, 1)
    assert again(client_of(api_key), answer)["undated"] == 1
    assert "1 of them has no date of their own and counts on the day of receipt" in page


def test_the_pages_of_records_keep_the_run(stated, ingest, client_of, member):
    ingest(*(make_document(f"n{n}", f"Delivery {n} was late.") for n in range(30)), now=LATER)

    first = page_of(client_of(member), stated)
    second = page_of(client_of(member), stated, page=2)

    assert f"run={stated['run_id']}&amp;page=2" in first
    assert "Then and now" in second


def test_counting_again_costs_a_count(stated, loaded, ingest, client_of, api_key, member):
    """However many records are listed and have changed: a fixed number of statements, two of them over the records."""

    def statements(client: Any, address: str) -> list[str]:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert client.get(address).status_code == 200
        return [each["sql"] for each in captured if "SAVEPOINT" not in each["sql"]]

    query_id, run = measure_of(stated)["query_id"], stated["run_id"]
    program, browser = client_of(api_key), client_of(member)
    addresses = [(program, f"/api/v1/measures/{query_id}?run={run}"), (browser, f"/measures/{query_id}?run={run}")]
    few = [len(statements(client, address)) for client, address in addresses]
    ingest(*(make_document(f"n{n}", f"Delivery {n} was late.") for n in range(60)), now=LATER)
    ingest(*(make_document(f"n{n}", f"Delivery {n} was early.") for n in range(40)), now=LATER)

    many = [statements(client, address) for client, address in addresses]

    # What is edited since is looked at by one statement more, which reads its words.
    assert [len(each) for each in many] <= [count + 1 for count in few]
    for each in many:
        over_records = [sql for sql in each if "feedback_matching" in sql]
        # The count, the list of the page, and what came in since.
        assert len(over_records) == 3
    assert max(map(len, many)) <= 26


def test_a_count_that_lost_its_query_is_not_printed():
    evidence = [Evidence(f"C{n}", f"d{n}", 1, "p", "Late again.", 0, 11, "survey", "survey") for n in (1, 2, 3)]
    citations = tuple(Citation(source.citation_id, 0, 11, "Late again.") for source in evidence[:2])
    repaired = Claim(1, ClaimKind.QUOTE, "Late again.", citations=citations, measure=None, merged_count=2)

    assert "records" not in markdown([repaired], evidence).partition("\n\n| ")[0]
