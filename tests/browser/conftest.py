"""Fixtures: a real browser."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from tests.browser.chromium import find_chromium

PATIENCE_SECONDS = 60


# Not for longer: while the browser runs, its event loop keeps tests of other modules from running their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = find_chromium()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium.executable,
            args=list(chromium.arguments),
            env={name: value for name, value in chromium.environment.items()} or None,
            timeout=PATIENCE_SECONDS * 1000,
        )
        yield started
        started.close()


@pytest.fixture
def visitor(browser: Browser) -> Iterator[BrowserContext]:
    """A person with a new browser."""
    context = browser.new_context(viewport={"width": 1000, "height": 500}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_SECONDS * 1000)
    yield context
    context.close()
