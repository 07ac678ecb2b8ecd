"""People change the workspace and their own account in a real browser."""

import re

import pyotp
import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page, expect

from persistence.accounts.accounts import set_password
from persistence.accounts.passwords import Passwords
from persistence.resthooks import ensure_resthook
from persistence.users import add_member, find_member
from tests.channels.webchat.conftest import serving
from tests.console.clinic import PASSWORD, Clinic
from tests.console.conftest import new_context
from tests.console.pages import NARROW, findings, open_page, sign_in
from tests.thinned import EVERY_CASE

PAGES = ("teams", "audit", "fields", "resthooks/new-registration", "tokens", "account")
"""Those that the walk through every page (test_console.py) does not open."""
LIKE_FIELDS = ("labels", "topics", "groups", "optins", "saved_replies", "globals", "resthooks")
"""What is listed and written in the same way as fields, by the same module."""


def hire(clinic: Clinic, name: str, role: str) -> None:
    """A user of the workspace whom no other test knows."""
    workspace, email, password = clinic.service.workspace, clinic.email(name), Passwords().hash(PASSWORD)
    with clinic.service.database.writing() as tx:
        add_member(tx, workspace.id, email, role, first_name=name.title())
        set_password(tx, find_member(tx, workspace.id, email) or 0, password)


def submit(page: Page, name: str) -> None:
    page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()


