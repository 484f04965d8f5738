"""A browser for the session, and for each test a page that fails it when something went wrong in there."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import chromium

_DESKTOP = {"viewport": {"width": 1280, "height": 800}}
_PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
_TIMEOUT_MILLISECONDS = 10_000


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "expects_page_faults: provokes errors in the page, which then don't fail the test"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of a browser test into a failure under CI: there it would hide that nothing was tested."""
    report = yield
    if report.skipped and item.get_closest_marker("browser"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if chromium.is_continuous_integration():
            report.outcome = "failed"
            report.longrepr = f"A browser test may not be skipped under CI. {reason}"
        elif chromium.HOW_TO_GET_ONE in reason:
            report.longrepr = (__file__, 1, reason)  # one place for all, so that the summary is one line
    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = chromium.find_chromium()
    if executable is None:
        pytest.skip(chromium.HOW_TO_GET_ONE)
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright keeps an event loop in this thread, in which Django would refuse to touch the database.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        opened = chromium.launch(playwright, executable)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Give an empty page of a desktop's size, in a profile of its own."""
    yield from _watched_page(browser, request, _DESKTOP)


@pytest.fixture
def phone_page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Give an empty page of a phone's size, in a profile of its own."""
    yield from _watched_page(browser, request, _PHONE)


def _watched_page(browser: Browser, request: pytest.FixtureRequest, size: dict) -> Iterator[Page]:
    context = browser.new_context(**size)
    context.set_default_timeout(_TIMEOUT_MILLISECONDS)
    opened = context.new_page()
    faults = chromium.watch(opened)
    yield opened
    context.close()
    if faults and request.node.get_closest_marker("expects_page_faults") is None:
        pytest.fail("the page had faults:\n" + "\n".join(faults), pytrace=False)
