"""People bring flows in, name, copy, label, archive and take them out in a real browser."""

import json
from pathlib import Path

from playwright.sync_api import BrowserContext, Download, FilePayload, expect

from tests.console.clinic import Clinic
from tests.console.pages import open_page, sign_in
from tests.console.test_triggers import on_every_screen

FLOWS = "/api/v2/flows.json"


def states(clinic: Clinic) -> set[tuple[str, str]]:
    """Which flows there are, each with the time of its last change."""
    return {(flow["uuid"], flow["modified_on"]) for flow in clinic.service.get(FLOWS)["results"]}


def test_a_flow_is_made_copied_renamed_labelled_found_archived_and_restored(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    page = sign_in(somebody, clinic, "editor", place="flows")
    page.get_by_role("button", name="New flow").click()
    page.get_by_label("Name").fill("Opening hours")
    on_every_screen(page, "the form of a flow")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Opening hours")).to_be_visible()

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
    on_every_screen(page, "the page of flows")
    page.get_by_role("button", name="More about Hours on Sundays").click()
    page.get_by_role("menuitem", name="Archive").click()
    expect(page.get_by_text("The flow is archived: nothing starts it any more.")).to_be_visible()
    page.get_by_role("link", name="Archived").click()
    expect(page.locator(".flow-card h2")).to_have_text(["Hours on Sundays"])
    page.get_by_role("button", name="More about Hours on Sundays").click()
    page.get_by_role("menuitem", name="Restore").click()
    expect(page.locator(".flow-card")).to_have_count(0)


def test_a_file_is_looked_at_before_it_is_imported_and_comes_out_as_it_went_in(
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


def test_a_file_that_is_none_or_is_refused_says_so_and_changes_nothing(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    before = states(clinic)
    page = sign_in(somebody, clinic, "editor", place="flows/import")
    no_json, no_flows = b"PK\x03\x04", b'{"flows": 7}'
    for content, said in ((no_json, "notes.json is no export of flows"), (no_flows, "version: is missing")):
        file = FilePayload(name="notes.json", mimeType="application/json", buffer=content)
        page.get_by_label("File with flows").set_input_files(file)
        expect(page.locator(".problem").first).to_contain_text(said)

    assert states(clinic) == before
