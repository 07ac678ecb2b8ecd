"""Whoever works by the keyboard or hears the page keeps their place, in a real browser."""

from playwright.sync_api import BrowserContext, expect

from tests.console.clinic import Clinic
from tests.console.pages import open_page, sign_in, sign_in_at

CONTACTS, TICKETS = "/api/v2/contacts.json", "/api/v2/tickets.json"


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


def test_after_a_record_is_deleted_the_focus_is_where_the_list_is_also_if_it_is_gone_before_its_question(
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
