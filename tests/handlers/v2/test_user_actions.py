"""`/api/v2/user_actions.json`: administrators change roles and remove users."""

from typing import Any

import pytest

from persistence.database import Database
from persistence.users import add_member
from persistence.workspaces import Workspace
from testbed.tokens import make_token
from tests.api import Api

PATH, USERS, EVENTS = "/api/v2/user_actions.json", "/api/v2/users.json", "/api/v2/audit_events.json"
JOEL = "joel@example.org"


@pytest.fixture
def joel(database: Database, workspace: Workspace) -> str:
    with database.writing() as tx:
        return add_member(tx, workspace.id, JOEL, "editor")


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


def test_an_administrator_remains(api: Api, joel: str) -> None:
    head = api.as_role("administrator")
    own = [each["uuid"] for each in head.results(USERS, role="administrator")]
    for uuid in own[1:]:
        assert act(head, uuid, "remove") == 204

    assert act(head, own[0], "remove") == act(head, own[0], "change_role", role="editor") == 400
    assert act(head, joel, "change_role", role="administrator") == 204
    assert act(head, own[0], "change_role", role="editor") == 204
    assert roles(api, joel, own[0]) == ["administrator", "editor"]


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


def test_users_of_another_workspace_do_not_exist(api: Api, other_api: Api, joel: str) -> None:
    stranger = other_api.as_role("administrator")

    assert act(stranger, joel, "remove") == act(stranger, joel, "change_role", role="viewer") == 400
    assert roles(api.as_role("administrator"), joel) == ["editor"]


@pytest.mark.parametrize("role", ["editor", "viewer", "agent", "surveyor"])
def test_only_administrators_act_on_users(api: Api, joel: str, role: str) -> None:
    assert act(api.as_role(role), joel, "change_role", role="administrator") == 403
