"""`/api/v1/campaigns.json` over HTTP."""

from typing import Any

import pytest

from persistence.campaigns.records import archive_campaign
from persistence.database import Database
from persistence.tables.contacts import group
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_named

PATH = "/api/v1/campaigns.json"
UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def mothers(database: Database, workspace: Workspace) -> str:
    return make_named(database, workspace, group, ["Mothers"])[0]


def create(api: Api, name: str, group_uuid: str) -> dict[str, Any]:
    response = api.post(PATH, {"name": name, "group_uuid": group_uuid})
    assert response.status_code == 201, response.text
    record: dict[str, Any] = response.json()
    return record


class TestListCampaigns:
    def test_archived_campaigns_are_not_listed(
        self, api: Api, database: Database, workspace: Workspace, mothers: str
    ) -> None:
        uuid = create(api, "One", mothers)["uuid"]
        with database.writing() as tx:
            archive_campaign(tx, workspace.id, uuid)

        assert api.results(PATH, uuid=uuid) == []


class TestWriteCampaign:
    def test_a_new_campaign_is_answered_with_its_record(self, api: Api, mothers: str) -> None:
        record = create(api, "Antenatal", mothers)

        assert record == {
            "uuid": record["uuid"],
            "name": "Antenatal",
            "group_uuid": mothers,
            "group": "Mothers",
            "campaign": record["campaign"],
            "created_on": record["created_on"],
        }
        assert isinstance(record["campaign"], int)
        assert api.results(PATH) == [record]

    def test_a_campaign_that_the_body_names_is_changed_with_201(
        self, api: Api, database: Database, workspace: Workspace, mothers: str
    ) -> None:
        fathers = make_named(database, workspace, group, ["Fathers"])[0]
        uuid = create(api, "Antenatal", mothers)["uuid"]

        response = api.post(PATH, {"uuid": uuid, "name": "Fathers first", "group_uuid": fathers})

        assert (response.status_code, response.json()["uuid"]) == (201, uuid)
        assert (response.json()["name"], response.json()["group"]) == ("Fathers first", "Fathers")

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"uuid": UNKNOWN}, "uuid"),
            ({"uuid": "nonsense"}, "uuid"),
            ({"name": None}, "name"),
            ({"name": ""}, "name"),
            ({"name": "x" * 65}, "name"),
            ({"name": "taken"}, "name"),
            ({"group_uuid": None}, "group_uuid"),
            ({"group_uuid": UNKNOWN}, "group_uuid"),
            ({"group_uuid": "nonsense"}, "group_uuid"),
        ],
    )
    def test_a_bad_value_is_refused_by_field(
        self, api: Api, mothers: str, change: dict[str, object], field: str
    ) -> None:
        create(api, "Taken", mothers)

        response = api.post(PATH, {"name": "Antenatal", "group_uuid": mothers} | change)

        assert (response.status_code, list(response.json())) == (400, [field])
        assert len(api.results(PATH)) == 1

    @pytest.mark.parametrize("name", ["name", "group_uuid"])
    def test_name_and_group_are_needed(self, api: Api, mothers: str, name: str) -> None:
        body = {"name": "Antenatal", "group_uuid": mothers}
        del body[name]

        response = api.post(PATH, body)

        assert (response.status_code, list(response.json())) == (400, [name])
