"""Campaigns and events seen through both generations: written through one, read through the other."""

from typing import Any

import pytest

from persistence.database import Database
from persistence.tables.contacts import group
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.campaign_rows import make_flow
from tests.factories import make_field, make_named

UNITS = {"M": "minutes", "H": "hours", "D": "days", "W": "weeks"}


@pytest.fixture
def mothers(database: Database, workspace: Workspace) -> str:
    make_field(database, workspace, "Due Date", "datetime")
    return make_named(database, workspace, group, ["Mothers"])[0]


def write(api: Api, path: str, **body: Any) -> dict[str, Any]:
    response = api.post(path, body)
    assert response.status_code == 201, response.text
    record: dict[str, Any] = response.json()
    return record


def test_a_campaign_of_generation_1_is_whole_in_generation_2_and_back(api: Api, mothers: str) -> None:
    old = write(api, "/api/v1/campaigns.json", name="Antenatal", group_uuid=mothers)
    new = write(api, "/api/v2/campaigns.json", name="Postnatal", group=mothers)

    shown_new = api.results("/api/v2/campaigns.json", uuid=old["uuid"])[0]
    shown_old = api.results("/api/v1/campaigns.json", uuid=new["uuid"])[0]

    assert (shown_new["name"], shown_new["group"]) == ("Antenatal", {"uuid": mothers, "name": "Mothers"})
    assert shown_new["created_on"] == old["created_on"]
    assert (shown_old["name"], shown_old["group_uuid"], shown_old["group"]) == ("Postnatal", mothers, "Mothers")


@pytest.mark.parametrize("letter", UNITS)
def test_an_event_of_generation_1_is_whole_in_generation_2(api: Api, mothers: str, letter: str) -> None:
    campaign = write(api, "/api/v1/campaigns.json", name="Antenatal", group_uuid=mothers)
    timing = {"relative_to": "Due Date", "offset": -1, "unit": letter, "delivery_hour": 23}

    old = write(api, "/api/v1/events.json", campaign_uuid=campaign["uuid"], message="Soon!", **timing)
    record = api.results("/api/v2/campaign_events.json")[0]

    assert record == {
        "uuid": old["uuid"],
        "campaign": {"uuid": campaign["uuid"], "name": "Antenatal"},
        "relative_to": {"key": "due_date", "name": "Due Date", "label": "Due Date"},
        "offset": -1,
        "unit": UNITS[letter],
        "delivery_hour": 23,
        "flow": None,
        "message": {"eng": "Soon!"},
        "created_on": old["created_on"],
        "error": None,
    }


def test_an_event_of_generation_2_has_its_text_of_the_first_language_in_generation_1(api: Api, mothers: str) -> None:
    campaign = write(api, "/api/v2/campaigns.json", name="Antenatal", group=mothers)
    timing = {"relative_to": "due_date", "offset": 3, "unit": "hours", "delivery_hour": -1}
    texts = {"kin": "Vuba!", "eng": 'Soon, "really"!'}

    write(api, "/api/v2/campaign_events.json", campaign=campaign["uuid"], message=texts, **timing)
    record = api.results("/api/v1/events.json")[0]

    assert (record["message"], record["unit"], record["relative_to"]) == ('Soon, "really"!', "H", "Due Date")


def test_flow_events_name_the_same_flow(api: Api, database: Database, workspace: Workspace, mothers: str) -> None:
    campaign = write(api, "/api/v2/campaigns.json", name="Antenatal", group=mothers)
    flow = make_flow(database, workspace, "Welcome")
    timing = {"relative_to": "due_date", "offset": 3, "unit": "hours", "delivery_hour": -1}

    write(api, "/api/v2/campaign_events.json", campaign=campaign["uuid"], flow=flow, **timing)

    assert api.results("/api/v1/events.json")[0]["flow_uuid"] == flow
    assert api.results("/api/v2/campaign_events.json")[0]["flow"]["uuid"] == flow


def test_events_deleted_in_one_generation_are_gone_in_the_other(api: Api, mothers: str) -> None:
    campaign = write(api, "/api/v2/campaigns.json", name="Antenatal", group=mothers)
    timing = {"relative_to": "due_date", "offset": 3, "unit": "hours", "delivery_hour": -1, "message": "Hello"}
    uuids = [write(api, "/api/v2/campaign_events.json", campaign=campaign["uuid"], **timing)["uuid"] for _ in range(2)]

    api.delete("/api/v1/events.json", uuid=uuids[0])
    api.delete("/api/v2/campaign_events.json", uuid=uuids[1])

    assert api.results("/api/v2/campaign_events.json") == []
    assert api.results("/api/v1/events.json") == []
