"""Exports and imports of campaigns."""

from typing import Any

import pytest
from sqlalchemy import select

from persistence.database import Database
from persistence.definitions.importing import ImportRefused, export_campaigns
from persistence.sql.columns import new_uuid
from persistence.tables.campaigns import campaign
from persistence.tables.contacts import group
from persistence.tables.flows import flow
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.campaign_rows import make_campaign, make_event, make_flow
from tests.definition_files import bring_in as bring_in_file
from tests.definition_files import make_file
from tests.factories import make_field

CAMPAIGNS = "/api/v2/campaigns.json"
EVENTS = "/api/v2/campaign_events.json"
GROUP = "11111111-1111-4111-8111-111111111111"
FLOW = "22222222-2222-4222-8222-222222222222"


def export(database: Database, workspace: Workspace, uuids: list[str]) -> list[dict[str, Any]]:
    with database.reading() as tx:
        return [one.to_json() for one in export_campaigns(tx, workspace.id, uuids)]


def bring_in(database: Database, workspace: Workspace, campaigns: list[Any]) -> None:
    """Import a file with nothing but campaigns."""
    bring_in_file(database, workspace, make_file(campaigns=campaigns))


def a_campaign(*events: dict[str, Any], **values: Any) -> dict[str, Any]:
    reference = {"uuid": GROUP.upper(), "name": "Mothers"}
    return {"uuid": new_uuid(), "name": "Antenatal", "group": reference, "events": list(events)} | values


def an_event(**values: Any) -> dict[str, Any]:
    return {
        "uuid": new_uuid(),
        "offset": -2,
        "unit": "W",
        "event_type": "M",
        "delivery_hour": 9,
        "message": {"eng": "Soon!"},
        "relative_to": {"label": "Due Date", "key": "due_date"},
        "start_mode": "I",
        "base_language": "eng",
    } | values


def test_an_export_has_campaigns_with_their_events_and_names_what_they_need(
    database: Database, workspace: Workspace
) -> None:
    make_field(database, workspace, "Due Date", "datetime")
    uuid = make_campaign(database, workspace, "Antenatal")
    make_campaign(database, workspace, "Other")
    flow_uuid = make_flow(database, workspace, "Welcome")
    with database.reading() as tx:
        flow_id = tx.execute(select(flow.c.id)).scalar_one()
        group_uuid = tx.execute(select(group.c.uuid).where(group.c.name == "Mothers")).scalar_one()
    make_event(database, workspace, uuid, offset=-2, unit="weeks", delivery_hour=9, message={"eng": "Soon!"})
    flow_event = {"message": None, "base_language": None, "flow_id": flow_id, "start_mode": "S"}
    make_event(database, workspace, uuid, relative_to="created_on", **flow_event)

    with database.reading() as tx:
        [exported] = export_campaigns(tx, workspace.id, [uuid.upper(), new_uuid()])

    written = exported.to_json()
    events = [without_uuid(event) for event in written.pop("events")]
    assert written == {"uuid": uuid, "name": "Antenatal", "group": {"uuid": group_uuid, "name": "Mothers"}}
    assert events == [
        {
            "offset": -2,
            "unit": "W",
            "event_type": "M",
            "delivery_hour": 9,
            "message": {"eng": "Soon!"},
            "relative_to": {"label": "Due Date", "key": "due_date"},
            "start_mode": "I",
            "base_language": "eng",
        },
        {
            "offset": 1,
            "unit": "D",
            "event_type": "F",
            "delivery_hour": -1,
            "message": None,
            "relative_to": {"label": "Created On", "key": "created_on"},
            "start_mode": "S",
            "flow": {"uuid": flow_uuid, "name": "Welcome"},
        },
    ]


def test_the_campaigns_of_another_workspace_are_not_exported(
    database: Database, workspace: Workspace, other_workspace: Workspace
) -> None:
    uuid = make_campaign(database, other_workspace, "Theirs")

    assert export(database, workspace, [uuid]) == []


def test_an_imported_campaign_has_all_its_events(api: Api, database: Database, workspace: Workspace) -> None:
    flow_uuid = make_flow(database, workspace, "Welcome")
    starting = {"event_type": "F", "message": None, "flow": {"uuid": FLOW, "name": "welcome"}, "unit": "H"}

    bring_in(database, workspace, [a_campaign(an_event(), an_event(**starting))])

    [record] = api.results(CAMPAIGNS)
    second, first = api.results(EVENTS)
    assert (record["name"], record["group"]["name"]) == ("Antenatal", "Mothers")
    assert (first["message"], first["offset"], first["unit"], first["delivery_hour"]) == (
        {"eng": "Soon!"},
        -2,
        "weeks",
        9,
    )
    assert (second["flow"]["uuid"], second["unit"], second["relative_to"]["key"]) == (flow_uuid, "hours", "due_date")
    assert api.results("/api/v2/fields.json", key="due_date")[0]["type"] == "datetime"


