"""People bring flows in, name, copy, label, archive and take them out in a real browser."""

import json
from pathlib import Path

from playwright.sync_api import BrowserContext, Download, FilePayload, expect
from sqlalchemy import update

from persistence.tables.flows import flow_start
from tests.console.clinic import Clinic
from tests.console.pages import open_page, sign_in
from tests.console.test_triggers import on_every_screen

FLOWS = "/api/v2/flows.json"
REVISIONS = "/api/v2/flow_revisions.json"
SHAPE = "() => document.querySelector('.flow-drawing').style.transform"
CROSSED = """() => {
    const boxes = [...document.querySelectorAll(".flow-node")].map(
        ({offsetLeft: x, offsetTop: y, offsetWidth: w, offsetHeight: h}) => [x + 1, y + 1, x + w - 1, y + h - 1]);
    const isInside = ({x, y}) => boxes.some(
        ([left, top, right, bottom]) => left < x && x < right && top < y && y < bottom);
    const ways = [...document.querySelectorAll("path.way")];
    const crossing = ways.filter((way) => Array.from({length: 99}, (_, at) => at + 1).some(
        (at) => isInside(way.getPointAtLength(way.getTotalLength() * at / 100))));
    return [ways.length, crossing.length];
}"""


def uuid_of(number: int) -> str:
    return f"5d1f0a52-5f0e-4a4e-8d09-{number:012d}"


def long_flow(questions: int) -> dict[str, object]:
    """Questions one after the other; each leads on, over the next two, and back to itself."""
    nodes: list[dict[str, object]] = []
    for at in range(questions):
        following = [uuid_of(1000 + each) if each < questions else None for each in (at + 1, at + 3)]
        ends = (*following, uuid_of(1000 + max(at - 2, 0)), uuid_of(1000 + at))
        exits = [{"uuid": uuid_of(2000 + 4 * at + way), "destination_uuid": to} for way, to in enumerate(ends)]
        names = ("Yes", "Skip", "Back", "Other")
        categories = [
            {"uuid": uuid_of(4000 + 4 * at + way), "name": name, "exit_uuid": exits[way]["uuid"]}
            for way, name in enumerate(names)
        ]
        asks = {"uuid": uuid_of(6000 + at), "type": "send_msg", "text": f"How was week {at + 1}?"}
        cases = [
            {"uuid": uuid_of(8000 + 4 * at + way), "type": "has_any_word", "arguments": [name.lower()]}
            | {"category_uuid": categories[way]["uuid"]}
            for way, name in enumerate(names[:3])
        ]
        router = {"type": "switch", "operand": "@input.text", "wait": {"type": "msg"}, "result_name": f"Week {at + 1}"}
        router |= {"categories": categories, "cases": cases, "default_category_uuid": categories[3]["uuid"]}
        nodes.append({"uuid": uuid_of(1000 + at), "actions": [asks], "router": router, "exits": exits})
    french = {uuid_of(6000 + 16): {"text": ["Comment était la semaine dix-sept ?"]}}
    about = {"name": "Weeks", "spec_version": "13.6.1", "language": "eng", "type": "messaging", "revision": 1}
    return {"uuid": uuid_of(1), **about, "localization": {"fra": french}, "nodes": nodes}


def make_long_flow(clinic: Clinic, questions: int) -> str:
    made = clinic.service.post(FLOWS, {"name": f"Weeks of {questions}", "type": "message", "base_language": "eng"})
    (newest, *_) = clinic.service.get(REVISIONS, uuid=made["uuid"])["revisions"]
    body = {"based_on": newest["number"], "definition": long_flow(questions)}
    clinic.service.post(f"{REVISIONS}?uuid={made['uuid']}", body)
    return str(made["uuid"])


