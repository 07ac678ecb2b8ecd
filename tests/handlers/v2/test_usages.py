"""`/api/v2/usages.json` over HTTP."""

from datetime import timedelta
from typing import Any

import pytest

from persistence.database import Database
from persistence.sql.columns import new_uuid
from persistence.tables.channels import channel
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel
from tests.definition_files import make_definition, make_file, say
from tests.run_rows import uuid_of

V2 = "/api/v2"
PATH = f"{V2}/usages.json"
NOWHERE = "00000000-0000-4000-8000-000000000000"


def write(api: Api, resource: str, body: dict[str, Any], **query: str) -> dict[str, Any]:
    response = api.post(f"{V2}/{resource}.json", body, **query)
    assert response.status_code in (200, 201), response.text
    return dict(response.json())


def users_of(api: Api, record: str) -> list[tuple[str, str, str, bool]]:
    found = api.get(PATH, record=record)
    assert found.status_code == 200, found.text
    return [(each["type"], each["name"], each["how"], each["archived"]) for each in found.json()["results"]]


@pytest.fixture
def flow(api: Api) -> str:
    """A flow that uses a group, a field, a label, a topic and a global, and starts itself."""
    mine = {"group": "Nurses", "label": "Complaint", "topic": "Billing"}
    found = {kind: write(api, f"{kind}s", {"name": name})["uuid"] for kind, name in mine.items()}
    write(api, "fields", {"name": "Due Date", "type": "datetime"})
    write(api, "globals", {"name": "Clinic", "value": "Hill"})
    refs = {kind: [{"uuid": found[kind], "name": name}] for kind, name in mine.items()}
    uuid = new_uuid()
    definition = make_definition(
        say("Good morning from @globals.clinic, due @fields.due_date"),
        {"type": "add_contact_groups", "groups": refs["group"]},
        {"type": "add_input_labels", "labels": refs["label"]},
        {"type": "open_ticket", "topic": refs["topic"][0], "note": "Hi"},
        {"type": "enter_flow", "flow": {"uuid": uuid, "name": "Welcome"}, "terminal": True},
    )
    write(api, "definitions", {"document": make_file({**definition, "uuid": uuid})})
    return uuid


def uuid_named(api: Api, resource: str, name: str) -> str:
    return str(next(each["uuid"] for each in api.results(f"{V2}/{resource}.json") if each["name"] == name))


def test_what_a_definition_names_is_used_by_its_flow(api: Api, flow: str) -> None:
    for kind, name in (("group", "Nurses"), ("label", "Complaint"), ("topic", "Billing")):
        assert users_of(api, uuid_named(api, f"{kind}s", name)) == [("flow", "Welcome", "definition", False)]
    assert users_of(api, "globals.clinic") == [("flow", "Welcome", "definition", False)]
    assert users_of(api, "fields.due_date") == [("flow", "Welcome", "definition", False)]
    assert users_of(api, flow.upper()) == [("flow", "Welcome", "definition", False)]


def test_every_way_of_use_is_told(api: Api, database: Database, workspace: Workspace, flow: str) -> None:
    group, phone = uuid_named(api, "groups", "Nurses"), uuid_of(database, channel, add_channel(database, workspace))
    campaign = write(api, "campaigns", {"name": "Visits", "group": group})["uuid"]
    timing = {"relative_to": "due_date", "offset": 1, "unit": "days", "delivery_hour": 9, "flow": flow}
    write(api, "campaign_events", {"campaign": campaign, **timing})
    write(api, "groups", {"name": "Due", "query": 'due_date != ""'})
    kept = {"type": "keyword", "flow": flow, "channel": phone, "exclude_groups": [group]}
    write(api, "triggers", {**kept, "keywords": ["join", "start"]})
    write(api, "triggers", {"type": "catch_all", "flow": flow, "groups": [group]})
    later = (database.clock() + timedelta(days=2)).isoformat()
    write(api, "broadcasts", {"groups": [group], "text": "See you", "scheduled_on": later})
    write(api, "broadcasts", {"groups": [group], "text": "Not yet", "draft": True})

    definition, event = ("flow", "Welcome", "definition", False), ("campaign", "Visits", "event", False)
    any_word, join = "catch_all trigger", 'keyword trigger "join"'
    assert users_of(api, "fields.due_date") == [event, definition, ("group", "Due", "query", False)]
    assert users_of(api, flow) == [
        *(event, definition),
        *(("trigger", any_word, "start", False), ("trigger", join, "start", False)),
    ]
    assert users_of(api, phone) == [("trigger", join, "condition", False)]
    assert users_of(api, group) == [
        *(("broadcast", "Not yet", "contacts", False), ("broadcast", "See you", "contacts", False)),
        *(("campaign", "Visits", "contacts", False), definition),
        *(("trigger", any_word, "contacts", False), ("trigger", join, "excluded", False)),
    ]


def test_what_is_archived_is_told_too_and_keeps_nothing(api: Api, flow: str) -> None:
    assert api.delete(f"{V2}/globals.json", key="clinic").status_code == 400
    assert api.post(f"{V2}/flow_actions.json", {"flows": [flow], "action": "archive"}).status_code == 204

    assert users_of(api, "globals.clinic") == [("flow", "Welcome", "definition", True)]
    assert api.delete(f"{V2}/globals.json", key="clinic").status_code == 204


def test_a_topic_that_a_living_flow_uses_is_not_deleted(api: Api, flow: str) -> None:
    uuid = uuid_named(api, "topics", "Billing")

    refused = api.delete(f"{V2}/topics.json", uuid=uuid)
    assert refused.status_code == 400
    assert 'the flow "Welcome"' in refused.json()["detail"]
    assert api.post(f"{V2}/flow_actions.json", {"flows": [flow], "action": "archive"}).status_code == 204
    assert api.delete(f"{V2}/topics.json", uuid=uuid).status_code == 204


@pytest.mark.together
@pytest.mark.parametrize("record", [NOWHERE, "no-uuid", "fields.none", "globals.", "due_date"])
def test_an_unknown_record_is_not_found(api: Api, record: str) -> None:
    assert api.get(PATH, record=record).status_code == 404


def test_agents_do_not_read_it(api: Api, flow: str) -> None:
    assert api.as_role("agent").get(PATH, record=flow).status_code == 403
