"""Flows within flows: which one continues when the inner one expires, fails or is archived (flow format, resuming)."""

from typing import Any

from persistence.flows.records import archive_flow
from persistence.tables.contacts import contact
from persistence.tables.flows import flow, flow_run, flow_session
from testbed.flow_rows import ask, definition, node, say, store_flow, uuid_of
from tests.api import Api
from tests.conftest import Clock
from tests.worker.flows.conftest import Stage

AMINA = "+254722000111"
RUNS = "/api/v2/runs.json"


def begin(stage: Stage) -> int:
    """A contact whom the inner of two flows asks something; the inner one expires after ten minutes."""
    child = definition("Child", [ask("age", {}, None, actions=[say("How old are you?")])], expire_after_minutes=10)
    child_uuid = store_flow(stage.database, stage.workspace, child)
    enter = {"type": "enter_flow", "uuid": uuid_of("enter"), "flow": {"uuid": child_uuid, "name": "Child"}}
    nodes = [
        node("entering", [enter], to="after"),
        node("after", [say("It is @child.status.")], to="last"),
        ask("last", {"yes": None}, None, actions=[say("Go on?")]),
    ]
    amina = stage.add_contact(AMINA)
    stage.start(store_flow(stage.database, stage.workspace, definition("Parent", nodes)), amina)
    stage.work()
    return amina


def shown(api: Api) -> dict[str, Any]:
    """How runs ended, by the name of their flow."""
    return {run["flow"]["name"]: (run["exit_type"], run["exited_on"] is not None) for run in api.results(RUNS)}


def test_the_outer_flow_goes_on_when_the_inner_one_expires(stage: Stage, api: Api, clock: Clock) -> None:
    amina = begin(stage)

    clock.advance(minutes=11)
    stage.work()

    assert stage.sent_to(amina) == ["How old are you?", "It is expired.", "Go on?"]
    assert shown(api) == {"Child": ("expired", True), "Parent": (None, False)}
    assert api.results("/api/v2/contacts.json")[0]["flow"]["name"] == "Parent"
    clock.advance(minutes=61)
    stage.work()
    assert shown(api) == {"Child": ("expired", True), "Parent": ("expired", True)}
    assert api.results("/api/v2/contacts.json")[0]["flow"] is None


def test_a_late_expiration_does_nothing_to_who_went_on_meanwhile(stage: Stage, api: Api, clock: Clock) -> None:
    amina = begin(stage)
    clock.advance(minutes=9)
    stage.receive(AMINA, "41")
    stage.work()

    clock.advance(minutes=2)
    stage.work()

    assert stage.sent_to(amina) == ["How old are you?", "It is completed.", "Go on?"]
    assert shown(api) == {"Child": ("completed", True), "Parent": (None, False)}


def test_archiving_the_outer_flow_interrupts_both_and_counts_both(stage: Stage, api: Api) -> None:
    begin(stage)
    (outer,) = stage.rows(flow, flow.c.name == "Parent")

    archive_flow(stage.database, stage.workspace.id, outer.id)

    assert shown(api) == {"Child": ("interrupted", True), "Parent": ("interrupted", True)}
    counts = {each["name"]: each["runs"] for each in api.results("/api/v2/flows.json")}
    ended = {"active": 0, "completed": 0, "interrupted": 1, "expired": 0}
    assert counts == {"Child": ended, "Parent": ended}


def test_archiving_the_inner_flow_interrupts_who_waits_in_it(stage: Stage, api: Api) -> None:
    amina = begin(stage)
    (inner,) = stage.rows(flow, flow.c.name == "Child")

    archive_flow(stage.database, stage.workspace.id, inner.id)
    stage.receive(AMINA, "41")
    stage.work()

    assert shown(api) == {"Child": ("interrupted", True), "Parent": ("interrupted", True)}
    assert stage.sent_to(amina) == ["How old are you?"]
    assert api.results("/api/v2/messages.json", folder="inbox")[0]["text"] == "41"


def test_interrupting_the_contact_ends_the_whole_conversation(stage: Stage, api: Api) -> None:
    begin(stage)
    (person,) = stage.rows(contact)

    api.post("/api/v2/contact_actions.json", {"contacts": [person.uuid], "action": "interrupt"})

    assert shown(api) == {"Child": ("interrupted", True), "Parent": ("interrupted", True)}
    assert [row.status for row in stage.rows(flow_session)] == ["interrupted"]


def test_messages_are_of_the_flow_that_said_or_asked_for_them(stage: Stage, api: Api) -> None:
    begin(stage)
    stage.receive(AMINA, "41")
    stage.work()

    messages = [(each["text"], each["flow"]["name"]) for each in reversed(api.results("/api/v2/messages.json"))]
    assert messages == [
        ("How old are you?", "Child"),
        ("41", "Child"),
        ("It is completed.", "Parent"),
        ("Go on?", "Parent"),
    ]
    (inner,) = stage.rows(flow, flow.c.name == "Child")
    assert [run.responded for run in stage.rows(flow_run)] == [False, True]
    assert len(api.results(RUNS, flow=inner.uuid)) == 1
