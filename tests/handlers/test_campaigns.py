"""`campaigns.json` of both generations over HTTP."""

from typing import Any

import httpx
import pytest

from persistence.campaigns.records import archive_campaign
from persistence.database import Database
from persistence.tables.contacts import group
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.campaign_rows import make_flow
from tests.factories import make_field, make_named

V1, V2 = "/api/v1/campaigns.json", "/api/v2/campaigns.json"
ACTIONS = "/api/v2/campaign_actions.json"
UNKNOWN = "00000000-0000-4000-8000-000000000000"
GROUP = {V1: "group_uuid", V2: "group"}
"""How each generation names the group of a campaign."""
BOTH = pytest.mark.parametrize("path", GROUP)


@pytest.fixture
def mothers(database: Database, workspace: Workspace) -> str:
    return make_named(database, workspace, group, ["Expecting mothers"])[0]


@pytest.fixture
def fathers(database: Database, workspace: Workspace) -> str:
    return make_named(database, workspace, group, ["Fathers"])[0]


def create(api: Api, path: str, name: str, group_uuid: str) -> dict[str, Any]:
    response = api.post(path, {"name": name, GROUP[path]: group_uuid})
    assert response.status_code == 201, response.text
    record: dict[str, Any] = response.json()
    return record


def change(api: Api, path: str, uuid: str, body: dict[str, Any]) -> httpx.Response:
    """Generation 1 names the campaign in the body, generation 2 in the query."""
    return api.post(path, {**body, "uuid": uuid}) if path == V1 else api.post(path, body, uuid=uuid)


def archive(api: Api, uuid: str) -> None:
    with api.database.writing() as tx:
        archive_campaign(tx, api.workspace.id, uuid)


class TestListCampaigns:
    @pytest.mark.together
    @pytest.mark.parametrize(("path", "found"), [(V1, []), (V2, [True])])
    def test_archived_campaigns_are_shown_only_in_generation_2_and_when_asked_for(
        self, api: Api, mothers: str, path: str, found: list[bool]
    ) -> None:
        uuid = create(api, path, "Antenatal", mothers)["uuid"]
        archive(api, uuid)

        assert api.results(path) == []
        assert [record["archived"] for record in api.results(path, uuid=uuid)] == found

    def test_an_archived_campaign_is_found_though_its_group_is_gone(self, api: Api, mothers: str) -> None:
        uuid = create(api, V2, "Antenatal", mothers)["uuid"]
        archive(api, uuid)
        assert api.delete("/api/v2/groups.json", uuid=mothers).status_code == 204

        (record,) = api.results(V2, uuid=uuid)

        assert record["group"] == {"uuid": mothers, "name": "Expecting mothers"}
        assert api.results(V2) == api.results(V1) == []


class TestWriteCampaign:
    @BOTH
    def test_a_new_campaign_is_answered_with_its_record(self, api: Api, mothers: str, path: str) -> None:
        record = create(api, path, " Antenatal reminders ", mothers)

        own = {
            V1: {"group_uuid": mothers, "group": "Expecting mothers", "campaign": record.get("campaign")},
            V2: {"group": {"uuid": mothers, "name": "Expecting mothers"}, "archived": False},
        }
        shared = {"uuid": record["uuid"], "name": "Antenatal reminders", "created_on": record["created_on"]}
        assert record == shared | own[path]
        assert isinstance(record.get("campaign"), int) == (path == V1)
        assert api.results(path) == [record]

    def test_the_group_may_be_named_in_any_case(self, api: Api, mothers: str) -> None:
        assert create(api, V2, "Antenatal", "EXPECTING mothers")["group"]["uuid"] == mothers

    def test_the_group_may_be_a_smart_one(self, api: Api) -> None:
        create(api, V2, "Antenatal", "Open Tickets")

    @pytest.mark.parametrize(("path", "status"), [(V1, 201), (V2, 200)])
    def test_a_campaign_that_is_named_by_its_uuid_is_changed(
        self, api: Api, mothers: str, fathers: str, path: str, status: int
    ) -> None:
        uuid = create(api, path, "Antenatal", mothers)["uuid"]

        response = change(api, path, uuid, {"name": "antenatal", GROUP[path]: fathers})

        assert (response.status_code, response.json()["uuid"]) == (status, uuid)
        (record,) = api.results(V2)
        assert (record["name"], record["group"]["name"]) == ("antenatal", "Fathers")

    @pytest.mark.together
    @BOTH
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            *(("name", value) for value in (None, "", "  ", "x" * 65, 'say "hi"', "tAKEN")),
            *(("group", value) for value in (None, 7, "Nobody", UNKNOWN)),
        ],
    )
    def test_a_bad_value_is_refused_by_field_for_new_and_old_campaigns(
        self, api: Api, mothers: str, path: str, field: str, value: object
    ) -> None:
        there = {each["name"]: each["uuid"] for each in api.results(path)}
        for each in {"Taken", "Old"} - there.keys():
            there[each] = create(api, path, each, mothers)["uuid"]
        uuid = there["Old"]
        name = GROUP[path] if field == "group" else field
        body = {"name": "Antenatal", GROUP[path]: mothers} | {name: value}

        for response in (api.post(path, body), change(api, path, uuid, body)):
            assert (response.status_code, list(response.json())) == (400, [name])
        assert {record["name"] for record in api.results(path)} == {"Old", "Taken"}

    @pytest.mark.together
    @pytest.mark.parametrize("uuid", [UNKNOWN, "nonsense"])
    def test_an_unknown_campaign_is_a_problem_of_that_field_in_generation_1(
        self, api: Api, mothers: str, uuid: str
    ) -> None:
        response = api.post(V1, {"uuid": uuid, "name": "Antenatal", "group_uuid": mothers})

        assert (response.status_code, list(response.json()), api.results(V1)) == (400, ["uuid"], [])

    @BOTH
    def test_name_and_group_are_needed(self, api: Api, mothers: str, path: str) -> None:
        for body, missing in (({}, {"name", GROUP[path]}), ({"name": "Antenatal"}, {GROUP[path]})):
            response = api.post(path, body)
            assert (response.status_code, set(response.json())) == (400, missing)

    def test_the_name_of_an_archived_campaign_is_free_and_itself_unknown(self, api: Api, mothers: str) -> None:
        uuid = create(api, V2, "Antenatal", mothers)["uuid"]
        archive(api, uuid)

        create(api, V2, "Antenatal", mothers)
        assert api.post(V2, {"name": "Antenatal", "group": mothers}, uuid=uuid).status_code == 404


