"""People make smart groups in a real browser, and see what uses a record before they delete it."""

from typing import Any

from playwright.sync_api import BrowserContext, expect

from testbed.running import wait_until
from tests.console.clinic import Clinic
from tests.console.pages import open_page, sign_in
from tests.console.test_triggers import on_every_screen

CONTACTS, GROUPS = "/api/v2/contacts.json", "/api/v2/groups.json"


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
