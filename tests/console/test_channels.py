"""An administrator adds a gateway, reads what was said to it, and sets up a receiver, in a real browser."""

import re
from datetime import UTC, datetime, timedelta

from playwright.sync_api import expect
from sqlalchemy import update

from persistence.relayers.relayers import claim_phone
from persistence.tables.channels import channel
from relayboard.phone.phone import Phone, PhoneState
from relayboard.phone.wire import HttpTransport
from testbed.running import wait_until
from tests.console.pages import NARROW, WIDE, findings, open_page, refused, sign_in
from tests.worker.receivers import Reply, receiving

SECRET = "s3cret-token"
REPLACED = "+250788999111"
SEEN_BY_VIEWERS = "+250788999222"
SERVED_BY_THE_PHONE = "+250788000331"


def test_a_gateway_is_added_watched_and_released(somebody, clinic):
    clinic.phone.receive_sms(SERVED_BY_THE_PHONE, "Good morning")
    clinic.sync()
    with receiving(lambda request: Reply(401, b'{"error": "no credit"}')) as provider:
        page = sign_in(somebody, clinic, "administrator", place="channels")
        page.get_by_role("link", name="Add a channel").click()
        page.get_by_role("link", name="HTTP gateway").click()
        form = page.get_by_role("dialog")
        form.get_by_label("Name", exact=True).fill("Aggregator")
        form.get_by_label("Sender", exact=True).fill("8181")
        form.get_by_label("Method").select_option("GET")
        form.get_by_label("URL for sending").fill("nonsense")
        form.get_by_label("Authorization").fill(f"Bearer {SECRET}")
        page.reload()
        expect(form.get_by_label("URL for sending")).to_have_value("nonsense")
        expect(form.get_by_label("Name", exact=True)).to_have_value("Aggregator")
        expect(form.get_by_label("Method")).to_have_value("GET")
        assert SECRET not in page.evaluate("JSON.stringify(localStorage)")
        form.get_by_label("Authorization").fill(f"Bearer {SECRET}")
        assert findings(page, "the form of a gateway") == []
        page.keyboard.press("Enter")
        expect(form.get_by_role("alert")).to_contain_text("http://")
        form.get_by_label("URL for sending").fill(f"{provider.url}?to={{{{to}}}}")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="To the channel").click()
        expect(page.get_by_role("heading", name="Aggregator").first).to_be_visible()
        expect(page.locator("code.secret").first).to_contain_text("/c/ex/")
        expect(page.get_by_text("Nothing was said")).to_be_visible()

        (gateway,) = clinic.service.get("/api/v2/channels.json", address="8181")["results"]
        page.get_by_role("button", name="Send a test message").click()
        form.get_by_label("Your number").fill(f"{SERVED_BY_THE_PHONE[:4]} {SERVED_BY_THE_PHONE[4:]}")
        form.get_by_role("button", name="Send").click()
        expect(page.locator(".message.out", has_text="This is a test.")).to_be_visible()
        assert provider.wait_for(1)
        wait_until(lambda: calls_of(clinic, gateway), "the call to be in the log")
        open_page(page, clinic, "channels", gateway["uuid"])
        log = page.locator(".channel-log")
        expect(log.locator(".badge")).to_have_text("Refused")
        log.locator("button.call").press("Enter")
        told = page.get_by_role("dialog")
        expect(told).to_contain_text("Authorization: ***")
        expect(told).to_contain_text("no credit")
        assert SECRET not in page.content()
        page.keyboard.press("Escape")
        page.set_viewport_size(NARROW)
        page.emulate_media(color_scheme="dark")
        assert findings(page, "a gateway on a phone") == []

        page.get_by_role("button", name="Change settings").click()
        form.get_by_label("Longest part").fill("300")
        form.get_by_role("button", name="Save").click()
        expect(page.locator(".facts", has_text="Longest part")).to_contain_text("300")
        page.get_by_role("button", name="Release").click()
        form.get_by_role("button", name="Release").click()
        expect(page.get_by_role("heading", name="Channels")).to_be_visible()
        expect(page.locator(".cards .channel")).to_have_count(1)


