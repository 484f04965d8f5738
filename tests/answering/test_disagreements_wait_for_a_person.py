"""Where checker and model disagree a curator decides once, in the own tenant; what was decided leaves as labels."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.utils.html import escape

from answering import services
from answering.clients.entailment.fake import ScriptedEntailment
from answering.domain.grounding import check_claim
from answering.models import ClaimReview
from answering.reviews import decide_review, labelled_claims, list_open_reviews
from core.errors import Conflict, Forbidden, InvalidInput, NotFound
from core.tenant_session import tenant_session
from feedback.services.deletion import delete_document
from tenants.caller import Caller, operator
from tenants.domain.access import Role
from tests.answering.scripts import HELD_TOO, QUESTION
from tests.commands import Shell
from tests.factories import NOW, make_document
from tests.feedback.side_by_side import at_once

HELD = "The delivery came two weeks late."
UNHELD = "The refund never arrived and the handle came off."
HOSTILE = "<script>alert('claim')</script> & \u202e the refund never arrived"


@pytest.fixture
def disagree(small_corpus: Any, drafted: Callable[..., None], use: Callable[..., Any]) -> Callable[..., list[Any]]:
    """Give the function that asks, with these claims of the drafter's, each of which the model finds supported."""

    def ask(*said: str, corpus: Any = small_corpus) -> list[Any]:
        drafted(*said)
        use(ScriptedEntailment(default=0.9))
        services.ask(caller=operator(corpus.tenant), question=QUESTION, now=NOW)
        with tenant_session(corpus.tenant):
            return list_open_reviews(tenant=corpus.tenant, limit=50)

    return ask


def curating(tenant: Any, label: str = "curator") -> Caller:
    return Caller(tenant=tenant, label=label, role=Role.CURATOR)


def row_of(review: Any, tenant: Any) -> ClaimReview:
    with tenant_session(tenant):
        return ClaimReview.objects.for_tenant(tenant).get(pk=review.id)


def audited(tenant: Any) -> list[tuple[str, str, str, dict[str, Any]]]:
    from tenants.models import AuditEntry

    with tenant_session(tenant):
        rows = AuditEntry.objects.for_tenant(tenant).filter(action="review.decided")
        return list(rows.values_list("actor", "action", "subject", "detail"))


def test_a_disagreement_shows_the_claim_the_cited_words_and_both_verdicts(disagree):
    (review,) = disagree(HELD, UNHELD)

    assert review.claim == UNHELD
    assert [cited.words for cited in review.cited] == ["The delivery came two weeks late and nobody told me why."]
    assert (review.checker["supported"], review.model["entailed"]) == (False, True)
    assert review.checker["reason"]


def test_what_is_agreed_on_waits_for_nobody(disagree):
    assert disagree(HELD) == []


@pytest.mark.parametrize("decision", ["supported", "unsupported", "dismissed"])
def test_a_decision_is_kept_with_who_and_when_and_is_on_the_audit_log(disagree, tenant, decision):
    (review,) = disagree(UNHELD)

    decide_review(
        caller=curating(tenant, "ada"),
        review_id=review.id,
        decision=decision,
        note=" as the second half says ",
        now=NOW,
    )

    row = row_of(review, tenant)
    assert (row.state, row.decided_by, row.decided_at, row.note) == (decision, "ada", NOW, "as the second half says")
    assert audited(tenant) == [
        ("ada", "review.decided", f"review {review.id}", {"decision": decision, "note": "as the second half says"})
    ]
    with tenant_session(tenant):
        assert list_open_reviews(tenant=tenant, limit=50) == []


def test_the_second_decision_is_a_conflict_and_changes_nothing(disagree, tenant):
    (review,) = disagree(UNHELD)
    decide_review(caller=curating(tenant, "ada"), review_id=review.id, decision="supported", now=NOW)

    with pytest.raises(Conflict):
        decide_review(caller=curating(tenant, "bob"), review_id=review.id, decision="unsupported", now=NOW)

    row = row_of(review, tenant)
    assert (row.state, row.decided_by) == ("supported", "ada")
    assert len(audited(tenant)) == 1


@pytest.mark.django_db(transaction=True)
def test_of_those_who_decide_at_once_one_does(disagree, tenant):
    (review,) = disagree(UNHELD)

    def decide(label: str) -> bool:
        try:
            decide_review(caller=curating(tenant, label), review_id=review.id, decision="supported", now=NOW)
        except Conflict:
            return False
        return True

    done = at_once([lambda label=label: decide(label) for label in ("ada", "bob", "cleo", "dan")])

    assert done.count(True) == 1
    assert [actor for actor, *_ in audited(tenant)] == [row_of(review, tenant).decided_by]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.ANALYST])
