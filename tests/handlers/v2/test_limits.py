"""What people may make without end ends somewhere: 409 from then on."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import RowMapping, Table, insert

from persistence.sql.columns import new_uuid
from persistence.sql.names import OBJECTS_PER_WORKSPACE
from persistence.tables.contacts import field, group
from persistence.tables.deliveries import resthook
from persistence.tables.messages import label, optin
from persistence.tables.service import global_value
from tests.api import Api

Made = dict[str, Any]


def make_group(api: Api) -> str:
    return str(api.post("/api/v2/groups.json", {"name": "Mothers"}).json()["uuid"])


def make_flow(api: Api) -> str:
    return str(api.post("/api/v2/flows.json", {"name": "Welcome"}).json()["uuid"])


def campaigns(api: Api) -> Callable[[int], Made]:
    group = make_group(api)
    return lambda number: {"name": f"Reminders {number}", "group": group}


def campaign_events(api: Api) -> Callable[[int], Made]:
    campaign = api.post("/api/v2/campaigns.json", campaigns(api)(0)).json()["uuid"]
    about = {"campaign": campaign, "relative_to": "created_on", "unit": "days", "delivery_hour": 9, "message": "Hello"}
    return lambda number: {**about, "offset": number}


def resthook_subscribers(api: Api) -> Callable[[int], Made]:
    api.post("/api/v2/resthooks.json", {"resthook": "new-birth"})
    return lambda number: {"resthook": "new-birth", "target_url": f"https://example.org/{number}"}


def triggers(api: Api) -> Callable[[int], Made]:
    flow = make_flow(api)
    return lambda number: {"type": "keyword", "flow": flow, "keywords": [f"join{number}"]}


def flows(_api: Api) -> Callable[[int], Made]:
    return lambda number: {"name": f"Welcome {number}"}


@pytest.mark.parametrize(
    ("prepare", "limit"),
    [
        (campaigns, "persistence.campaigns.records.CAMPAIGNS_PER_WORKSPACE"),
        (campaign_events, "persistence.campaigns.events.EVENTS_PER_CAMPAIGN"),
        (resthook_subscribers, "persistence.resthooks.SUBSCRIBERS_PER_WORKSPACE"),
        (triggers, "persistence.triggers.records.TRIGGERS_PER_WORKSPACE"),
        (flows, "persistence.definitions.editing.FLOWS_PER_WORKSPACE"),
    ],
)
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # the condition is the same on both databases
def test_one_too_many_is_refused(
    api: Api, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[Api], Callable[[int], Made]], limit: str
) -> None:
    path, body = f"/api/v2/{prepare.__name__}.json", prepare(api)
    monkeypatch.setattr(limit, 2)

    answers = [api.post(path, body(number)) for number in range(1, 4)]

    assert [answer.status_code for answer in answers] == [201, 201, 409], answers[-1].text
    assert any(words in answers[-1].text for words in ("limit of 2 ", "at most 2 "))


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_an_archived_campaign_makes_room_and_needs_it_to_come_back(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("persistence.campaigns.records.CAMPAIGNS_PER_WORKSPACE", 1)
    body = campaigns(api)
    former = api.post("/api/v2/campaigns.json", body(1)).json()["uuid"]
    named = {"campaigns": [former]}

    assert api.post("/api/v2/campaign_actions.json", {"action": "archive", **named}).status_code == 204
    assert api.post("/api/v2/campaigns.json", body(2)).status_code == 201
    assert api.post("/api/v2/campaign_actions.json", {"action": "restore", **named}).status_code == 409


NAMED: dict[str, tuple[Table, dict[str, str]]] = {
    "fields": (field, {"type": "text"}),
    "globals": (global_value, {"value": "x"}),
    "groups": (group, {}),
    "labels": (label, {}),
    "optins": (optin, {}),
    "resthooks": (resthook, {}),
}
"""By path, the table, and what one needs beside its name."""


@pytest.mark.parametrize("resource", NAMED)
def test_a_workspace_names_250_records_of_each_kind(api: Api, resource: str) -> None:
    table, more = NAMED[resource]
    path, name = f"/api/v2/{resource}.json", "resthook" if table is resthook else "name"
    assert api.post(path, {name: "first", **more}).status_code == 201
    with api.database.writing() as tx:
        first = tx.execute(table.select().order_by(table.c.id.desc()).limit(1)).mappings().one()
        tx.execute(insert(table), [copy(first, number) for number in range(OBJECTS_PER_WORKSPACE - 2)])

    answers = [api.post(path, {name: word, **more}).status_code for word in ("last", "one-more")]

    assert answers == [201, 409]


def copy(row: RowMapping, number: int) -> Made:
    """A row like this one under a name of its own."""
    own = {"uuid": new_uuid(), **dict.fromkeys(("name", "name_key", "key", "slug"), f"copy{number}")}
    return {column: own.get(column, value) for column, value in row.items() if column != "id"}
