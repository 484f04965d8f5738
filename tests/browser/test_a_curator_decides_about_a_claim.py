"""In a real browser: read a disagreement beside its evidence and decide, also without script and on a phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from answering.domain.claims import ClaimKind
from answering.domain.entailment import CitedSpan, Compared, EntailmentVerdict, Label, Opinion, Question
from answering.domain.grounding import ClaimVerdict
from answering.models import ClaimReview
from answering.reviews import record_reviews
from core.ids import new_id
from core.tenant_session import tenant_session
from tests.factories import NOW, PASSWORD, make_document

pytestmark = pytest.mark.browser

CLAIM = "Deliveries were two weeks late, and the refund never arrived."
HOSTILE = "<img src=x onerror=alert(1)> " + "w" * 200 + " \u202ethe kettle broke"
TEXT = "The delivery came two weeks late and nobody told me why."


def disagreement(number: int, text: str, spans: list[CitedSpan], *, model_says: float) -> Compared:
    question = Question(number, ClaimKind.STATEMENT, text, tuple(spans), ("",), "en")
    reason = None if model_says < 0.5 else "the cited text doesn't name the refund"
    label = Label.NEUTRAL if model_says < 0.5 else Label.ENTAILMENT
    verdict = ClaimVerdict(number, model_says < 0.5, 0.31 if reason else 0.84, None, reason)
    return Compared(Opinion(question, EntailmentVerdict(model_says, label)), verdict, verdict.supported)


@pytest.fixture
def site(live_url: str, small_corpus: Any, curator: Any, ingest: Callable[..., Any]) -> str:
    """Give the address of a server with two claims that wait; one is hostile and cites a long record."""
    long = "And so on, and so on. " * 60 + "<b>The kettle</b> broke." + " Nothing else." * 90
    ingest(make_document("a-very-long-id-" * 8, long, account="N" * 80))
    start = long.index("<b>")
    compared = [
        disagreement(1, CLAIM, [CitedSpan("r-01", 1, 0, len(TEXT)), CitedSpan("r-09", 1, 0, 22)], model_says=0.91),
        disagreement(2, HOSTILE, [CitedSpan("a-very-long-id-" * 8, 1, start, start + 24)], model_says=0.08),
    ]
    with tenant_session(small_corpus.tenant):
        record_reviews(corpus=small_corpus, run_id=new_id(), compared=compared, model="onnx:small-nli", now=NOW)
    return live_url


def sign_in(page: Page, site: str) -> None:
    page.goto(f"{site}/reviews/")
    page.fill("#id_username", "curator")
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_url(f"{site}/reviews/")


def states(tenant: Any) -> dict[int, str]:
    with tenant_session(tenant):
        return dict(ClaimReview.objects.for_tenant(tenant).values_list("claim", "state"))


def assert_nothing_overflows(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_claim_is_read_beside_its_marked_words_and_decided(page: Page, site: str, tenant: Any) -> None:
    sign_in(page, site)
    first = page.locator("article.review", has_text=CLAIM)
    expect(first.locator("mark").first).to_have_text(TEXT)
    expect(first.locator(".says-no")).to_have_count(1)
    expect(first.locator(".says-yes")).to_have_count(1)
    assert_nothing_overflows(page)

    first.get_by_text("Add a note").click()
    first.locator("textarea").fill("Nothing of a refund in it.")
    first.get_by_role("button", name="Not supported").click()

    expect(page.locator("article.review")).to_have_count(1)
    assert states(tenant) == {1: "unsupported", 2: "open"}


def test_it_works_without_script(browser: Browser, site: str, tenant: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    sign_in(page, site)

    page.locator("article.review", has_text=CLAIM).get_by_role("button", name="Supported", exact=True).click()
    page.get_by_role("button", name="Dismiss").click()

    expect(page.locator("main")).to_contain_text("Nothing waits for a decision")
    assert states(tenant) == {1: "supported", 2: "dismissed"}
    context.close()


def test_it_fits_a_phone(phone_page: Page, site: str, tenant: Any) -> None:
    sign_in(phone_page, site)
    assert_nothing_overflows(phone_page)

    button = phone_page.locator("article.review", has_text=CLAIM).get_by_role("button", name="Not supported")
    box = button.bounding_box()
    assert box is not None
    assert box["height"] >= 38
    button.tap()

    expect(phone_page.locator("article.review")).to_have_count(1)


def test_what_a_stranger_wrote_is_shown_and_never_run(page: Page, site: str) -> None:
    ran = []
    page.on("dialog", lambda dialog: ran.append(dialog) or dialog.dismiss())

    sign_in(page, site)

    expect(page.locator("article.review", has_text="onerror").locator(".claim")).to_contain_text("<img src=x")
    expect(page.locator("article.review mark", has_text="<b>The kettle</b>")).to_have_count(1)
    assert ran == []


def test_the_queue_is_one_link_away(page: Page, site: str) -> None:
    sign_in(page, site)
    page.goto(site)

    page.get_by_role("navigation", name="Main").get_by_text("Reviews").click()

    expect(page).to_have_url(f"{site}/reviews/")
