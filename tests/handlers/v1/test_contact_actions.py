"""`/api/v1/contact_actions.json` over HTTP."""

from typing import Any

import pytest

from persistence.sql.columns import new_uuid
from tests.api import Api
from tests.factories import id_of
from tests.run_rows import add_flow, add_waiting

PATH = "/api/v1/contact_actions.json"
CONTACTS = "/api/v2/contacts.json"


@pytest.fixture
def contacts(api: Api) -> list[str]:
    """The UUIDs of two contacts."""
    return [api.post(CONTACTS, {"name": name}).json()["uuid"] for name in ("Amina", "Grace")]


@pytest.fixture
def group(api: Api) -> str:
    """The UUID of the group Nurses."""
    uuid: str = api.post("/api/v2/groups.json", {"name": "Nurses"}).json()["uuid"]
    return uuid


def members(api: Api) -> set[str]:
    return {contact["uuid"] for contact in api.results(CONTACTS, group="Nurses")}


@pytest.mark.parametrize("field", ["group", "label_uuid", "group_uuid"])
def test_a_group_is_named_in_three_ways(api: Api, contacts: list[str], group: str, field: str) -> None:
    named = {field: "nurses" if field == "group" else group}

    assert api.post(PATH, {"contacts": contacts, "action": "add", **named}).status_code == 204
    joined = members(api)
    assert api.post(PATH, {"contacts": contacts[0], "action": "remove", **named}).status_code == 204

    assert (joined, members(api)) == (set(contacts), {contacts[1]})


def test_a_blocked_contact_leaves_its_groups_and_can_be_unblocked(api: Api, contacts: list[str], group: str) -> None:
    api.post(PATH, {"contacts": contacts, "action": "add", "group": "Nurses"})
    api.post(PATH, {"contacts": contacts[:1], "action": "block"})
    after_block = members(api)
    status = api.results(CONTACTS, uuid=contacts[0])[0]["status"]
    api.post(PATH, {"contacts": contacts[:1], "action": "unblock"})

    assert (after_block, status) == ({contacts[1]}, "blocked")
    assert api.results(CONTACTS, uuid=contacts[0])[0]["status"] == "active"


def test_deleted_contacts_are_gone(api: Api, contacts: list[str]) -> None:
    assert api.post(PATH, {"contacts": contacts[:1], "action": "delete"}).status_code == 204

    assert [contact["uuid"] for contact in api.results(CONTACTS)] == [contacts[1]]


@pytest.mark.parametrize("action", ["expire", "archive"])
def test_runs_end_and_messages_are_archived_without_a_body(api: Api, contacts: list[str], action: str) -> None:
    response = api.post(PATH, {"contacts": contacts, "action": action})

    assert (response.status_code, response.content) == (204, b"")


def test_runs_that_are_made_to_expire_have_expired_in_both_generations(api: Api, contacts: list[str]) -> None:
    flow_id = add_flow(api.database, api.workspace)
    add_waiting(api.database, api.workspace, flow_id, id_of(api.database, contacts[0]))

    api.post(PATH, {"contacts": contacts, "action": "expire"})

    run = api.results("/api/v2/runs.json")[0]
    assert (run["exit_type"], run["exited_on"] is None) == ("expired", False)
    assert api.results("/api/v1/runs.json")[0]["expired_on"] == run["exited_on"]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"action": "add"}, "non_field_errors"),
        ({"action": "block", "group": "Nurses"}, "non_field_errors"),
        ({"action": "add", "group": "Doctors"}, "group"),
        ({"action": "add", "label_uuid": new_uuid()}, "label_uuid"),
        ({"action": "add", "label_uuid": "Nurses"}, "label_uuid"),
        ({"action": "add", "group": "Open Tickets"}, "group"),
        ({"action": "juggle"}, "action"),
        ({"contacts": [], "action": "block"}, "contacts"),
        ({"contacts": [new_uuid()], "action": "block"}, "contacts"),
    ],
)
def test_what_cannot_be_done_with_all_is_done_with_none(
    api: Api, contacts: list[str], group: str, more: dict[str, Any], field: str
) -> None:
    response = api.post(PATH, {"contacts": contacts, **more})

    assert (response.status_code, list(response.json())) == (400, [field])
    assert (members(api), {contact["status"] for contact in api.results(CONTACTS)}) == (set(), {"active"})


def test_two_names_of_different_groups_are_refused(api: Api, contacts: list[str], group: str) -> None:
    api.post("/api/v2/groups.json", {"name": "Doctors"})

    response = api.post(PATH, {"contacts": contacts, "action": "add", "group": "Doctors", "group_uuid": group})

    assert (response.status_code, list(response.json())) == (400, ["non_field_errors"])
