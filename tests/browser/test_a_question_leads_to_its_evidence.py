"""In a real browser: ask by keyboard, read the evidence, also without script, on a phone and in the dark."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import chromium
from tests.factories import PASSWORD, make_document

pytestmark = pytest.mark.browser

QUESTION = "Is parking too expensive?"


@pytest.fixture
def site(live_url: str, ingest: Callable[..., Any]) -> str:
    """Give the address of a server whose tenant has more records about parking, one of them hostile."""
    ingest(
        make_document("p1", "Parking near the clinic is too expensive.", account="North", themes=["Parking"]),
        make_document("p2", "Parking near the clinic was too expensive!", account="South", themes=["Parking"]),
        make_document("p3", "I could not find any parking this morning." + " And so on." * 80, account="N" * 80),
        make_document("p4", "Parking <img src=x onerror=alert(1)> was too expensive \u202efor us", title="x" * 200),
        make_document("p5", "The nurse was very kind and explained everything."),
    )
    return live_url


def sign_in(page: Page, site: str, path: str = "/") -> None:
    page.goto(f"{site}{path}")
    page.fill("#id_username", "member")
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_url(f"{site}{path}")


def ask(page: Page) -> None:
    page.fill("#question", QUESTION)
    page.click("form.question button[type=submit]")
    page.wait_for_url("**/answers/*")


def test_a_question_is_asked_and_its_evidence_read_by_keyboard(page: Page, site: str) -> None:
    sign_in(page, site)
    page.locator("#question").blur()

    page.keyboard.press("/")
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_url("**/answers/*")
    expect(page.locator("#asked")).to_be_focused()
    page.locator(".cite").first.focus()
    page.keyboard.press("Enter")

    expect(page.locator(".badge:target")).to_have_id("C1")
    expect(page).to_have_title(re.compile(re.escape(QUESTION)))


def test_a_citation_leads_to_the_marked_span_of_its_record(page: Page, site: str) -> None:
    sign_in(page, site)
    ask(page)
    marked = page.locator(".card mark").first.inner_text()

    page.locator(".card a.label").first.click()

    expect(page.locator(".full-text mark").first).to_have_text(marked)


def test_a_number_leads_to_its_records(page: Page, site: str) -> None:
    sign_in(page, site)
    ask(page)
    number = page.locator(".claim .number").first.inner_text()

    page.locator(".claim .number").first.click()

    expect(page.locator("h1")).to_contain_text(number)
    expect(page.locator(".cards.list > li")).to_have_count(int(number))


def test_going_back_shows_the_question_form_again(page: Page, site: str) -> None:
    sign_in(page, site)
    ask(page)

    page.go_back()

    expect(page.locator(".history a").first).to_have_text(QUESTION)


def test_the_slash_can_be_typed_into_a_question(page: Page, site: str) -> None:
    sign_in(page, site)

    page.locator("#question").press_sequentially("and/or")

    expect(page.locator("#question")).to_have_value("and/or")


@pytest.mark.expects_page_faults
def test_a_question_that_is_refused_by_the_form_is_kept(page: Page, site: str) -> None:
    sign_in(page, site)
    page.fill("#question", "  ")

    page.click("form.question button[type=submit]")

    expect(page.locator("[role=alert]")).to_contain_text("the question is blank")


def test_a_missing_record_is_explained_where_the_reader_is(page: Page, site: str) -> None:
    sign_in(page, site, "/?q=Is+parking+too+expensive%3F")
    page.click("form.question button[type=submit]")
    page.wait_for_url("**/answers/*")
    address = page.url

    page.fill("#why-not-id", "no-such-record")
    page.keyboard.press("Enter")

    expect(page.locator(".why-result")).to_contain_text("No such record")
    expect(page.locator(".why-result")).to_be_focused()
    assert page.url == address


def test_all_of_it_works_without_script(browser: Browser, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    faults = chromium.watch(page)

    sign_in(page, site, "/?q=Is+parking+too+expensive%3F")
    page.click("form.question button[type=submit]")
    page.wait_for_url("**/answers/*")
    page.click("text=Why this order? Rank 1")

    assert page.locator(".ranking[open] meter").count() > 0
    assert page.locator("[data-copy]").is_hidden()
    page.locator(".card a.label").first.click()
    assert page.locator(".full-text mark").count() > 0
    page.go_back()
    page.fill("#why-not-id", "no-such-record")
    page.click("text=Explain")
    page.wait_for_url("**/answers/*why_not=no-such-record*")
    assert page.locator(".why-result").count() == 1
    page.click("text=Sign out")
    page.wait_for_url("**/sign-in")
    context.close()
    assert faults == []


def test_nothing_is_wider_than_a_phone(phone_page: Page, site: str) -> None:
    page = phone_page
    sign_in(page, site)
    page.click("summary:has-text('Filters')")
    assert_fits(page)
    ask(page)
    for summary in page.locator("summary").all():
        if summary.is_visible():
            summary.click()
    assert_fits(page)
    page.goto(f"{site}/records/p4")
    assert_fits(page)
    page.goto(f"{site}/records/p3?start=0&end=42")
    assert_fits(page)


def assert_fits(page: Page) -> None:
    width = page.evaluate("document.documentElement.scrollWidth")

    assert width == 390, f"{page.url} is {width} px wide"


def test_a_records_words_never_run(page: Page, site: str) -> None:
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    sign_in(page, site)
    ask(page)

    page.goto(f"{site}/records/p4")

    expect(page.locator(".full-text")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(page.locator(".full-text .control")).to_have_text("U+202E")
    assert page.locator("main img").count() == 0
    assert dialogs == []


def test_an_answer_can_be_copied_as_markdown(page: Page, site: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    sign_in(page, site)
    ask(page)

    page.click("summary:has-text('Copy as Markdown')")
    page.click("[data-copy]")

    expect(page.locator("[data-copy]")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#markdown").text_content()


CONTRAST = """() => {
  const channels = (colour) => colour.match(/[0-9.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map((value) => value / 255)
    .map((value) => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const worst = [];
  for (const element of document.querySelectorAll("body *")) {
    const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!text || !element.checkVisibility()) continue;
    const [a, b] = [luminance(channels(getComputedStyle(element).color)), luminance(behind(element))].sort();
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) worst.push(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return worst;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_has_enough_contrast(page: Page, site: str, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    sign_in(page, site)
    assert page.evaluate(CONTRAST) == []
    ask(page)
    page.click("summary:has-text('Trace')")

    assert page.evaluate(CONTRAST) == []
    page.goto(f"{site}/?q=How+do+lemurs+digest+plutonium%3F")
    page.click("form.question button[type=submit]")
    page.wait_for_selector(".refusal")
    assert page.evaluate(CONTRAST) == []


def test_every_control_has_a_name(page: Page, site: str) -> None:
    sign_in(page, site)
    ask(page)

    nameless = page.evaluate(
        """() => [...document.querySelectorAll("a, button, input:not([type=hidden]), textarea, select, summary")]
          .filter((element) => !(element.getAttribute("aria-label") || element.textContent.trim()
                                 || element.labels?.length))
          .map((element) => element.outerHTML)"""
    )

    assert nameless == []
