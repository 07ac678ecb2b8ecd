"""People plan in a real browser what contacts get before and after a date."""

from datetime import UTC, datetime, timedelta

from playwright.sync_api import BrowserContext, expect

from testbed.running import wait_until
from tests.console.clinic import Clinic
from tests.console.pages import LISTS, HeldBack, open_page, sign_in
from tests.console.test_triggers import on_every_screen

CONTACTS, EVENTS = "/api/v2/contacts.json", "/api/v2/campaign_events.json"


def test_a_campaign_is_made_with_messages_and_a_flow_around_a_date_archived_and_restored(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    clinic.service.post("/api/v2/workspace_settings.json", {"languages": ["eng", "fra"]})
    page = sign_in(somebody, clinic, "editor", place="campaigns")
    page.get_by_role("button", name="New campaign").click()
    page.get_by_label("Name").fill("Antenatal visits")
    group = page.get_by_label("For this group")
    group.select_option(group.locator("option", has_text="mothers").get_attribute("value"))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Nothing happens yet")).to_be_visible()

    page.get_by_role("button", name="Add an event").click()
    page.get_by_label("How many").fill("2")
    page.get_by_label("Unit").select_option(label="weeks")
    page.get_by_label("The date", exact=True).select_option(label="Due Date")
    page.get_by_label("Text (English)").fill("Two weeks to go, @contact.first_name!")
    page.get_by_label("Text (French)").fill("Encore deux semaines")
    on_every_screen(page, "the form of an event")
    page.get_by_role("button", name="Save").click()
    message = page.locator(".campaign-event", has_text="2 weeks before, at 09:00")
    expect(message).to_contain_text("Encore deux semaines")

    page.get_by_role("button", name="Add an event").click()
    page.get_by_label("Before or after").select_option(label="after the date")
    page.get_by_label("The date", exact=True).select_option(label="Due Date")
    page.get_by_label("Time of day").select_option(label="That of the date")
    page.get_by_label("What comes").select_option(label="A flow")
    page.get_by_label("Flow to start").select_option(index=1)
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".timeline li h2, .timeline .the-date")).to_have_text(
        ["2 weeks before, at 09:00", "Due Date", "1 day after"]
    )
    on_every_screen(page, "the page of a campaign")

    held = HeldBack(page, LISTS)
    message.get_by_role("button", name="Edit").click()
    page.get_by_label("How many").fill("3")
    held.wait(2)
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".campaign-event", has_text="3 weeks before, at 09:00")).to_be_visible()
    held.let_go()
    told = {each["unit"]: each for each in clinic.service.get(EVENTS, campaign="Antenatal visits")["results"]}
    texts = {"eng": "Two weeks to go, @contact.first_name!", "fra": "Encore deux semaines"}
    assert (told["weeks"]["offset"], told["weeks"]["delivery_hour"], told["weeks"]["message"]) == (-3, 9, texts)
    assert (told["days"]["offset"], told["days"]["delivery_hour"], told["days"]["message"]) == (1, -1, None)

    page.get_by_role("button", name="Delete 1 day after").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".campaign-event")).to_have_count(1)
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Archive").click()
    expect(page.get_by_text("The campaign is put away: nothing more comes of it.")).to_be_visible()
    open_page(page, clinic, "campaigns?view=archived")
    on_every_screen(page, "the page of archived campaigns")
    page.get_by_role("link", name="Antenatal visits").click()
    expect(page.get_by_role("button", name="Add an event")).to_have_count(0)
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Restore").click()
    expect(page.get_by_role("button", name="Add an event")).to_be_visible()


def test_a_campaign_tells_how_many_are_next_and_what_one_contact_gets(somebody: BrowserContext, clinic: Clinic) -> None:
    service, tomorrow = clinic.service, datetime.now(UTC) + timedelta(days=1)
    group = service.post("/api/v2/groups.json", {"name": "Near their date"})
    for number, fields in (("0781", {"due_date": tomorrow.isoformat()}), ("0782", {})):
        service.post(CONTACTS, {"urns": [f"tel:+25078800{number}"], "groups": [group["uuid"]], "fields": fields})
    campaign = service.post("/api/v2/campaigns.json", {"name": "Visits soon", "group": group["uuid"]})
    event = {"campaign": campaign["uuid"], "relative_to": "due_date", "unit": "hours", "message": "It is near"}
    service.post(EVENTS, event | {"offset": 0, "delivery_hour": -1})
    service.post(EVENTS, event | {"offset": -96, "delivery_hour": -1})
    figures = "/api/v2/campaign_figures.json"
    wait_until(lambda: service.get(figures, uuid=campaign["uuid"])["results"], "a worker to schedule")

    page = sign_in(somebody, clinic, "viewer", place=f"campaigns/{campaign['uuid']}")
    expect(page.locator(".campaign-event", has_text="On the date")).to_contain_text("tomorrow: 1 · in 7 days: 1")
    page.get_by_role("searchbox", name="What this contact gets").fill("+250788000781")
    page.locator(".choices-list label", has_text="+250788000781").click()
    expect(page.locator(".scheduled .badge")).to_have_text(["its time has passed", "is to come"])
    on_every_screen(page, "a campaign for a contact")
    page.get_by_role("searchbox", name="What this contact gets").fill("+250788000782")
    page.locator(".choices-list label", has_text="+250788000782").click()
    expect(page.locator(".scheduled .badge")).to_have_text(["the contact has no such date"] * 2)
    page.get_by_role("link", name="tomorrow: 1").click()
    expect(page.locator(".who")).to_contain_text(["+250788000781"])
