"""Whoever looks at a contact or edits it changes what they touched, and nothing else."""

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from persistence.contacts.bulk import block_contacts
from persistence.definitions.importing import import_definitions
from testbed.running import wait_until
from tests.console.clinic import Clinic
from tests.console.pages import findings, open_page, sign_in
from tests.factories import id_of

CONTACTS, GROUPS, FIELDS = "/api/v2/contacts.json", "/api/v2/groups.json", "/api/v2/fields.json"
SMART_GROUP = {"uuid": "0d6ac0a5-2d0c-4f0a-9a3e-5d2c1b7f8a11", "name": "Kept and smart", "query": "district = Kept"}
DEFINITIONS: dict[str, Any] = {
    "version": "13",
    "site": "https://relayboard.example.org",
    "flows": [],
    "campaigns": [],
    "triggers": [],
    "fields": [],
    "groups": [SMART_GROUP],
}


def make(clinic: Clinic, number: str, **properties: Any) -> str:
    """The UUID of a new contact."""
    uuid: str = clinic.service.post(CONTACTS, {"urns": [f"tel:{number}"], **properties})["uuid"]
    return uuid


def stored(clinic: Clinic, uuid: str) -> dict[str, Any]:
    (contact,) = clinic.service.get(CONTACTS, uuid=uuid)["results"]
    return dict(contact)


def names(contact: dict[str, Any]) -> list[str]:
    return sorted(group["name"] for group in contact["groups"])


def edit(page: Page, clinic: Clinic, uuid: str) -> None:
    open_page(page, clinic, "contacts", uuid)
    page.get_by_role("button", name="Edit", exact=True).click()


def save(page: Page) -> None:
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.fixture(scope="module")
def groups(clinic: Clinic) -> None:
    for name in ("Kept one", "Kept two"):
        clinic.service.post(GROUPS, {"name": name})
    with clinic.service.database.writing() as tx:
        import_definitions(tx, clinic.service.workspace, DEFINITIONS)


def test_a_contact_stays_in_its_groups_if_the_list_of_groups_does_not_arrive(
    somebody: BrowserContext, clinic: Clinic, groups: None
) -> None:
    uuid = make(clinic, "+250788000711", name="Grouped", groups=["Kept one", "Kept two"])
    page = sign_in(somebody, clinic, "editor", place="settings/account")
    page.route("**/api/v2/groups.json*", lambda route: route.abort())
    edit(page, clinic, uuid)
    page.get_by_role("dialog").get_by_label("Name").fill("Grouped still")
    save(page)
    expect(page.get_by_role("heading", name="Grouped still")).to_be_visible()
    assert names(stored(clinic, uuid)) == ["Kept one", "Kept two"]


def test_a_form_changes_its_own_tick_and_keeps_what_is_typed_while_others_change_the_contact(
    somebody: BrowserContext, clinic: Clinic, groups: None
) -> None:
    uuid = make(clinic, "+250788000712", name="Ticked", groups=["Kept one"], fields={"district": "Kept"})
    wait_until(lambda: len(names(stored(clinic, uuid))) == 2, "the smart group to have the contact")
    page = sign_in(somebody, clinic, "editor", place="contacts")
    edit(page, clinic, uuid)
    page.get_by_role("dialog").get_by_label("Kept two").check()
    save(page)
    expect(page.locator("a.tag")).to_have_count(3)
    assert names(stored(clinic, uuid)) == ["Kept and smart", "Kept one", "Kept two"]
    edit(page, clinic, uuid)
    page.get_by_role("dialog").get_by_label("Kept one").uncheck()
    save(page)
    expect(page.locator("a.tag")).to_have_count(2)
    assert names(stored(clinic, uuid)) == ["Kept and smart", "Kept two"]

    uuid = make(clinic, "+250788000734", name="Before", language="eng", groups=["Kept one"])
    conversation = somebody.new_page()
    open_page(conversation, clinic, "inbox", uuid)
    edit(page, clinic, uuid)
    form, facts, tags = page.get_by_role("dialog"), page.locator(".facts div"), page.locator("a.tag")
    form.get_by_label("District").fill("Nyagatare")
    elsewhere = {"name": "After", "groups": ["Kept two"], "fields": {"due_date": "2027-01-31"}, "language": "kin"}
    clinic.service.post(f"{CONTACTS}?uuid={uuid}", elsewhere)
    expect(page.locator("main h1")).to_have_text("After")
    expect(conversation.locator(".thread-who h2")).to_have_text("After")
    expect(tags).to_have_text("Kept two")
    expect(facts.filter(has_text="Due Date").locator("dd")).to_have_text("31 Jan 2027")
    expect(form.get_by_label("District")).to_have_value("Nyagatare")

    page.route(
        f"**{CONTACTS}?uuid=*", lambda route: route.abort() if route.request.method == "GET" else route.continue_()
    )
    with page.expect_event("requestfailed"):
        clinic.service.post(f"{CONTACTS}?uuid={uuid}", {"name": "After all"})
    expect(form.get_by_label("District")).to_have_value("Nyagatare")
    page.unroute_all()
    form.get_by_label("Kept one").uncheck()
    save(page)
    expect(facts.filter(has_text="District").locator("dd")).to_have_text("Nyagatare")
    expect(tags).to_have_text("Kept two")
    contact = stored(clinic, uuid)
    assert (contact["name"], contact["language"], names(contact)) == ("After all", "kin", ["Kept two"])
    assert (contact["fields"]["district"], contact["fields"]["due_date"][:10]) == ("Nyagatare", "2027-01-31")

    with clinic.service.database.writing() as tx:
        block_contacts(tx, clinic.service.workspace.id, [id_of(clinic.service.database, uuid)])
    expect(page.locator(".badge", has_text="Blocked")).to_be_visible()
    expect(conversation.locator(".reply-closed")).to_be_visible()