def test_what_is_exported_can_be_imported_elsewhere_unchanged(
    database: Database, workspace: Workspace, other_workspace: Workspace
) -> None:
    bring_in(database, workspace, [a_campaign(an_event(), an_event(message={"eng": "Soon!", "kin": "Vuba!"}))])
    uuid = export_all(database, workspace)[0]["uuid"]
    [exported] = export(database, workspace, [uuid])

    bring_in(database, other_workspace, [exported])

    [copy] = export_all(database, other_workspace)
    assert copy["uuid"] != uuid
    assert [without_uuid(event) for event in copy["events"]] == [without_uuid(one) for one in exported["events"]]


def export_all(database: Database, workspace: Workspace) -> list[dict[str, Any]]:
    with database.reading() as tx:
        uuids = tx.execute(select(campaign.c.uuid).where(campaign.c.workspace_id == workspace.id)).scalars().all()
    return export(database, workspace, list(uuids))


def without_uuid(event: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key != "uuid"}


def test_a_campaign_of_the_same_name_is_replaced(api: Api, database: Database, workspace: Workspace) -> None:
    bring_in(database, workspace, [a_campaign(an_event(), an_event())])

    bring_in(database, workspace, [a_campaign(an_event(offset=5), name="aNTENATAL")])

    assert [record["name"] for record in api.results(CAMPAIGNS)] == ["aNTENATAL"]
    assert [record["offset"] for record in api.results(EVENTS)] == [5]


def test_a_campaign_is_known_by_its_uuid_then_by_its_name(api: Api, database: Database, workspace: Workspace) -> None:
    given = a_campaign()

    bring_in(database, workspace, [given])
    bring_in(database, workspace, [given | {"name": "Renamed"}])
    bring_in(database, workspace, [given | {"uuid": new_uuid(), "name": "renamed"}, a_campaign(name="Other")])
    bring_in(database, workspace, [given | {"uuid": "of an old file", "name": "Unknown"}])

    found = {record["name"]: record["uuid"] for record in api.results(CAMPAIGNS)}
    assert found["renamed"] == given["uuid"]
    assert set(found) == {"renamed", "Other", "Unknown"}


def test_a_name_that_another_campaign_has_taken_meanwhile_is_refused(
    api: Api, database: Database, workspace: Workspace
) -> None:
    given = a_campaign(name="First")
    bring_in(database, workspace, [given, a_campaign(name="Second")])

    with pytest.raises(ImportRefused, match=r"^campaigns\[0\]: name: This name is already taken\.$"):
        bring_in(database, workspace, [given | {"name": "Second"}])


@pytest.mark.parametrize(
    ("message", "base", "kept"),
    [
        ("Soon!", "fra", {"eng": "Soon!"}),
        ("Soon!", None, {"eng": "Soon!"}),
        ({"base": "Soon!"}, "base", {"eng": "Soon!"}),
        ({"eng": " ", "kin": "Vuba!"}, "eng", {"kin": "Vuba!"}),
    ],
)
def test_older_files_say_less_of_languages(
    api: Api, database: Database, workspace: Workspace, message: Any, base: str | None, kept: dict[str, str]
) -> None:
    bring_in(database, workspace, [a_campaign(an_event(message=message, base_language=base))])

    assert api.results(EVENTS)[0]["message"] == kept
    assert api.results("/api/v1/events.json")[0]["message"] == next(iter(kept.values()))


@pytest.mark.parametrize(
    "bad",
    [
        "Antenatal",
        None,
        {"name": "Antenatal"},
        a_campaign(an_event(offset=float("inf"))),
        a_campaign(an_event(offset=2**31)),
        a_campaign(an_event(relative_to={"label": "Nickname", "key": "nickname"})),
        a_campaign(an_event(event_type="F", message=None, flow={"uuid": new_uuid(), "name": "Gone"})),
    ],
)
def test_what_cannot_be_read_is_refused_at_its_index_and_nothing_is_imported(
    api: Api, database: Database, workspace: Workspace, bad: Any
) -> None:
    make_field(database, workspace, "Nickname")

    with pytest.raises(ImportRefused, match=r"^campaigns\[1\]"):
        bring_in(database, workspace, [a_campaign(name="Good"), bad])

    assert api.results(CAMPAIGNS) == []
