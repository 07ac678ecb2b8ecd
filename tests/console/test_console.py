"""People use the console in a real browser: over a real server, worker and simulated phone."""

import pytest
from playwright.sync_api import expect

from testbed.running import wait_until
from tests.console.clinic import Clinic
from tests.console.pages import NARROW, WIDE, findings, open_page, refused, sign_in

CALLER = "+250788000111"
PAGES = (
    "overview",
    "inbox",
    "contacts",
    "tickets",
    "tickets/figures",
    "broadcasts",
    "broadcasts/new",
    "flows",
    "flows/calendar",
    "channels",
    "settings",
    "settings/users",
)


def texts_of(clinic: Clinic, contact: str) -> list[str]:
    return [message["text"] for message in clinic.service.get("/api/v2/messages.json", contact=contact)["results"]]


def test_an_sms_appears_by_itself_and_the_reply_reaches_the_phone(somebody, clinic):
    page = sign_in(somebody, clinic, "agent")
    expect(page.locator(".conversation").first).to_be_visible()

    clinic.phone.receive_sms(CALLER, "Is anybody there?")
    clinic.sync()
    arrived = page.locator(".conversation", has_text="Is anybody there?")
    expect(arrived).to_be_visible()
    expect(arrived.locator(".count")).to_be_visible()
    arrived.click()
    expect(page.locator(".message.in .text")).to_have_text("Is anybody there?")
    page.get_by_label("Write an answer").fill("Yes, I am here.")
    expect(page.locator(".reply-count")).to_have_text("15 characters · 1 SMS")
    page.keyboard.press("Control+Enter")
    sent = page.locator(".message.out", has_text="Yes, I am here.")
    expect(sent.locator(".state").first).to_have_text("queued")

    wait_until(lambda: clinic.sends("Yes, I am here."), "the reply to reach the phone")
    clinic.sync()
    expect(sent.locator(".state").first).to_have_text("delivered")
    expect(arrived.locator(".count")).to_have_count(0)


def test_what_is_sent_without_network_arrives_once_when_it_is_back(somebody, clinic):
    page = sign_in(somebody, clinic, "editor")
    page.locator(".conversation").nth(3).click()
    expect(page.locator(".message").first).to_be_visible()
    contact = page.url.rpartition("/")[2]
    somebody.set_offline(True)
    page.get_by_label("Write an answer").fill("The network is gone")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".pending")).to_contain_text("The network is gone")
    expect(page.locator(".banner")).to_be_visible()
    page.get_by_label("Write an answer").fill("not yet finished")

    somebody.set_offline(False)
    page.reload()

    expect(page.locator(".message.out:not(.pending)", has_text="The network is gone")).to_be_visible()
    expect(page.locator(".pending")).to_have_count(0)
    expect(page.get_by_label("Write an answer")).to_have_value("not yet finished")
    assert texts_of(clinic, contact).count("The network is gone") == 1


def test_two_tabs_show_the_same_and_end_together(somebody, clinic):
    one = sign_in(somebody, clinic, "editor")
    two = somebody.new_page()
    open_page(two, clinic, "inbox")
    one.locator(".conversation").nth(5).click()
    two.goto(one.url)
    expect(two.locator(".message").first).to_be_visible()

    one.get_by_label("Write an answer").fill("Written in the first tab")
    one.keyboard.press("Control+Enter")
    expect(two.locator(".message.out", has_text="Written in the first tab")).to_be_visible()
    one.get_by_role("button", name="You and your language").click()
    one.get_by_role("menuitem", name="Sign out").click()

    for page in (one, two):
        expect(page.get_by_role("heading", name="Sign in to Relayboard")).to_be_visible()


ALL_PAGES = ["Overview", "Inbox", "Contacts", "Tickets", "Messages out", "Flows", "Channels", "Settings"]
SEEN = {
    "administrator": ALL_PAGES,
    "editor": ALL_PAGES,
    "viewer": ALL_PAGES,
    "agent": ["Inbox", "Contacts", "Tickets", "Settings"],
}
MAY_ANSWER = ("administrator", "editor", "agent")


@pytest.mark.parametrize("role", SEEN)
def test_each_role_sees_what_it_may_do_and_the_api_refuses_the_rest(somebody, clinic, role):
    page = sign_in(somebody, clinic, role)

    pages = page.get_by_role("navigation", name="Pages").get_by_role("link").all_inner_texts()
    assert pages == SEEN[role]
    page.locator(".conversation").first.click()
    expect(page.locator(".thread-header h2")).to_be_visible()
    expect(page.get_by_label("Write an answer")).to_have_count(1 if role in MAY_ANSWER else 0)
    if role == "viewer":
        assert refused(page, "/api/v2/messages.json") == refused(page, "/api/v2/contacts.json") == 403
    if role == "agent":
        assert refused(page, "/api/v2/labels.json") == refused(page, "/api/v2/broadcasts.json") == 403


def test_every_page_can_be_used_by_everybody_on_every_screen(somebody, clinic):
    found = []
    page = sign_in(somebody, clinic, "administrator")
    for size, scheme in ((WIDE, "light"), (NARROW, "dark")):
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        for name in PAGES:
            open_page(page, clinic, name)
            found += findings(page, f"{name} {scheme}")
            row = page.locator(".conversation, .who").first
            if row.count():
                row.click()
                expect(page.locator("main h1:visible, main h2:visible").first).to_be_visible()
                expect(page.locator(".spinner")).to_have_count(0)
                found += findings(page, f"{name}, one {scheme}")

    assert found == []


def test_a_person_reads_the_console_in_their_language_from_right_to_left(somebody, clinic):
    page = sign_in(somebody, clinic, "agent")

    page.get_by_role("button", name="You and your language").click()
    page.get_by_role("menuitemradio", name="العربية").click()

    expect(page.locator("html[dir=rtl][lang=ar]")).to_have_count(1)
    expect(page.get_by_role("link", name="جهات الاتصال")).to_be_visible()
    page.reload()
    expect(page.get_by_role("link", name="جهات الاتصال")).to_be_visible()


def test_the_inbox_is_worked_with_the_keyboard_alone(somebody, clinic):
    page = sign_in(somebody, clinic, "editor")
    expect(page.locator(".conversation").first).to_be_visible()

    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator(".conversation").nth(1)).to_have_attribute("aria-current", "true")
    page.keyboard.press("r")
    expect(page.get_by_label("Write an answer")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator(".thread.none")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("3")
    expect(page.get_by_role("heading", name="Contacts")).to_be_visible()
