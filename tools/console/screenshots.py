"""Writes pictures of every page of the console into `docs/console`: `make screenshots`.

They show the workspace of the tests in a real browser: each page on a large screen, the inbox also in dark, and on a
phone. With `pages` only those are written, with `channels` those of a gateway, with `editor` those of
docs/flow-editor.md, with `programme` those of docs/first-programme.md, with the 5,000 contacts that it speaks of.
"""

import base64
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests
from playwright.sync_api import Browser, FilePayload, Page, expect, sync_playwright

from persistence.channels.channels import set_channel_webhook
from persistence.workspaces.sample import fill_team
from relayboard.commands.demo import People, set_up_team
from testbed.gateways import add_gateway, queue_messages
from testbed.running import wait_until
from tests.browser.chromium import find_chromium
from tests.console.clinic import PASSWORD, Clinic, running_clinic
from tests.console.pages import draw_arabic
from tests.console.programme import add_manager, make_programme
from tests.console.registration import draw_registration, try_registration
from tests.worker.receivers import Reply, receiving

FOLDER = Path(__file__).parents[2] / "docs" / "console"
LARGE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 780}
LIGHT: Mapping[str, Any] = {"viewport": LARGE, "color_scheme": "light", "locale": "en-GB"}
QUALITY = 82
PATIENCE_MS = 180_000
PROGRAMME, EDITOR = FOLDER.parent / "first-programme", FOLDER.parent / "flow-editor"
CONTACTS = 5_000
SYNCS = 24
"""In which people answer the survey."""
OPENED = ("contacts", "inbox", "tickets")
"""Pages whose first record is shown too."""
MORE = {
    "tickets-times": "tickets/figures",
    "calendar": "flows/calendar",
    "broadcast-form": "broadcasts/new",
    "exports": "exports?type=runs",
    "deliveries": "deliveries",
    **{f"settings-{name}": f"settings/{name}" for name in ("users", "audit", "tokens", "account")},
}
"""Pages that are not in the navigation."""
ON_A_PHONE = {"overview": "overview", "contacts": "contacts", "flows": "flows", "users": "settings/users"}
BROADCASTS = (
    ("Expecting mothers", "The vaccination team comes to Nyamata on Tuesday at 9. Bring your card, please."),
    ("Health workers", "New forms for home visits lie at the reception."),
)
"""The group of each, and its text."""
ROWS = "Phone,Name,Village,Birth date\n+250788900001,Amina,Gasharu,1990-01-02\n+250788900002,Bosco,Huye,1991-03-04\n"
PEOPLE: FilePayload = {"name": "people.csv", "mimeType": "text/csv", "buffer": ROWS.encode()}


def main() -> int:
    expect.set_options(timeout=PATIENCE_MS)
    chromium = find_chromium()
    with (
        tempfile.TemporaryDirectory() as folder,
        running_clinic(Path(folder)) as clinic,
        receiving(lambda request: Reply(200, b"{}")) as receiver,
        sync_playwright() as playwright,
    ):
        environment: dict[str, str | float | bool] | None = {**chromium.environment} or None
        arguments = list(chromium.arguments)
        service = clinic.service
        (phone,) = service.get("/api/v2/channels.json")["results"]
        with service.database.writing() as tx:
            set_channel_webhook(tx, service.workspace.id, phone["uuid"], receiver.url)
        browser = playwright.chromium.launch(executable_path=chromium.executable, args=arguments, env=environment)
        kinds = {"pages": take_pictures, "channels": take_channels, "editor": take_editor, "programme": take_programme}
        takes = [kinds[sys.argv[1]]] if sys.argv[1:] else [take_pictures, take_editor, take_programme]
        written = sum(take(browser, clinic) for take in takes)
        browser.close()
    sys.stdout.write(f"{written} pictures in docs\n")
    return 0


