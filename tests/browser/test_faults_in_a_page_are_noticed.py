"""A page that logs an error, misses a resource or breaks the content security policy never passes unseen."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route

from tests.browser import chromium

pytestmark = pytest.mark.browser

ORIGIN = "https://wisdom.invalid"


def serve(page: Page, body: str, *, policy: str = "default-src 'self'") -> None:
    """Answer the page's requests without a server: `/` with the body, all else with 404."""

    def answer(route: Route) -> None:
        if route.request.url == f"{ORIGIN}/":
            headers = {"Content-Security-Policy": policy, "Content-Type": "text/html"}
            route.fulfill(status=200, headers=headers, body=f"<link rel=icon href='data:,'>{body}")
        else:
            route.fulfill(status=404, body="absent")

    page.route("**/*", answer)


def test_a_sound_page_has_no_faults(page: Page) -> None:
    faults = chromium.watch(page)
    serve(page, "<h1>Wisdom</h1>", policy="default-src 'self'; img-src data:")

    page.goto(f"{ORIGIN}/")

    assert page.inner_text("h1") == "Wisdom"
    assert faults == []


@pytest.mark.expects_page_faults
@pytest.mark.parametrize(
    ("body", "policy", "sign"),
    [
        ("<script>console.error('trouble')</script>", "script-src 'unsafe-inline'", "console: trouble"),
        ("<script>throw new Error('thrown')</script>", "script-src 'unsafe-inline'", "exception: thrown"),
        ("<script src='/absent.js'></script>", "script-src 'self'", f"response: {ORIGIN}/absent.js: 404"),
        ("<script>var inline = 1</script>", "script-src 'self'", "Content Security Policy"),
    ],
)
def test_a_fault_is_noticed(page: Page, body: str, policy: str, sign: str) -> None:
    faults = chromium.watch(page)
    serve(page, body, policy=policy)

    page.goto(f"{ORIGIN}/")

    assert any(sign in fault for fault in faults), faults


def test_a_phone_page_is_as_wide_as_a_phone(phone_page: Page) -> None:
    serve(phone_page, "<meta name=viewport content='width=device-width'>", policy="img-src data:")

    phone_page.goto(f"{ORIGIN}/")

    assert phone_page.evaluate("window.innerWidth") == 390
