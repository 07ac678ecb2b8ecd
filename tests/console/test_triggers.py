"""People say in a real browser what starts a flow, and what contacts get before and after a date, try it, put it away
and bring it back.
"""

from datetime import UTC, datetime, timedelta

from playwright.sync_api import BrowserContext, Page, expect

from testbed.running import wait_until
from tests.console.clinic import Clinic
from tests.console.pages import LISTS, NARROW, WIDE, HeldBack, findings, open_page, sign_in

TRIGGERS, RUNS = "/api/v2/triggers.json", "/api/v2/runs.json"


def people_in(clinic: Clinic, flow: str) -> list[str]:
    return [run["contact"]["urn"] for run in clinic.service.get(RUNS, flow=flow)["results"]]


def on_every_screen(page: Page, what: str) -> None:
    assert findings(page, what) == []
    page.set_viewport_size(NARROW)
    assert findings(page, f"{what} on a phone", is_again=True) == []
    page.set_viewport_size(WIDE)


def test_a_keyword_is_made_tried_and_starts_its_flow_and_one_that_is_refused_stays_in_the_form(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    flow = next(each for each in clinic.service.get("/api/v2/flows.json")["results"] if each["type"] == "message")
    page = sign_in(somebody, clinic, "editor", place="triggers")
    page.get_by_role("button", name="New trigger").click()
    page.get_by_label("Flow to start").select_option(label=flow["name"])
    page.get_by_label("Keywords").fill("Baby, mama")
    on_every_screen(page, "the form of a trigger")
    page.get_by_role("button", name="Save").click()
    card = page.locator(".trigger", has_text="baby")
    expect(card).to_contain_text(flow["name"])

    page.get_by_label("Text of the message").fill("MAMA please")
    page.get_by_role("button", name="Try").click()
    expect(page.locator(".outcome")).to_contain_text("Begins with the word \u201cmama\u201d")
    page.get_by_label("Text of the message").fill("what?")
    page.get_by_role("button", name="Try").click()
    expect(page.locator(".outcome")).not_to_contain_text("mama")
    page.get_by_text("Why not the others").click()
    expect(page.locator(".records li", has_text="baby")).to_contain_text("The message does not begin with its keyword.")

    clinic.phone.receive_sms("+250788000661", "Mama")
    clinic.sync()
    wait_until(lambda: "tel:+250788000661" in people_in(clinic, flow["uuid"]), "the flow to begin")

    clinic.service.post(TRIGGERS, {"type": "keyword", "flow": flow["uuid"], "keywords": ["taken"]})
    page.get_by_role("button", name="New trigger").click()
    page.get_by_label("Flow to start").select_option(flow["uuid"])
    page.get_by_label("Keywords").fill("taken")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Keywords")).to_have_value("taken")
    channel = page.get_by_role("dialog").get_by_label("Only through this channel")
    channel.select_option(index=1)
    held = HeldBack(page, "**/api/v2/channels.json*")
    page.reload()
    page.get_by_role("button", name="New trigger").click()
    expect(page.get_by_label("Flow to start")).to_have_value(flow["uuid"])
    held.let_go()
    expect(channel).not_to_have_value("")


def test_a_weekly_time_is_made_changed_archived_restored_and_deleted(somebody: BrowserContext, clinic: Clinic) -> None:
    clinic.service.post("/api/v2/flows.json", {"name": "Another"})
    page = sign_in(somebody, clinic, "editor", place="triggers")
    page.get_by_role("button", name="New trigger").click()
    page.get_by_label("What starts it").select_option(label="At a time")
    page.get_by_label("Flow to start").select_option(index=2)
    page.get_by_label("First time").fill("2099-03-02T08:30")
    page.get_by_label("Repeats").select_option(label="Every week")
    page.get_by_label("Mon").check()
    page.get_by_label("Fri").check()
    page.get_by_label("Expecting mothers").check()
    on_every_screen(page, "the form of a time")
    page.get_by_role("button", name="Save").click()
    card = page.locator(".trigger", has_text="At a time").first
    expect(card).to_contain_text("Every week: Mon, Fri")
    made = clinic.service.get(TRIGGERS, type="schedule")["results"][0]
    assert made["days"] == "MF" and [group["name"] for group in made["groups"]] == ["Expecting mothers"]

    held = HeldBack(page, LISTS)
    card.get_by_role("button", name="Edit").click()
    expect(page.get_by_label("First time")).to_have_value("2099-03-02T08:30")
    page.get_by_label("Fri").uncheck()
    held.wait(2)
    page.get_by_role("button", name="Save").click()
    expect(card).not_to_contain_text("Fri")
    changed = clinic.service.get(TRIGGERS, uuid=made["uuid"])["results"][0]
    assert changed == made | {"days": "M"}, "only the days were changed, though no list had come"
    card.get_by_role("button", name="Edit").click()
    held.let_go()
    flow = page.get_by_label("Flow to start")
    expect(flow.locator("option", has_text="Another")).to_be_attached()
    expect(flow).to_have_value(made["flow"]["uuid"])
    expect(page.get_by_label("Expecting mothers")).to_be_checked()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()

    card.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Archive").click()
    expect(page.get_by_text("The trigger is put away and starts nothing.")).to_be_visible()
    page.get_by_role("link", name="Archived").click()
    card.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Restore").click()
    expect(page.get_by_text("The trigger works again.")).to_be_visible()
    open_page(page, clinic, "triggers")
    card.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("button", name="Delete").click()
    wait_until(lambda: not clinic.service.get(TRIGGERS, uuid=made["uuid"])["results"], "the trigger to be gone")


CONTACTS, EVENTS = "/api/v2/contacts.json", "/api/v2/campaign_events.json"


def test_a_campaign_is_made_around_a_date_archived_and_restored_and_tells_who_is_next(
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
    a_campaign_tells_who_is_next(page, clinic)


def a_campaign_tells_who_is_next(page: Page, clinic: Clinic) -> None:
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

    open_page(page, clinic, "campaigns", campaign["uuid"])
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
