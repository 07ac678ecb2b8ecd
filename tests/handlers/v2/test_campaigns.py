"""`/api/v2/campaigns.json` over HTTP."""

import pytest

from persistence.campaigns.records import archive_campaign
from persistence.database import Database
from persistence.tables.contacts import group
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_named

PATH = "/api/v2/campaigns.json"
UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def mothers(database: Database, workspace: Workspace) -> str:
    return make_named(database, workspace, group, ["Expecting mothers"])[0]


def archive(database: Database, workspace: Workspace, uuid: str) -> None:
    with database.writing() as tx:
        archive_campaign(tx, workspace.id, uuid)


class TestListCampaigns:
    def test_archived_campaigns_are_shown_only_when_asked_for(
        self, api: Api, database: Database, workspace: Workspace, mothers: str
    ) -> None:
        uuid = api.post(PATH, {"name": "Antenatal", "group": mothers}).json()["uuid"]
        archive(database, workspace, uuid)

        assert api.results(PATH) == []
        assert [record["archived"] for record in api.results(PATH, uuid=uuid)] == [True]

    def test_an_archived_campaign_is_found_though_its_group_is_gone(
        self, api: Api, database: Database, workspace: Workspace, mothers: str
    ) -> None:
        uuid = api.post(PATH, {"name": "Antenatal", "group": mothers}).json()["uuid"]
        archive(database, workspace, uuid)
        assert api.delete("/api/v2/groups.json", uuid=mothers).status_code == 204

        (record,) = api.results(PATH, uuid=uuid)

        assert record["group"] == {"uuid": mothers, "name": "Expecting mothers"}
        assert api.results(PATH) == api.results("/api/v1/campaigns.json") == []


class TestWriteCampaign:
    def test_a_new_campaign_is_answered_with_its_record(self, api: Api, mothers: str) -> None:
        response = api.post(PATH, {"name": " Antenatal reminders ", "group": mothers})

        assert response.status_code == 201
        record = response.json()
        assert record == {
            "uuid": record["uuid"],
            "name": "Antenatal reminders",
            "archived": False,
            "group": {"uuid": mothers, "name": "Expecting mothers"},
            "created_on": record["created_on"],
        }
        assert api.results(PATH) == [record]

    def test_the_group_may_be_named_in_any_case(self, api: Api, mothers: str) -> None:
        response = api.post(PATH, {"name": "Antenatal", "group": "EXPECTING mothers"})

        assert response.json()["group"]["uuid"] == mothers

    def test_the_group_may_be_a_smart_one(self, api: Api) -> None:
        assert api.post(PATH, {"name": "Antenatal", "group": "Open Tickets"}).status_code == 201

    def test_a_campaign_is_changed_by_uuid(
        self, api: Api, database: Database, workspace: Workspace, mothers: str
    ) -> None:
        fathers = make_named(database, workspace, group, ["Fathers"])[0]
        uuid = api.post(PATH, {"name": "Antenatal", "group": mothers}).json()["uuid"]

        response = api.post(PATH, {"name": "antenatal", "group": fathers}, uuid=uuid)

        assert (response.status_code, response.json()["uuid"]) == (200, uuid)
        assert (response.json()["name"], response.json()["group"]["name"]) == ("antenatal", "Fathers")

    @pytest.mark.parametrize(
        ("body", "fields"),
        [
            ({}, {"name", "group"}),
            ({"name": "Antenatal"}, {"group"}),
            ({"name": "Antenatal", "group": None}, {"group"}),
            ({"name": "Antenatal", "group": 7}, {"group"}),
            ({"name": "Antenatal", "group": "Nobody"}, {"group"}),
            ({"name": "Antenatal", "group": UNKNOWN}, {"group"}),
            ({"name": "x" * 65, "group": "Expecting mothers"}, {"name"}),
            ({"name": 'say "hi"', "group": "Expecting mothers"}, {"name"}),
            ({"name": "  ", "group": "Expecting mothers"}, {"name"}),
        ],
    )
    def test_a_bad_body_is_refused_by_field_for_new_and_old_campaigns(
        self, api: Api, mothers: str, body: dict[str, object], fields: set[str]
    ) -> None:
        uuid = api.post(PATH, {"name": "Old", "group": mothers}).json()["uuid"]

        for response in (api.post(PATH, body), api.post(PATH, body, uuid=uuid)):
            assert (response.status_code, set(response.json())) == (400, fields)
        assert [record["name"] for record in api.results(PATH)] == ["Old"]

    def test_a_name_in_another_case_is_taken(self, api: Api, mothers: str) -> None:
        api.post(PATH, {"name": "Antenatal", "group": mothers})

        response = api.post(PATH, {"name": "aNTENATAL", "group": mothers})

        assert (response.status_code, response.json()) == (400, {"name": ["This name is already taken."]})

    def test_the_name_of_an_archived_campaign_is_free_and_itself_unknown(
        self, api: Api, database: Database, workspace: Workspace, mothers: str
    ) -> None:
        body = {"name": "Antenatal", "group": mothers}
        uuid = api.post(PATH, body).json()["uuid"]
        archive(database, workspace, uuid)

        assert api.post(PATH, body).status_code == 201
        assert api.post(PATH, body, uuid=uuid).status_code == 404


class TestGroupsInUse:
    def test_a_group_with_a_campaign_cannot_be_deleted(
        self, api: Api, database: Database, workspace: Workspace, mothers: str
    ) -> None:
        uuid = api.post(PATH, {"name": "Antenatal", "group": mothers}).json()["uuid"]

        response = api.delete("/api/v2/groups.json", uuid=mothers)

        assert (response.status_code, list(response.json())) == (400, ["detail"])
        assert len(api.results("/api/v2/groups.json", uuid=mothers)) == 1
        archive(database, workspace, uuid)
        assert api.delete("/api/v2/groups.json", uuid=mothers).status_code == 204
