"""Managers read the figures of the workspace in a real browser."""

import csv
import re
from datetime import UTC, datetime, timedelta

from playwright.sync_api import expect

from persistence.relayers.relayers import release_channels
from persistence.tables.channels import channel
from relayboard.commands.demo import People
from testbed.running import wait_until
from tests.console.pages import NARROW, WIDE, findings, open_page, sign_in


def test_a_manager_sees_first_what_came_and_what_needs_somebody_and_reads_and_saves_reports(somebody, clinic):
    clinic.phone.receive_sms("+250788000881", "How are you?")
    clinic.sync()
    figures = clinic.service.get("/api/v2/workspace_figures.json", days=30)
    page = sign_in(somebody, clinic, "viewer", place="")

    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.locator(".chart canvas")).to_have_count(3)
    tile = page.locator(".tile", has_text="Messages in").locator("dd")
    expect(tile.first).to_have_text(re.compile(r"\d"))
    assert int(re.sub(r"\D", "", tile.first.inner_text())) == figures["period"]["messages_in"]
    expect(page.locator(".tile", has_text="none")).to_have_count(0)
    expect(page.locator(".all-well")).to_be_visible()
    first = page.locator(".chart").first
    first.get_by_text("Numbers", exact=True).click()
    rows = first.locator("tbody tr")
    expect(rows).to_have_count(30)
    counted = [int(re.sub(r"\D", "", rows.nth(at).locator("td").first.inner_text())) for at in range(1, 22)]
    assert counted == [day["messages_in"] for day in figures["days"][1:22]]
    bars = page.locator(".chart").last  # who draws over days sees them together
    bars.scroll_into_view_if_needed()
    over = bars.locator(".u-over").bounding_box()
    assert over
    page.mouse.move(over["x"] + 2, over["y"] + 40)
    page.mouse.down()
    page.mouse.move(over["x"] + over["width"] - 2, over["y"] + 60, steps=4)
    page.mouse.up()
    active = sum(day["active_contacts"] for day in figures["days"])
    expect(bars.locator(".legend strong")).to_have_text(re.compile(rf"^{active:,}$"))
    page.set_viewport_size(NARROW)
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".chart canvas")).to_have_count(3)
    assert findings(page, "overview on a phone") == []
    reports_are_read_and_saved(page, clinic)


def reports_are_read_and_saved(page, clinic):
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    open_page(page, clinic, "overview")
    page.get_by_role("main").get_by_role("link", name="Reports").click()
    expect(page.get_by_role("tab", name="Agent")).to_have_attribute("aria-selected", "true")
    page.get_by_role("tab", name="Day").click()
    tables = page.locator(".report-table")
    rows = tables.first.locator("tbody tr")
    expect(rows).to_have_count(30)
    expect(page.locator(".chart canvas")).to_have_count(1)
    too_wide = tables.evaluate_all("(tables) => tables.map((each) => each.scrollWidth - each.clientWidth)")
    assert too_wide == [0, 0]
    page.get_by_label("Period").select_option(label="Other days")
    page.get_by_label("First day").fill((datetime.now(UTC) - timedelta(days=4)).strftime("%Y-%m-%d"))
    expect(rows).to_have_count(5)
    page.get_by_role("tab", name="Channel").click()
    page.get_by_label("Show as bars").select_option(label="Delivered")
    expect(page.locator(".report-bars h2")).to_have_text("Delivered")
    first = clinic.service.get("/api/v2/figures.json", by="channel")["rows"][0]
    expect(rows.first.locator("th")).to_have_text(first["name"])
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as CSV").click()
    assert re.fullmatch(r"Channel \d{4}-\d\d-\d\d \d{4}-\d\d-\d\d\.csv", saved.value.suggested_filename)
    head, *_, total = csv.reader(saved.value.path().read_text(encoding="utf-8-sig").splitlines())
    assert head[:3] == ["Channel", "Messages in", "Messages out"] and total[0] == "Together"
    assert int(total[1]) > 0
    assert findings(page, "reports") == []
    page.set_viewport_size(NARROW)
    assert findings(page, "reports on a phone", is_again=True) == []


def test_plots_are_drawn_where_the_system_gives_the_browser_a_language_that_is_no_tag(somebody_else, clinic):
    language = "{get: () => 'en-US@posix'}, languages: {get: () => ['en-US@posix']}"
    somebody_else.add_init_script(f"Object.defineProperties(Navigator.prototype, {{language: {language}}})")
    page = sign_in(somebody_else, clinic, "viewer", place="overview")

    expect(page.locator(".chart canvas")).to_have_count(3)
    expect(page.locator(".tile").first).to_contain_text("Messages in")


