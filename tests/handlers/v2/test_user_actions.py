"""`/api/v2/user_actions.json`: administrators change roles and remove users."""

from typing import Any

import pytest
from sqlalchemy import select

from persistence.database import Database
from persistence.tables.contacts import contact, ticket, ticket_event
from persistence.users import add_member, find_member
from persistence.workspaces.records import Workspace
from testbed.tokens import make_token
from tests.api import Api
from tests.channel_rows import add_contact
from tests.ticket_rows import add_ticket

PATH, USERS, EVENTS = "/api/v2/user_actions.json", "/api/v2/users.json", "/api/v2/audit_events.json"
TICKET_ACTIONS = "/api/v2/ticket_actions.json"
JOEL = "joel@example.org"


@pytest.fixture
def joel(database: Database, workspace: Workspace) -> str:
    with database.writing() as tx:
        return add_member(tx, workspace.id, JOEL, "editor").uuid


def roles(api: Api, *users: str) -> list[str]:
    return [each["role"] for uuid in users for each in api.results(USERS, uuid=uuid)]


def act(api: Api, user: str, action: str, **more: Any) -> int:
    return api.post(PATH, {"user": user, "action": action, **more}).status_code


def test_a_user_gets_another_role_and_the_log_tells(api: Api, joel: str) -> None:
    head = api.as_role("administrator")

    assert act(head, joel.upper(), "change_role", role="agent") == 204

    assert roles(head, joel) == ["agent"]
    (event,) = head.results(EVENTS, resource="users", action="changed")
    assert (event["record"]["name"], event["changes"]) == (JOEL, {"role": ["editor", "agent"]})


def test_a_removed_user_is_out_and_so_are_the_tokens(
    api: Api, database: Database, workspace: Workspace, other_workspace: Workspace, other_api: Api
) -> None:
    viewer, head = api.as_role("viewer"), api.as_role("administrator")
    (email,) = [each["email"] for each in head.results(USERS) if each["role"] == "viewer"]
    (uuid,) = [each["uuid"] for each in head.results(USERS, email=email)]
    with database.writing() as tx:
        add_member(tx, other_workspace.id, email, "editor")
    elsewhere = api.with_token(make_token(database, other_workspace, "editor"))

    assert act(head, uuid, "remove") == 204

    assert roles(head, uuid) == []
    assert viewer.get(USERS).status_code == 403
    assert elsewhere.get(USERS).status_code == 200
    assert roles(other_api, uuid) == ["editor"]


@pytest.mark.parametrize(
    ("action", "given"),
    [("remove", {}), ("change_role", {"role": "viewer"}), ("change_role", {"role": "surveyor"})],
    ids=str,
)
def test_open_tickets_do_not_stay_with_who_cannot_act_on_them(
    api: Api, database: Database, workspace: Workspace, joel: str, action: str, given: dict[str, Any]
) -> None:
    head = api.as_role("administrator")
    user_id = find_member_id(database, workspace)
    opened, closed = (
        add_ticket(database, workspace, add_contact(database, workspace, phone), assignee_id=user_id)
        for phone in ("+254722000111", "+254722000112")
    )
    assert head.post(TICKET_ACTIONS, {"tickets": [closed], "action": "close"}).status_code == 204

    assert act(head, joel, action, **given) == 204
    assert head.post(TICKET_ACTIONS, {"tickets": [closed], "action": "reopen"}).status_code == 204

    by_uuid = {each["uuid"]: each["assignee"] for each in head.results("/api/v2/tickets.json")}
    assert by_uuid == {opened: None, closed: None}
    with database.reading() as tx:
        statement = select(ticket_event.c.type, ticket_event.c.assignee_id).join(ticket).where(ticket.c.uuid == opened)
        assert [tuple(row) for row in tx.execute(statement.order_by(ticket_event.c.id))][1:] == [("assigned", None)]


def test_another_role_that_acts_on_tickets_keeps_them(
    api: Api, database: Database, workspace: Workspace, joel: str
) -> None:
    head = api.as_role("administrator")
    user_id = find_member_id(database, workspace)
    add_ticket(database, workspace, add_contact(database, workspace), assignee_id=user_id)

    assert act(head, joel, "change_role", role="agent") == 204

    assert [each["assignee"]["email"] for each in head.results("/api/v2/tickets.json")] == [JOEL]


@pytest.mark.parametrize("role", ["viewer", "surveyor"])
def test_tickets_are_not_assigned_to_who_cannot_act_on_them(
    api: Api, database: Database, workspace: Workspace, joel: str, role: str
) -> None:
    head = api.as_role("administrator")
    contact_id = add_contact(database, workspace)
    uuid = add_ticket(database, workspace, contact_id)
    act(head, joel, "change_role", role=role)

    refused = [
        head.post(TICKET_ACTIONS, {"tickets": [uuid], "action": "assign", "assignee": JOEL}),
        head.post("/api/v2/tickets.json", {"contact": new_contact(database, workspace), "assignee": JOEL}),
    ]

    assert [(each.status_code, list(each.json())) for each in refused] == [(400, ["assignee"])] * 2
    assert f"{JOEL} has the role {role}" in refused[0].text


def find_member_id(database: Database, workspace: Workspace) -> int:
    with database.reading() as tx:
        return find_member(tx, workspace.id, JOEL) or 0


def new_contact(database: Database, workspace: Workspace) -> str:
    contact_id = add_contact(database, workspace, "+254722000113")
    with database.reading() as tx:
        chosen = select(contact.c.uuid).where(contact.c.id == contact_id)
        return str(tx.execute(chosen).scalar_one())


def test_an_administrator_remains(api: Api, joel: str) -> None:
    head = api.as_role("administrator")
    own = [each["uuid"] for each in head.results(USERS, role="administrator")]
    for uuid in own[1:]:
        assert act(head, uuid, "remove") == 204

    assert act(head, own[0], "remove") == act(head, own[0], "change_role", role="editor") == 400
    assert act(head, joel, "change_role", role="administrator") == 204
    assert act(head, own[0], "change_role", role="editor") == 204
    assert roles(api, joel, own[0]) == ["administrator", "editor"]


@pytest.mark.together
@pytest.mark.parametrize(
    "body",
    [
        {"action": "change_role"},
        {"action": "change_role", "role": "owner"},
        {"action": "promote", "role": "editor"},
        {"role": "editor"},
        {"user": "x", "action": "remove"},
        {"user": "00000000-0000-4000-8000-000000000000", "action": "remove"},
    ],
    ids=str,
)
def test_what_is_no_action_is_refused(api: Api, joel: str, body: dict[str, Any]) -> None:
    head = api.as_role("administrator")

    assert head.post(PATH, {"user": joel, **body}).status_code == 400
    assert roles(head, joel) == ["editor"]
