"""The list of tickets says by which time it is ordered, and which first replies are late, in a real browser."""

import re
from datetime import timedelta

from playwright.sync_api import BrowserContext, expect
from sqlalchemy import select, update

from persistence.tables.contacts import contact, ticket
from tests.console.clinic import Clinic
from tests.console.pages import findings, sign_in

CONTACTS, TICKETS = "/api/v2/contacts.json", "/api/v2/tickets.json"


def open_ticket(clinic: Clinic, name: str, number: str, opened_days_ago: int, changed_days_ago: int) -> str:
    """Returns the UUID of the contact."""
    person = clinic.service.post(CONTACTS, {"name": name, "urns": [f"tel:{number}"]})["uuid"]
    uuid = clinic.service.post(TICKETS, {"contact": person})["uuid"]
    with clinic.service.database.writing() as tx:
        opened, changed = (tx.now - timedelta(days=days) for days in (opened_days_ago, changed_days_ago))
        same = update(ticket).where(ticket.c.uuid == uuid)
        tx.execute(same.values(opened_on=opened, modified_on=changed))
    return str(person)


def test_the_list_of_tickets_shows_and_follows_the_time_of_the_last_change(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    open_ticket(clinic, "Opened First", "+250788000901", opened_days_ago=400, changed_days_ago=370)
    open_ticket(clinic, "Opened Later", "+250788000902", opened_days_ago=380, changed_days_ago=375)
    page = sign_in(somebody, clinic, "agent", place="tickets")
    rows = page.locator(".conversation", has_text="Opened ").filter(has=page.locator(".ticket-times"))
    expect(rows.filter(has_text="Opened First")).to_be_visible()
    names = [name for name in rows.locator("strong").all_inner_texts() if name in ("Opened First", "Opened Later")]
    assert names == ["Opened First", "Opened Later"]
    times = rows.filter(has_text="Opened First").locator("time")
    moments = [time.get_attribute("datetime") or "" for time in times.all()]
    assert moments == sorted(moments, reverse=True)
    for time, word in zip(times.all(), ("Changed", "Opened"), strict=True):
        assert time.inner_text().startswith(f"{word} ") and time.get_attribute("title")
    assert findings(page, "the list of tickets") == []


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
