"""The first person of a workspace finds nothing in it, and is told in a real browser what to do."""

from urllib.parse import urlencode

from playwright.sync_api import Browser, BrowserContext, expect

from persistence.accounts.accounts import set_password
from persistence.accounts.passwords import Passwords
from persistence.users import add_member, find_member
from persistence.workspaces.writes import create_workspace
from relayboard.phone.phone import Phone, PhoneState
from relayboard.phone.wire import HttpTransport
from tests.console.clinic import PASSWORD, Clinic
from tests.console.pages import NARROW, findings, open_page, sign_in

NEWCOMER = "newcomer"
EMPTY = {
    "inbox": ("No messages yet", "the conversation appears here by itself"),
    "contacts": ("No contacts yet", "Whoever writes to a channel becomes a contact"),
    "tickets": ("No tickets here", "Flows open them"),
    "broadcasts": ("Nothing sent to many yet", "Write one message to whole groups"),
    "flows": ("No flows yet", "Import one from a file"),
    "flows/calendar": ("Nothing is planned", "Schedules of flows"),
    "exports": ("No exports yet", "Choose what you need"),
    "deliveries": ("No receivers yet", "A receiver is an address"),
    "channels": ("No channels yet", "An Android phone is the quickest start"),
}


def test_an_empty_workspace_teaches_what_to_do_and_its_first_phone_brings_it_to_life(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    with clinic.service.database.writing() as tx:
        workspace = create_workspace(tx, "New clinic", country="RW", timezone="Africa/Kigali")
        add_member(tx, workspace.id, clinic.email(NEWCOMER), "administrator", first_name="Ana", last_name="New")
        set_password(tx, find_member(tx, workspace.id, clinic.email(NEWCOMER)) or 0, Passwords().hash(PASSWORD))
    page = sign_in(somebody, clinic, NEWCOMER)
    page.set_viewport_size(NARROW)
    for place, (title, what_to_do) in EMPTY.items():
        open_page(page, clinic, place)
        expect(page.locator(".empty", has_text=title)).to_contain_text(what_to_do)
        assert findings(page, f"{place}, empty") == []

    phone = Phone(HttpTransport(clinic.service.url), PhoneState())
    phone.register()
    page.get_by_role("link", name="Add a channel").first.click()
    page.get_by_role("link", name="Android phone SMS").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Claim code").fill("AAAAAAAAA")
    form.get_by_label("Number of its SIM card").fill("+250788321321")
    form.get_by_label("Name").fill("Ward phone")
    form.get_by_role("button", name="Claim").click()
    expect(form.get_by_role("alert")).to_be_visible()
    form.get_by_label("Claim code").fill(phone.state.claim_code or "")
    form.get_by_role("button", name="Claim").click()
    card = page.locator(".card.channel")
    expect(card).to_contain_text("Ward phone")
    phone.battery(64, "CHA", "AC")
    phone.connect("EDGE")
    phone.sync()
    phone.receive_sms("+250788000999", "Is this the new number?")
    phone.sync()
    expect(card.get_by_label("Battery")).to_have_js_property("value", 64)
    expect(card).to_contain_text("EDGE")
    open_page(page, clinic, "inbox")
    expect(page.locator(".conversation")).to_contain_text("Is this the new number?")


def test_who_is_invited_joins_by_the_link(browser: Browser, somebody: BrowserContext, clinic: Clinic) -> None:
    page = sign_in(somebody, clinic, "administrator", place="settings/users")
    page.get_by_role("button", name="Invite").click()
    form = page.get_by_role("dialog")
    form.get_by_label("E-mail address").fill("guest@example.org")
    form.get_by_role("radio", name="Agent").check()
    form.get_by_role("button", name="Invite").click()
    link = page.locator(".secret-box").get_by_text("/#/invitation/").inner_text()
    with browser.new_context() as elsewhere:
        guest = elsewhere.new_page()
        guest.goto(link)
        expect(guest.get_by_role("heading", name="Join the workspace")).to_be_visible()
        guest.get_by_label("First name").fill("Grace")
        guest.get_by_label("Password").fill("short")
        guest.get_by_role("button", name="Join").click()
        expect(guest.get_by_role("alert")).to_contain_text("10 characters")
        guest.get_by_label("Password").fill(PASSWORD)
        assert findings(guest, "an invitation") == []
        guest.get_by_role("button", name="Join").click()
        expect(guest.locator(".conversation").first).to_be_visible()
        expect(guest.get_by_role("button", name="You and your language")).to_contain_text("Grace")


def test_the_link_of_the_demo_signs_in_without_a_failed_request_also_a_second_time(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    link = f"{clinic.service.url}/#/demo?{urlencode({'email': clinic.email('editor'), 'password': PASSWORD})}"
    for _ in range(2):
        page, said = somebody.new_page(), list[str]()
        page.on("console", lambda message, said=said: said.append(message.text) if message.type == "error" else None)
        page.goto(link)
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        expect(page.locator(".spinner")).to_have_count(0)
        assert PASSWORD not in page.url and "demo" not in page.url
        assert said == []