def section(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Settings").get_by_role("link", name=name, exact=True).click()


def set_up_workspace(page: Page, clinic: Clinic) -> None:
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Name").fill("Lakeside Health")
    page.get_by_label("Country").select_option("Kenya")
    page.get_by_label("Time zone").select_option("Africa/Nairobi")
    for language in ("Swahili", "Kinyarwanda"):
        page.get_by_label("Languages").select_option(language)
    page.get_by_role("button", name="Remove English").click()
    page.reload()
    page.get_by_role("button", name="Edit").click()
    expect(page.locator(".chosen li")).to_have_text(["Swahili", "Kinyarwanda"])
    page.get_by_label("Automatic answers in five minutes").fill("20")
    page.get_by_label("Numbers that people write").select_option("1.234,5")
    submit(page, "Save")
    expect(page.locator(".workspace-name")).to_have_text("Lakeside Health")
    expect(page.locator(".facts")).to_contain_text("1.234,5")
    saved = clinic.service.get("/api/v2/workspace.json")
    assert (saved["country"], saved["timezone"], saved["languages"]) == ("KE", "Africa/Nairobi", ["swa", "kin"])
    assert saved["answer_limit"] == 20


def set_up_users(page: Page) -> None:
    section(page, "Users")
    page.get_by_role("button", name="Invite").click()
    page.get_by_label("E-mail address").fill("grace@example.org")
    page.get_by_role("radio", name="Viewer").check()
    submit(page, "Invite")
    expect(page.locator(".secret-box")).to_contain_text("/#/invitation/rbi_")
    page.keyboard.press("Escape")
    expect(page.locator(".records li", has_text="grace@example.org")).to_contain_text("Viewer")
    page.get_by_role("button", name="Edit Zuri").click()
    page.get_by_role("radio", name="Agent").check()
    submit(page, "Save")
    expect(page.locator(".records li", has_text="zuri@example.org")).to_contain_text("Agent")


def set_up_team(page: Page, clinic: Clinic) -> None:
    section(page, "Teams")
    page.get_by_role("button", name="Add").click()
    page.get_by_label("Name").fill("Night shift")
    page.get_by_role("checkbox", name="General").check()
    page.get_by_role("checkbox", name="Zuri").check()
    page.get_by_label("Mon: from").fill("08:00")
    page.get_by_label("Mon: until").fill("17:00")
    page.get_by_label("Holiday 1").fill("2026-12-25")
    page.get_by_label("Holiday 2").fill("2026-12-24")
    page.get_by_label("Answer outside of these hours").fill("Tomorrow")
    page.get_by_label("First reply within (minutes of work)").fill("90")
    submit(page, "Save")
    expect(page.locator(".records li", has_text="Night shift")).to_contain_text("General · Zuri")
    (team,) = clinic.service.get("/api/v2/teams.json")["results"]
    assert team["hours"] == [{"day": "mon", "opens": "08:00", "closes": "17:00"}]
    assert team["holidays"] == ["2026-12-24", "2026-12-25"]
    assert (team["closed_text"], team["reply_minutes"]) == ("Tomorrow", 90)


def make_and_revoke_token(page: Page) -> str:
    """Its secret."""
    section(page, "API tokens")
    page.get_by_role("button", name="New token").click()
    page.get_by_label("What it is for").fill("Website")
    page.get_by_label("messages").check()
    submit(page, "Add")
    secret = page.locator(".secret-box").inner_text()
    assert re.fullmatch(r"rb_[0-9a-f]{12}_[\w-]{43}", secret)
    page.keyboard.press("Escape")
    line = page.locator(".records li", has_text="Website")
    expect(line).to_contain_text("only reads")
    line.get_by_role("button", name="Revoke Website").click()
    submit(page, "Revoke")
    expect(line).to_have_count(0)
    return secret


def test_an_administrator_sets_up_the_workspace_and_the_log_tells(somebody, clinic):
    hire(clinic, "zuri", "viewer")
    page = sign_in(somebody, clinic, "administrator", "settings")
    set_up_workspace(page, clinic)
    set_up_users(page)
    set_up_team(page, clinic)
    secret = make_and_revoke_token(page)

    section(page, "Audit log")
    for action, resource, name in (
        ("deleted", "API token", secret[3:15]),
        ("created", "API token", secret[3:15]),
        ("changed", "User", "zuri@example.org"),
        ("created", "Invitation", "grace@example.org"),
        ("changed", "Workspace", "Lakeside Health"),
    ):
        told = page.locator(".audit > li", has_text=resource).filter(has_text=action).filter(has_text=name)
        expect(told).to_contain_text("administrator@example.org")
    expect(page.locator(".audit")).not_to_contain_text(secret[16:])
    page.get_by_label("What").select_option("Workspace")
    expect(page.locator(".audit > li")).to_have_count(1)
    expect(page.locator(".changes")).to_contain_text("Riverside Health")
    page.get_by_label("What").select_option("All")
    page.get_by_label("Change").select_option("read")
    expect(page.get_by_role("heading", name="Nothing here yet")).to_be_visible()


def test_a_second_factor_is_set_up_and_then_asked_for(somebody, clinic):
    hire(clinic, "amina", "agent")
    page = sign_in(somebody, clinic, "amina", "settings/account")
    page.get_by_role("button", name="Set up").click()
    page.get_by_role("dialog").get_by_label("Present password").fill(PASSWORD)
    submit(page, "Continue")
    expect(page.locator(".qr-code")).to_be_visible()
    key = page.get_by_role("dialog").locator("code").inner_text()
    assert findings(page, "second factor") == []
    page.get_by_role("textbox", name="Code").fill(pyotp.TOTP(key).now())
    submit(page, "Confirm")
    shown = page.locator(".secret-box")
    expect(shown).to_be_visible()
    codes = shown.inner_text().split()
    assert len(codes) == 10
    page.keyboard.press("Escape")
    expect(page.get_by_text("Recovery codes left: 10")).to_be_visible()
    page.get_by_role("button", name="You and your language").click()
    page.get_by_role("menuitem", name="Sign out").click()

    page.get_by_label("E-mail address").fill(clinic.email("amina"))
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_text("One more step: enter your code.")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_label("Code")).to_be_focused()
    assert findings(page, "asked for a code") == []
    page.get_by_label("Code").fill("000000")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("This code is not right")
    page.get_by_label("Code").fill(codes[0])
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_text("Recovery codes left: 9")).to_be_visible()


