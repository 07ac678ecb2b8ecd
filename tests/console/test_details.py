"""What people notice only when it is wrong, in a real browser: where the focus is, what fits a phone, odd contacts and
files, choices that were refused, and notes that are sent twice.
"""

from collections.abc import Callable
from uuid import uuid4

import requests
from playwright.sync_api import BrowserContext, Locator, Page, Route, ViewportSize, expect
from sqlalchemy import update

from persistence.tables.messages import message
from persistence.users import add_member, remove_member
from persistence.workspaces.writes import create_workspace
from tests.console.clinic import Clinic
from tests.console.pages import NARROW, WIDE, HeldBack, findings, open_page, sign_in, sign_in_at

CONTACTS, MESSAGES, TICKETS = "/api/v2/contacts.json", "/api/v2/messages.json", "/api/v2/tickets.json"
NOTES = "/api/v2/contact_notes.json"


def test_the_focus_goes_on_from_a_button_that_goes_away_a_form_and_a_link_and_a_history_says_who_wrote(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    contact = clinic.service.post(CONTACTS, {"name": "Waiting One", "urns": ["tel:+250788000911"]})["uuid"]
    ticket = clinic.service.post(TICKETS, {"contact": contact})["uuid"]
    page = sign_in_at(somebody, clinic, "editor", "tickets", ticket)
    take = page.get_by_role("button", name="Take")
    take.focus()
    page.keyboard.press("Enter")
    expect(take).to_have_count(0)
    expect(page.get_by_role("button", name="Note", exact=True)).to_be_focused()

    open_page(page, clinic, "contacts")
    page.get_by_label("Choose Waiting One").check()
    archive = page.get_by_role("toolbar").get_by_role("button", name="Archive their messages")
    archive.focus()
    page.keyboard.press("Enter")
    expect(archive).to_have_count(0)
    expect(page.locator("main :focus")).to_have_count(1)

    add = page.get_by_role("button", name="New contact")
    add.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_label("Name")).to_be_focused()
    page.keyboard.press("Escape")
    expect(add).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(add).to_be_focused()

    page.locator(".who").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Conversation")).to_be_visible()
    expect(page.get_by_role("main")).to_be_focused()
    page.get_by_role("link", name="Conversation").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Write an answer")).to_be_visible()
    expect(page.locator("main:focus, main :focus")).to_have_count(1)

    contact = clinic.service.post(CONTACTS, {"urns": ["tel:+250788000912"]})["uuid"]
    clinic.service.post("/api/v2/messages.json", {"contact": contact, "text": "Good day"})
    open_page(page, clinic, "contacts", contact)
    expect(page.locator(".history-line", has_text="Good day")).to_contain_text("Administrator Tester:")


def test_after_a_record_is_deleted_the_focus_is_in_its_list_and_on_a_phone_settings_lead_on(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    clinic.service.post("/api/v2/labels.json", {"name": "Aaa to delete"})
    uuid = clinic.service.post("/api/v2/labels.json", {"name": "Aab to delete"})["uuid"]
    page = sign_in(somebody, clinic, "administrator", place="settings/labels")
    page.get_by_role("button", name="Delete Aaa to delete").focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Delete").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Delete Aaa to delete")).to_have_count(0)
    expect(page.get_by_role("region", name="Labels")).to_be_focused()

    ask = page.get_by_role("button", name="Delete Aab to delete")
    ask.focus()
    page.keyboard.press("Enter")
    yes = page.get_by_role("dialog").get_by_role("button", name="Delete")
    yes.focus()
    ask.evaluate("button => button.closest('li').remove()")
    expect(ask).to_have_count(0)
    page.keyboard.press("Enter")
    expect(yes).to_have_count(0)
    expect(page.get_by_role("region", name="Labels")).to_be_focused()
    assert uuid not in {label["uuid"] for label in clinic.service.get("/api/v2/labels.json")["results"]}

    page.set_viewport_size(PHONE)
    for place, name in (("users", "Joel Agent"), ("groups", "Expecting mothers")):
        open_page(page, clinic, "settings", place)
        row = page.locator(".records li", has_text=name)
        expect(row).to_be_visible()
        rings = [button.bounding_box() for button in row.get_by_role("button").all()]
        tops = {round(ring["y"] + ring["height"] / 2) for ring in rings if ring}
        assert len(rings) == 2 and len(tops) == 1

    open_page(page, clinic, "settings")
    page.get_by_role("link", name="Your account").click()
    expect(page.get_by_label("First name")).to_be_visible()
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Inbox").click()
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()


