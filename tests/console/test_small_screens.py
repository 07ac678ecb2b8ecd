"""What people with a phone reach in a real browser: every page, their other workspaces, and each thing of a record."""

from playwright.sync_api import BrowserContext, ViewportSize, expect

from persistence.users import add_member
from persistence.workspaces.writes import create_workspace
from tests.console.clinic import Clinic
from tests.console.pages import open_page, sign_in

PHONE: ViewportSize = {"width": 390, "height": 844}


def test_settings_lead_to_the_other_pages_and_buttons_stay_beside_their_record_on_a_phone(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    page = sign_in(somebody, clinic, "administrator", place="settings/users")
    page.set_viewport_size(PHONE)
    for place, name in (("users", "Joel Agent"), ("groups", "Expecting mothers")):
        open_page(page, clinic, "settings", place)
        row = page.locator(".records li", has_text=name)
        expect(row).to_be_visible()
        rings = [button.bounding_box() for button in row.get_by_role("button").all()]
        tops = {round(ring["y"] + ring["height"] / 2) for ring in rings if ring}
        assert len(rings) == 2 and len(tops) == 1

    open_page(page, clinic, "settings")
    page.get_by_role("link", name="Your account").click()
    expect(page.get_by_label("First name")).to_be_visible()
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Inbox").click()
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()


def test_a_person_of_several_workspaces_changes_between_them_on_a_phone(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    with clinic.service.database.writing() as tx:
        other = create_workspace(tx, "Hillside Health", country="RW", timezone="Africa/Kigali")
        add_member(tx, other.id, clinic.email("viewer"), "editor")
    page = sign_in(somebody, clinic, "viewer")
    page.set_viewport_size(PHONE)
    page.get_by_role("button", name="You and your language").click()
    page.get_by_role("menuitemradio", name="Hillside Health").click()
    expect(page).to_have_title("Overview · Hillside Health")
