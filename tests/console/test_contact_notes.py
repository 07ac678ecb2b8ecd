"""Somebody who notes something on a contact has it noted once."""

from collections.abc import Callable

from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from tests.console.clinic import Clinic
from tests.console.pages import HeldBack, open_page, sign_in_at

CONTACTS, NOTES = "/api/v2/contacts.json", "/api/v2/contact_notes.json"


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