def test_who_is_signed_out_or_refused_finds_what_was_typed_and_which_input_is_wrong(browser, somebody, clinic):
    hire(clinic, "bosco", "editor")
    page = sign_in(somebody, clinic, "bosco", "settings/labels")
    add = page.get_by_role("button", name="Add", exact=True)
    add.click()
    page.get_by_label("Name").fill("Lost cards")
    somebody.set_offline(True)
    submit(page, "Save")
    expect(page.get_by_role("alert")).to_contain_text("what you typed is kept")
    expect(page.get_by_label("Name")).to_have_value("Lost cards")
    somebody.set_offline(False)

    with new_context(browser) as elsewhere:
        other = sign_in(elsewhere, clinic, "bosco", "settings/account")
        other.get_by_role("button", name="End Chrome").click()
        expect(other.locator(".sessions li")).to_have_count(1)
    submit(page, "Save")
    page.get_by_label("E-mail address").fill(clinic.email("bosco"))
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    add.click()
    expect(page.get_by_label("Name")).to_have_value("Lost cards")
    submit(page, "Save")

    expect(page.locator(".records")).to_contain_text("Lost cards")
    add.click()
    expect(page.get_by_label("Name")).to_have_value("")
    page.get_by_label("Name").fill('Cards "lost"')
    submit(page, "Save")
    expect(page.get_by_role("alert")).to_contain_text("Name: ")
    expect(page.get_by_label("Name")).to_be_focused()


def test_a_second_tab_shows_what_the_first_one_changed(somebody, clinic):
    one = sign_in(somebody, clinic, "editor", "settings/topics")
    two = somebody.new_page()
    open_page(two, clinic, "settings", "topics")
    one.get_by_role("button", name="Add", exact=True).click()
    one.get_by_label("Name").fill("Vaccines")
    submit(one, "Save")
    expect(one.locator(".records")).to_contain_text("Vaccines")

    two.evaluate("window.dispatchEvent(new Event('focus'))")

    expect(two.locator(".records")).to_contain_text("Vaccines")


def test_every_page_of_the_settings_can_be_used_by_everybody(somebody, clinic):
    with clinic.service.database.writing() as tx:
        ensure_resthook(tx, clinic.service.workspace.id, "new-registration")
    page = sign_in(somebody, clinic, "administrator", "settings")
    page.set_viewport_size(NARROW)
    page.emulate_media(color_scheme="dark")
    found = []
    for name in (*PAGES, *(LIKE_FIELDS if EVERY_CASE else ())):
        open_page(page, clinic, "settings", name)
        found += findings(page, name)

    assert found == []


CALL = """async ([url, token]) => {
  const headers = {Authorization: `Token ${token}`, "Content-Type": "application/json", Prefer: "handling=strict"};
  const made = await fetch(url, {method: "POST", headers, body: JSON.stringify({name: "From a page"})});
  const wrong = await fetch(url, {headers: {Authorization: "Token rb_0123456789ab_x"}});
  return [made.status, (await made.json()).name, made.headers.has("RateLimit-Remaining"), wrong.status];
}"""


def test_a_page_of_another_origin_calls_the_api_once_it_is_named(somebody, clinic):
    page, service = somebody.new_page(), clinic.service
    with serving() as site:
        page.goto(site.origin)
        arguments = [f"{service.url}/api/v2/labels.json", service.token]
        with pytest.raises(PlaywrightError, match="Failed to fetch"):
            page.evaluate(CALL, arguments)
        settings = sign_in(somebody, clinic, "administrator", "settings")
        settings.get_by_role("button", name="Edit").click()
        settings.get_by_label("Pages that may call the API").fill(f"https://app.example.org\n{site.origin}")
        submit(settings, "Save")
        expect(settings.locator(".facts")).to_contain_text(f"{site.origin}, https://app.example.org")
        assert page.evaluate(CALL, arguments) == [201, "From a page", True, 403]
