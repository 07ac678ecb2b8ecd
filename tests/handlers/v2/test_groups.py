"""`/api/v2/groups.json` over HTTP."""

import pytest

from persistence.database import Database
from persistence.tables.contacts import group
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_contact, make_named

PATH = "/api/v2/groups.json"


class TestListGroups:
    def test_every_workspace_has_the_open_tickets_group(self, api: Api) -> None:
        found = api.results(PATH)

        assert [(one["name"], one["query"], one["system"]) for one in found] == [("Open Tickets", "tickets > 0", True)]

    def test_filters_find_whole_names_and_combine(self, api: Api, database: Database, workspace: Workspace) -> None:
        first, second = make_named(database, workspace, group, ["Reporters", "Reporters North"])

        assert [one["uuid"] for one in api.results(PATH, name="REPORTERS")] == [first]
        assert [one["uuid"] for one in api.results(PATH, uuid=second)] == [second]
        assert api.results(PATH, uuid=second, name="Reporters") == []


class TestWriteGroup:
    def test_a_new_group_is_manual_and_ready(self, api: Api) -> None:
        response = api.post(PATH, {"name": " Reporters "})

        record = response.json()
        assert response.status_code == 201
        assert (record["name"], record["query"], record["status"], record["count"]) == ("Reporters", None, "ready", 0)

    def test_a_group_is_renamed_by_uuid(self, api: Api) -> None:
        uuid = api.post(PATH, {"name": "Reporters"}).json()["uuid"]

        response = api.post(PATH, {"name": "Writers"}, uuid=uuid)

        assert (response.status_code, response.json()["name"]) == (200, "Writers")

    def test_the_group_of_the_system_is_not_changed(self, api: Api) -> None:
        uuid = api.results(PATH)[0]["uuid"]

        assert api.post(PATH, {"name": "Mine"}, uuid=uuid).status_code == 403
        assert api.delete(PATH, uuid=uuid).status_code == 403
        assert api.results(PATH)[0]["name"] == "Open Tickets"

    @pytest.mark.together
    @pytest.mark.parametrize("name", ["", " ", 'a"b', "a\\b", "x" * 65, None, 7, "open tickets"])
    def test_a_bad_or_taken_name_is_refused_by_field(self, api: Api, name: object) -> None:
        response = api.post(PATH, {"name": name})

        assert (response.status_code, list(response.json())) == (400, ["name"])


class TestDeleteGroup:
    def test_members_of_a_deleted_group_stay_contacts(self, api: Api, database: Database, workspace: Workspace) -> None:
        amina = make_contact(database, workspace)
        uuid = api.post(PATH, {"name": "Reporters"}).json()["uuid"]
        api.post("/api/v2/contacts.json", {"groups": [uuid]}, uuid=amina)

        assert api.delete(PATH, uuid=uuid).status_code == 204
        assert api.results("/api/v2/contacts.json", uuid=amina)[0]["groups"] == []
        assert api.delete(PATH, uuid=uuid).status_code == 404
