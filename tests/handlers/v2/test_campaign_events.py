"""`/api/v2/campaign_events.json` over HTTP."""

from typing import Any

import pytest

from persistence.campaigns.records import archive_campaign
from persistence.database import Database
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.campaign_rows import make_campaign, make_flow
from tests.factories import make_field

PATH = "/api/v2/campaign_events.json"
UNKNOWN = "00000000-0000-4000-8000-000000000000"
TIMING: dict[str, Any] = {"relative_to": "due_date", "offset": -2, "unit": "weeks", "delivery_hour": 9}
HELLO: dict[str, Any] = TIMING | {"message": {"eng": "Two weeks to go!"}}


@pytest.fixture
def campaign(database: Database, workspace: Workspace) -> str:
    make_field(database, workspace, "Due Date", "datetime")
    return make_campaign(database, workspace, "Antenatal")


@pytest.fixture
def nickname(database: Database, workspace: Workspace) -> str:
    return make_field(database, workspace, "Nickname")


class TestListCampaignEvents:
    def test_events_come_newest_first(self, api: Api, campaign: str) -> None:
        for offset in (1, 2, 3):
            api.post(PATH, HELLO | {"campaign": campaign, "offset": offset})

        assert [record["offset"] for record in api.results(PATH)] == [3, 2, 1]

    @pytest.mark.parametrize("reference", ["Antenatal", "aNTENATAL", None])
    def test_a_campaign_is_chosen_by_name_or_uuid(
        self, api: Api, database: Database, workspace: Workspace, campaign: str, reference: str | None
    ) -> None:
        other = make_campaign(database, workspace, "Postnatal")
        api.post(PATH, HELLO | {"campaign": campaign})
        api.post(PATH, HELLO | {"campaign": other})

        found = api.results(PATH, campaign=reference or campaign)

        assert [record["campaign"]["uuid"] for record in found] == [campaign]

    def test_events_of_archived_campaigns_are_not_shown(
        self, api: Api, database: Database, workspace: Workspace, campaign: str
    ) -> None:
        uuid = api.post(PATH, HELLO | {"campaign": campaign}).json()["uuid"]
        with database.writing() as tx:
            archive_campaign(tx, workspace.id, campaign)

        assert api.results(PATH) == []
        assert api.post(PATH, HELLO, uuid=uuid).status_code == 404
        assert api.delete(PATH, uuid=uuid).status_code == 404


