"""The widget in a real browser, on a page of another origin that allows nothing but it."""

import re
from collections.abc import Callable

import pytest
import requests
from playwright.sync_api import BrowserContext, Page, Route, ViewportSize, expect

from handlers.asgi.console import FOLDER
from handlers.asgi.webchat import WIDGET_FILE
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, wait_until
from tests.channels.webchat.conftest import Site
from tests.channels.webchat.visitors import add_chat
from tools.console.packages import installed

MOST_BYTES = 30_000
NARROW: ViewportSize = {"width": 360, "height": 740}
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c63f8cfc0f01f00050001ff89993d1d0000000049454e44ae426082"
)
CHECK = """async () => {
    const found = await axe.run(document, {resultTypes: ["violations"]});
    return found.violations.filter(({impact}) => ["serious", "critical"].includes(impact)).map(
        ({id, nodes}) => id + ": " + nodes.map(({html}) => html.slice(0, 160)).join(" | "));
}"""
expect.set_options(timeout=PATIENCE_SECONDS * 1000)


def visit(running: RunningService, somebody: BrowserContext, site: Site, language: str = "en", **settings: str) -> Page:
    """A page of the site with a new chat."""
    site.show(running, add_chat(running, origins=site.origin, **settings), language)
    page = somebody.new_page()
    page.goto(site.origin)
    return page


def answer(running: RunningService, text: str, **more: object) -> str:
    """Answers whoever wrote last; the UUID of the message."""
    (latest, *_) = running.get("/api/v2/messages.json", folder="incoming")["results"]
    body = {"contact": latest["contact"]["uuid"], "text": text, **more}
    uuid: str = running.post("/api/v2/messages.json", body)["uuid"]
    return uuid


def received(running: RunningService) -> list[str]:
    """The texts that came in, oldest first."""
    found = running.get("/api/v2/messages.json", folder="incoming")["results"]
    return [each["text"] for each in reversed(found)]


def status_of(running: RunningService, uuid: str) -> str:
    (found,) = running.get("/api/v2/messages.json", uuid=uuid)["results"]
    status: str = found["status"]
    return status


def findings(page: Page) -> list[str]:
    """Serious findings of axe, and whether the page is wider than the screen. The page's own policy lets no script in
    that it does not name, so this one comes by the debugger.
    """
    page.context.new_cdp_session(page).send(
        "Runtime.evaluate", {"expression": (installed() / "axe-core" / "axe.min.js").read_text()}
    )
    found: list[str] = page.evaluate(CHECK)
    size = page.viewport_size
    assert size is not None
    width = page.evaluate("document.documentElement.scrollWidth")
    return found + ([f"{width} wide"] if width > size["width"] else [])


def test_a_visitor_talks_with_an_agent_and_nothing_is_lost(
    running: RunningService, somebody: BrowserContext, site: Site
) -> None:
    page = visit(running, somebody, site, greeting="How can we help?", takes_files="true")
    page.get_by_role("button", name="Chat with us").click()
    chat, field = page.get_by_role("dialog", name="Help desk"), page.get_by_label("Write a message")
    expect(chat).to_contain_text("How can we help?")
    expect(field).to_be_focused()
    field.fill("Are you open?")
    page.keyboard.press("Enter")
    wait_until(lambda: "Are you open?" in received(running), "the message to come in")

    uuid = answer(running, "<b>Yes</b>, see https://www.example.org/hours.", quick_replies=[{"text": "Thanks"}])
    log = chat.get_by_role("log")
    expect(log).to_contain_text("<b>Yes</b>, see")
    expect(log.get_by_role("link")).to_have_attribute("href", "https://www.example.org/hours")
    wait_until(lambda: status_of(running, uuid) == "read", "the answer to be read")
    chat.get_by_role("button", name="Thanks").click()
    wait_until(lambda: received(running)[-1:] == ["Thanks"], "the quick reply to come in")
    expect(chat.get_by_role("button", name="Thanks")).to_have_count(0)
    assert findings(page) == []

    page.reload()
    page.get_by_role("button", name="Chat with us").click()
    expect(log.locator(".message")).to_have_count(4)
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Chat with us")).to_be_focused()
    uuid = answer(running, "One more thing")
    expect(page.get_by_role("button", name="New messages: 1")).to_be_visible()
    wait_until(lambda: status_of(running, uuid) == "delivered", "the message to be delivered")


def test_what_is_written_and_sent_while_the_visitor_is_offline_arrives_once(
    running: RunningService, somebody: BrowserContext, site: Site
) -> None:
    page = visit(running, somebody, site)
    page.get_by_role("button", name="Chat with us").click()
    field, log = page.get_by_label("Write a message"), page.get_by_role("log")
    field.fill("Before")
    page.keyboard.press("Enter")
    wait_until(lambda: received(running)[-1:] == ["Before"], "the message to come in")

    somebody.set_offline(True)
    field.fill("On the train")
    page.keyboard.press("Enter")
    expect(log).to_contain_text("Sending")
    expect(page.get_by_role("status")).to_contain_text("No connection")
    uuid = answer(running, "Where are you?")
    wait_until(lambda: status_of(running, uuid) == "wired", "the worker to hand over the message")
    somebody.set_offline(False)
    expect(log).to_contain_text("Where are you?")
    expect(log).not_to_contain_text("Sending")
    wait_until(lambda: received(running).count("On the train") == 1, "the message to come in")
    expect(page.get_by_role("status")).to_be_hidden()

    somebody.set_offline(True)
    field.fill("In the tunnel")
    page.keyboard.press("Enter")
    expect(log).to_contain_text("In the tunnel")
    somebody.set_offline(False)
    page.reload()
    wait_until(lambda: received(running).count("In the tunnel") == 1, "the message to come in")