def test_agents_write_only_into_fields_that_they_may_edit(somebody: BrowserContext, clinic: Clinic) -> None:
    clinic.service.post(FIELDS, {"name": "Village", "type": "text", "agent_access": "edit"})
    uuid = make(clinic, "+250788000731", name="Asked", fields={"district": "Gasabo", "village": "Kinyinya"})
    page = sign_in(somebody, clinic, "agent", place="contacts")
    edit(page, clinic, uuid)
    form = page.get_by_role("dialog")
    for closed in ("District", "Due Date"):
        expect(form.get_by_label(closed)).to_be_disabled()
    expect(form.get_by_label("District")).to_have_value("Gasabo")
    assert findings(page, "an agent's form") == []
    form.get_by_label("Name").fill("Asked and answered")
    form.get_by_label("Village").fill("Gisozi")
    save(page)
    expect(page.get_by_role("heading", name="Asked and answered")).to_be_visible()
    contact = stored(clinic, uuid)
    assert contact["name"] == "Asked and answered"
    assert (contact["fields"]["district"], contact["fields"]["village"]) == ("Gasabo", "Gisozi")


def test_each_type_of_field_has_its_input_and_a_text_that_looks_like_a_time_stays_a_text(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    for name, kind in (("Children", "number"), ("Visit", "datetime"), ("Ward Of Birth", "ward")):
        clinic.service.post(FIELDS, {"name": name, "type": kind})
    given = {"children": "3", "visit": "2027-03-02T10:30:00+02:00", "due_date": "2027-01-31", "district": "Gasabo"}
    uuid = make(clinic, "+250788000733", name="Of all types", fields=given)
    page = sign_in(somebody, clinic, "editor", place="settings/account")
    edit(page, clinic, uuid)
    form, facts = page.get_by_role("dialog"), page.locator(".facts div")
    types = {"Children": "number", "Visit": "datetime-local", "Due Date": "date", "District": "text"}
    for label, kind in {**types, "Ward Of Birth": "text"}.items():
        expect(form.get_by_label(label)).to_have_attribute("type", kind)
    expect(form.get_by_label("Visit")).to_have_value("2027-03-02T10:30")
    expect(facts.filter(has_text="Visit").locator("dd")).to_have_text("2 Mar 2027, 10:30")
    expect(facts.filter(has_text="Due Date").locator("dd")).to_have_text("31 Jan 2027")
    assert findings(page, "fields of all types") == []
    form.get_by_label("Children").fill("2.5")
    form.get_by_label("Visit").fill("2027-03-09T11:00")
    save(page)
    fields = stored(clinic, uuid)["fields"]
    assert (fields["children"], fields["visit"][:16], fields["due_date"][:10]) == (
        "2.5",
        "2027-03-09T11:00",
        "2027-01-31",
    )
    open_page(page, clinic, "inbox", uuid)
    expect(page.locator(".person-panel")).to_contain_text("9 Mar 2027, 11:00")

    text, other = "2026-13-45T10:00", "2026-01-02T10:00 visit"
    uuid = make(clinic, "+250788000721", fields={"district": text, "due_date": "2019-01-31"})
    due = stored(clinic, uuid)["fields"]["due_date"]
    edit(page, clinic, uuid)
    expect(page.locator(".facts div", has_text="District").locator("dd")).to_have_text(text)
    expect(page.locator(".facts div", has_text="Due Date").locator("dd")).to_have_text("31 Jan 2019")
    expect(form.get_by_label("District")).to_have_value(text)
    expect(form.get_by_label("Due Date")).to_have_value("2019-01-31")
    form.get_by_label("District").fill(other)
    save(page)
    expect(page.locator(".facts div", has_text="District").locator("dd")).to_have_text(other)
    fields = stored(clinic, uuid)["fields"]
    assert (fields["district"], fields["due_date"]) == (other, due)