class TestWriteCampaignEvent:
    def test_a_new_message_event_is_answered_with_its_record(self, api: Api, campaign: str) -> None:
        response = api.post(PATH, HELLO | {"campaign": campaign})

        assert response.status_code == 201
        record = response.json()
        assert record == {
            "uuid": record["uuid"],
            "campaign": {"uuid": campaign, "name": "Antenatal"},
            "relative_to": {"key": "due_date", "name": "Due Date", "label": "Due Date"},
            "offset": -2,
            "unit": "weeks",
            "delivery_hour": 9,
            "flow": None,
            "message": {"eng": "Two weeks to go!"},
            "error": None,
            "created_on": record["created_on"],
        }

    def test_a_flow_event_names_its_flow(
        self, api: Api, database: Database, workspace: Workspace, campaign: str
    ) -> None:
        flow = make_flow(database, workspace, "Welcome")

        record = api.post(PATH, TIMING | {"campaign": campaign, "flow": flow, "message": None}).json()

        assert (record["flow"], record["message"]) == ({"uuid": flow, "name": "Welcome"}, None)

    def test_a_plain_text_is_in_the_first_language_of_the_workspace(self, api: Api, campaign: str) -> None:
        record = api.post(PATH, HELLO | {"campaign": campaign, "message": " Soon! "}).json()

        assert record["message"] == {"eng": "Soon!"}

    @pytest.mark.together
    @pytest.mark.parametrize(("key", "name"), [("created_on", "Created On"), ("last_seen_on", "Last Seen On")])
    def test_the_dates_of_every_contact_can_be_used(self, api: Api, campaign: str, key: str, name: str) -> None:
        record = api.post(PATH, HELLO | {"campaign": campaign, "relative_to": key}).json()

        assert record["relative_to"] == {"key": key, "name": name, "label": name}

    def test_an_event_is_changed_by_uuid_without_naming_its_campaign(
        self, api: Api, database: Database, workspace: Workspace, campaign: str
    ) -> None:
        created = api.post(PATH, HELLO | {"campaign": campaign}).json()
        flow = make_flow(database, workspace, "Welcome")
        change = {"relative_to": "created_on", "offset": 3, "unit": "hours", "delivery_hour": -1, "flow": flow}

        response = api.post(PATH, change, uuid=created["uuid"])

        assert response.status_code == 200
        record = response.json()
        assert (record["offset"], record["unit"], record["delivery_hour"]) == (3, "hours", -1)
        assert (record["relative_to"]["key"], record["flow"]["uuid"], record["message"]) == ("created_on", flow, None)
        assert (record["uuid"], record["created_on"]) == (created["uuid"], created["created_on"])

    def test_a_change_may_name_the_own_campaign_only(
        self, api: Api, database: Database, workspace: Workspace, campaign: str
    ) -> None:
        uuid = api.post(PATH, HELLO | {"campaign": campaign}).json()["uuid"]
        other = make_campaign(database, workspace, "Postnatal")

        assert api.post(PATH, HELLO | {"campaign": campaign}, uuid=uuid).status_code == 200
        response = api.post(PATH, HELLO | {"campaign": other}, uuid=uuid)

        assert (response.status_code, list(response.json())) == (400, ["campaign"])

    @pytest.mark.together
    @pytest.mark.parametrize("name", ["relative_to", "offset", "unit", "delivery_hour"])
    def test_the_timing_is_needed_for_changes_too(self, api: Api, campaign: str, name: str) -> None:
        uuid = api.post(PATH, HELLO | {"campaign": campaign}).json()["uuid"]
        body = {key: value for key, value in HELLO.items() if key != name}

        for response in (api.post(PATH, body | {"campaign": campaign}), api.post(PATH, body, uuid=uuid)):
            assert (response.status_code, list(response.json())) == (400, [name])

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"relative_to": "nothing"}, "relative_to"),
            ({"relative_to": "nickname"}, "relative_to"),
            ({"relative_to": 7}, "relative_to"),
            ({"offset": "2"}, "offset"),
            ({"offset": 1.5}, "offset"),
            ({"offset": 2**31}, "offset"),
            ({"offset": -(2**31) - 1}, "offset"),
            ({"unit": "W"}, "unit"),
            ({"unit": "months"}, "unit"),
            ({"delivery_hour": -2}, "delivery_hour"),
            ({"delivery_hour": 24}, "delivery_hour"),
            ({"delivery_hour": None}, "delivery_hour"),
            ({"campaign": None}, "campaign"),
            ({"campaign": UNKNOWN}, "campaign"),
            ({"campaign": "nonsense"}, "campaign"),
            ({"message": ""}, "message"),
            ({"message": {}}, "message"),
            ({"message": {"eng": "x" * 4097}}, "message"),
            ({"message": {"kin": "Muraho"}}, "message"),
            ({"message": {"eng": "Hello", "xyz": "?"}}, "message"),
            ({"message": ["Hello"]}, "message"),
            ({"message": None, "flow": UNKNOWN}, "flow"),
            ({"message": None, "flow": "nonsense"}, "flow"),
            ({"message": None}, "non_field_errors"),
        ],
    )
    def test_a_bad_value_is_refused_by_field(
        self, api: Api, campaign: str, nickname: str, change: dict[str, object], field: str
    ) -> None:
        response = api.post(PATH, HELLO | {"campaign": campaign} | change)

        assert (response.status_code, list(response.json())) == (400, [field])
        assert api.results(PATH) == []

    def test_a_message_and_a_flow_exclude_each_other(
        self, api: Api, database: Database, workspace: Workspace, campaign: str
    ) -> None:
        flow = make_flow(database, workspace, "Welcome")

        response = api.post(PATH, HELLO | {"campaign": campaign, "flow": flow})

        assert (response.status_code, list(response.json())) == (400, ["non_field_errors"])

    def test_an_archived_flow_is_refused(
        self, api: Api, database: Database, workspace: Workspace, campaign: str
    ) -> None:
        flow = make_flow(database, workspace, "Old", is_archived=True)

        response = api.post(PATH, TIMING | {"campaign": campaign, "flow": flow})

        assert (response.status_code, response.json()) == (400, {"flow": ["This flow is archived."]})


class TestDeleteCampaignEvent:
    def test_a_deleted_event_is_gone(self, api: Api, campaign: str) -> None:
        uuid = api.post(PATH, HELLO | {"campaign": campaign}).json()["uuid"]

        assert api.delete(PATH, uuid=uuid).status_code == 204
        assert api.results(PATH) == []
        assert api.delete(PATH, uuid=uuid).status_code == 404
        assert api.post(PATH, HELLO, uuid=uuid).status_code == 404


class TestDatesInUse:
    def test_a_date_that_events_count_from_keeps_its_type_and_stays(self, api: Api, campaign: str) -> None:
        uuid = api.post(PATH, HELLO | {"campaign": campaign}).json()["uuid"]
        fields = "/api/v2/fields.json"

        changed = api.post(fields, {"name": "Due Date", "type": "text"}, key="due_date")
        deleted = api.delete(fields, key="due_date")

        assert (changed.status_code, list(changed.json())) == (400, ["type"])
        assert (deleted.status_code, list(deleted.json())) == (400, ["detail"])
        assert api.post(fields, {"name": "Day", "type": "datetime"}, key="due_date").status_code == 200
        assert api.results(PATH)[0]["relative_to"]["name"] == "Day"
        api.delete(PATH, uuid=uuid)
        assert api.post(fields, {"name": "Day", "type": "text"}, key="due_date").status_code == 200
        assert api.delete(fields, key="due_date").status_code == 204

    def test_generation_1_refuses_it_by_its_own_name(self, api: Api, campaign: str) -> None:
        api.post(PATH, HELLO | {"campaign": campaign})

        response = api.post("/api/v1/fields.json", {"key": "due_date", "label": "Due Date", "value_type": "T"})

        assert (response.status_code, list(response.json())) == (400, ["value_type"])
