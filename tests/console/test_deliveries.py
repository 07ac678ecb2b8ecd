"""Administrators and editors watch webhooks in a real browser."""

import json

from playwright.sync_api import expect

from persistence.channels.channels import set_channel_webhook
from testbed.running import wait_until
from tests.console.pages import NARROW, WIDE, findings, open_page, sign_in
from tests.worker.receivers import Reply, receiving


def test_a_failed_delivery_is_read_and_sent_again_and_a_subscription_told_until_it_is_deleted(somebody, clinic):
    with receiving(lambda request: Reply(200, b'{"token": "abc"}')) as receiver:
        (phone,) = clinic.service.get("/api/v2/channels.json")["results"]
        with clinic.service.database.writing() as tx:
            set_channel_webhook(tx, clinic.service.workspace.id, phone["uuid"], receiver.url)
        page = sign_in(somebody, clinic, "administrator", place="channels")
        page.get_by_role("link", name="Webhooks").click()
        card = page.locator(".receiver", has_text=phone["name"])
        expect(card.locator(".badge")).to_have_text("Healthy")
        card.get_by_role("button", name="Send a test").click()
        assert receiver.wait_for(1)
        wait_until(lambda: delivered(clinic, phone), "the test to be delivered")
        page.get_by_role("button", name="Refresh").click()
        expect(page.locator("tbody .badge")).to_have_text("delivered")

        page.locator(".delivery-link").first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("Request and response").click()
        expect(dialog.locator(".attempts .sent")).to_contain_text("webhook-signature: v1,***")
        expect(dialog.locator(".attempts .sent")).to_contain_text('{"token": ***}')
        assert findings(page, "one delivery") == []
        dialog.get_by_role("button", name="Send again").click()
        assert receiver.wait_for(2)
        dialog.get_by_role("button", name="Close").click()

        card.get_by_role("button", name="New secret").click()
        page.get_by_role("dialog").get_by_role("button", name="New secret").click()
        expect(page.locator(".secret")).to_contain_text("whsec_")
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
        card.get_by_role("button", name="Switch off").click()
        page.get_by_role("dialog").get_by_role("button", name="Switch off").click()
        expect(card.locator(".badge")).to_have_text("Off")
        page.set_viewport_size(NARROW)
        page.emulate_media(color_scheme="dark")
        open_page(page, clinic, "deliveries")
        expect(page.locator(".receiver")).to_have_count(1)
        assert findings(page, "deliveries on a phone") == []

    with receiving() as receiver:
        page.set_viewport_size(WIDE)
        page.get_by_role("button", name="Subscribe to events").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Address").fill(receiver.url)
        for event in ("Contact created", "Message came"):
            dialog.get_by_label(event, exact=True).check()
        assert findings(page, "a subscription") == []
        dialog.get_by_role("button", name="Subscribe to events").click()
        expect(page.locator(".secret")).to_contain_text("whsec_")
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
        card = page.locator(".receiver", has_text="Subscription to events")
        expect(card).to_contain_text("Contact created, Message came")

        clinic.service.post("/api/v2/contacts.json", {"name": "Told"})
        assert receiver.wait_for(1)
        assert json.loads(receiver.received[0].body)["data"]["name"] == "Told"
        card.get_by_role("button", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(card).to_have_count(0)


def delivered(clinic, phone):
    found = clinic.service.get("/api/v2/deliveries.json", receiver=phone["uuid"], event="test")["results"]
    return bool(found) and found[0]["status"] == "delivered"
