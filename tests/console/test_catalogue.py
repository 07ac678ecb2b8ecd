"""An administrator finds a channel in the catalogue, adds it, sees the provider's first call, and tests it."""

import re
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import requests
from playwright.sync_api import BrowserContext, Locator, Page, expect

from channels.signatures import hmac_hex
from tests.console.clinic import Clinic
from tests.console.pages import NARROW, findings, open_page, sign_in
from tests.worker.receivers import Received, Reply, receiving

TOKEN = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
WRITER = {"id": 501, "first_name": "Amina", "is_bot": False}
CHAT = {"id": 501, "type": "private"}
TEST = "This is a test."


def open_catalogue(somebody: BrowserContext, clinic: Clinic) -> Page:
    page = sign_in(somebody, clinic, "administrator", place="channels")
    page.get_by_role("link", name="Add a channel").press("Enter")
    expect(page.locator(".kind").first).to_be_visible()
    return page


def settings_of(clinic: Clinic, address: str) -> dict[str, Any]:
    found = clinic.service.get("/api/v2/channel_settings.json")["results"]
    channel: dict[str, Any] = next(each for each in found if each["address"] == address)
    return channel


def light(page: Page, step: str) -> Locator:
    return page.locator(".step", has_text=step).locator(".light.on")


def test_a_telegram_bot_is_found_by_its_name_added_and_tested(somebody: BrowserContext, clinic: Clinic) -> None:
    def provider(request: Received) -> Reply:
        return Reply(200, b'{"ok": true, "result": {"message_id": 4}}', {"Content-Type": "application/json"})

    with receiving(provider) as bot_api:
        page = open_catalogue(somebody, clinic)
        assert findings(page, "the catalogue") == []
        page.get_by_role("searchbox").fill("télegr")
        expect(page.locator(".kind")).to_have_count(1)
        page.get_by_role("searchbox").press("Enter")
        form = page.get_by_role("dialog", name="Add Telegram")
        form.get_by_label("Username of the bot").fill("clinic_bot")
        form.get_by_label("Token", exact=True).fill(TOKEN)
        form.get_by_text("More settings").press("Enter")
        form.get_by_label("URL of the API").fill("nonsense")
        assert findings(page, "the form of a bot") == []
        form.get_by_role("button", name="Add").press("Enter")
        expect(form.get_by_role("alert")).to_contain_text("http://")
        form.get_by_label("URL of the API").fill(bot_api.url.removesuffix("/hook"))
        form.get_by_role("button", name="Add").press("Enter")

        expect(page.get_by_role("heading", name="Connect Telegram")).to_be_visible()
        assert TOKEN not in page.content()
        told = settings_of(clinic, "clinic_bot")
        expect(page.locator("code.secret").first).to_have_text(told["callback_url"])
        expect(page.get_by_text("Waiting for the first message")).to_be_visible()
        expect(light(page, "The first message")).to_have_count(0)
        signed = {"X-Telegram-Bot-Api-Secret-Token": hmac_hex(told["secret"], b"telegram")}
        written = {"message_id": 3, "date": int(time.time()), "chat": CHAT, "from": WRITER, "text": "Hello"}
        update = {"update_id": 7, "message": written}
        unsigned = {"X-Telegram-Bot-Api-Secret-Token": "guessed"}
        assert requests.post(told["callback_url"], json=update, headers=unsigned, timeout=30).status_code == 403
        refused = page.locator(".step", has_text="The first message").locator(
            ".light-line", has=page.locator(".light.bad")
        )
        expect(refused).to_contain_text("and was refused: ")
        expect(light(page, "The first message")).to_have_count(0)
        assert requests.post(told["callback_url"], json=update, headers=signed, timeout=30).status_code == 200
        expect(light(page, "The first message")).to_be_visible()
        expect(refused).to_have_count(0)
        expect(page.get_by_text("Amina wrote")).to_be_visible()

        expect(page.get_by_label("Your own address")).to_have_value("501")
        page.get_by_role("button", name="Send a test message").press("Enter")
        expect(light(page, "A message to yourself")).to_be_visible()
        sent = [orjson.loads(each.body) for each in bot_api.received if each.path.endswith("/sendMessage")]
        assert [(each["chat_id"], each["text"][: len(TEST)]) for each in sent] == [("501", TEST)]
        page.set_viewport_size(NARROW)
        assert findings(page, "a bot on a phone") == []

    page.get_by_role("link", name="To the channel").press("Enter")
    health = page.locator("section", has=page.get_by_role("heading", name="Health"))
    expect(health.locator("div", has=page.get_by_text("Last received")).locator("time").first).to_be_visible()
    expect(health.locator("div", has=page.get_by_text("Last sent")).locator("time").first).to_be_visible()
    expect(page.locator(".channel h2")).to_have_text("Telegram")


