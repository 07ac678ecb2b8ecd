"""A service with a chat, and a site of another origin that shows it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service
from tests.browser.chromium import find_chromium

POLICY = "default-src 'none'; script-src {0}; connect-src {0}; img-src {0}; media-src {0}"
"""What a strict site allows for the chat, and nothing else: no styles or scripts in the page."""
PAGE = """<!doctype html><html lang="{language}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>A shop</title><main><h1>A shop</h1><p>Open from nine to five.</p></main>
<script async src="{server}/chat/widget.js" data-channel="{chat}"></script></html>"""


@dataclass(slots=True)
class Site:
    """A site of another origin; each of its pages is `page`, sent with the content security `policy`."""

    origin: str = ""
    page: str = ""
    policy: str = ""

    def show(self, service: RunningService, chat: str, language: str = "en") -> None:
        """Puts the one line of a chat into the page."""
        self.page = PAGE.format(language=language, server=service.url, chat=chat)
        self.policy = POLICY.format(service.url)


@contextmanager
def serving() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = site.page.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", site.policy)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    site.origin = f"http://localhost:{server.server_address[1]}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as made:
        yield made


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("webchat")
    with forked_service(f"sqlite:///{folder / 'relayboard.db'}", folder, STREAM_SECONDS="600") as service:
        yield service


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
def somebody(browser: Browser) -> Iterator[BrowserContext]:
    """A person with a new browser, in which no page may complain."""
    context = browser.new_context(viewport={"width": 1100, "height": 760}, locale="en-GB", reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_SECONDS * 1000)
    complaints: list[str] = []
    context.on("weberror", lambda error: complaints.append(str(error.error)))
    context.on("console", lambda said: complaints.append(said.text) if "Content Security" in said.text else None)
    yield context
    context.close()
    assert complaints == []