def test_a_silent_phone_stands_on_the_first_page(somebody, clinic):
    with clinic.service.database.writing() as tx:
        silent = {
            "workspace_id": clinic.service.workspace.id,
            "type": "android",
            "name": "Old phone",
            "schemes": ["tel"],
        }
        address = "+250788999000"
        phone_id = tx.insert(channel, created_on=tx.now.replace(year=tx.now.year - 1), address=address, **silent)
    try:
        page = sign_in(somebody, clinic, "administrator", place="overview")
        expect(page.locator(".troubles li")).to_contain_text("Old phone")
        expect(page.locator(".troubles li")).to_contain_text("has not called yet")
    finally:
        with clinic.service.database.writing() as tx:  # others begin with a workspace in which all is well
            release_channels(tx, clinic.service.workspace.id, channel.c.id == phone_id)
    open_page(page, clinic, "overview?days=7")
    expect(page.locator(".chart").first.locator("tbody tr")).to_have_count(7)


def test_a_flow_shows_where_its_contacts_are_and_gives_its_results_as_a_file(somebody, clinic):
    flow = surveyed(clinic)
    page = sign_in(somebody, clinic, "viewer", place="flows")
    page.get_by_role("link", name=flow["name"]).click()
    expect(page.locator(".flow-node")).to_have_count(5)
    figures = clinic.service.get("/api/v2/flow_figures.json", uuid=flow["uuid"])
    waiting = sum(each["count"] for each in figures["waiting"])
    expect(page.locator(".flow-node.router")).to_contain_text(f"waiting: {waiting}")
    assert findings(page, "drawing of a flow") == []
    drawing, results = (page.get_by_role("tab", name=name) for name in ("Drawing", "Results"))
    drawing.focus()
    page.keyboard.press("ArrowRight")
    expect(results).to_be_focused()
    expect(page.locator(".chart canvas")).to_have_count(1)
    assert findings(page, "results of a flow") == []
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download as CSV").click()
    rows = list(csv.DictReader(saved.value.path().read_text(encoding="utf-8-sig").splitlines()))
    assert sum(int(row["count"]) for row in rows) == sum(each["count"] for each in figures["results"])
    page.get_by_role("tab", name="Revisions").click()
    page.get_by_role("button", name="Revision 1").click()
    expect(page.locator(".differences ins").first).to_be_visible()
    page.set_viewport_size(NARROW)
    for tab in ("Drawing", "Results", "Runs", "Starts", "Revisions"):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("tabpanel", name=tab)).to_be_visible()
        assert findings(page, f"{tab} of a flow on a phone", is_again=tab in ("Drawing", "Results")) == []


