"""`/api/v1/events.json` over HTTP."""

from typing import Any

import pytest

from persistence.database import Database
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.campaign_rows import make_campaign, make_flow
from tests.factories import make_field

PATH = "/api/v1/events.json"
FIELDS = "/api/v2/fields.json"
UNKNOWN = "00000000-0000-4000-8000-000000000000"
TIMING: dict[str, Any] = {"relative_to": "Due Date", "offset": -2, "unit": "W", "delivery_hour": 9}
HELLO: dict[str, Any] = TIMING | {"message": "Two weeks to go!"}


@pytest.fixture
def campaign(database: Database, workspace: Workspace) -> str:
    make_field(database, workspace, "Due Date", "datetime")
    return make_campaign(database, workspace, "Antenatal")


@pytest.fixture
def nickname(database: Database, workspace: Workspace) -> str:
    return make_field(database, workspace, "Nickname")


def create(api: Api, campaign_uuid: str, **values: Any) -> dict[str, Any]:
    response = api.post(PATH, HELLO | {"campaign_uuid": campaign_uuid} | values)
    assert response.status_code == 201, response.text
    record: dict[str, Any] = response.json()
    return record


class TestListEvents:
    def test_events_are_chosen_by_uuids_and_by_campaigns(
        self, api: Api, database: Database, workspace: Workspace, campaign: str
    ) -> None:
        others = [make_campaign(database, workspace, name) for name in ("Two", "Three")]
        uuids = [create(api, one)["uuid"] for one in (campaign, *others)]

        by_campaign = api.results(PATH, campaign_uuid=[campaign, others[0]])
        by_both = api.results(PATH, campaign_uuid=",".join(others), uuid=uuids[:2])

        assert {record["uuid"] for record in api.results(PATH, uuid=uuids[1:])} == set(uuids[1:])
        assert {record["uuid"] for record in by_campaign} == set(uuids[:2])
        assert [record["uuid"] for record in by_both] == [uuids[1]]
        assert api.get(PATH, campaign_uuid="nonsense").status_code == 400
        assert api.get(PATH, uuid="nonsense").status_code == 400