class TestGroupsInUse:
    def test_a_group_with_a_campaign_cannot_be_deleted(self, api: Api, mothers: str) -> None:
        uuid = create(api, V2, "Antenatal", mothers)["uuid"]

        response = api.delete("/api/v2/groups.json", uuid=mothers)

        assert (response.status_code, list(response.json())) == (400, ["detail"])
        assert len(api.results("/api/v2/groups.json", uuid=mothers)) == 1
        archive(api, uuid)
        assert api.delete("/api/v2/groups.json", uuid=mothers).status_code == 204


class TestActOnCampaigns:
    """What a restored campaign schedules is in tests/persistence/campaigns/test_scheduling.py."""

    def act(self, api: Api, action: str, *uuids: str, **more: str) -> httpx.Response:
        return api.post(ACTIONS, {"campaigns": list(uuids), "action": action, **more})

    def test_archived_campaigns_leave_the_list_and_come_back(self, api: Api, mothers: str) -> None:
        first, second = (create(api, V2, name, mothers)["uuid"] for name in ("Antenatal", "Postnatal"))

        for _ in range(2):
            assert self.act(api, "archive", first, second, first).status_code == 204
        assert api.results(V2) == api.results(V2, archived="false") == []
        assert {record["uuid"] for record in api.results(V2, archived="true")} == {first, second}
        for _ in range(2):
            assert self.act(api, "restore", second).status_code == 204
        assert [record["uuid"] for record in api.results(V2)] == [second]
        assert [record["archived"] for record in api.results(V2, uuid=second)] == [False]

    def test_all_of_them_or_none_are_archived(self, api: Api, mothers: str) -> None:
        uuid = create(api, V2, "Antenatal", mothers)["uuid"]

        response = self.act(api, "archive", uuid, UNKNOWN)

        assert (response.status_code, list(response.json())) == (400, ["campaigns"])
        assert [record["uuid"] for record in api.results(V2)] == [uuid]

    def test_a_name_that_was_used_again_refuses_the_former_campaign(self, api: Api, mothers: str) -> None:
        uuid = create(api, V2, "Antenatal", mothers)["uuid"]
        self.act(api, "archive", uuid)
        create(api, V2, "ANTENATAL", mothers)

        response = self.act(api, "restore", uuid)

        assert (response.status_code, response.json()["campaigns"]) == (400, ["This name is already taken."])

    def test_a_campaign_without_its_group_needs_another(self, api: Api, mothers: str, fathers: str) -> None:
        uuid = create(api, V2, "Antenatal", mothers)["uuid"]
        self.act(api, "archive", uuid)
        assert api.delete("/api/v2/groups.json", uuid=mothers).status_code == 204

        response = self.act(api, "restore", uuid)
        assert (response.status_code, list(response.json())) == (400, ["group"])
        assert self.act(api, "restore", uuid, group="Nobody").json()["group"][0].startswith("Nothing found")

        assert self.act(api, "restore", uuid, group="fathers").status_code == 204
        assert [record["group"]["uuid"] for record in api.results(V2)] == [fathers]

    def test_events_without_their_flow_or_field_refuse(self, api: Api, mothers: str) -> None:
        make_field(api.database, api.workspace, "Due Date", "datetime")
        uuid = create(api, V2, "Antenatal", mothers)["uuid"]
        flow = make_flow(api.database, api.workspace, "Survey")
        timing = {"campaign": uuid, "offset": 1, "unit": "days", "delivery_hour": 9}
        for event in ({"relative_to": "due_date", "message": "Hi"}, {"relative_to": "created_on", "flow": flow}):
            assert api.post("/api/v2/campaign_events.json", timing | event).status_code == 201
        self.act(api, "archive", uuid)
        assert api.delete("/api/v2/fields.json", key="due_date").status_code == 204
        assert api.post("/api/v2/flow_actions.json", {"flows": [flow], "action": "archive"}).status_code == 204

        response = self.act(api, "restore", uuid)

        needed = 'the field "due_date", the flow "Survey"'
        said = f"Its events need {needed}, which were archived or deleted."
        assert (response.status_code, response.json()["campaigns"]) == (400, [said])