def take_pictures(browser: Browser, clinic: Clinic) -> int:
    """Write the pictures; returns how many."""
    FOLDER.mkdir(exist_ok=True)
    begin_life(clinic)
    people = People(clinic.phone)
    for _ in range(SYNCS):
        clinic.phone.sync()
        people.act()
        clinic.sync()
    page = browser.new_page(**LIGHT)
    page.goto(clinic.service.url)
    expect(page.locator("#email")).to_be_visible()
    written = [_write(page, "sign-in")]
    sign_in(page, clinic)
    names = [link.get_attribute("href") or "" for link in page.locator(".navigation li a").all()]
    for name in (name.removeprefix("#/") for name in names):
        open_page(page, clinic, "inbox?folder=inbox" if name == "inbox" else name)
        if name in OPENED:
            written.append(_write(page, f"{name}-list")) if name == "contacts" else None
            page.locator(".conversation, .who").nth(1).click()
            expect(page.locator(".bubble, .history-line").first).to_be_visible()
            expect(page.locator(".spinner")).to_have_count(0)
        expect(page.get_by_text("Android phone")).to_be_visible() if name == "channels" else None
        written.append(_write(page, name))
    for name, place in MORE.items():
        open_page(page, clinic, place)
        written.append(_write(page, name))
    open_page(page, clinic, "flows")
    page.locator(".flow-card h2 a").first.click()
    expect(page.locator(".flow-node").first).to_be_visible()
    written.append(_write(page, "flow"))
    open_page(page, clinic, "channels")
    page.locator(".channel-card a, main h2 a").first.click()
    expect(page.locator(".chart canvas")).to_have_count(2)
    written.append(_write(page, "channel"))
    open_page(page, clinic, "broadcasts")
    page.locator("main .stack a").first.click()
    expect(page.locator("main progress")).to_be_visible()
    written.append(_write(page, "broadcast"))
    open_page(page, clinic, "contact_imports")
    page.locator("input[type=file]").set_input_files(PEOPLE)
    expect(page.locator("select").first).to_be_visible()
    written.append(_write(page, "contact-import"))
    page.context.close()
    for title, settings in {
        "inbox-dark": {**LIGHT, "color_scheme": "dark"},
        "inbox-phone": {**LIGHT, "viewport": PHONE},
    }.items():
        page = browser.new_page(**settings)
        page.goto(clinic.service.url)
        sign_in(page, clinic)
        open_page(page, clinic, "inbox?folder=inbox")
        page.locator(".conversation").nth(1).click()
        expect(page.locator(".bubble").first).to_be_visible()
        written.append(_write(page, title))
        page.context.close()
    return len(written) + take_small(browser, clinic) + take_channels(browser, clinic)


def take_small(browser: Browser, clinic: Clinic) -> int:
    """Write the pictures of pages on a small phone, of choosers, and of the inbox in Arabic; returns how many."""
    page = browser.new_page(**LIGHT)
    page.goto(clinic.service.url)
    sign_in(page, clinic)
    open_page(page, clinic, "settings")
    page.get_by_role("button", name="Edit").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    _write(page, "settings-workspace")
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 360, "height": 740})
    for name, place in ON_A_PHONE.items():
        open_page(page, clinic, place)
        _write(page, f"phone-{name}")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_role("button", name="You and your language").click()
    page.get_by_role("menuitemradio", name="العربية").click()
    page.goto(f"{clinic.service.url}/#/inbox?folder=inbox")
    draw_arabic(page)
    page.locator(".conversation").nth(1).click()
    expect(page.locator(".bubble").first).to_be_visible()
    _write(page, "inbox-arabic")
    page.context.close()
    return 2 + len(ON_A_PHONE)


def begin_life(clinic: Clinic) -> None:
    """A team at work, and broadcasts that are sent."""
    service = clinic.service
    with service.database.writing() as tx:
        fill_team(tx, service.workspace)
    with requests.Session() as session:
        session.headers["Authorization"] = f"Token {service.token}"
        set_up_team(session, service.url)
    for group, text in BROADCASTS:
        service.post("/api/v2/broadcasts.json", {"text": {"eng": text}, "groups": [group], "base_language": "eng"})


