"""`/api/v1/message_actions.json` over HTTP."""

from typing import Any

import pytest

from persistence.sql.columns import new_uuid
from tests.api import Api
from tests.channel_rows import add_channel, add_contact, add_outgoing
from tests.conftest import Clock

PATH = "/api/v1/message_actions.json"
MESSAGES = "/api/v1/messages.json"


@pytest.fixture
def messages(api: Api, clock: Clock) -> list[int]:
    """Two incoming messages and an outgoing one."""
    channel_id = add_channel(api.database, api.workspace)
    contact_id = add_contact(api.database, api.workspace)
    rows: list[tuple[str, dict[str, Any]]] = [("handled", {"direction": "in"})] * 2 + [("sent", {})]
    return [
        add_outgoing(api.database, api.workspace, channel_id, contact_id, clock(), status, **values)
        for status, values in rows
    ]


def act(api: Api, messages: list[int], action: str, **more: str) -> int:
    return api.post(PATH, {"messages": messages, "action": action, **more}).status_code


def test_label_makes_a_label_of_a_new_name_and_passes_over_what_cannot_be_labeled(
    api: Api, messages: list[int]
) -> None:
    status = act(api, [*messages, 99999], "label", label="Complaint")

    labeled = {record["id"] for record in api.results(MESSAGES, label="Complaint")}
    assert (status, labeled) == (204, set(messages[:2]))
    assert api.results("/api/v1/labels.json")[0]["count"] == 2


def test_unlabel_takes_a_label_off_and_makes_none(api: Api, messages: list[int]) -> None:
    act(api, messages, "label", label="Complaint")

    assert act(api, messages[:1], "unlabel", label="complaint") == 204
    assert act(api, messages[:1], "unlabel", label="Unknown") == 204

    assert [record["id"] for record in api.results(MESSAGES, label="Complaint")] == [messages[1]]
    assert [label["name"] for label in api.results("/api/v1/labels.json")] == ["Complaint"]


def test_a_uuid_counts_before_a_name(api: Api, messages: list[int]) -> None:
    uuid = api.post("/api/v1/labels.json", {"name": "Urgent"}).json()["uuid"]

    assert act(api, messages, "label", label_uuid=uuid, label="Complaint") == 204

    assert api.results(MESSAGES, id=messages[0])[0]["labels"] == ["Urgent"]


def test_archived_messages_come_back_and_deleted_ones_do_not(api: Api, messages: list[int]) -> None:
    act(api, messages[:2], "archive")
    archived = {record["id"] for record in api.results(MESSAGES, archived="Y")}
    act(api, messages[:1], "unarchive")
    act(api, messages[1:2], "delete")
    act(api, messages[1:2], "unarchive")

    assert archived == set(messages[:2])
    assert {record["id"] for record in api.results(MESSAGES, archived="N")} == {messages[0], messages[2]}


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"action": "label"}, "non_field_errors"),
        ({"action": "archive", "label": "Complaint"}, "non_field_errors"),
        ({"action": "label", "label": "+Complaint"}, "label"),
        ({"action": "label", "label": 'a"b'}, "label"),
        ({"action": "label", "label_uuid": new_uuid()}, "label_uuid"),
        ({"action": "label", "label_uuid": "Complaint"}, "label_uuid"),
        ({"action": "shred"}, "action"),
    ],
)
def test_a_wrong_label_or_action_changes_nothing(
    api: Api, messages: list[int], more: dict[str, str], field: str
) -> None:
    api.post("/api/v1/labels.json", {"name": "Complaint"})

    response = api.post(PATH, {"messages": messages, **more})

    assert (response.status_code, list(response.json())) == (400, [field])
    assert api.results(MESSAGES, label="Complaint") == []
