"""A running clinic and a real browser, one of each for a file of tests."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from tests.browser.chromium import find_chromium
from tests.console.clinic import Clinic, running_clinic
from tests.console.pages import PATIENCE_MS, WIDE

AS_PATIENT = f"""const timeout = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = (ms) => timeout(Math.max(ms, {PATIENCE_MS}));"""
"""Pages give up what tests hold back, or a busy machine does late, no sooner than the tests themselves."""


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinic]:
    with running_clinic(tmp_path_factory.mktemp("clinic")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = find_chromium()
    with sync_playwright() as playwright:
        environment = {name: value for name, value in chromium.environment.items()} or None
        started = playwright.chromium.launch(
            executable_path=chromium.executable, args=list(chromium.arguments), env=environment, timeout=PATIENCE_MS
        )
        yield started
        started.close()


@pytest.fixture
def somebody(browser: Browser) -> Iterator[BrowserContext]:
    """A person with a new browser, in which no page may complain."""
    # What turns while a page loads is drawn sixty times a second, beside the service that the page waits for.
    context = browser.new_context(viewport=WIDE, locale="en-GB", reduced_motion="reduce")  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(AS_PATIENT)
    complaints: list[str] = []
    context.on("weberror", lambda error: complaints.append(str(error.error)))
    context.on("console", lambda said: complaints.append(said.text) if "Content Security" in said.text else None)
    yield context
    context.close()
    assert complaints == []
