"""What a ticket shows when a change of it is refused, or its assignee has left, in a real browser."""

from playwright.sync_api import expect

from persistence.users import add_member, remove_member
from tests.console.pages import findings, open_page, sign_in, sign_in_at

CONTACTS, TICKETS = "/api/v2/contacts.json", "/api/v2/tickets.json"


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