def test_a_long_flow_is_moved_enlarged_searched_and_opened_step_by_step(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    flow = make_long_flow(clinic, 30)
    page = sign_in(somebody, clinic, "viewer", place=f"flows/{flow}")
    expect(page.locator(".flow-node")).to_have_count(30)
    assert page.evaluate(CROSSED) == [116, 0]
    shapes = [page.evaluate(SHAPE)]

    def is_moved() -> None:
        page.wait_for_function(f"shape => ({SHAPE})() !== shape", arg=shapes[-1])
        shapes.append(page.evaluate(SHAPE))

    canvas = page.get_by_role("region", name="Drawing")
    for name in ("Larger", "Smaller", "Show all"):
        page.get_by_role("button", name=name).click()
        is_moved()
    canvas.focus()
    for key in ("ArrowDown", "+", "0"):
        page.keyboard.press(key)
        is_moved()
    canvas.hover(position={"x": 30, "y": 30})
    page.mouse.wheel(0, 120)
    is_moved()
    page.mouse.down()
    page.mouse.move(400, 400, steps=3)
    page.mouse.up()
    is_moved()

    page.get_by_label("Search the steps").fill("dix-sept")
    expect(page.get_by_text("1 of 30 steps")).to_be_visible()
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name="Step 17")
    expect(panel).to_contain_text("How was week 17?")
    expect(panel).to_contain_text("Comment était la semaine dix-sept ?")
    expect(panel).to_contain_text("has any word skip")
    panel.get_by_role("button", name="Step 20").click()
    expect(page.get_by_role("complementary", name="Step 20")).to_contain_text("How was week 20?")
    step = page.get_by_role("button", name="Step 20", exact=True).and_(page.locator(".node-opener"))
    step.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("complementary", name="Step 21")).to_be_visible()
    on_every_screen(page, "the drawing of a flow")
    page.get_by_role("button", name="List").click()
    expect(page.locator(".node-list > li")).to_have_count(1)
    page.get_by_label("Search the steps").fill("")
    expect(page.locator(".node-list > li")).to_have_count(30)
    on_every_screen(page, "the steps of a flow as a list")


def test_a_flow_is_started_for_a_query_with_its_count_first_and_is_stopped(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    flow = make_long_flow(clinic, 2)
    page = sign_in(somebody, clinic, "editor", place=f"flows/{flow}/starts")
    expect(page.get_by_role("heading", name="Nobody started this flow yet")).to_be_visible()
    page.get_by_role("button", name="Start").click()
    form = page.get_by_role("dialog")
    expect(form.get_by_role("button", name="Start")).to_be_disabled()
    asked = form.get_by_label("Also to contacts that match a query")
    asked.fill("age >")
    expect(form.locator(".problem")).not_to_be_empty()
    asked.fill("name != zebra")
    count = clinic.service.get("/api/v2/contact_queries.json", query="name != zebra")["count"]
    expect(form.get_by_text(f"{count} contacts match the query now.")).to_be_visible()
    on_every_screen(page, "the form of a start")
    form.get_by_role("button", name="Start").click()
    start = page.locator(".flow-start", has_text="zebra")
    expect(start).to_contain_text("Done")

    started, total = count, count + 480  # as if there were more to start than there are in the clinic
    with clinic.service.database.writing() as tx:
        going = update(flow_start).where(flow_start.c.query.contains("zebra")).values(status="started", total=total)
        tx.execute(going)
    page.reload()
    expect(start).to_contain_text(f"{started} of {total} started")
    on_every_screen(page, "the starts of a flow")
    start.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("dialog")).to_contain_text("480 contacts are not started any more")
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(start).to_contain_text("Stopped")
    (told, *_) = clinic.service.get("/api/v2/flow_starts.json")["results"]
    assert (told["status"], told["flow"]["uuid"]) == ("interrupted", flow)


def test_people_go_back_to_an_earlier_revision_unless_somebody_saved_meanwhile(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    flow = make_long_flow(clinic, 3)

    def numbers() -> list[int]:
        return [each["number"] for each in clinic.service.get(REVISIONS, uuid=flow)["revisions"]]

    def save(questions: int) -> None:
        body = {"based_on": numbers()[0], "definition": long_flow(questions)}
        clinic.service.post(f"{REVISIONS}?uuid={flow}", body)

    save(2)
    (newest, wanted, *_) = numbers()
    page = sign_in(somebody, clinic, "editor", place=f"flows/{flow}/revisions")
    page.get_by_role("button", name=f"Revision {newest}").click()
    expect(page.locator(".differences")).to_contain_text("Gone")
    expect(page.locator(".differences del", has_text="How was week 3?")).to_be_visible()
    page.get_by_label("Compared with").select_option(str(numbers()[-1]))
    expect(page.locator(".differences ins", has_text="How was week 2?")).to_be_visible()
    expect(page.locator(".differences del")).to_have_count(0)
    expect(page.get_by_role("button", name="Go back to this one")).to_have_count(0)
    page.get_by_role("button", name=f"Revision {wanted}").click()
    page.get_by_role("button", name="Go back to this one").click()
    save(1)
    page.get_by_role("dialog").get_by_role("button", name="Go back to this one").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("saved")
    assert numbers()[0] == newest + 1
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name=f"Revision {wanted}").click()
    page.get_by_role("button", name="Go back to this one").click()
    page.get_by_role("dialog").get_by_role("button", name="Go back to this one").click()
    expect(page.get_by_text(f"Revision {wanted} runs again.")).to_be_visible()
    assert numbers()[0] == newest + 2
    page.get_by_role("tab", name="Drawing").click()
    expect(page.locator(".flow-node")).to_have_count(3)


