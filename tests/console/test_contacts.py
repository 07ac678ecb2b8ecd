"""People look after contacts in a real browser, make smart groups, and see what uses a record before they delete it."""

import re
from typing import Any

from playwright.sync_api import BrowserContext, Locator, Page, expect

from persistence.definitions.importing import import_definitions
from testbed.running import wait_until
from tests.console.clinic import Clinic
from tests.console.pages import findings, open_page, sign_in
from tests.console.test_triggers import on_every_screen

CONTACTS, MESSAGES, GROUPS = "/api/v2/contacts.json", "/api/v2/messages.json", "/api/v2/groups.json"

SMART_GROUP = {"uuid": "0d6ac0a5-2d0c-4f0a-9a3e-5d2c1b7f8a10", "name": "From Rubavu", "query": "district = Rubavu-Test"}
NOTHING = {
    "version": "13",
    "site": "https://relayboard.example.org",
    "flows": [],
    "campaigns": [],
    "triggers": [],
    "fields": [],
}


def found(clinic: Clinic, number: str) -> dict[str, object]:
    contacts = clinic.service.get(CONTACTS, urn=f"tel:{number}")["results"]
    return contacts[0] if contacts else {}


def completions(page: Page) -> Locator:
    return page.locator("#query-words option")


def test_contacts_are_sorted_and_a_query_is_completed_as_it_is_typed_and_says_what_is_wrong(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    page = sign_in(somebody, clinic, "viewer", place="contacts")
    expect(page.get_by_role("columnheader", name="Name")).to_have_attribute("aria-sort", "none")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitemradio", name="Longest unchanged first").click()
    expect_first(page, clinic, reverse="true")
    page.get_by_role("button", name="Name").click()
    expect_first(page, clinic, sort="name")
    page.get_by_role("button", name="Name").click()
    expect_first(page, clinic, sort="name", reverse="true")
    expect(page.get_by_role("columnheader", name="Name")).to_have_attribute("aria-sort", "descending")

    search = page.get_by_label("Name, number or query")
    search.press_sequentially("dist")
    expect(completions(page)).to_have_count(1)
    expect(completions(page).first).to_have_attribute("value", "district ")
    search.fill("district ")
    expect(completions(page).first).to_have_attribute("value", "district = ")
    search.fill('district = "Gasabo"')
    expect(page).to_have_url(re.compile("search="))
    expect(page.locator(".waiting")).to_have_count(0)
    expected = clinic.service.get(CONTACTS, query='district = "Gasabo"')["results"]
    assert len(expected) > 0
    expect(page.locator(".who")).to_have_count(len(expected))
    search.fill("distrikt = Gasabo")
    expect(page.get_by_role("alert")).to_contain_text("distrikt")
    search.fill("name = nobody-is-called-so")
    expect(page.get_by_role("heading", name="No contact found")).to_be_visible()


def expect_first(page: Page, clinic: Clinic, **asked: str) -> None:
    first = clinic.service.get(CONTACTS, **asked)["results"][0]
    expect(page.locator(".who").first).to_have_attribute("href", f"#/contacts/{first['uuid']}")


def test_a_contact_is_made_edited_noted_and_blocked_and_smart_groups_count_along(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    with clinic.service.database.writing() as tx:
        import_definitions(tx, clinic.service.workspace, {**NOTHING, "groups": [SMART_GROUP]})
    page = sign_in(somebody, clinic, "editor", place="contacts")
    choice = page.get_by_role("combobox", name="Group")
    expect(choice).to_contain_text("From Rubavu (0)")
    page.get_by_role("button", name="New contact").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name").fill("Claudine")
    form.get_by_label("Phone or other address").fill("+250788000601")
    form.get_by_label("Expecting mothers").check()
    form.get_by_label("District").fill("Rubavu-Test")
    form.get_by_label("Due Date").fill("2027-01-31")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Claudine")).to_be_visible()
    expect(page.locator(".facts", has_text="District")).to_contain_text("Rubavu-Test")
    page.get_by_role("button", name="Edit", exact=True).click()
    form.get_by_label("Name").fill("Claudine U.")
    form.get_by_label("Phone or other address").fill("+250788000601\n+250788000602")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Claudine U.")).to_be_visible()
    expect(page.locator(".facts").first).to_contain_text("+250788000602")
    page.get_by_label("Write a note").fill("Prefers mornings")
    page.get_by_label("Write a note").press("Enter")
    expect(page.locator(".history-line", has_text="Prefers mornings")).to_be_visible()
    open_page(page, clinic, "contacts")
    expect(choice).to_contain_text("From Rubavu (1)")
    choice.select_option(label="From Rubavu (1)")
    expect(page.locator(".who")).to_have_text(re.compile("Claudine U."))

    page.locator(".who").click()
    page.get_by_role("button", name="Block").click()
    assert findings(page, "before blocking") == []
    form.get_by_role("button", name="Block").click()
    expect(page.locator(".badge", has_text="Blocked")).to_be_visible()
    assert found(clinic, "+250788000601")["status"] == "blocked"
    page.get_by_role("button", name="Unblock").click()
    expect(page.locator(".badge", has_text="Blocked")).to_have_count(0)
    kept = found(clinic, "+250788000602")
    assert (kept["name"], kept["status"]) == ("Claudine U.", "active")


def test_several_contacts_go_into_a_group_have_their_messages_archived_and_are_deleted(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    clinic.service.post(GROUPS, {"name": "Volunteers"})
    numbers = ("+250788000611", "+250788000612")
    for number in numbers:
        clinic.phone.receive_sms(number, "I want to help")
    clinic.sync()
    wait_until(lambda: all(found(clinic, number) for number in numbers), "both to be known")
    page = sign_in(somebody, clinic, "administrator", place="contacts")
    page.get_by_label("Name, number or query").fill(" or ".join(f"tel = {number}" for number in numbers))
    expect(page.locator(".who")).to_have_count(2)
    form = page.get_by_role("dialog")

    def choose_both() -> None:
        page.get_by_label("Choose all that are shown").check()
        expect(page.get_by_role("toolbar")).to_contain_text("Chosen: 2")

    choose_both()
    assert findings(page, "two chosen") == []
    page.get_by_role("button", name="Put into a group").click()
    form.get_by_label("Group").select_option("Volunteers")
    form.get_by_role("button", name="Save").click()
    expect(page.locator("td .tag", has_text="Volunteers")).to_have_count(2)
    choose_both()
    page.get_by_role("button", name="Archive their messages").click()
    expect(page.get_by_role("toolbar")).to_have_count(0)  # once it is done nobody is chosen
    archived = clinic.service.get(MESSAGES, folder="archived")["results"]
    assert [each["text"] for each in archived].count("I want to help") == 2
    choose_both()
    page.get_by_role("button", name="Delete", exact=True).click()
    form.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="No contact found")).to_be_visible()
    assert not any(found(clinic, number) for number in numbers)


def group_named(clinic: Clinic, name: str) -> dict[str, Any]:
    (found,) = (group for group in clinic.service.get(GROUPS)["results"] if group["name"] == name)
    return dict(found)


def test_a_search_is_kept_as_a_group_that_fills_itself_and_what_is_in_use_says_by_what(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    for number, district in (("0751", "Nyarugenge"), ("0752", "Nyarugenge"), ("0753", "Rulindo")):
        clinic.service.post(CONTACTS, {"urns": [f"tel:+25078800{number}"], "fields": {"district": district}})
    page = sign_in(somebody, clinic, "editor", place="contacts")
    page.get_by_label("Name, number or query").fill("district = Nyarugenge")
    expect(page.locator(".page-header .faint")).to_have_text("2")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Save the search as a group").click()
    page.get_by_label("Name", exact=True).fill("People of Nyarugenge")
    on_every_screen(page, "the form of a smart group")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_label("Group", exact=True).locator("option:checked")).to_contain_text("People of Nyarugenge")
    expect(page.locator(".who")).to_have_count(2)
    assert group_named(clinic, "People of Nyarugenge")["query"] == 'fields.district = "Nyarugenge"'
    open_page(page, clinic, "settings/groups")
    page.get_by_role("button", name="Edit People of Nyarugenge").click()
    page.get_by_label("Who is in it by itself").fill("district = Rulindo")
    page.get_by_role("button", name="Save").click()
    wait_until(lambda: group_named(clinic, "People of Nyarugenge")["count"] == 1, "a worker to fill the group anew")

    group = clinic.service.post(GROUPS, {"name": "In a campaign"})
    campaign = {"name": "Monthly visit", "group": group["uuid"]}
    campaign = clinic.service.post("/api/v2/campaigns.json", campaign)
    open_page(page, clinic, "campaigns")
    open_page(page, clinic, "settings/groups")
    page.get_by_role("button", name="Delete In a campaign").click()
    expect(page.get_by_role("heading", name="In a campaign is in use")).to_be_visible()
    on_every_screen(page, "what uses a group")
    page.get_by_role("dialog").get_by_role("link", name="Monthly visit").click()
    expect(page.get_by_role("heading", name="Monthly visit")).to_be_visible()
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Archive").click()
    expect(page.get_by_text("The campaign is put away")).to_be_visible()

    open_page(page, clinic, "settings/groups")
    page.get_by_role("button", name="Delete In a campaign").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("In a campaign")).to_have_count(0)