def test_a_choice_for_a_ticket_that_was_refused_does_not_stay(somebody, clinic):
    topic = clinic.service.post("/api/v2/topics.json", {"name": "Papers"})["uuid"]
    contact = clinic.service.post(CONTACTS, {"urns": ["tel:+250788000821"]})["uuid"]
    ticket = clinic.service.post(TICKETS, {"contact": contact})["uuid"]
    page = sign_in(somebody, clinic, "editor", place=f"tickets/{ticket}")
    for label, wanted, event in (
        ("Topic", topic, "topic changed"),
        ("Assignee", clinic.email("agent"), "ticket assigned"),
    ):
        choice = page.locator(".ticket-card").get_by_label(label)
        expect(choice.locator(f"option[value='{wanted}']")).to_have_count(1)
        before = choice.input_value()
        somebody.set_offline(True)
        choice.select_option(wanted)
        expect(page.locator(".notice.bad").last).to_be_visible()
        expect(choice).to_have_value(before)

        somebody.set_offline(False)
        choice.select_option(wanted)
        expect(page.locator(".event", has_text=event)).to_be_visible()
        expect(choice).to_have_value(wanted)


def test_a_ticket_is_nobodys_when_its_assignee_leaves_and_closed_by_a_double_click(somebody, clinic):
    leaver, workspace = "leaver@example.org", clinic.service.workspace.id
    topic = clinic.service.post("/api/v2/topics.json", {"name": "Handed over"})["uuid"]
    contact = clinic.service.post(CONTACTS, {"urns": ["tel:+250788000824"]})["uuid"]
    with clinic.service.database.writing() as tx:
        add_member(tx, workspace, leaver, "agent", first_name="Lea", last_name="Leaver")
    ticket = clinic.service.post(TICKETS, {"contact": contact, "assignee": leaver})["uuid"]
    with clinic.service.database.writing() as tx:
        remove_member(tx, workspace, leaver)
    page = sign_in_at(somebody, clinic, "agent", "tickets", ticket)
    bar = page.locator(".ticket-card")
    choice = bar.get_by_label("Assignee")
    expect(choice.locator("option[value='agent@example.org']")).to_have_count(1)
    expect(choice).to_have_value("")
    expect(page.locator(".event", has_text="ticket assigned · Unassigned")).to_be_visible()
    assert findings(page, "an assignee who left") == []

    bar.get_by_label("Topic").select_option(topic)
    expect(page.locator(".event", has_text="topic changed")).to_be_visible()
    (kept,) = clinic.service.get(TICKETS, uuid=ticket)["results"]
    assert (kept["topic"]["name"], kept["assignee"]) == ("Handed over", None)
    choice.select_option("agent@example.org")
    expect(page.locator(".event", has_text="ticket assigned · Joel Agent")).to_be_visible()
    expect(choice).to_have_value("agent@example.org")
    expect(choice.locator(f"option[value='{leaver}']")).to_have_count(0)

    contact = clinic.service.post(CONTACTS, {"urns": ["tel:+250788000825"]})["uuid"]
    ticket = clinic.service.post(TICKETS, {"contact": contact})["uuid"]
    open_page(page, clinic, "tickets", ticket)
    bar, events = page.locator(".ticket-card"), page.locator(".event")
    close, reopen = (bar.get_by_role("button", name=name, exact=True) for name in ("Close", "Reopen"))
    for clicks, button in ((1, close), (2, reopen)):
        button.hover()
        page.mouse.down(click_count=clicks)
        page.mouse.up(click_count=clicks)
        expect(reopen).to_be_visible()
    bar.get_by_role("button", name="Note", exact=True).click()
    page.get_by_label("A note that only your team sees").fill("Still closed")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(events.filter(has_text="Still closed")).to_be_visible()
    expect(events.filter(has_text="ticket closed")).to_be_visible()
    expect(events.filter(has_text="ticket reopened")).to_have_count(0)
    reopen.click()
    expect(close).to_be_visible()


FILES = {
    "https://files.example.org/report 100%.pdf": "report 100%.pdf",
    "https://files.example.org/report%20100%25.pdf": "report 100%.pdf",
    "https://files example.org/report.pdf": "report.pdf",
}


