"""Runs and starts seen through both generations, and the contacts and messages they concern."""

from typing import Any

import pytest
from sqlalchemy import select

from persistence.database import Database
from persistence.tables.contacts import contact
from persistence.tables.flows import flow, flow_run, flow_session
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel, add_contact, add_outgoing
from tests.run_rows import NODE, add_flow, add_run, add_waiting, status_counts, uuid_of

AMINA = "+254722000111"


@pytest.fixture
def registration(database: Database, workspace: Workspace) -> int:
    return add_flow(database, workspace)


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> int:
    return add_contact(database, workspace, AMINA)


def test_a_run_says_the_same_in_both(
    api: Api, database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    moment = "2026-03-02T08:10:11.000000Z"
    value = {"name": "Age", "value": "7", "category": "Child", "node": NODE, "time": moment, "input": "seven 7"}
    visit = {"type": "R", "left_on": None, "results": [value]}
    path = [{"node": NODE, "time": moment}]
    add_run(database, workspace, registration, amina, results={"age": value}, path=path, visits=[visit])

    (older,), (newer,) = api.results("/api/v1/runs.json"), api.results("/api/v2/runs.json")

    assert older["run"] == newer["id"]
    assert (older["flow_uuid"], older["contact"]) == (newer["flow"]["uuid"], newer["contact"]["uuid"])
    assert older["completed"] == (newer["exit_type"] == "completed")
    assert [(step["node"], step["arrived_on"]) for step in older["steps"]] == [(NODE, moment)]
    assert newer["path"] == path
    (shown,) = older["values"]
    for name, newer_name in (("label", "name"), ("category", "category"), ("text", "input"), ("rule_value", "value")):
        assert shown[name] == newer["values"]["age"][newer_name]
    assert (older["created_on"], older["modified_on"]) == (newer["created_on"], newer["modified_on"])


def test_runs_started_in_generation_1_are_a_start_of_generation_2(
    api: Api, database: Database, registration: int, amina: int
) -> None:
    add_channel(database, api.workspace)
    flow_uuid = uuid_of(database, flow, registration)

    response = api.post(
        "/api/v1/runs.json", {"flow_uuid": flow_uuid, "phone": [AMINA], "extra": {"clinic": "Lakeside"}}
    )

    (start,) = api.results("/api/v2/flow_starts.json")
    (run,) = api.results("/api/v2/runs.json")
    assert (start["flow"]["uuid"], start["params"]) == (flow_uuid, {"clinic": "Lakeside"})
    assert run["start"] == {"uuid": start["uuid"]}
    assert [record["run"] for record in response.json()] == [run["id"]]


@pytest.mark.parametrize(
    ("path", "action", "ending"),
    [
        ("/api/v2/contact_actions.json", "interrupt", "interrupted"),
        ("/api/v1/contact_actions.json", "expire", "expired"),
        ("/api/v2/contact_actions.json", "block", "interrupted"),
        ("/api/v1/contact_actions.json", "block", "interrupted"),
    ],
)
def test_an_action_of_either_generation_ends_the_contacts_run_in_both(
    api: Api,
    database: Database,
    workspace: Workspace,
    registration: int,
    amina: int,
    path: str,
    action: str,
    ending: str,
) -> None:
    session_id, _ = add_waiting(database, workspace, registration, amina)
    uuid = uuid_of(database, contact, amina)
    before = api.results("/api/v2/contacts.json", uuid=uuid)[0]["flow"]

    response = api.post(path, {"contacts": [uuid], "action": action})

    assert response.status_code == 204
    assert before == {"uuid": uuid_of(database, flow, registration), "name": "Registration"}
    assert api.results("/api/v2/contacts.json", uuid=uuid)[0]["flow"] is None
    (run,) = api.results("/api/v2/runs.json")
    assert (run["exit_type"], run["exited_on"]) == (ending, run["modified_on"])
    older = api.results("/api/v1/runs.json")[0]
    assert (older["completed"], older["expired_on"] is not None) == (False, ending == "expired")
    assert status_counts(database, registration) == {ending: 1}
    with database.reading() as tx:
        status = tx.execute(select(flow_session.c.status).where(flow_session.c.id == session_id)).scalar_one()
    assert status == ending


@pytest.mark.parametrize("path", ["/api/v2/contacts.json", "/api/v1/contacts.json"])
def test_the_runs_of_a_deleted_contact_are_gone_in_both(
    api: Api, database: Database, workspace: Workspace, registration: int, amina: int, path: str
) -> None:
    add_waiting(database, workspace, registration, amina)
    add_run(database, workspace, registration, amina)

    assert api.delete(path, uuid=uuid_of(database, contact, amina)).status_code == 204

    assert api.results("/api/v2/runs.json") == api.results("/api/v1/runs.json") == []
    assert status_counts(database, registration) == {}
    with database.reading() as tx:
        assert tx.execute(select(flow_run.c.id)).all() == tx.execute(select(flow_session.c.id)).all() == []


def test_archiving_messages_ends_no_run(
    api: Api, database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    add_waiting(database, workspace, registration, amina)
    uuid = uuid_of(database, contact, amina)

    for path, action in (("/api/v2/contact_actions.json", "archive"), ("/api/v1/contact_actions.json", "archive")):
        assert api.post(path, {"contacts": [uuid], "action": action}).status_code == 204

    assert api.results("/api/v2/runs.json")[0]["exit_type"] is None


def test_a_message_shows_its_flow_in_both(
    api: Api, database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    channel_id = add_channel(database, workspace)

    def add(**values: Any) -> int:
        with database.reading() as tx:
            return add_outgoing(database, workspace, channel_id, amina, tx.now, "sent", **values)

    of_flow, other = add(flow_id=registration), add()

    newer = {record["id"]: record["flow"] for record in api.results("/api/v2/messages.json")}
    older = {record["id"]: record["type"] for record in api.results("/api/v1/messages.json")}
    assert newer == {of_flow: {"uuid": uuid_of(database, flow, registration), "name": "Registration"}, other: None}
    assert older == {of_flow: "F", other: "I"}
    assert [record["id"] for record in api.results("/api/v1/messages.json", flow=registration)] == [of_flow]
