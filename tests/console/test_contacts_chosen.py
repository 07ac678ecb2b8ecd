"""What is done with several contacts is done with those that are shown, and with no other."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.console.clinic import Clinic
from tests.console.pages import findings, sign_in

CONTACTS = "/api/v2/contacts.json"
FAMILIES = {"Away Family": ("+250788000701", "+250788000702"), "Here Person": ("+250788000703",)}


@pytest.fixture(scope="module")
def families(clinic: Clinic) -> None:
    for name, numbers in FAMILIES.items():
        for number in numbers:
            clinic.service.post(CONTACTS, {"name": name, "urns": [f"tel:{number}"]})


def known(clinic: Clinic, name: str) -> list[str | None]:
    """The status of each contact of this family."""
    pages = [clinic.service.get(CONTACTS, urn=f"tel:{number}")["results"] for number in FAMILIES[name]]
    return [contact["status"] for page in pages for contact in page]


def search(page: Page, name: str) -> None:
    page.get_by_label("Name, number or query").fill(name)
    expect(page.locator(".who")).to_have_text([re.compile(name)] * len(FAMILIES[name]))


def test_only_contacts_that_are_shown_are_deleted(somebody: BrowserContext, clinic: Clinic, families: None) -> None:
    page = sign_in(somebody, clinic, "administrator", place="contacts")
    bar, question = page.get_by_role("toolbar"), page.get_by_role("dialog")
    search(page, "Away Family")
    page.get_by_label("Choose all that are shown").check()
    expect(bar).to_contain_text("Chosen: 2")
    search(page, "Here Person")
    expect(bar).to_have_count(0)
    page.get_by_label("Choose Here Person").check()
    expect(bar).to_contain_text("Chosen: 1")

    page.get_by_role("button", name="Delete", exact=True).click()
    expect(question.get_by_role("heading")).to_have_text("Delete for good? Contacts: 1")
    question.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="No contact found")).to_be_visible()

    assert known(clinic, "Here Person") == []
    assert known(clinic, "Away Family") == ["active", "active"]
    search(page, "Away Family")
    expect(page.get_by_role("checkbox", checked=True)).to_have_count(0)


def test_the_question_before_blocking_tells_how_many_contacts_it_is_about(
    somebody: BrowserContext, clinic: Clinic, families: None
) -> None:
    page = sign_in(somebody, clinic, "editor", place="contacts")
    search(page, "Away Family")
    page.get_by_label("Choose all that are shown").check()
    page.get_by_role("toolbar").get_by_role("button", name="Block", exact=True).click()
    question = page.get_by_role("dialog")
    expect(question.get_by_role("heading")).to_have_text("Block? Contacts: 2")
    assert findings(page, "before blocking two") == []
    question.get_by_role("button", name="Block").click()
    expect(question).to_have_count(0)
    assert known(clinic, "Away Family") == ["blocked", "blocked"]