@pytest.mark.parametrize("block", [lambda route: route.abort(), lambda _route: None], ids=["blocked", "held back"])
def test_a_conversation_goes_on_where_streams_are_blocked_or_held_back(
    running: RunningService, somebody: BrowserContext, site: Site, block: Callable[[Route], None]
) -> None:
    somebody.route("**/stream", block)
    page = visit(running, somebody, site)
    page.get_by_role("button", name="Chat with us").click()
    text = f"Hello from {page.evaluate('crypto.randomUUID()')}"
    page.get_by_label("Write a message").fill(text)
    page.keyboard.press("Enter")
    wait_until(lambda: text in received(running), "the message to come in")
    uuid = answer(running, "See it")
    expect(page.get_by_role("log")).to_contain_text("See it")
    wait_until(lambda: status_of(running, uuid) == "read", "the answer to be read")
    expect(page.get_by_role("status")).to_be_hidden()


def test_a_killed_server_is_found_again(running: RunningService, somebody: BrowserContext, site: Site) -> None:
    page = visit(running, somebody, site)
    page.get_by_role("button", name="Chat with us").click()
    page.get_by_label("Write a message").fill("Hello")
    page.keyboard.press("Enter")
    wait_until(lambda: received(running)[-1:] == ["Hello"], "the message to come in")
    running.kill("api")
    page.get_by_label("Write a message").fill("Is anybody there?")
    page.keyboard.press("Enter")
    expect(page.get_by_role("log")).to_contain_text("Is anybody there?")
    running.start("api")
    running.wait_until_ready()
    wait_until(lambda: received(running).count("Is anybody there?") == 1, "the message to come in")
    answer(running, "We are back")
    expect(page.get_by_role("log")).to_contain_text("We are back")


def test_a_visitor_sends_a_picture_from_a_phone(running: RunningService, somebody: BrowserContext, site: Site) -> None:
    page = visit(running, somebody, site, takes_files="true", colour="#f5d90a")
    page.set_viewport_size(NARROW)
    page.emulate_media(color_scheme="dark")
    page.get_by_role("button", name="Chat with us").click()
    page.locator("input[type=file]").set_input_files({"name": "cat.png", "mimeType": "image/png", "buffer": PNG})
    image = page.get_by_role("log").get_by_role("img", name="Picture")
    expect(image).to_have_js_property("naturalWidth", 1)
    (latest, *_) = running.get("/api/v2/messages.json", folder="incoming")["results"]
    assert [each["content_type"] for each in latest["attachments"]] == ["image/png"]
    assert findings(page) == []


def test_who_is_asked_for_a_name_and_an_address_gives_them_first(
    running: RunningService, somebody: BrowserContext, site: Site
) -> None:
    page = visit(running, somebody, site, asks_name="true", asks_email="true")
    page.get_by_role("button", name="Chat with us").click()
    expect(page.get_by_label("Write a message")).to_be_hidden()
    page.get_by_label("Your name").fill("Amina")
    page.get_by_label("Your e-mail address").fill("amina@example.org")
    page.keyboard.press("Enter")
    page.get_by_label("Write a message").fill("Good morning")
    page.keyboard.press("Enter")
    wait_until(lambda: received(running)[-1:] == ["Good morning"], "the message to come in")
    (latest, *_) = running.get("/api/v2/messages.json", folder="incoming")["results"]
    assert (latest["contact"]["name"], latest["urn"].endswith(":amina@example.org")) == ("Amina", True)


def test_a_site_that_is_not_named_shows_nothing(running: RunningService, somebody: BrowserContext, site: Site) -> None:
    site.show(running, add_chat(running, origins="https://www.example.org"))
    page = somebody.new_page()
    with page.expect_event("requestfailed", lambda request: request.method == "GET"):
        page.goto(site.origin)
    expect(page.get_by_role("button")).to_have_count(0)


def test_visitors_read_their_own_language(running: RunningService, somebody: BrowserContext, site: Site) -> None:
    page = visit(running, somebody, site, language="ar")
    page.get_by_role("button", name="تحدث معنا").click()
    assert page.locator("#relayboard-chat").get_attribute("dir") == "rtl"
    assert findings(page) == []


def test_the_widget_is_small_and_speaks_the_languages_of_the_console(running: RunningService) -> None:
    response = requests.get(f"{running.url}/chat/widget.js", timeout=PATIENCE_SECONDS)
    assert response.headers["Content-Type"] == "text/javascript; charset=utf-8"
    again = requests.get(
        f"{running.url}/chat/widget.js", headers={"If-None-Match": response.headers["ETag"]}, timeout=PATIENCE_SECONDS
    )
    assert again.status_code == 304
    source = WIDGET_FILE.read_text()
    assert response.content == source.encode()
    assert len(response.content) < MOST_BYTES

    texts = source[source.index("const TEXTS") : source.index("const STYLE")]
    keys = {
        found[1]: re.findall(r'(?:\A|,\s+)([a-z]+): "', found[2])
        for found in re.finditer(r"^ {2}(\w+): \{(.*?)\},$", texts, re.MULTILINE | re.DOTALL)
    }
    assert set(keys) == {path.stem for path in (FOLDER / "messages").glob("*.json")}
    assert {language: sorted(names) for language, names in keys.items()} == dict.fromkeys(keys, sorted(keys["en"]))


@pytest.mark.parametrize("word", ["innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "document.write", "cookie"])
def test_nothing_that_others_wrote_becomes_html(word: str) -> None:
    assert word not in WIDGET_FILE.read_text()
