"""Runs started over HTTP, before and after a worker went through them, in both generations."""

from typing import Any

from persistence.contacts import contact
from persistence.flow_runs import flow_run
from persistence.flow_starts import flow_start
from persistence.flows import flow
from tests.api import Api
from tests.flow_rows import definition, node, say, store_flow, uuid_of
from tests.run_rows import uuid_of as uuid_in
from tests.worker.conversations.conftest import Stage
from tests.worker.conversations.test_conversation import AMINA, BEN, SURVEY

OLDER, NEWER = "/api/v1/runs.json", "/api/v2/runs.json"


def start_over_http(api: Api, flow_uuid: str, **named: Any) -> list[dict[str, Any]]:
    response = api.post(OLDER, {"flow_uuid": flow_uuid, **named})
    assert response.status_code == 201, response.text
    records: list[dict[str, Any]] = response.json()
    return records


def test_the_runs_of_the_answer_are_the_ones_that_go_on(api: Api, stage: Stage) -> None:
    flow_uuid = store_flow(stage.database, stage.workspace, SURVEY)
    answered = start_over_http(api, flow_uuid, phone=[AMINA, BEN])
    before = {run["id"]: run["uuid"] for run in api.results(NEWER)}

    stage.work()
    stage.receive(AMINA, "red")
    stage.work()

    assert sorted(before) == sorted(run["run"] for run in answered)
    assert {run["id"]: run["uuid"] for run in api.results(NEWER)} == before
    shown = {run["run"]: run for run in api.results(OLDER)}
    done, open_run = (shown[run["run"]] for run in answered)
    assert (done["completed"], open_run["completed"]) == (True, False)
    assert [(step["node"], step["type"]) for step in done["steps"]] == [
        (uuid_of("hello"), "A"),
        (uuid_of("colour"), "R"),
        (uuid_of("bye"), "A"),
    ]
    assert [(value["label"], value["text"], value["rule_value"]) for value in done["values"]] == [
        ("Colour", "red", "red")
    ]
    assert done["steps"][1]["value"] == "red"
    (known,) = stage.rows(flow)
    assert (known.active_run_count, known.completed_run_count) == (1, 1)
    (start,) = api.results("/api/v2/flow_starts.json")
    assert (start["status"], start["progress"]) == ("completed", {"total": 2, "started": 2})


def test_texts_given_at_the_start_are_read_by_the_flow(api: Api, stage: Stage) -> None:
    greeting = definition("Greeting", [node("hello", [say("@trigger.params.clinic")])])
    flow_uuid = store_flow(stage.database, stage.workspace, greeting)
    start_over_http(api, flow_uuid, phone=[AMINA], extra={"clinic": "Lakeside"})

    stage.work()

    (person,) = stage.rows(contact)
    assert stage.sent_to(person.id) == ["Lakeside"]


def test_a_run_whose_contact_was_blocked_meanwhile_is_interrupted(api: Api, stage: Stage) -> None:
    flow_uuid = store_flow(stage.database, stage.workspace, SURVEY)
    amina = stage.add_contact(AMINA, "Amina")
    start_over_http(api, flow_uuid, phone=[AMINA])
    uuid = uuid_in(stage.database, contact, amina)
    api.post("/api/v2/contact_actions.json", {"contacts": [uuid], "action": "block"})

    stage.work()

    (run,) = stage.rows(flow_run)
    assert (run.status, stage.sent_to(amina)) == ("interrupted", [])
    assert stage.rows(flow_start)[0].status == "completed"


def test_a_second_start_interrupts_the_first_run(api: Api, stage: Stage) -> None:
    flow_uuid = store_flow(stage.database, stage.workspace, SURVEY)
    amina = uuid_in(stage.database, contact, stage.add_contact(AMINA, "Amina"))
    for _ in range(2):
        api.post("/api/v2/flow_starts.json", {"flow": flow_uuid, "contacts": [amina]})
        stage.work()

    first, second = sorted(api.results(NEWER), key=lambda run: int(run["id"]))
    assert (first["exit_type"], second["exit_type"]) == ("interrupted", None)
    assert api.results("/api/v2/contacts.json")[0]["flow"]["uuid"] == flow_uuid


def test_a_start_without_restarts_spares_who_took_part_and_without_active_ones_who_is_busy(
    api: Api, stage: Stage
) -> None:
    flow_uuid = store_flow(stage.database, stage.workspace, SURVEY)
    amina, ben = (uuid_in(stage.database, contact, stage.add_contact(phone)) for phone in (AMINA, BEN))
    api.post("/api/v2/flow_starts.json", {"flow": flow_uuid, "contacts": [amina]})
    stage.work()

    for choice in ({"restart_participants": False}, {"exclude_active": True}):
        api.post("/api/v2/flow_starts.json", {"flow": flow_uuid, "contacts": [amina, ben], **choice})
        stage.work()

    assert [run["contact"]["uuid"] for run in api.results(NEWER)] == [ben, amina]
    totals = [start["progress"]["total"] for start in api.results("/api/v2/flow_starts.json")]
    assert totals == [0, 1, 1]
