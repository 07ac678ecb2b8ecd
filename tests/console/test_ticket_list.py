"""The list of tickets says by which time it is ordered and which first replies are late, and something is done with
several, in a real browser.
"""

import re
from datetime import timedelta

from playwright.sync_api import BrowserContext, Locator, Page, expect
from sqlalchemy import select, update

from persistence.contacts.deletion import delete_contacts
from persistence.labels import ensure_label
from persistence.messages.actions import add_label
from persistence.tables.contacts import contact, ticket
from testbed.running import wait_until
from tests.console.clinic import Clinic
from tests.console.pages import findings, pick, sign_in, undo

CONTACTS, TICKETS = "/api/v2/contacts.json", "/api/v2/tickets.json"
WHOLE_PAGES = re.compile(r"/tickets\.json\?.*page_size=50")


def open_ticket(clinic: Clinic, name: str, number: str, opened_days_ago: int, changed_days_ago: int) -> str:
    """Returns the UUID of the contact."""
    person = clinic.service.post(CONTACTS, {"name": name, "urns": [f"tel:{number}"]})["uuid"]
    uuid = clinic.service.post(TICKETS, {"contact": person})["uuid"]
    with clinic.service.database.writing() as tx:
        opened, changed = (tx.now - timedelta(days=days) for days in (opened_days_ago, changed_days_ago))
        same = update(ticket).where(ticket.c.uuid == uuid)
        tx.execute(same.values(opened_on=opened, modified_on=changed))
    return str(person)


def choose(page: Page) -> None:
    for name in ("Opened First", "Opened Later"):
        page.locator(".drawn-rows li", has_text=name).locator(".row-box").click()
    expect(page.get_by_role("toolbar")).to_contain_text("Chosen: 2")
    # A word before the number would push the last button into a row of its own, in some languages.
    assert (page.get_by_role("toolbar").bounding_box() or {"height": 0})["height"] < 50


def archived(clinic: Clinic, people: list[str]) -> set[bool]:
    found = clinic.service.get("/api/v2/messages.json", contacts=",".join(people), folder="incoming")["results"]
    return {each["archived"] for each in found}


def label_them(page: Page, clinic: Clinic, rows: Locator, people: list[str]) -> None:
    (gecko,) = clinic.service.get("/api/v2/messages.json", contacts=people[0])["results"]
    with clinic.service.database.writing() as tx:
        workspace_id = clinic.service.workspace.id
        add_label(tx, workspace_id, [gecko["id"]], ensure_label(tx, workspace_id, "Reptiles"))
    labelled = rows.filter(has=page.locator(".tag", has_text="Reptiles"))
    expect(labelled).to_have_count(1)
    choose(page)
    assert findings(page, "the list of tickets") == []
    page.route("**/api/v2/labels.json*", lambda route: route.fulfill(status=503))
    page.get_by_role("toolbar").get_by_role("button", name="Label").click()
    missed = page.get_by_role("dialog").get_by_role("alert")
    expect(missed).to_contain_text("The service has a problem.")
    page.unroute("**/api/v2/labels.json*")
    missed.get_by_role("button", name="Try again").click()
    expect(missed).to_have_count(0)
    expect(page.locator("#labels-known option[value=Reptiles]")).to_have_count(1)
    page.get_by_role("dialog").get_by_label("Label").fill("reptiles")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(labelled).to_have_count(2)
    undo(page, "The labels are saved.")
    expect(labelled).to_have_count(1)


def mark_and_archive_them(page: Page, clinic: Clinic, rows: Locator, people: list[str]) -> None:
    counts = rows.locator(".count")
    expect(counts).to_contain_text(["1", "2"])
    choose(page)
    pick(page, "More actions", "Mark as read")
    expect(counts).to_have_count(0)
    undo(page, "The conversations are read.")
    expect(counts).to_contain_text(["1", "2"])
    choose(page)
    page.get_by_role("toolbar").get_by_role("button", name="Archive").dblclick()
    expect(page.locator(".notice").last).to_contain_text("The messages are archived.")
    assert archived(clinic, people) == {True}
    undo(page, "The messages are archived.")
    wait_until(lambda: page.title() and archived(clinic, people) == {False}, "the messages to be restored")


def snooze_them(page: Page, rows: Locator) -> None:
    choose(page)
    page.get_by_role("toolbar").get_by_role("button", name="Snooze").click()
    page.get_by_role("dialog").get_by_role("button", name="Snooze").click()
    expect(rows.locator(".snoozed-until")).to_have_count(2)
    choose(page)
    pick(page, "More actions", "End snooze")
    expect(rows.locator(".snoozed-until")).to_have_count(0)


def renew_all_pages(page: Page, clinic: Clinic, rows: Locator, people: list[str]) -> None:
    """What the stream left out shows in each page that is loaded, and nothing moves: the rows are the last ones."""
    page.route(WHOLE_PAGES, lambda route: route.continue_(url=route.request.url.replace("page_size=50", "page_size=8")))
    page.reload()
    expect(page.locator(".conversation").first).to_be_visible()

    def reach() -> bool:
        page.locator(".list-end").scroll_into_view_if_needed()
        return rows.count() == 2

    wait_until(reach, "the last page")
    place = rows.last.bounding_box()
    # It changes no ticket.
    clinic.service.post(f"{CONTACTS}?uuid={people[0]}", {"name": "Opened First, Left Out"})
    page.evaluate("new BroadcastChannel('relayboard.changes').postMessage({kind: 'reset'})")
    expect(rows.filter(has_text="Left Out")).to_have_count(1)
    assert rows.last.bounding_box() == place
    page.unroute(WHOLE_PAGES)


