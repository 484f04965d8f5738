"""In a real browser: from an answer's number to what it was then and is now, also on a phone and without script."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from core.clock import utc_now
from tests.factories import PASSWORD, make_document

pytestmark = pytest.mark.browser


def test_a_number_leads_to_then_and_now(
    browser: Browser, live_url: str, ingest: Callable[..., Any], request: pytest.FixtureRequest
) -> None:
    for script, width in ((True, 1280), (False, 390)):
        context = browser.new_context(java_script_enabled=script, viewport={"width": width, "height": 800})
        page = context.new_page()
        answer_and_follow(page, live_url, ingest, marker=f"w{width}")
        expect(page.locator("#drift")).to_have_text("Then and now")
        expect(page.locator(".then-now tbody tr").first).to_contain_text("+2")
        expect(page.locator(".drift")).to_contain_text("2 records came in since")
        assert (
            page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth") or not script
        )
        if folder := os.environ.get("WISDOM_SCREENSHOTS"):
            page.screenshot(path=f"{folder}/measure-{width}.png", full_page=True)
            page.go_back()
            page.locator(".basis summary").first.click()
            page.screenshot(path=f"{folder}/answer-{width}.png", full_page=True)
        context.close()


def answer_and_follow(page: Page, site: str, ingest: Callable[..., Any], *, marker: str) -> None:
    page.goto(site)
    page.fill("#id_username", "member")
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_url(f"{site}/")
    page.fill("#question", "How many records mention delivery?")
    page.click("form.question button[type=submit]")
    page.wait_for_url("**/answers/*")
    late = "x" * 60
    ingest(
        make_document(f"{marker}-1", "Delivery was late <b>again</b>.", account=late),
        make_document(f"{marker}-{late}", "Delivery was late once more."),
        # After this answer and before the next: a receipt in the future would stand after both.
        now=utc_now(),
    )
    number = page.locator(".claim .number").first
    expect(number).to_have_attribute("title", re.compile(r"^\d+ of \d+ records, \d+ (people|person); "))
    number.click()
    page.wait_for_url("**/measures/*")
