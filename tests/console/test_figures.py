"""Managers read the figures of the workspace in a real browser."""

import re

from playwright.sync_api import expect

from persistence.tables.channels import channel
from tests.console.pages import NARROW, findings, open_page, sign_in


def test_a_manager_sees_first_what_came_and_what_needs_somebody(somebody, clinic):
    clinic.phone.receive_sms("+250788000881", "How are you?")
    clinic.sync()
    figures = clinic.service.get("/api/v2/workspace_figures.json", days=30)
    page = sign_in(somebody, clinic, "viewer", place="")

    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.locator(".chart canvas")).to_have_count(3)
    tile = page.locator(".tile", has_text="Messages in today").locator("dd")
    expect(tile).to_have_text(str(figures["days"][0]["messages_in"]))
    expect(page.locator(".all-well")).to_be_visible()
    first = page.locator(".chart").first
    first.get_by_text("Numbers", exact=True).click()
    rows = first.locator("tbody tr")
    expect(rows).to_have_count(30)
    counted = [int(re.sub(r"\D", "", rows.nth(at).locator("td").first.inner_text())) for at in range(1, 22)]
    assert counted == [day["messages_in"] for day in figures["days"][1:22]]
    assert findings(page, "overview") == []
    page.set_viewport_size(NARROW)
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".chart canvas")).to_have_count(3)
    assert findings(page, "overview on a phone") == []


def test_a_silent_phone_stands_on_the_first_page(somebody, clinic):
    with clinic.service.database.writing() as tx:
        silent = {"workspace_id": clinic.service.workspace.id, "type": "android", "name": "Old phone", "schemes": ["tel"]}
        tx.insert(channel, created_on=tx.now.replace(year=tx.now.year - 1), address="+250788999000", **silent)
    page = sign_in(somebody, clinic, "administrator", place="overview")

    expect(page.locator(".troubles li")).to_contain_text("Old phone")
    expect(page.locator(".troubles li")).to_contain_text("has not called yet")
    open_page(page, clinic, "overview?days=7")
    expect(page.locator(".chart").first.locator("tbody tr")).to_have_count(7)