def close_them(page: Page, clinic: Clinic, rows: Locator, people: list[str]) -> None:
    choose(page)
    page.get_by_role("toolbar").get_by_role("button", name="Close").click()
    expect(rows).to_have_count(0)
    clinic.service.post(TICKETS, {"contact": people[0]})
    undo(page, "The tickets are closed.")
    expect(page.locator(".notice").last).to_have_text("Undone. Left as they were: 1")
    expect(rows).to_have_count(2)
    rows.filter(has_text="Opened Later").click()
    page.locator(".ticket-card").get_by_role("button", name="Close").click()
    expect(page.locator(".notice").last).to_contain_text("The ticket is closed.")
    clinic.service.post(TICKETS, {"contact": people[1]})
    undo(page, "The ticket is closed.")
    expect(page.locator(".notice.bad")).to_have_text(
        "Not undone. It stays closed: the contact has another open ticket."
    )
    expect(rows).to_have_count(2)


def test_the_list_of_tickets_follows_the_last_change_and_several_are_labelled_read_snoozed_archived_and_closed(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    """Undo leaves what was so before, and tells what stayed as it was. What a form offers and cannot be loaded is asked
    for again. What was deleted elsewhere goes by itself.
    """
    numbers = ["+250788000901", "+250788000902"]
    people = [
        open_ticket(clinic, "Opened First", numbers[0], opened_days_ago=400, changed_days_ago=370),
        open_ticket(clinic, "Opened Later", numbers[1], opened_days_ago=380, changed_days_ago=375),
    ]
    for number, text in ((numbers[0], "Gecko?"), (numbers[1], "Gecko?"), (numbers[1], "Anole?")):
        clinic.phone.receive_sms(number, text)
    clinic.sync()
    clinic.service.post("/api/v2/messages.json", {"contact": people[1], "text": "No gecko here"})
    page = sign_in(somebody, clinic, "editor", place="tickets")
    rows = page.locator(".conversation", has_text=re.compile("Opened (First|Later)"))
    expect(rows.locator("strong")).to_have_text(["Opened First", "Opened Later"])
    first = rows.first
    times = first.locator("time")
    moments = [time.get_attribute("datetime") or "" for time in times.all()]
    assert moments == sorted(moments, reverse=True)
    for time, word in zip(times.all(), ("Changed", "Opened"), strict=True):
        assert time.inner_text().startswith(f"{word} ") and time.get_attribute("title")
    expect(first.locator(".by-channel")).to_be_visible()

    renew_all_pages(page, clinic, rows, people)
    label_them(page, clinic, rows, people)
    mark_and_archive_them(page, clinic, rows, people)
    snooze_them(page, rows)
    close_them(page, clinic, rows, people)
    with clinic.service.database.writing() as tx:
        theirs = select(contact.c.id).where(contact.c.uuid.in_(people))
        delete_contacts(tx, clinic.service.workspace.id, tx.execute(theirs).scalars().all())
    expect(rows).to_have_count(0)
    expect(page.get_by_role("heading", name="Choose a ticket")).to_be_visible()


def test_a_first_reply_that_is_late_is_red_and_counted_until_somebody_replies(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    """The time follows the clock of the browser without a request."""
    people = {
        name: open_ticket(clinic, name, f"+25078800091{at}", opened_days_ago=1, changed_days_ago=0)
        for at, name in enumerate(("Soon Due", "Long Due"))
    }
    with clinic.service.database.writing() as tx:
        for uuid, minutes in ((people["Soon Due"], 19.5), (people["Long Due"], -180)):
            theirs = select(contact.c.id).where(contact.c.uuid == uuid).scalar_subquery()
            due = tx.now + timedelta(minutes=minutes)
            tx.execute(update(ticket).where(ticket.c.contact_id == theirs).values(reply_due=due))
    page = sign_in(somebody, clinic, "agent", place="tickets")
    mark = page.locator(".reply-due")
    soon, late = (page.locator(".conversation", has_text=name) for name in people)
    expect(soon.locator(mark)).to_have_text(re.compile("reply due in (19|20) mins"))
    expect(late.locator(mark)).to_have_text("overdue by 3 hrs")
    navigation = page.get_by_role("navigation", name="Pages")
    expect(navigation.get_by_text("Overdue replies: 1")).to_be_attached()

    page.clock.install()
    page.reload()
    expect(soon.locator(mark)).to_have_text(re.compile("reply due in (19|20) mins"))
    page.clock.fast_forward("25:00")
    expect(soon.locator(".reply-due.is-late")).to_have_text(re.compile("overdue by [56] mins"))
    page.locator(".views").get_by_role("link", name="Overdue").click()
    expect(page.locator(".conversation")).to_have_count(1)
    late.click()
    expect(page.locator(".thread-header, .ticket-card").locator(mark).first).to_have_text("overdue by 3 hrs")
    assert findings(page, "a late ticket") == []

    page.get_by_role("textbox", name="Write an answer").fill("We are on it")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator(".ticket-card").locator(mark)).to_have_count(0)
    expect(late).to_have_count(0)
