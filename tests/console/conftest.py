"""A running clinic for a file of tests, and a real browser for those that follow each other."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, WebError, sync_playwright

from tests.browser.chromium import find_chromium
from tests.console.clinic import Clinic, running_clinic
from tests.console.pages import PATIENCE_MS, RESTS_AT, WIDE

AS_PATIENT = f"""const timeout = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = (ms) => timeout(Math.max(ms, {PATIENCE_MS}));"""
"""Pages give up what tests hold back, or a busy machine does late, no sooner than the tests themselves."""
BRIEF = "--js-flags=--min-semi-space-size=64 --max-semi-space-size=64 --no-opt --no-maglev"
"""Pages are left before it pays to compile what they run."""


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinic]:
    with running_clinic(tmp_path_factory.mktemp("clinic")) as running:
        yield running


# Not for longer: while the browser runs, its event loop keeps tests of other folders from running their own.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    chromium = find_chromium()
    with sync_playwright() as playwright:
        environment = {name: value for name, value in chromium.environment.items()} or None
        started = playwright.chromium.launch(
            executable_path=chromium.executable,
            args=[*chromium.arguments, BRIEF],
            env=environment,
            timeout=PATIENCE_MS,
        )
        yield started
        started.close()


@pytest.fixture(scope="package")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """What all tests open their pages in, because files of the console are loaded once then."""
    with new_context(browser) as made:
        yield made


@pytest.fixture
def somebody(context: BrowserContext, clinic: Clinic) -> Iterator[BrowserContext]:
    """A person with a browser that knows of nobody, in which no page may complain."""
    with no_complaints(context):
        yield context
    context.set_offline(False)
    page, *others = context.pages or [context.new_page()]
    for other in others:
        other.close()
    rest(page, clinic)
    context.clear_cookies()


@pytest.fixture
def somebody_else(browser: Browser) -> Iterator[BrowserContext]:
    """The same with a browser that has loaded nothing yet, and whose pages a test may change before they load."""
    with new_context(browser) as made, no_complaints(made):
        yield made


@contextmanager
def new_context(browser: Browser, **options: Any) -> Iterator[BrowserContext]:
    """A browser that knows of nobody and is as patient as the tests."""
    # What turns while a page loads is drawn sixty times a second, beside the service that the page waits for.
    context = browser.new_context(viewport=WIDE, locale="en-GB", reduced_motion="reduce", **options)
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(AS_PATIENT)
    yield context
    context.close()


def rest(page: Page, clinic: Clinic) -> None:
    """Leaves nothing of a test in a page of its browser: a new one loads all files again, which takes longer."""
    page.goto(f"{clinic.service.url}{RESTS_AT}")
    page.unroute_all()
    page.evaluate("sessionStorage.clear()")
    session = page.context.new_cdp_session(page)
    session.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
    session.detach()
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    page.mouse.move(0, 0)


@contextmanager
def no_complaints(context: BrowserContext) -> Iterator[None]:
    complaints: list[str] = []

    def note_error(error: WebError) -> None:
        complaints.append(str(error.error))

    def note_refusal(said: ConsoleMessage) -> None:
        if "Content Security" in said.text:
            complaints.append(said.text)

    context.on("weberror", note_error)
    context.on("console", note_refusal)
    yield
    context.remove_listener("weberror", note_error)
    context.remove_listener("console", note_refusal)
    assert complaints == []
