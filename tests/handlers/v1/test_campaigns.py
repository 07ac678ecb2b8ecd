"""`/api/v1/campaigns.json` over HTTP."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from starlette.testclient import TestClient

from persistence.campaigns.records import archive_campaign
from persistence.database import Database
from persistence.tables.contacts import group
from persistence.workspaces.records import Workspace
from testbed.set_by_name import by_name
from tests.api import Api
from tests.conftest import Clock
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
    def test_campaigns_come_newest_first_with_their_count(self, api: Api, mothers: str) -> None:
        for name in ("Antenatal", "Postnatal"):
            create(api, name, mothers)

        page = api.get(PATH).json()

        assert (page["count"], [record["name"] for record in page["results"]]) == (2, ["Postnatal", "Antenatal"])

    def test_several_uuids_may_be_given_both_ways(self, api: Api, mothers: str) -> None:
        uuids = [create(api, name, mothers)["uuid"] for name in ("One", "Two", "Three")]

        assert {record["uuid"] for record in api.results(PATH, uuid=uuids[:2])} == set(uuids[:2])
        assert {record["uuid"] for record in api.results(PATH, uuid=",".join(uuids[1:]))} == set(uuids[1:])
        assert api.get(PATH, uuid="nonsense").status_code == 400

    def test_before_and_after_include_the_moment_of_creation(self, api: Api, mothers: str, clock: Clock) -> None:
        first = create(api, "One", mothers)["created_on"]
        clock.advance(days=1)
        second = create(api, "Two", mothers)["created_on"]

        assert [record["name"] for record in api.results(PATH, before=first)] == ["One"]
        assert [record["name"] for record in api.results(PATH, after=second)] == ["Two"]
        assert api.get(PATH, after="soon").status_code == 400

    def test_archived_campaigns_are_not_listed(
        self, api: Api, database: Database, workspace: Workspace, mothers: str
    ) -> None:
        uuid = create(api, "One", mothers)["uuid"]
        with database.writing() as tx:
            archive_campaign(tx, workspace.id, uuid)

        assert api.results(PATH, uuid=uuid) == []

    def test_pages_are_numbered(
        self, api: Api, mothers: str, make_client: Callable[..., AbstractContextManager[TestClient]]
    ) -> None:
        names = [f"Campaign {number}" for number in range(5)]
        for name in names:
            create(api, name, mothers)

        with make_client(**by_name(PAGE_SIZE="2")) as client:
            paged = Api(client, api.database, api.workspace, api.token)
            assert [record["name"] for record in paged.all_results(PATH)] == names[::-1]
            assert paged.get(PATH, page="4").status_code == 404

    @pytest.mark.parametrize(("role", "status"), [("editor", 200), ("viewer", 403), ("agent", 403), ("surveyor", 403)])
    def test_only_administrators_and_editors_read_and_write(
        self, api: Api, mothers: str, role: str, status: int
    ) -> None:
        colleague = api.as_role(role)

        assert colleague.get(PATH).status_code == status
        response = colleague.post(PATH, {"name": "One", "group_uuid": mothers})
        assert response.status_code == (201 if status == 200 else status)


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

    def test_another_workspace_has_neither_the_campaign_nor_the_group(
        self, api: Api, other_api: Api, database: Database, other_workspace: Workspace, mothers: str
    ) -> None:
        uuid = create(api, "Antenatal", mothers)["uuid"]
        theirs = make_named(database, other_workspace, group, ["Theirs"])[0]

        unknown = other_api.post(PATH, {"uuid": uuid, "name": "Mine", "group_uuid": theirs})
        foreign = other_api.post(PATH, {"name": "Mine", "group_uuid": mothers})

        assert (unknown.status_code, list(unknown.json())) == (400, ["uuid"])
        assert (foreign.status_code, list(foreign.json())) == (400, ["group_uuid"])
        assert other_api.results(PATH) == []