def test_a_claim_says_whom_it_replaces_and_a_release_how_many_messages_fail(somebody, clinic):
    page = sign_in(somebody, clinic, "administrator", place="channels")
    form = page.get_by_role("dialog")

    def add_phone(number, name=""):
        phone = Phone(HttpTransport(clinic.service.url), PhoneState())
        phone.register()
        page.get_by_role("link", name="Add a channel").click()
        page.get_by_role("link", name="Android phone SMS").click()
        code = str(phone.state.claim_code)
        form.get_by_label("Claim code").fill(f"{code[:3]} {code[3:6]} {code[6:]}".lower())  # as its screen shows it
        form.get_by_label("Number of its SIM card").fill(number)
        form.get_by_label("Name").fill(name)
        return phone

    add_phone(REPLACED, "Ward phone")
    expect(form.get_by_role("status")).to_have_count(0)
    guide = form.get_by_role("link", name="Phones")
    assert page.request.get(f"{clinic.service.url}/{guide.get_attribute('href')}").status == 200
    form.get_by_role("button", name="Claim").click()
    expect(page.locator(".cards .channel")).to_have_count(2)

    add_phone("0788 999 111")
    expect(form.get_by_role("status")).to_contain_text(f"Ward phone has the number {REPLACED}.")
    assert findings(page, "the claim of a number in use") == []
    form.get_by_label("second phone").check()
    form.get_by_role("button", name="Claim").click()
    expect(page.locator(".cards .channel")).to_have_count(3)

    phone = add_phone(REPLACED)
    page.reload()
    expect(form.get_by_role("status")).to_be_visible()
    form.get_by_role("button", name="Claim").click()
    expect(page.get_by_text("The phone replaces Ward phone")).to_be_visible()
    expect(page.locator(".cards .channel")).to_have_count(3)

    phone.sync()
    phone.receive_sms("+250788999222", "Hello")
    phone.sync()
    (writer,) = clinic.service.get("/api/v2/contacts.json", urn="tel:+250788999222")["results"]
    clinic.service.post("/api/v2/messages.json", {"contact": writer["uuid"], "text": "Come on Monday"})
    of_number = clinic.service.get("/api/v2/channels.json", address=REPLACED)["results"]
    for left, channel_of in zip((2, 1), sorted(of_number, key=lambda each: each["name"] != "Ward phone"), strict=True):
        open_page(page, clinic, "channels", channel_of["uuid"])
        page.get_by_role("button", name="Release").click()
        expect(form.get_by_text("It leaves the workspace")).to_be_visible()
        expect(form.get_by_text("1 go by other channels and 0 fail.")).to_have_count(1)
        form.get_by_role("button", name="Release").click()
        expect(page.locator(".cards .channel")).to_have_count(left)


def calls_of(clinic, gateway):
    return clinic.service.get("/api/v2/channel_calls.json", channel=gateway["uuid"])["results"]


def test_a_receiver_gets_its_own_retries_limit_and_signature(somebody, clinic):
    (phone,) = clinic.service.get("/api/v2/channels.json")["results"]
    page = sign_in(somebody, clinic, "administrator", place="deliveries")
    page.get_by_role("button", name="Add a receiver").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Address").fill("https://hooks.example.org/in")
    form.get_by_label("Flow event").uncheck()
    form.get_by_label("Retries after").fill("5, 300")
    form.get_by_label("Requests per second").fill("10")
    form.get_by_label("Signature").select_option("ed25519")
    form.get_by_label("Format").select_option("JSON")
    page.reload()
    page.get_by_role("button", name="Add a receiver").click()
    expect(form.get_by_label("Address")).to_have_value("https://hooks.example.org/in")
    expect(form.get_by_label("Signature")).to_have_value("ed25519")
    expect(form.get_by_label("Flow event")).not_to_be_checked()
    assert findings(page, "the form of a receiver") == []
    form.get_by_role("button", name="Save").click()
    card = page.locator(".receiver", has_text=phone["name"])
    expect(card).to_contain_text(re.compile("5 secs?, 5 mins?"))
    expect(card).to_contain_text("whpk_")
    expect(card).to_contain_text("JSON")

    (receiver,) = clinic.service.get("/api/v2/webhook_receivers.json")["results"]
    assert (receiver["retry_delays_seconds"], receiver["requests_per_second"]) == ([5, 300], 10)
    assert receiver["format"] == "json"
    assert "flow" not in receiver["events"] and "mo_sms" in receiver["events"]

    open_page(page, clinic, "channels", phone["uuid"])
    expect(page.get_by_role("heading", name="Health")).to_be_visible()
    expect(page.get_by_text("No alarms")).to_be_visible()
    assert findings(page, "a phone") == []
    page.get_by_role("button", name="Allow them").press("Enter")
    expect(page.get_by_role("button", name="Do not allow them")).to_be_visible()
    (settings,) = clinic.service.get("/api/v2/channel_settings.json", uuid=phone["uuid"])["results"]
    assert settings["allow_international"] is True
    page.get_by_role("button", name="Change costs and times").click()
    page.get_by_label("Cost of an SMS").fill("0.0075")
    page.get_by_label("Sending hours").fill("always")
    page.get_by_label("Write SMS without accents").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("mon-fri 08:00-18:00")
    page.get_by_label("Sending hours").fill("mon-sat 07:00-20:00")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("mon-sat 07:00-20:00")).to_be_visible()
    (settings,) = clinic.service.get("/api/v2/channel_settings.json", uuid=phone["uuid"])["results"]
    assert (settings["cost_per_segment"], settings["transliterate"]) == (0.0075, True)
    assert (settings["sending_hours"], settings["automatic_per_day"]) == ("mon-sat 07:00-20:00", None)


