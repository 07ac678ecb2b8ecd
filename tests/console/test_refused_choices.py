"""What a ticket shows when the service refuses a change of it, in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.console.pages import open_page, sign_in

CONTACTS, TICKETS = "/api/v2/contacts.json", "/api/v2/tickets.json"


@pytest.mark.parametrize(
    ("number", "label", "event"),
    [("+250788000821", "Topic", "topic changed"), ("+250788000822", "Assignee", "ticket assigned")],
)
def test_a_choice_for_a_ticket_that_was_refused_does_not_stay(somebody, clinic, number, label, event):
    topic = clinic.service.post("/api/v2/topics.json", {"name": f"Papers {number}"})["uuid"]
    contact = clinic.service.post(CONTACTS, {"urns": [f"tel:{number}"]})["uuid"]
    ticket = clinic.service.post(TICKETS, {"contact": contact})["uuid"]
    wanted = {"Topic": topic, "Assignee": clinic.email("agent")}[label]
    page = sign_in(somebody, clinic, "editor")
    open_page(page, clinic, "tickets", ticket)
    choice = page.locator(".ticket-bar").get_by_label(label)
    expect(choice.locator(f"option[value='{wanted}']")).to_have_count(1)
    before = choice.input_value()
    somebody.set_offline(True)
    choice.select_option(wanted)
    expect(page.locator(".notice.bad")).to_be_visible()
    expect(choice).to_have_value(before)

    somebody.set_offline(False)
    choice.select_option(wanted)
    expect(page.locator(".event", has_text=event)).to_be_visible()
    expect(choice).to_have_value(wanted)
