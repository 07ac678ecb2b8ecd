"""Conversations of which not everything is as it should be, in a real browser."""

import pytest
from playwright.sync_api import expect
from sqlalchemy import update

from persistence.tables.messages import message
from tests.console.pages import open_page, sign_in

CONTACTS, MESSAGES = "/api/v2/contacts.json", "/api/v2/messages.json"


@pytest.mark.parametrize(
    ("number", "url", "name"),
    [
        ("+250788000801", "https://files.example.org/report 100%.pdf", "report 100%.pdf"),
        ("+250788000802", "https://files.example.org/report%20100%25.pdf", "report 100%.pdf"),
        ("+250788000803", "https://files example.org/report.pdf", "report.pdf"),
    ],
)
def test_a_message_is_shown_whatever_the_address_of_its_file_is(somebody, clinic, number, url, name):
    contact = clinic.service.post(CONTACTS, {"urns": [f"tel:{number}"]})["uuid"]
    sent = clinic.service.post(MESSAGES, {"contact": contact, "text": "Here it is"})
    with clinic.service.database.writing() as tx:
        files = [{"content_type": "application/pdf", "url": url}]
        tx.execute(update(message).where(message.c.uuid == sent["uuid"]).values(attachments=files))
    page = sign_in(somebody, clinic, "viewer")
    open_page(page, clinic, "inbox", contact)

    expect(page.locator(".message.out .text")).to_have_text("Here it is")
    expect(page.locator(".message.out .file")).to_have_text(name)