def states(clinic: Clinic) -> set[tuple[str, str]]:
    """Which flows there are, each with the time of its last change."""
    return {(flow["uuid"], flow["modified_on"]) for flow in clinic.service.get(FLOWS)["results"]}


def test_a_flow_is_made_copied_renamed_labelled_found_archived_and_restored(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    page = sign_in(somebody, clinic, "editor", place="flows")
    page.get_by_role("button", name="New flow").click()
    page.get_by_label("Name").fill("Opening hours")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Opening hours")).to_be_visible()
    page.get_by_role("link", name="Back").click()

    page.get_by_role("button", name="More about Opening hours").click()
    page.get_by_role("menuitem", name="Copy").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Copy of Opening hours")).to_be_visible()
    page.get_by_role("button", name="More about").click()
    page.get_by_role("menuitem", name="Edit").click()
    page.get_by_label("Name").fill("Hours on Sundays")
    page.get_by_label("Ends after days").fill("0.5")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Hours on Sundays")).to_be_visible()
    page.get_by_role("button", name="More about").click()
    page.get_by_role("menuitem", name="Label").click()
    page.get_by_label("Labels").fill("Info, Clinic")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    told = {flow["name"]: flow for flow in clinic.service.get(FLOWS)["results"]}
    assert told["Hours on Sundays"]["expires"] == 720
    assert {label["name"] for label in told["Hours on Sundays"]["labels"]} == {"Info", "Clinic"}

    open_page(page, clinic, "flows")
    page.get_by_label("Search flows").fill("clinic")
    expect(page.locator(".flow-card h2")).to_have_text(["Hours on Sundays"])
    page.get_by_role("button", name="More about Hours on Sundays").click()
    page.get_by_role("menuitem", name="Archive").click()
    expect(page.get_by_text("The flow is archived: nothing starts it any more.")).to_be_visible()
    page.get_by_role("link", name="Archived").click()
    expect(page.locator(".flow-card h2")).to_have_text(["Hours on Sundays"])
    page.get_by_role("button", name="More about Hours on Sundays").click()
    page.get_by_role("menuitem", name="Restore").click()
    expect(page.locator(".flow-card")).to_have_count(0)


def test_a_file_is_looked_at_before_it_is_imported_and_one_that_is_refused_changes_nothing(
    somebody: BrowserContext, clinic: Clinic, tmp_path: Path
) -> None:
    page = sign_in(somebody, clinic, "editor", place="flows")
    name = "Visit survey"
    with page.expect_download() as taken:
        page.get_by_role("button", name=f"More about {name}").click()
        page.get_by_role("menuitem", name="Save as a file").click()
    download: Download = taken.value
    assert download.suggested_filename == f"{name}.json"
    document = json.loads(Path(download.path()).read_text(encoding="utf-8"))
    flow = next(each for each in document["flows"] if each["name"] == name)
    changed = flow | {"name": "Brought in", "uuid": "b8f1a6a0-6f0e-4c89-9f0d-5a7d3c0f6e11"}
    broken = {
        "uuid": "6a4f6c53-8f2b-4f0c-8a4e-0f8f7a6f1c22",
        "type": "send_msg",
        "text": "Hello @(1 + )",
    }
    changed["nodes"] = [
        changed["nodes"][0] | {"actions": [*changed["nodes"][0]["actions"], broken]},
        *changed["nodes"][1:],
    ]
    file = tmp_path / "flows.json"
    file.write_text(json.dumps(document | {"flows": [flow, changed]}))

    page.get_by_role("link", name="Import").click()
    page.get_by_label("File with flows").set_input_files(file)
    expect(page.get_by_role("heading", name="What flows.json would do")).to_be_visible()
    expect(page.locator(".records li", has_text="Brought in").first).to_contain_text("new")
    expect(page.locator(".records li", has_text=name).first).to_contain_text("as it is")
    expect(page.get_by_role("heading", name="Issues")).to_be_visible()
    on_every_screen(page, "the page of an import")
    assert "Brought in" not in {each["name"] for each in clinic.service.get(FLOWS)["results"]}

    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", name="What flows.json did")).to_be_visible()
    page.get_by_role("link", name="Brought in").click()
    expect(page.get_by_role("heading", name="Brought in")).to_be_visible()

    before = states(clinic)
    open_page(page, clinic, "flows/import")
    no_json, no_flows = b"PK\x03\x04", b'{"flows": 7}'
    for content, said in ((no_json, "notes.json is no export of flows"), (no_flows, "version: is missing")):
        chosen = FilePayload(name="notes.json", mimeType="application/json", buffer=content)
        page.get_by_label("File with flows").set_input_files(chosen)
        expect(page.locator(".problem").first).to_contain_text(said)

    assert states(clinic) == before
