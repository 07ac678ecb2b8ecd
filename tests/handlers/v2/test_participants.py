"""`/api/v2/participants.json` over HTTP, and colleagues who are named in notes."""

from typing import Any

import pytest

from persistence.database import Database
from persistence.sql.columns import new_uuid
from persistence.stream import read_changes, read_clocks
from persistence.users import remove_member
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_contact

PATH, NOTES = "/api/v2/participants.json", "/api/v2/contact_notes.json"


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000111", name="Amina")


def email_of(api: Api) -> str:
    return str(api.get("/api/v2/account.json").json()["user"]["email"])


def states(api: Api, **query: Any) -> list[tuple[str, str]]:
    return [(each["contact"]["name"], each["state"]) for each in api.results(PATH, **query)]


def test_who_looks_at_a_conversation_is_there_for_ninety_seconds_and_leaves_no_trace(
    api: Api, amina: str, database: Database, workspace: Workspace, clock: Any
) -> None:
    agent, bosco = api.as_role("agent"), make_contact(database, workspace, "+250788000222", name="Bosco")

    assert agent.post(PATH, {"contact": amina, "state": "here"}).status_code == 204
    assert agent.post(PATH, {"contact": amina, "state": "typing"}).status_code == 204
    assert states(api, contact=amina, here=True) == [("Amina", "typing")]
    assert api.results(PATH)[0]["user"]["email"] == email_of(agent)
    agent.post(PATH, {"contact": amina, "state": "gone"})
    assert states(api, here=True) == [] and states(api) == [("Amina", "gone")]
    agent.post(PATH, {"contact": amina, "state": "here"})
    clock.advance(seconds=91)
    assert states(api, here=True) == []
    agent.post(PATH, {"contact": bosco, "state": "here"})
    assert states(api) == [("Bosco", "here")]


def test_who_has_a_flow_open_is_told_to_those_who_may_list_flows(api: Api, amina: str, clock: Any) -> None:
    editor, agent = api.as_role("editor"), api.as_role("agent")
    flow = api.post("/api/v2/flows.json", {"name": "Registration", "type": "message"}).json()["uuid"]

    assert editor.post(PATH, {"flow": flow, "state": "here"}).status_code == 204
    (told,) = api.results(PATH, flow=flow, here=True)
    assert (told["contact"], told["flow"]["name"], told["user"]["email"]) == (None, "Registration", email_of(editor))
    assert agent.results(PATH) == [] and agent.post(PATH, {"flow": flow, "state": "here"}).status_code == 400
    for body in ({}, {"flow": flow, "contact": amina}, {"flow": new_uuid()}):
        assert api.post(PATH, {**body, "state": "here"}).status_code == 400
    clock.advance(seconds=91)
    assert api.results(PATH, flow=flow, here=True) == []
    editor.post(PATH, {"contact": amina, "state": "here"})
    assert [(each["flow"], each["state"]) for each in api.results(PATH)] == [(None, "here")]


def test_a_colleague_who_is_named_in_a_note_is_told_until_they_look(api: Api, amina: str, clock: Any) -> None:
    agent = api.as_role("agent")
    note = {"contact": amina, "text": "@Joel please call", "mentions": [email_of(agent)]}

    assert api.post(NOTES, note).status_code == 201

    waiting = {"user": email_of(agent), "mentioned": True}
    assert states(agent, **waiting) == [("Amina", "gone")]
    assert states(agent, here=True) == [] and api.results(PATH, user=email_of(api), mentioned=True) == []
    clock.advance(days=3)
    agent.post(PATH, {"contact": amina, "state": "gone"})
    assert states(agent, **waiting) == [("Amina", "gone")]
    agent.post(PATH, {"contact": amina, "state": "here"})
    assert states(agent, **waiting) == []

    ticket = api.post("/api/v2/tickets.json", {"contact": amina}).json()["uuid"]
    on_ticket = {"tickets": [ticket], "action": "add_note", "note": "@Joel again", "mentions": note["mentions"]}
    assert api.post("/api/v2/ticket_actions.json", on_ticket).status_code == 204
    assert states(agent, **waiting) == [("Amina", "here")]


def test_only_colleagues_who_answer_can_be_named_and_nothing_is_noted_otherwise(api: Api, amina: str) -> None:
    for email in ("nobody@example.org", email_of(api.as_role("viewer"))):
        refused = api.post(NOTES, {"contact": amina, "text": "@You", "mentions": [email]})
        assert (refused.status_code, list(refused.json())) == (400, ["mentions"])

    assert api.results(NOTES) == [] and api.results(PATH) == []


def test_who_takes_part_is_told_by_the_stream(
    api: Api, amina: str, database: Database, workspace: Workspace, clock: Any
) -> None:
    def clock_of() -> Any:
        with database.reading() as tx:
            return read_clocks(tx, [workspace.id])[workspace.id]

    before = clock_of()
    api.post(PATH, {"contact": amina, "state": "typing"})

    with database.reading() as tx:
        changes = read_changes(tx, workspace, before, clock_of(), 10) or []
    assert [(each.kind, '"typing"' in each.record) for each in changes] == [("participant", True)]


def test_those_who_leave_the_workspace_and_contacts_that_are_deleted_leave_nothing(
    api: Api, amina: str, database: Database, workspace: Workspace
) -> None:
    agent, editor = api.as_role("agent"), api.as_role("editor")
    leaving = email_of(agent)
    for each in (agent, editor):
        each.post(PATH, {"contact": amina, "state": "here"})

    with database.writing() as tx:
        remove_member(tx, workspace.id, leaving)
    assert [each["user"]["email"] for each in api.results(PATH)] == [email_of(editor)]
    assert api.delete("/api/v2/contacts.json", uuid=amina).status_code == 204
    assert api.results(PATH) == []