class TestWriteEvent:
    def test_a_new_event_is_answered_with_its_record(self, api: Api, campaign: str) -> None:
        record = create(api, campaign)

        assert record == {
            "uuid": record["uuid"],
            "campaign_uuid": campaign,
            "flow_uuid": None,
            "relative_to": "Due Date",
            "offset": -2,
            "unit": "W",
            "delivery_hour": 9,
            "message": "Two weeks to go!",
            "created_on": record["created_on"],
            "event": record["event"],
            "campaign": record["campaign"],
            "flow": None,
        }
        assert api.results(PATH) == [record]

    def test_a_flow_event_names_its_flow(
        self, api: Api, database: Database, workspace: Workspace, campaign: str
    ) -> None:
        flow = make_flow(database, workspace, "Welcome")

        record = create(api, campaign, message=None, flow_uuid=flow)

        assert (record["flow_uuid"], record["message"]) == (flow, None)
        assert isinstance(record["flow"], int)

    @pytest.mark.together
    @pytest.mark.parametrize("name", ["due date", "DUE DATE", "due_date"])
    def test_the_date_is_found_by_its_label_in_any_case_or_its_key(self, api: Api, campaign: str, name: str) -> None:
        assert create(api, campaign, relative_to=name)["relative_to"] == "Due Date"
        assert len(api.results(FIELDS)) == 1

    @pytest.mark.together
    @pytest.mark.parametrize("name", ["created_on", "created on"])
    def test_the_dates_of_every_contact_can_be_used(self, api: Api, campaign: str, name: str) -> None:
        assert create(api, campaign, relative_to=name)["relative_to"] == "Created On"

    def test_a_field_that_is_missing_is_made_for_dates(self, api: Api, campaign: str) -> None:
        assert create(api, campaign, relative_to="Next Visit")["relative_to"] == "Next Visit"

        field = api.results(FIELDS, key="next_visit")[0]
        assert (field["name"], field["type"]) == ("Next Visit", "datetime")

    def test_an_event_that_the_body_names_is_changed_with_201(self, api: Api, campaign: str) -> None:
        uuid = create(api, campaign)["uuid"]
        change = {"relative_to": "created_on", "offset": 3, "unit": "M", "delivery_hour": -1, "message": "Welcome"}

        response = api.post(PATH, change | {"uuid": uuid})

        assert (response.status_code, response.json()["uuid"]) == (201, uuid)
        assert {name: response.json()[name] for name in change} == change | {"relative_to": "Created On"}
        assert len(api.results(PATH)) == 1

    @pytest.mark.together
    @pytest.mark.parametrize("name", ["relative_to", "offset", "unit", "delivery_hour", "campaign_uuid"])
    def test_a_missing_value_is_refused_by_field(self, api: Api, campaign: str, name: str) -> None:
        body = HELLO | {"campaign_uuid": campaign}
        del body[name]

        response = api.post(PATH, body)

        assert (response.status_code, list(response.json())) == (400, [name])

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"relative_to": "Nickname"}, "relative_to"),
            ({"relative_to": "Du"}, "relative_to"),
            ({"relative_to": "x" * 37}, "relative_to"),
            ({"relative_to": "Next/Visit"}, "relative_to"),
            ({"offset": "2"}, "offset"),
            ({"offset": 2**31}, "offset"),
            ({"unit": "weeks"}, "unit"),
            ({"unit": "w"}, "unit"),
            ({"delivery_hour": 24}, "delivery_hour"),
            ({"delivery_hour": -2}, "delivery_hour"),
            ({"campaign_uuid": UNKNOWN}, "campaign_uuid"),
            ({"campaign_uuid": "nonsense"}, "campaign_uuid"),
            ({"campaign_uuid": None, "uuid": UNKNOWN}, "uuid"),
            ({"uuid": UNKNOWN}, "non_field_errors"),
            ({"message": "x" * 321}, "message"),
            ({"message": ""}, "non_field_errors"),
            ({"message": None}, "non_field_errors"),
            ({"message": None, "flow_uuid": UNKNOWN}, "flow_uuid"),
            ({"message": None, "flow_uuid": "nonsense"}, "flow_uuid"),
            ({"flow_uuid": UNKNOWN}, "non_field_errors"),
        ],
    )
    def test_a_bad_value_is_refused_by_field(
        self, api: Api, campaign: str, nickname: str, change: dict[str, object], field: str
    ) -> None:
        response = api.post(PATH, HELLO | {"campaign_uuid": campaign} | change)

        assert (response.status_code, list(response.json())) == (400, [field])
        assert api.results(PATH) == []
        assert len(api.results(FIELDS)) == 2


class TestDeleteEvents:
    def test_events_are_deleted_by_uuids(self, api: Api, campaign: str) -> None:
        uuids = [create(api, campaign)["uuid"] for _ in range(3)]

        response = api.delete(PATH, uuid=uuids[:2])

        assert (response.status_code, response.content) == (204, b"")
        assert [record["uuid"] for record in api.results(PATH)] == uuids[2:]

    def test_events_are_deleted_by_campaign_and_must_fit_all_parameters(
        self, api: Api, database: Database, workspace: Workspace, campaign: str
    ) -> None:
        other = make_campaign(database, workspace, "Postnatal")
        uuids = [create(api, one)["uuid"] for one in (campaign, campaign, other)]

        assert api.delete(PATH, uuid=uuids[2], campaign_uuid=campaign).status_code == 404
        assert api.delete(PATH, campaign_uuid=campaign).status_code == 204
        assert [record["uuid"] for record in api.results(PATH)] == uuids[2:]

    def test_nothing_found_is_404_and_no_parameter_400(self, api: Api, campaign: str) -> None:
        create(api, campaign)

        assert api.delete(PATH, uuid=UNKNOWN).status_code == 404
        assert api.delete(PATH).status_code == 400
        assert api.delete(PATH, uuid="").status_code == 400
        assert len(api.results(PATH)) == 1