def test_below_a_curator_nobody_decides(disagree, tenant, role):
    (review,) = disagree(UNHELD)

    with pytest.raises(Forbidden):
        decide_review(
            caller=Caller(tenant=tenant, label="eve", role=role), review_id=review.id, decision="supported", now=NOW
        )
    assert row_of(review, tenant).state == "open"


@pytest.mark.parametrize(
    ("decision", "note"), [("open", ""), ("", ""), ("perhaps", ""), ("supported", "x" * 2001), ("supported", "\x00")]
)
def test_a_decision_that_is_none_is_refused(disagree, tenant, decision, note):
    (review,) = disagree(UNHELD)

    with pytest.raises(InvalidInput):
        decide_review(caller=curating(tenant), review_id=review.id, decision=decision, note=note, now=NOW)
    assert row_of(review, tenant).state == "open"


@pytest.fixture
def both_disagree(disagree, other_corpus, ingest, tenant, other_tenant) -> dict[str, Any]:
    """Let two tenants that hold the same ids have a disagreement each."""
    theirs = make_document("r-01", "Their delivery came two weeks late, a secret of theirs.", occurred_at="2026-01-12")
    ingest(theirs, into=other_corpus)
    (mine,) = disagree(UNHELD)
    (other,) = disagree("Their refund never arrived, another secret.", corpus=other_corpus)
    return {"mine": mine, "theirs": other}


def test_another_tenants_review_is_as_absent_as_one_that_never_was(both_disagree, tenant, other_tenant):
    for review_id in (both_disagree["theirs"].id, uuid.uuid4()):
        with pytest.raises(NotFound) as fault:
            decide_review(caller=curating(tenant), review_id=review_id, decision="supported", now=NOW)
        assert str(fault.value) == str(NotFound())
    assert row_of(both_disagree["theirs"], other_tenant).state == "open"


def test_each_tenant_sees_and_exports_its_own(both_disagree, tenant, other_tenant, curator, stranger, client_of):
    mine = client_of(curator).get("/reviews/").content.decode()
    theirs = client_of(stranger).get("/reviews/").content.decode()

    assert UNHELD in mine
    assert "secret" not in mine
    assert "another secret" in theirs
    assert UNHELD not in theirs
    decide_review(caller=curating(tenant), review_id=both_disagree["mine"].id, decision="supported", now=NOW)
    with tenant_session(other_tenant):
        assert list(labelled_claims(tenant=other_tenant)) == []


def test_what_was_decided_leaves_as_labelled_claims(disagree, tenant):
    more, dismissed = "The handle came off and the refund never arrived.", "The price went up by 12 %."
    reviews = {review.claim: review for review in disagree(UNHELD, more, dismissed, "The kettle boils quickly.")}
    for text, decision in ((more, "unsupported"), (UNHELD, "supported"), (dismissed, "dismissed")):
        decide_review(caller=curating(tenant), review_id=reviews[text].id, decision=decision, now=NOW)

    with tenant_session(tenant):
        lines = list(labelled_claims(tenant=tenant))

    evidence = ["The delivery came two weeks late and nobody told me why."]
    assert sorted(lines, key=lambda line: line["label"]) == [
        {"id": str(reviews[more].id), "claim": more, "evidence": evidence, "label": 0},
        {"id": str(reviews[UNHELD].id), "claim": UNHELD, "evidence": evidence, "label": 1},
    ]


def test_when_the_record_is_deleted_its_words_and_the_claim_on_it_are_withheld(
    disagree, tenant, small_corpus, curator, client_of
):
    kettle = "The kettle boils quickly and is quiet."
    decided = next(review for review in disagree(UNHELD, kettle) if review.claim == kettle)
    decide_review(caller=curating(tenant), review_id=decided.id, decision="supported", now=NOW)

    delete_document(caller=operator(tenant), corpus=small_corpus, external_id="r-01", now=NOW)

    page = client_of(curator).get("/reviews/").content.decode()
    assert "no longer in the corpus" in page
    assert UNHELD not in page
    assert "two weeks late" not in page
    assert 'value="dismissed"' in page
    assert 'value="supported"' not in page
    with tenant_session(tenant):
        assert list(labelled_claims(tenant=tenant)) == []


