"""Find Chromium, start it so that it talks to nobody, and notice what went wrong in a page."""

from __future__ import annotations

import os
import shutil

from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Request, Response

NAMES = ("chromium", "chromium-browser", "google-chrome")

HOW_TO_GET_ONE = (
    "no Chromium for the browser tests: install one (Debian: apt-get install chromium) or name it in WA_CHROMIUM"
)

_ARGUMENTS = [
    "--no-sandbox",  # root and most containers have none; the pages are our own
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]


def is_continuous_integration() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def find_chromium() -> str | None:
    """Return the path of the Chromium to use, which WA_CHROMIUM decides if it's set; None if there is none."""
    named = os.environ.get("WA_CHROMIUM")
    if named:
        return shutil.which(named)
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def launch(playwright: Playwright, executable: str) -> Browser:
    return playwright.chromium.launch(executable_path=executable, headless=True, args=_ARGUMENTS)


def watch(page: Page) -> list[str]:
    """Return a list that grows by a line with each fault of the page.

    Faults are errors in the console, which breaches of the content security policy are too, uncaught exceptions,
    requests that failed and replies from 400 upwards. A request that a navigation cut short is none.
    """
    faults: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            faults.append(f"console: {message.text} ({message.location.get('url', '')})")

    def on_failure(request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":
            faults.append(f"request: {request.url}: {request.failure}")

    def on_response(response: Response) -> None:
        if response.status >= 400:
            faults.append(f"response: {response.url}: {response.status}")

    page.on("console", on_console)
    page.on("pageerror", lambda error: faults.append(f"exception: {error}"))
    page.on("requestfailed", on_failure)
    page.on("response", on_response)
    return faults
