"""An administrator adds a gateway, reads what was said to it, and sets up a receiver, in a real browser."""

import re

from playwright.sync_api import expect
from sqlalchemy import select

from persistence.tables.channels import channel
from testbed.gateways import queue_messages
from testbed.running import wait_until
from tests.console.pages import NARROW, findings, open_page, refused, sign_in
from tests.worker.receivers import Reply, receiving

SECRET = "s3cret-token"


def test_a_gateway_is_added_watched_and_released(somebody, clinic):
    with receiving(lambda request: Reply(401, b'{"error": "no credit"}')) as provider:
        page = sign_in(somebody, clinic, "administrator", place="channels")
        page.get_by_role("button", name="Add a gateway").click()
        form = page.get_by_role("dialog")
        form.get_by_label("Name").fill("Aggregator")
        form.get_by_label("Sender").fill("8181")
        form.get_by_label("URL for sending").fill("nonsense")
        form.get_by_label("Authorization").fill(f"Bearer {SECRET}")
        assert findings(page, "the form of a gateway") == []
        page.keyboard.press("Enter")
        expect(form.get_by_role("alert")).to_contain_text("http://")
        form.get_by_label("URL for sending").fill(f"{provider.url}?to={{{{to}}}}")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Aggregator").first).to_be_visible()
        expect(page.locator("code.secret")).to_contain_text("/c/ex/")
        expect(page.get_by_text("Nothing was said")).to_be_visible()

        (gateway,) = clinic.service.get("/api/v2/channels.json", address="8181")["results"]
        with clinic.service.database.reading() as tx:
            channel_id = tx.execute(select(channel.c.id).where(channel.c.address == "8181")).scalar_one()
        queue_messages(clinic.service.database, clinic.service.workspace, channel_id)
        assert provider.wait_for(1)
        wait_until(lambda: calls_of(clinic, gateway), "the call to be in the log")
        log = page.locator(".channel-log")
        log.get_by_role("button", name="Refresh").click()
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
        expect(page.locator(".card.channel")).to_have_count(1)


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
    assert findings(page, "the form of a receiver") == []
    form.get_by_role("button", name="Save").click()
    card = page.locator(".receiver", has_text=phone["name"])
    expect(card).to_contain_text(re.compile("5 secs?, 5 mins?"))
    expect(card).to_contain_text("whpk_")

    (receiver,) = clinic.service.get("/api/v2/webhook_receivers.json")["results"]
    assert (receiver["retry_delays_seconds"], receiver["requests_per_second"]) == ([5, 300], 10)
    assert "flow" not in receiver["events"] and "mo_sms" in receiver["events"]

    open_page(page, clinic, "channels", phone["uuid"])
    expect(page.get_by_role("heading", name="Health")).to_be_visible()
    expect(page.get_by_text("No alarms")).to_be_visible()
    assert findings(page, "a phone") == []


def test_a_viewer_sees_health_and_changes_nothing(somebody, clinic):
    (phone,) = clinic.service.get("/api/v2/channels.json")["results"]
    page = sign_in(somebody, clinic, "viewer", place=f"channels/{phone['uuid']}")

    expect(page.get_by_role("heading", name="Health")).to_be_visible()
    for name in ("Release", "Send a test message", "Change settings"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    assert refused(page, "/api/v2/channel_settings.json") == 403