def test_an_edited_record_is_shown_as_it_was_when_it_was_judged(disagree, ingest, curator, client_of):
    disagree(UNHELD)
    ingest(make_document("r-01", "A wholly different text, of another day.", occurred_at="2026-01-12"))

    page = client_of(curator).get("/reviews/").content.decode()

    assert "The delivery came two weeks late and nobody told me why." in page
    assert "wholly different" not in page


def test_claims_and_notes_of_strangers_are_escaped(disagree, curator, tenant, client_of, ingest):
    ingest(make_document("r-01", "The delivery came <b>two weeks</b> late & nobody told me.", occurred_at="2026-01-12"))
    disagree(UNHELD)
    with tenant_session(tenant):
        # The checker lets no markup into a claim today; one that was stored by another version is escaped all the same.
        ClaimReview.objects.for_tenant(tenant).update(text=HOSTILE)

    page = client_of(curator).get("/reviews/").content.decode()

    assert "<script>alert" not in page
    assert escape("<script>alert('claim')</script> & ") in page
    assert "<b>two weeks</b>" not in page
    assert "\u202e" not in page.replace('<span class="control"', "").replace("\u202e</span>", "")
    assert "U+202E" in page


def test_the_page_marks_the_cited_span_and_offers_three_decisions(disagree, curator, client_of):
    disagree(UNHELD)

    page = client_of(curator).get("/reviews/").content.decode()

    assert "<mark>The delivery came two weeks late and nobody told me why.</mark>" in page
    assert set(re.findall(r'name="decision" value="(\w+)"', page)) == {"supported", "unsupported", "dismissed"}
    assert "scripted" in page
    assert "probability 0.90" in page


def test_a_curator_decides_by_a_form_without_script(disagree, curator, tenant, client_of):
    (review,) = disagree(UNHELD)
    client = client_of(curator)

    sent = client.post("/reviews/decide", {"id": str(review.id), "decision": "unsupported", "note": "no refund in it"})
    again = client.post("/reviews/decide", {"id": str(review.id), "decision": "supported"})

    assert (sent.status_code, sent.headers["Location"]) == (303, "/reviews/")
    assert again.status_code == 409
    assert row_of(review, tenant).state == "unsupported"
    assert "Nothing waits" in client.get("/reviews/").content.decode()


def test_a_form_without_its_token_is_refused(disagree, curator, tenant):
    from django.test import Client

    (review,) = disagree(UNHELD)
    client = Client(enforce_csrf_checks=True)
    client.force_login(curator, backend="django.contrib.auth.backends.ModelBackend")

    assert client.post("/reviews/decide", {"id": str(review.id), "decision": "supported"}).status_code == 403
    assert row_of(review, tenant).state == "open"


def test_others_read_the_queue_and_are_offered_nothing_to_decide(disagree, viewer, member, tenant, client_of):
    (review,) = disagree(UNHELD)

    for person in (viewer, member):
        client = client_of(person)
        page = client.get("/reviews/").content.decode()
        assert UNHELD in page
        assert "<button" not in page.split("<main", 1)[1]
        assert client.post("/reviews/decide", {"id": str(review.id), "decision": "supported"}).status_code == 403
    assert row_of(review, tenant).state == "open"


def test_only_who_may_decide_is_led_to_the_queue(viewer, curator, admin, small_corpus, client_of):
    assert 'href="/reviews/"' not in client_of(viewer).get("/").content.decode()
    for person in (curator, admin):
        assert 'href="/reviews/"' in client_of(person).get("/").content.decode()


def test_without_sign_in_there_is_no_page(client, db):
    assert client.get("/reviews/").status_code == 302
    assert client.post("/reviews/decide", {}).status_code in {302, 401, 403}


@pytest.mark.parametrize("sent", ["", "no-id", "\x00", "9" * 400])
def test_an_id_that_is_none_is_not_found(curator, client_of, sent):
    reply = client_of(curator).post("/reviews/decide", {"id": sent, "decision": "supported"})

    assert reply.status_code == 404


@pytest.mark.parametrize(("page", "status"), [("0", 422), ("x", 422), ("7", 200)])
def test_pages_that_are_none_are_said_to_be(disagree, curator, client_of, page, status):
    disagree(UNHELD)

    reply = client_of(curator).get("/reviews/", {"page": page})

    assert reply.status_code == status
    assert status != 200 or "There is no page 7" in reply.content.decode()