def test_a_conversation_is_shown_with_any_file_of_nobody_and_while_its_contact_loads(somebody, clinic):
    contact = clinic.service.post(CONTACTS, {"urns": ["tel:+250788000801"]})["uuid"]
    for url in FILES:
        sent = clinic.service.post(MESSAGES, {"contact": contact, "text": "Here it is"})
        with clinic.service.database.writing() as tx:
            files = [{"content_type": "application/pdf", "url": url}]
            tx.execute(update(message).where(message.c.uuid == sent["uuid"]).values(attachments=files))
    page = sign_in(somebody, clinic, "editor", place=f"inbox/{contact}")

    expect(page.locator(".message.out .text")).to_have_text(["Here it is"] * len(FILES))
    expect(page.locator(".message.out .file")).to_have_text([*FILES.values()])

    deleted = clinic.service.post(CONTACTS, {"urns": ["tel:+250788000804"]})["uuid"]
    clinic.service.post(MESSAGES, {"contact": deleted, "text": "Good day"})
    headers = {"Authorization": f"Token {clinic.service.token}"}
    answer = requests.delete(f"{clinic.service.url}{CONTACTS}", params={"uuid": deleted}, headers=headers, timeout=60)
    assert answer.status_code == 204
    for contact in (str(uuid4()), deleted):
        open_page(page, clinic, "inbox", contact)
        expect(page.get_by_role("heading", name="This contact does not exist")).to_be_visible()
        expect(page.get_by_label("Write an answer")).to_have_count(0)
    page.set_viewport_size(NARROW)
    page.get_by_role("link", name="Back").click()
    expect(page.locator(".conversation").first).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="This contact does not exist")).to_be_visible()
    assert findings(page, "nobody on a phone") == []

    contact = clinic.service.post(CONTACTS, {"urns": ["tel:+250788000805"]})["uuid"]
    page.set_viewport_size(WIDE)
    open_page(page, clinic, "inbox")
    held = HeldBack(page, f"**{CONTACTS}?uuid=*")
    page.goto(f"{clinic.service.url}/#/inbox/{contact}")  # what is told of the contact may wait, too
    page.get_by_label("Write an answer").fill("Good day")
    held.wait()
    held.let_go()

    expect(page.locator(".thread-who")).to_contain_text("+250788000805")
    expect(page.get_by_label("Write an answer")).to_have_value("Good day")


def noted(clinic: Clinic, contact: str) -> list[str]:
    return [note["text"] for note in clinic.service.get(NOTES, contact=contact)["results"]]


def line(page: Page, text: str) -> Locator:
    return page.locator(".history-line", has_text=text)


def make(clinic: Clinic) -> str:
    """The UUID of a new contact."""
    uuid: str = clinic.service.post(CONTACTS, {"name": "Noted"})["uuid"]
    return uuid


def test_a_note_is_saved_once_though_it_is_sent_again_or_its_answer_was_lost_and_may_be_noted_again(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    contact = make(clinic)
    page = sign_in_at(somebody, clinic, "agent", "contacts", contact)
    note, button = page.get_by_label("Write a note"), page.get_by_role("button", name="Save")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.method) if NOTES in request.url else None)

    def write(text: str, send: Callable[[], None]) -> None:
        def send_again(route: Route) -> None:
            send()
            route.continue_()

        page.route(f"**{NOTES}", send_again, times=1)
        note.fill(text)
        send()
        expect(line(page, text)).to_have_count(1)
        expect(note).to_have_value("")

    write("Prefers mornings", button.click)
    write("Speaks Swahili", lambda: note.press("Enter"))
    assert asked == ["POST", "POST"]
    assert noted(clinic, contact) == ["Speaks Swahili", "Prefers mornings"]

    contact, text = make(clinic), "Called, nobody answered"
    open_page(page, clinic, "contacts", contact)

    def lose_the_answer(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route(f"**{NOTES}", lose_the_answer, times=1)
    note.fill(text)
    note.press("Enter")
    expect(page.locator(".notice.bad")).to_be_visible()
    expect(note).to_have_value(text)
    note.press("Enter")
    expect(note).to_have_value("")
    expect(line(page, text)).to_have_count(1)
    assert noted(clinic, contact) == [text]

    held = HeldBack(page, f"**{NOTES}")
    note.fill(text)
    note.press("Enter")
    held.wait()
    note.press("End")
    page.keyboard.type(" Call again.")
    held.let_go()
    expect(note).to_have_value("Call again.")
    expect(line(page, text)).to_have_count(2)
    assert noted(clinic, contact) == [text, text]


PHONE: ViewportSize = {"width": 390, "height": 844}


def test_a_person_of_several_workspaces_changes_between_them_on_a_phone(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    with clinic.service.database.writing() as tx:
        other = create_workspace(tx, "Hillside Health", country="RW", timezone="Africa/Kigali")
        add_member(tx, other.id, clinic.email("viewer"), "editor")
    page = sign_in(somebody, clinic, "viewer")
    page.set_viewport_size(PHONE)
    page.get_by_role("button", name="You and your language").click()
    page.get_by_role("menuitemradio", name="Hillside Health").click()
    expect(page).to_have_title("Overview · Hillside Health")
