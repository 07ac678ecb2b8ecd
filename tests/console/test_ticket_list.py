"""The list of tickets says by which time it is ordered, in a real browser."""

from datetime import timedelta

from playwright.sync_api import BrowserContext, expect
from sqlalchemy import update

from persistence.tables.contacts import ticket
from tests.console.clinic import Clinic
from tests.console.pages import findings, sign_in

CONTACTS, TICKETS = "/api/v2/contacts.json", "/api/v2/tickets.json"


def open_ticket(clinic: Clinic, name: str, number: str, opened_days_ago: int, changed_days_ago: int) -> None:
    contact = clinic.service.post(CONTACTS, {"name": name, "urns": [f"tel:{number}"]})["uuid"]
    uuid = clinic.service.post(TICKETS, {"contact": contact})["uuid"]
    with clinic.service.database.writing() as tx:
        opened, changed = (tx.now - timedelta(days=days) for days in (opened_days_ago, changed_days_ago))
        same = update(ticket).where(ticket.c.uuid == uuid)
        tx.execute(same.values(opened_on=opened, modified_on=changed))


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