def test_a_long_queue_comes_in_pages_and_few_queries(disagree, curator, client_of, django_assert_max_num_queries):
    claims = [f"The refund of order {number} never arrived." for number in range(12)]
    disagree(*claims)
    client = client_of(curator)

    with django_assert_max_num_queries(13):
        first = client.get("/reviews/").content.decode()
    second = client.get("/reviews/", {"page": 2}).content.decode()

    assert [claim in first for claim in claims].count(True) == 10
    assert [(claim in first) != (claim in second) for claim in claims] == [True] * 12
    assert "Page 1 of 2" in first


def test_without_a_model_the_page_says_how_to_have_one(small_corpus, curator, client_of):
    assert "WA_ENTAILMENT" in client_of(curator).get("/reviews/").content.decode()


@pytest.fixture
def manage(monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(monkeypatch)


def test_the_command_counts_and_gives_the_share_of_disagreement(disagree, manage, tenant):
    (review,) = disagree(UNHELD, *HELD_TOO)

    waiting = manage("reviews", "--tenant", "acme", "--json")
    decide_review(caller=curating(tenant), review_id=review.id, decision="unsupported", now=NOW)
    decided = manage("reviews", "--tenant", "acme", "--json")

    assert waiting.status == 0
    assert waiting.document == {
        "open": 1,
        "supported": 0,
        "unsupported": 0,
        "dismissed": 0,
        "judged": 4,
        "disagreed": 1,
        "missing": 0,
        "disagreement": 0.25,
    }
    assert (decided.document["open"], decided.document["unsupported"], decided.document["disagreement"]) == (0, 1, 0.25)


def test_claims_without_a_verdict_are_no_agreement(small_corpus, drafted, use, manage, caller):
    drafted(HELD, UNHELD, "The delivery was weeks late.")
    use(ScriptedEntailment({HELD: 0.9, UNHELD: 0.9}, default=None))
    services.ask(caller=caller, question=QUESTION, now=NOW)

    found = manage("reviews", "--tenant", "acme", "--json").document

    assert (found["judged"], found["missing"], found["disagreement"]) == (3, 1, 0.5)


def test_without_any_verdict_there_is_no_share(tenant, manage):
    done = manage("reviews", "--tenant", "acme", "--json")

    assert (done.document["judged"], done.document["disagreement"]) == (0, None)


def test_the_export_is_a_file_that_the_checker_reads(disagree, manage, tenant, tmp_path):
    (review,) = disagree(UNHELD)
    decide_review(caller=curating(tenant), review_id=review.id, decision="unsupported", now=NOW)
    path = tmp_path / "labelled.jsonl"

    done = manage("reviews", "--tenant", "acme", "--export", path, "--json")

    assert done.document["exported"] == 1
    (line,) = [json.loads(text) for text in path.read_text().splitlines()]
    assert set(line) == {"id", "claim", "evidence", "label"}
    assert check_claim(line["claim"], line["evidence"]).supported is bool(line["label"])
    verified = manage("verify", path)
    assert verified.lines[0]["id"] == line["id"]


def test_a_file_that_cannot_be_written_is_bad_input(tenant, manage, tmp_path):
    done = manage("reviews", "--tenant", "acme", "--export", tmp_path)

    assert done.status == 2
    assert "can't be written" in done.complaint


def test_people_read_the_same_in_sentences(disagree, manage):
    disagree(UNHELD, HELD)

    said = manage("reviews", "--tenant", "acme").out

    assert "1 claim waits for a decision" in said
    assert "they differ on 50.0%" in said


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_reviews_go_with_the_runs_that_they_are_of(disagree, manage, tenant, both_disagree, other_tenant):
    done = manage("partitions", "--retire-before", "2026-10-01", "--json")

    assert done.status == 0
    for each in (tenant, other_tenant):
        with tenant_session(each):
            assert ClaimReview.objects.for_tenant(each).count() == 0


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_reviews_of_runs_that_are_kept_stay(disagree, manage, tenant):
    (review,) = disagree(UNHELD)

    manage("partitions", "--retire-before", "2025-01-01", "--json")

    assert row_of(review, tenant).state == "open"


def test_a_claim_of_a_run_waits_once(disagree, tenant):
    from django.db import IntegrityError, transaction

    (review,) = disagree(UNHELD)
    row = row_of(review, tenant)
    row.id = uuid.uuid4()

    with tenant_session(tenant), pytest.raises(IntegrityError, match="review_of_claim_once"), transaction.atomic():
        row.save(force_insert=True)


def test_the_database_hides_another_tenants_reviews(both_disagree, tenant, other_tenant):
    with tenant_session(tenant):
        assert ClaimReview.objects.for_tenant(other_tenant).count() == 0
