"""People write to many in a real browser, follow what becomes of it, and stop it."""

from playwright.sync_api import expect

from testbed.running import wait_until
from tests.console.pages import NARROW, findings, open_page, sign_in

BROADCASTS, PROGRESS = "/api/v2/broadcasts.json", "/api/v2/broadcast_progress.json"
PICTURE = b"\x89PNG\r\n\x1a\n" + b"\0" * 64


def test_a_message_is_previewed_as_one_contact_sees_it_sent_to_a_query_and_followed(somebody, clinic):
    clinic.phone.receive_sms("+250788000771", "hello")
    clinic.sync()
    contacts = "/api/v2/contacts.json"
    wait_until(lambda: clinic.service.get(contacts, urn="tel:+250788000771")["results"], "the contact to be known")
    page = sign_in(somebody, clinic, "editor")
    open_page(page, clinic, "broadcasts")
    page.get_by_role("link", name="Write to many").click()
    page.get_by_label("Also to contacts that match a query").fill("tel = +250788000771")
    page.locator("textarea").first.fill("Hello @contact.urn!")
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Attach files").click()
    chosen.value.set_files({"name": "map.png", "mimeType": "image/png", "buffer": PICTURE})
    expect(page.locator(".estimate")).to_have_text("1 contacts · about 1 SMS")
    page.get_by_label("As this contact will see it").fill("+250788000771")
    page.get_by_role("radio").click()

    expect(page.locator(".preview-bubble .text")).to_have_text("Hello tel:+250788000771!")
    assert findings(page, "form") == []
    page.set_viewport_size(NARROW)
    assert findings(page, "form on a phone") == []
    page.get_by_role("button", name="Send", exact=True).click()

    expect(page.get_by_role("heading", name="Message to many")).to_be_visible()
    expect(page.locator("code", has_text="tel = +250788000771")).to_be_visible()
    wait_until(lambda: clinic.sync() or page.locator("td", has_text="delivered").count(), "the delivery to be shown")
    assert findings(page, "broadcast") == []
    (sent,) = clinic.service.get(BROADCASTS, uuid=page.url.rpartition("/")[2])["results"]
    assert len(sent["attachments"][sent["base_language"]]) == 1


def test_a_scheduled_message_waits_and_is_stopped_and_what_was_typed_outlives_a_reload(somebody, clinic):
    page = sign_in(somebody, clinic, "editor")
    open_page(page, clinic, "broadcasts", "new")
    page.get_by_label("Expecting mothers").check()
    page.locator("textarea").first.fill("For another day")
    page.reload()
    expect(page.locator("textarea").first).to_have_value("For another day")
    expect(page.get_by_label("Expecting mothers")).to_be_checked()
    day = page.evaluate("new Date(Date.now() + 3 * 864e5).toISOString().slice(0, 10)")
    page.get_by_label("When").fill(f"{day}T08:30")
    page.get_by_role("button", name="Schedule").click()
    expect(page.get_by_text("Scheduled for")).to_be_visible()
    uuid = page.url.rpartition("/")[2]
    zone = clinic.service.get("/api/v2/workspace.json")["timezone"]
    local = page.evaluate(
        "([at, timeZone]) => new Date(at).toLocaleString('sv', {timeZone})",
        [clinic.service.get(PROGRESS, uuid=uuid)["scheduled_on"], zone],
    )
    assert local == f"{day} 08:30:00"

    page.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()

    expect(page.locator(".badge", has_text="stopped")).to_be_visible()
    assert clinic.service.get(PROGRESS, uuid=uuid)["status"] == "interrupted"
