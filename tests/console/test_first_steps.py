"""The first person of a workspace finds nothing in it, and is told in a real browser what to do."""

import re
from urllib.parse import urlencode

from playwright.sync_api import Browser, BrowserContext, expect

from persistence.accounts.accounts import set_password
from persistence.accounts.passwords import Passwords
from persistence.users import add_member, find_member
from persistence.workspaces.writes import create_workspace
from relayboard.phone.phone import Phone, PhoneState
from relayboard.phone.wire import HttpTransport
from testbed.running import wait_until
from tests.console.clinic import PASSWORD, Clinic
from tests.console.conftest import new_context
from tests.console.pages import NARROW, RESTS_AT, findings, open_page, resting_page, sign_in
from tests.console.programme import add_manager, make_programme
from tests.documentation import ROOT
from tests.worker.receivers import Reply, receiving

NEWCOMER = "newcomer"
CONTACTS = 40
EMPTY = {
    "inbox": ("No messages yet", "the conversation appears here by itself"),
    "contacts": ("No contacts yet", "Whoever writes to a channel becomes a contact"),
    "tickets": ("No tickets here", "Flows open them"),
    "broadcasts": ("Nothing sent to many yet", "Write one message to whole groups"),
    "flows": ("No flows yet", "Begin with a template"),
    "flows/calendar": ("Nothing is planned", "Write to many"),
    "settings/resthooks": ("Nothing here yet", "New resthook"),
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
    assert findings(page, "an empty page") == []

    open_page(page, clinic, "overview")
    steps = page.get_by_role("region", name="First steps")
    expect(steps.locator("li")).to_have_count(5)
    expect(steps).to_contain_text("0 of 5 done")
    assert findings(page, "first steps") == []
    phone = Phone(HttpTransport(clinic.service.url), PhoneState())
    phone.register()
    steps.get_by_role("link", name="Add a channel").click()
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
    open_page(page, clinic, "overview")
    expect(steps).to_contain_text("2 of 5 done")  # who wrote is a contact
    expect(steps.locator("li.done")).to_have_count(2)
    steps.get_by_role("button", name="Hide").click()
    expect(steps).to_have_count(0)
    page.reload()
    expect(page.locator(".tile").first).to_be_visible()
    expect(steps).to_have_count(0)


def test_a_template_shows_what_it_makes_and_leaves_names_and_keywords_alone_that_are_taken(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    first = clinic.service.get("/api/v2/flows.json")["results"][0]
    clinic.service.post("/api/v2/triggers.json", {"type": "keyword", "flow": first["uuid"], "keywords": ["visit"]})
    page = sign_in(somebody, clinic, "editor", place="flows")
    page.get_by_role("link", name="From a template").click()
    expect(page.locator(".templates li")).to_have_count(6)
    assert findings(page, "templates") == []
    page.get_by_role("link", name="Appointment").click()
    told = page.get_by_role("region", name="What Appointment would do")
    expect(told).to_contain_text("Appointment reminders")
    expect(page.get_by_role("alert")).to_contain_text(f"“visit” already starts the flow {first['name']}")
    page.get_by_label("Name of the flow").fill(first["name"])
    page.get_by_label("Keywords").fill("date")
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_role("alert")).to_contain_text(f"{first['name']} exists already")
    page.set_viewport_size(NARROW)
    assert findings(page, "a template on a phone") == []
    page.get_by_label("Name of the flow").fill("Next visit")
    page.get_by_role("button", name="Make it").click()

    expect(page.get_by_role("heading", name="Next visit", level=1)).to_be_visible()
    made = next(each for each in clinic.service.get("/api/v2/triggers.json")["results"] if "date" in each["keywords"])
    assert made["flow"]["name"] == "Next visit"
    (campaign,) = [
        each
        for each in clinic.service.get("/api/v2/campaigns.json")["results"]
        if each["group"]["name"] == "Appointments"
    ]
    events = clinic.service.get("/api/v2/campaign_events.json", campaign=campaign["uuid"])["results"]
    assert sorted(each["offset"] for each in events) == [-3, -1, 1]


def test_who_is_invited_joins_by_the_link(browser: Browser, somebody: BrowserContext, clinic: Clinic) -> None:
    page = sign_in(somebody, clinic, "administrator", place="settings/users")
    page.get_by_role("button", name="Invite").click()
    form = page.get_by_role("dialog")
    form.get_by_label("E-mail address").fill("guest@example.org")
    form.get_by_role("radio", name="Agent").check()
    form.get_by_role("button", name="Invite").click()
    link = page.locator(".secret-box").get_by_text("/#/invitation/").inner_text()
    with new_context(browser) as elsewhere:
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
        page, said = resting_page(somebody), list[str]()
        page.on("console", lambda message, said=said: said.append(message.text) if message.type == "error" else None)
        page.goto(link)
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        expect(page.locator(".waiting")).to_have_count(0)
        assert PASSWORD not in page.url and "demo" not in page.url
        assert said == []
        page.goto(f"{clinic.service.url}{RESTS_AT}")


def test_a_manager_makes_a_programme_by_hand_as_the_guide_says(somebody: BrowserContext, clinic: Clinic) -> None:
    guide, shown = ROOT / "docs" / "first-programme.md", list[str]()
    add_manager(clinic.service)
    with receiving(lambda _: Reply(200, b"{}")) as provider:
        make_programme(resting_page(somebody), clinic.service, provider.url, CONTACTS, shown.append)
        wait_until(lambda: len(provider.received) == CONTACTS // 2, "the messages to be with the provider")
    assert re.findall(r"first-programme/([a-z-]+)[.]webp", guide.read_text()) == shown
    assert {each.stem for each in (guide.parent / "first-programme").iterdir()} == set(shown)