def test_a_preset_says_each_url_to_copy_and_a_chat_the_line_for_the_site(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    with receiving(lambda request: Reply(202, b"0: Accepted for delivery")) as smsbox:
        page = open_catalogue(somebody, clinic)
        page.get_by_role("link", name="Kannel").press("Enter")
        form = page.get_by_role("dialog", name="Add Kannel")
        form.get_by_label("Sender", exact=True).fill("8282")
        form.get_by_label("Country").select_option("Rwanda")
        form.get_by_label("Address of the server").fill(smsbox.url.removesuffix("/hook"))
        form.get_by_label("User name").fill("relayboard")
        form.get_by_label("Password").fill("s3cret")
        page.reload()
        expect(form.get_by_label("User name")).to_have_value("relayboard")
        assert "s3cret" not in page.evaluate("JSON.stringify(localStorage)")
        form.get_by_label("Password").fill("s3cret")
        form.get_by_role("button", name="Add").press("Enter")

        expect(page.get_by_role("heading", name="Connect Kannel")).to_be_visible()
        url = settings_of(clinic, "8282")["callback_url"]
        expect(page.locator("code.secret")).to_have_text([f"{url}receive", f"{url}status", re.compile(".+")])
        message = {"from": "+250788000444", "text": "Hello", "date": str(int(time.time())), "id": "5cbd7d3e"}
        assert requests.get(f"{url}receive", params=message, timeout=30).status_code == 200
        expect(light(page, "The first message")).to_be_visible()
        expect(page.get_by_label("Your number")).to_have_value("+250788000444")
        page.get_by_label("Your number").fill("0788 000 445")
        page.get_by_role("button", name="Send a test message").press("Enter")
        expect(light(page, "A message to yourself")).to_be_visible()
        (asked,) = [parse_qs(urlsplit(each.path).query) for each in smsbox.received]
        assert (asked["to"], asked["username"], asked["password"]) == (["+250788000445"], ["relayboard"], ["s3cret"])

        page.get_by_role("link", name="To the channel").press("Enter")
        page.get_by_role("button", name="Change settings").press("Enter")
        form = page.get_by_role("dialog", name="Change settings")
        expect(form.get_by_label("Password")).to_have_attribute("placeholder", "Unchanged")
        form.get_by_label("User name").fill("clinic")
        form.get_by_role("button", name="Save").press("Enter")
        expect(form).to_have_count(0)
        changed = settings_of(clinic, "8282")
        assert (changed["fields"]["username"], changed["settings"]["username"]) == ("clinic", "clinic")
        assert changed["settings"]["method"] == "GET"

    open_page(page, clinic, "channels", "add")
    page.get_by_role("searchbox").fill("carrier pigeon")
    expect(page.get_by_text("Nothing found")).to_be_visible()
    page.get_by_role("button", name="Show all").press("Enter")
    page.get_by_role("link", name="Chat on your own site").press("Enter")
    form = page.get_by_role("dialog", name="Add Chat on your own site")
    form.get_by_label("Short name").fill("help")
    form.get_by_label("Sites").fill("https://www.example.org")
    form.get_by_role("button", name="Add").press("Enter")

    expect(page.locator("code.secret")).to_have_count(1)
    channel = settings_of(clinic, "help")
    line = page.locator("code.secret").inner_text()
    assert line == channel["embed"]
    assert f'{clinic.service.url}/chat/widget.js" data-channel="{channel["uuid"]}"' in line
    assert channel["secret"] not in page.content()
    assert requests.get(f"{clinic.service.url}/chat/widget.js", timeout=30).status_code == 200
