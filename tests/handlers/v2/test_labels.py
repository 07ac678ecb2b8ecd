"""`/api/v2/labels.json` over HTTP."""

import pytest

from persistence.database import Database
from persistence.labels import create_label
from persistence.workspaces.records import Workspace
from tests.api import Api

PATH = "/api/v2/labels.json"


class TestListLabels:
    def test_labels_come_newest_first(self, api: Api) -> None:
        for name in ("Complaint", "Praise"):
            api.post(PATH, {"name": name})

        names = [label["name"] for label in api.results(PATH)]

        assert names == ["Praise", "Complaint"]

    def test_a_name_filter_matches_whole_names_of_any_case(self, api: Api) -> None:
        api.post(PATH, {"name": "Straße"})
        api.post(PATH, {"name": "Straßenbahn"})

        assert [label["name"] for label in api.results(PATH, name="STRASSE")] == ["Straße"]

    def test_an_empty_filter_counts_as_absent(self, api: Api) -> None:
        api.post(PATH, {"name": "Complaint"})

        assert len(api.results(PATH, uuid="", name="")) == 1


class TestWriteLabel:
    def test_a_new_label_is_answered_with_its_record(self, api: Api) -> None:
        response = api.post(PATH, {"name": "  Complaint "})

        assert response.status_code == 201
        assert response.json() == {"uuid": response.json()["uuid"], "name": "Complaint", "count": 0}

    def test_a_label_is_renamed_by_uuid(self, api: Api) -> None:
        uuid = api.post(PATH, {"name": "Complaint"}).json()["uuid"]

        response = api.post(PATH, {"name": "Grievance"}, uuid=uuid)

        assert (response.status_code, response.json()["name"]) == (200, "Grievance")
        assert [label["name"] for label in api.results(PATH)] == ["Grievance"]

    @pytest.mark.parametrize("name", ["", "   ", 'say "hi"', "back\\slash", "x" * 65, None, 7])
    def test_a_bad_name_is_refused_by_field(self, api: Api, name: object) -> None:
        response = api.post(PATH, {"name": name})

        assert response.status_code == 400
        assert list(response.json()) == ["name"]

    def test_a_missing_name_is_refused_by_field(self, api: Api) -> None:
        assert api.post(PATH, {}).json() == {"name": ["A value is required."]}

    def test_a_name_in_another_case_is_taken(self, api: Api) -> None:
        api.post(PATH, {"name": "Complaint"})

        response = api.post(PATH, {"name": "cOMPLAINT"})

        assert (response.status_code, list(response.json())) == (400, ["name"])

    def test_the_workspace_holds_at_most_250_labels(self, api: Api, database: Database, workspace: Workspace) -> None:
        with database.writing() as tx:
            for number in range(250):
                create_label(tx, workspace.id, f"Label {number}")

        assert api.post(PATH, {"name": "One more"}).status_code == 409

    def test_a_reading_token_cannot_write(self, api: Api) -> None:
        assert api.as_role("editor", scope="read").post(PATH, {"name": "X"}).status_code == 403


class TestDeleteLabel:
    def test_a_deleted_label_is_gone(self, api: Api) -> None:
        uuid = api.post(PATH, {"name": "Complaint"}).json()["uuid"]

        response = api.delete(PATH, uuid=uuid)

        assert (response.status_code, response.content) == (204, b"")
        assert api.delete(PATH, uuid=uuid).status_code == 404
        assert api.results(PATH) == []
