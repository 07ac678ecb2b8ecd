"""Conversations of which not everything is as it should be, in a real browser."""

from uuid import uuid4

import requests
from playwright.sync_api import expect
from sqlalchemy import update

from persistence.tables.messages import message
from tests.console.pages import NARROW, WIDE, HeldBack, findings, open_page, sign_in

CONTACTS, MESSAGES = "/api/v2/contacts.json", "/api/v2/messages.json"


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