def test_results_lead_to_those_who_answered_and_a_node_to_those_who_wait(somebody, clinic):
    service, flow = clinic.service, surveyed(clinic)
    people = [
        {"name": f"Waiting {name}", "urns": [f"tel:+25078800077{at}"]} for at, name in enumerate(["Man", "Woman"])
    ]
    contacts = [service.post("/api/v2/contacts.json", body)["uuid"] for body in people]
    waiting = {"contacts": contacts, "flow": flow["uuid"]}
    service.post("/api/v2/flow_starts.json", waiting)

    def found():
        runs = service.get("/api/v2/runs.json", flow=flow["uuid"], status="active")["results"]
        return [run["path"][-1]["node"] for run in runs if run["contact"]["uuid"] in contacts]

    wait_until(lambda: len(found()) == len(contacts), "runs that wait")
    node = found()[0]
    page = sign_in(somebody, clinic, "editor", place=f"flows/{flow['uuid']}/results?cross={flow['results'][0]['key']}")
    expect(page.locator(".crossing tbody tr").first).to_be_visible()
    assert findings(page, "results by group") == []
    answer = page.locator(".share-bars a").first
    category = answer.inner_text()
    answer.click()
    expect(page.locator(".runs tbody tr").first).to_contain_text(category)
    page.get_by_label("Answer", exact=True).select_option("")
    expect(page).not_to_have_url(re.compile("category="))
    expect(page.get_by_label("Answer", exact=True)).to_have_value("")
    page.get_by_label("Where they wait").select_option(node)
    row = page.get_by_role("row", name="Waiting Woman")
    row.get_by_role("checkbox").check()
    assert findings(page, "runs") == []
    page.get_by_role("button", name="Write to them").click()
    expect(page.get_by_role("heading", name="Write to many")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("Waiting Woman")
    open_page(page, clinic, f"flows/{flow['uuid']}/runs?node={node}")
    page.get_by_role("button", name="Write to all who wait here").click()
    expect(page.get_by_label("Also to contacts that match a query")).to_have_value(f'waits_at = "{node}"')
    page.get_by_label("Text (English)").fill("Please answer the question.")
    page.get_by_role("button", name="Send").click()
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("Please answer the question.")
    question.get_by_role("button", name="Send").click()
    expect(page.locator(".notice")).to_have_text("The message is on its way.")
    sent = service.get("/api/v2/broadcasts.json")["results"][0]

    def reached():
        return {
            each["contact"]["uuid"] for each in service.get("/api/v2/messages.json", broadcast=sent["uuid"])["results"]
        }

    wait_until(lambda: reached() >= {*contacts}, "the messages")
    open_page(page, clinic, f"flows/{flow['uuid']}/runs?node={node}")
    row.get_by_role("checkbox").check()
    page.get_by_role("button", name="Interrupt the flow").click()
    page.get_by_role("dialog").get_by_role("button", name="Interrupt the flow").click()
    expect(row).to_have_count(0)


def surveyed(clinic):
    """The flow of the clinic, once people have answered."""
    (flow,) = clinic.service.get("/api/v2/flows.json")["results"]
    people = People(clinic.phone)

    def answered():
        for _ in range(3):
            clinic.phone.sync()
            people.act()
            clinic.sync()
        return clinic.service.get("/api/v2/flow_figures.json", uuid=flow["uuid"])["results"]

    wait_until(answered, "answers of the survey")

    def is_quiet():
        came = clinic.service.get("/api/v2/messages.json", folder="incoming")["results"]
        return all(each["status"] != "queued" for each in came)

    wait_until(is_quiet, "the last of them to be counted")
    return flow


def test_the_times_of_tickets_are_plotted_and_what_is_planned_stands_on_the_calendar(somebody, clinic):
    figures = clinic.service.get("/api/v2/workspace_figures.json", days=30)["days"]
    page = sign_in(somebody, clinic, "editor", place="tickets")
    page.get_by_role("link", name="Times").click()
    expect(page.locator(".chart canvas")).to_have_count(2)
    counts = page.locator(".chart").nth(1)
    counts.get_by_text("Numbers", exact=True).click()
    opened = [int(cell) for cell in counts.locator("tbody tr td:nth-child(2)").all_inner_texts()]
    assert opened == [day["tickets_opened"] for day in figures]
    times = page.locator(".chart").first
    times.get_by_text("Numbers", exact=True).click()
    untimed = [cell == "–" for cell in times.locator("tbody tr td:nth-child(2)").all_inner_texts()]
    assert untimed == [day["first_reply_seconds"] is None for day in figures]

    open_page(page, clinic, "flows")
    (group, *_) = clinic.service.get("/api/v2/groups.json", name="Expecting mothers")["results"]
    due = (datetime.now(UTC) + timedelta(days=6)).isoformat()
    body = {"text": "Vaccination week", "groups": [group["uuid"]], "scheduled_on": due}
    made = clinic.service.post("/api/v2/broadcasts.json", body)
    page.get_by_role("link", name="Calendar").click()
    expect(page.locator(".due", has_text="Vaccination week")).to_be_visible()
    expect(page.locator(".calendar-day")).to_have_count(35)
    page.set_viewport_size(NARROW)
    assert findings(page, "calendar on a phone") == []
    page.locator(".due", has_text="Vaccination week").click()
    expect(page.get_by_role("heading", name="Message to many")).to_be_visible()
    assert page.url.endswith(made["uuid"])


def test_a_channel_shows_its_traffic_and_sends_a_test_and_a_phone_is_added_by_its_code(somebody, clinic):
    page = sign_in(somebody, clinic, "editor", place="channels")
    page.get_by_role("link", name="Add a channel").click()
    expect(page.locator(".kind")).to_have_count(1)  # an editor is offered phones only
    page.get_by_role("link", name="Android phone SMS").click()
    expect(page.get_by_role("dialog").get_by_label("Claim code")).to_be_focused()
    code = page.get_by_role("img", name=f"QR code with the address {clinic.service.url}")
    expect(code).to_be_visible()
    expect(code.locator("path")).to_have_attribute("d", re.compile(r"^M0 0h1v1h-1zM1 0h1v1h-1z"))
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"#/channels/add$"))
    page.get_by_role("link", name="Back").click()
    page.get_by_role("link", name="Clinic phone").click()
    expect(page.get_by_role("region", name="Messages").locator("canvas")).to_be_visible()
    page.get_by_role("button", name="Send a test message").click()
    page.get_by_label("Your number").fill("+250 788 000 991")
    page.get_by_role("dialog").get_by_role("button", name="Send").click()
    sent = page.locator(".message.out", has_text="This is a test.")
    expect(sent).to_be_visible()
    wait_until(lambda: clinic.sends("This is a test. Nothing needs to be done."), "the test to reach the phone")
