"""What is done with several contacts is done with those that are shown, and with no other."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect
from sqlalchemy import func, insert, select, update

from persistence.tables.contacts import BLOCKED, contact
from testbed.running import wait_until
from tests.console.clinic import Clinic
from tests.console.pages import NARROW, findings, open_page, sign_in

CONTACTS, ACTIONS = "/api/v2/contacts.json", "/api/v2/contact_actions.json"
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


def test_only_contacts_that_are_shown_are_deleted_and_a_person_erased_once_the_name_is_typed(
    somebody: BrowserContext, clinic: Clinic, families: None
) -> None:
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

    made = clinic.service.post(CONTACTS, {"name": "Lost Person", "urns": ["tel:+250788000799"]})
    open_page(page, clinic, "contacts", made["uuid"])
    requests = page.get_by_role("region", name="Requests of this person")
    requests.get_by_role("button", name="Copy what is stored").click()
    with page.expect_download() as copied:
        requests.get_by_role("link", name="Download").click()
    assert copied.value.suggested_filename.endswith(".zip")

    requests.get_by_role("button", name="Erase this person").click()
    erase = question.get_by_role("button", name="Erase this person")
    expect(erase).to_be_disabled()
    assert findings(page, "before a person is erased") == []
    question.get_by_label("Type the name or number").fill("lost person ")
    erase.click()
    expect(page.get_by_role("heading", name="This contact does not exist")).to_be_visible()
    expect(requests).to_contain_text("Erasure")
    assert clinic.service.get(CONTACTS, urn="tel:+250788000799")["results"] == []


CROWD = 230


def crowd(clinic: Clinic, name: str) -> None:
    """More contacts than the API takes at once."""
    with clinic.service.database.writing() as tx:
        rows = [
            {
                "workspace_id": clinic.service.workspace.id,
                "name": f"{name} {number:03}",
                "fields": {},
                "created_on": tx.now,
                "modified_on": tx.now,
            }
            for number in range(CROWD)
        ]
        tx.execute(insert(contact), rows)


def choose_all(page: Page, name: str) -> None:
    page.get_by_label("Name, number or query").fill(name)
    # The list that was there before may have as many.
    expect(page.locator(".who")).to_have_text([re.compile(name)] * CROWD)
    page.get_by_label("Choose all that are shown").check()
    expect(page.get_by_role("toolbar")).to_contain_text(f"Chosen: {CROWD}")


def status_counts(clinic: Clinic, name: str) -> dict[str, int]:
    theirs = select(contact.c.status, func.count()).where(contact.c.name.like(f"{name}%")).group_by(contact.c.status)
    with clinic.service.database.reading() as tx:
        return {status: count for status, count in tx.execute(theirs)}


def members(clinic: Clinic, name: str) -> int:
    groups = clinic.service.get("/api/v2/groups.json")["results"]
    return int(next(group["count"] for group in groups if group["name"] == name))


def test_a_part_that_is_refused_or_not_begun_is_told_with_its_contacts_and_done_afterwards(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    clinic.service.post("/api/v2/groups.json", {"name": "Marchers"})
    crowd(clinic, "March")
    with clinic.service.database.reading() as tx:
        member = tx.execute(select(contact.c.uuid).where(contact.c.name == "March 000")).scalar_one()
    joining = {"contacts": [member], "action": "add", "group": "Marchers", "list_changed": True}
    assert clinic.service.post(ACTIONS, joining)["changed"] == [member]
    page = sign_in(somebody, clinic, "editor", place="contacts")
    choose_all(page, "March")
    name = page.locator(".who bdi").nth(150).inner_text().strip()
    same = update(contact).where(contact.c.name == name)
    with clinic.service.database.writing() as tx:
        tx.execute(same.values(status=BLOCKED))
    page.get_by_role("button", name="Put into a group").click()
    shown = page.get_by_role("dialog")
    shown.get_by_label("Group").select_option("Marchers")
    shown.get_by_role("button", name="Save").click()
    expect(shown.get_by_role("heading")).to_have_text(f"Done for 130 of {CROWD} contacts")
    expect(shown.get_by_role("alert")).to_have_text("Only active contacts can be in groups.")
    left = shown.locator("details", has_text="Not done: 100")
    expect(left.get_by_role("link")).to_have_count(100)
    expect(left.get_by_role("link", name=name)).to_be_visible()
    shown.get_by_text("Done: 130", exact=True).click()
    expect(shown.locator("details", has_text="Done: 130").get_by_role("link")).to_have_count(130)
    assert findings(page, "a part was refused") == []

    with clinic.service.database.writing() as tx:
        tx.execute(same.values(status="active"))
    shown.get_by_role("button", name="Try again").click()
    expect(page.locator(".notice")).to_contain_text(f"Done. Contacts: {CROWD}")
    assert members(clinic, "Marchers") == CROWD
    page.locator(".notice").get_by_role("button", name="Undo").click()
    expect(page.locator(".notice")).to_have_text("Undone.")
    assert members(clinic, "Marchers") == 1  # who was in it before
    the_rest_is_left_or_done_in_parts(page, clinic)


def the_rest_is_left_or_done_in_parts(page: Page, clinic: Clinic) -> None:
    shown = page.get_by_role("dialog")
    crowd(clinic, "Halt")
    choose_all(page, "Halt")
    asked = list[Route]()
    page.route("**/api/v2/contact_actions.json", lambda route: asked.append(route))
    page.get_by_role("toolbar").get_by_role("button", name="Archive their messages").click()
    wait_until(lambda: page.locator("main").count() and asked, "the first part to be asked for")
    assert findings(page, "part by part") == []
    shown.get_by_role("button", name="Stop here").click()
    expect(shown.get_by_role("button", name="Stop here")).to_be_disabled()
    asked.pop().continue_()
    expect(shown.get_by_role("heading")).to_have_text(f"Done for 100 of {CROWD} contacts")
    expect(shown.locator("details", has_text="Not done: 130").get_by_role("link")).to_have_count(130)
    shown.get_by_role("button", name="Close").last.click()
    expect(page.get_by_role("toolbar")).to_contain_text("Chosen: 130")
    assert asked == []

    page.get_by_role("toolbar").get_by_role("button", name="Block", exact=True).click()
    expect(shown.get_by_role("heading")).to_have_text("Block? Contacts: 130")
    shown.get_by_role("button", name="Block").click()
    for done in (0, 100):
        expect(shown.get_by_role("status")).to_have_text(f"Done: {done} of 130")
        wait_until(lambda: page.locator("main").count() and asked, "the next part to be asked for")
        asked.pop().continue_()
    expect(page.locator(".notice", has_text="Done. Contacts: 130")).to_be_visible()  # the one before may still be there
    expect(shown).to_have_count(0)
    assert status_counts(clinic, "Halt") == {"active": 100, "blocked": 130}


def test_all_that_match_are_chosen_blocked_by_a_worker_and_the_page_tells_how_far_it_is(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    for _ in range(2):  # more than a page of the list
        crowd(clinic, "Legion")
    clinic.service.post(CONTACTS, {"name": "Bystander"})  # the newest, so that the list of everybody begins with it
    everybody = 2 * CROWD
    page = sign_in(somebody, clinic, "editor", place="contacts")
    page.get_by_label("Name, number or query").fill("Legion")
    expect(page.locator(".who", has_text="Legion")).to_have_count(250)
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("menuitemcheckbox", name="Language").click()
    expect(page.get_by_role("columnheader", name="Language")).to_be_visible()
    page.get_by_label("Choose all that are shown").check()
    page.get_by_role("button", name=f"Choose all that match: {everybody}").click()
    toolbar, question = page.get_by_role("toolbar"), page.get_by_role("dialog")
    expect(toolbar).to_contain_text(f"Chosen: {everybody}")
    toolbar.get_by_role("button", name="Start a flow").click()
    expect(question.get_by_label("Also to contacts that match a query")).to_have_value("Legion")
    expect(question.get_by_text(f"{everybody} contacts match the query now.")).to_be_visible()
    assert findings(page, "a flow for all who match") == []
    question.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator(".notice")).to_have_text("The flow starts now.")
    assert clinic.service.get("/api/v2/flow_starts.json")["results"][0]["query"] == "Legion"
    toolbar.get_by_role("button", name="Block", exact=True).click()
    expect(question.get_by_role("heading")).to_have_text(f"Block? Contacts: {everybody}")
    question.get_by_role("button", name="Block").click()

    job = page.get_by_role("region", name="Block")
    expect(job.get_by_role("status")).to_have_text(f"{everybody} of {everybody} contacts")
    expect(job).to_contain_text("done")
    expect(page.get_by_role("heading", name="No contact found")).to_be_visible()
    assert status_counts(clinic, "Legion") == {"blocked": everybody}
    assert status_counts(clinic, "Bystander") == {"active": 1}
    page.get_by_label("Name, number or query").fill('status = blocked AND name = "Legion 001"')
    expect(page.locator(".who")).to_have_count(2)
    expect(page.get_by_role("columnheader", name="Language")).to_be_visible()
    page.set_viewport_size(NARROW)
    assert findings(page, "cards of contacts") == []

    page.get_by_label("Name, number or query").fill("")
    expect(page.locator(".who")).to_have_count(250)
    page.get_by_label("Choose all that are shown").check()
    page.get_by_role("button", name="Choose all that match").click()
    toolbar.get_by_role("button", name="Bring their messages back").click()
    question.get_by_role("button", name="Bring their messages back").click()
    back = page.get_by_role("region", name="Bring their messages back")
    expect(back).to_contain_text("done")