def test_a_phone_without_a_name_is_called_by_what_is_known_of_it_and_gets_one(somebody, clinic):
    (phone,) = clinic.service.get("/api/v2/channels.json")["results"]

    def change(**what):
        with clinic.service.database.writing() as tx:
            tx.execute(update(channel).where(channel.c.uuid == phone["uuid"]).values(**what))

    change(name=None, last_seen=datetime.now(UTC) - timedelta(hours=2), device="SM-A135F")
    page = sign_in(somebody, clinic, "administrator", place="overview")
    troubles = page.locator(".troubles")
    expect(troubles.get_by_role("link")).to_have_text(phone["address"])
    expect(page.locator(".legend, figcaption").get_by_text(phone["address"]).first).to_be_visible()
    for known, what in (
        (phone["address"], {"name": "\u200b "}),
        ("SM-A135F", {"address": None}),
        ("Registered", {"device": None}),
    ):
        change(**what)
        page.goto(f"{clinic.service.url}/#/channels")
        page.reload()
        page.locator(".channel h2").get_by_role("link", name=known).click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(known)
    change(address=phone["address"])

    page.get_by_role("button", name="Rename").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name").fill('Front "desk')
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_contain_text("quotation mark")
    assert findings(page, "a new name for a phone") == []
    form.get_by_label("Name").fill("Front desk")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Front desk")


def test_a_viewer_sees_health_and_why_a_phone_is_refused_and_changes_nothing(somebody, clinic):
    (phone,) = clinic.service.get("/api/v2/channels.json")["results"]
    with clinic.service.database.writing() as tx:
        what = {"refused_on": tx.now + timedelta(minutes=1), "refused_reason": "wrong_clock", "name": ""}
        tx.execute(update(channel).where(channel.c.uuid == phone["uuid"]).values(**what))
    page = sign_in(somebody, clinic, "viewer", place="channels")
    expect(page.get_by_role("link", name=phone["address"])).to_be_visible()
    expect(page.get_by_role("link", name="Webhooks")).to_have_count(0)
    for place in (("channels",), ("channels", phone["uuid"])):
        open_page(page, clinic, *place)
        expect(page.locator(".channel")).to_contain_text("Its clock is wrong by more than fifteen minutes.")
        page.set_viewport_size(NARROW)
        assert findings(page, "a phone that is refused") == []

    new = Phone(HttpTransport(clinic.service.url), PhoneState())
    new.register()
    with clinic.service.database.writing() as tx:
        claim_phone(tx, clinic.service.workspace, new.state.claim_code or "", SEEN_BY_VIEWERS, "Second phone")
    new.sync()
    (phone,) = clinic.service.get("/api/v2/channels.json", address=SEEN_BY_VIEWERS)["results"]
    page.set_viewport_size(WIDE)
    open_page(page, clinic, "channels", phone["uuid"])
    expect(page.get_by_role("heading", name="Health")).to_be_visible()
    expect(page.get_by_text("No alarms")).to_be_visible()
    expect(page.get_by_role("link", name="Get alarms by webhook")).to_have_count(0)
    for name in ("Release", "Rename", "Send a test message", "Change settings"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    assert refused(page, "/api/v2/channel_settings.json") == 403