def take_channels(browser: Browser, clinic: Clinic) -> int:
    """Write the pictures of a gateway with its log, and of the form of a new one; returns how many."""
    service = clinic.service
    with receiving(lambda request: Reply(200, b'{"status": "queued"}')) as provider:
        gateway_id = add_gateway(service.database, service.workspace, provider.url, send_authorization="Bearer 3xAmPle")
        queue_messages(service.database, service.workspace, gateway_id, 3)
        calls = "/api/v2/channel_calls.json"
        wait_until(lambda: len(service.get(calls)["results"]) == 3, "the log of the gateway")
    (gateway,) = service.get("/api/v2/channels.json", address="+250788000000")["results"]
    page = browser.new_page(**LIGHT)
    page.goto(service.url)
    sign_in(page, clinic)
    open_page(page, clinic, f"channels/{gateway['uuid']}")
    expect(page.locator("button.call")).to_have_count(3)
    _write(page, "gateway")
    open_page(page, clinic, "channels/add")
    expect(page.locator(".kind").first).to_be_visible()
    _write(page, "catalogue")
    open_page(page, clinic, "channels/add/external")
    expect(page.get_by_label("URL for sending")).to_be_visible()
    _write(page, "gateway-form")
    page.context.close()
    return 3


def take_editor(browser: Browser, clinic: Clinic) -> int:
    """Write the pictures of a flow that is drawn from nothing; returns how many."""
    EDITOR.mkdir(exist_ok=True)
    post = clinic.service.post
    post("/api/v2/groups.json", {"name": "Registered"})
    post("/api/v2/fields.json", {"name": "Age", "type": "number"})
    flow = post("/api/v2/flows.json", {"name": "Registration by phone", "type": "message", "base_language": "eng"})
    page = browser.new_page(**LIGHT)
    page.goto(clinic.service.url)
    sign_in(page, clinic)
    open_page(page, clinic, f"flows/{flow['uuid']}/edit")
    written: list[Path] = []
    draw_registration(
        page, "Registered", "https://registry.example.org/new", lambda name: written.append(_still(page, name))
    )
    page.get_by_role("button", name="Show all").click()
    try_registration(page, lambda name: written.append(_still(page, name)))
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_role("dialog").get_by_role("status")).to_contain_text("Contacts who wait")
    written.append(_still(page, "publish"))
    page.context.close()
    return len(written)


def _still(page: Page, name: str) -> Path:
    return _write(page, name, EDITOR)


def take_programme(browser: Browser, clinic: Clinic) -> int:
    """Write the pictures of docs/first-programme.md; returns how many."""
    PROGRAMME.mkdir(exist_ok=True)
    add_manager(clinic.service)
    page = browser.new_page(**LIGHT)
    page.set_default_timeout(PATIENCE_MS)
    written: list[Path] = []
    with receiving(lambda request: Reply(200, b"{}")) as provider:
        make_programme(
            page, clinic.service, provider.url, CONTACTS, lambda name: written.append(_write(page, name, PROGRAMME))
        )
    page.context.close()
    return len(written)


def sign_in(page: Page, clinic: Clinic) -> None:
    page.locator("#email").fill(clinic.email("administrator"))
    page.locator("#password").fill(PASSWORD)
    page.locator("button[type=submit]").click()
    expect(page.locator(".navigation")).to_be_visible()


def open_page(page: Page, clinic: Clinic, name: str) -> None:
    page.goto(f"{clinic.service.url}/#/{name}")
    expect(page.locator("main h1:visible").first).to_be_visible()
    expect(page.locator(".spinner")).to_have_count(0)


def _write(page: Page, name: str, folder: Path = FOLDER) -> Path:
    page.evaluate("document.fonts.ready")
    expect(page.locator(".plot:not(:has(canvas))")).to_have_count(0)
    session = page.context.new_cdp_session(page)
    shot = session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    path = folder / f"{name}.webp"
    path.write_bytes(base64.b64decode(shot["data"]))
    return path


if __name__ == "__main__":
    sys.exit(main())
