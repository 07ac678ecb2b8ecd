"""`/api/v2/labels.json` over HTTP."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from starlette.testclient import TestClient

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

    def test_a_malformed_uuid_is_refused(self, api: Api) -> None:
        response = api.get(PATH, uuid="nonsense")

        assert response.status_code == 400
        assert response.json() == {"detail": "Parameter uuid must be a UUID."}

    def test_an_empty_filter_counts_as_absent(self, api: Api) -> None:
        api.post(PATH, {"name": "Complaint"})

        assert len(api.results(PATH, uuid="", name="")) == 1

    def test_paging_loses_and_repeats_nothing_while_labels_are_added(
        self, api: Api, make_client: Callable[..., AbstractContextManager[TestClient]]
    ) -> None:
        for number in range(7):
            api.post(PATH, {"name": f"Label {number}"})

        with make_client(page_size=3) as client:
            paged = Api(client, api.database, api.workspace, api.token)
            first = paged.get(PATH).json()
            api.post(PATH, {"name": "Newcomer"})
            second = client.get(first["next"], headers={"Authorization": f"Token {api.token}"}).json()
            back = client.get(second["previous"], headers={"Authorization": f"Token {api.token}"}).json()

        assert [label["name"] for label in first["results"]] == ["Label 6", "Label 5", "Label 4"]
        assert [label["name"] for label in second["results"]] == ["Label 3", "Label 2", "Label 1"]
        assert back["results"] == first["results"]
        assert first["previous"] is None

    def test_a_cursor_of_nobody_is_not_found(self, api: Api) -> None:
        assert api.get(PATH, cursor="bm9uc2Vuc2U").status_code == 404

    def test_a_page_takes_the_same_number_of_statements_for_1_and_100_labels(
        self, api: Api, database: Database, workspace: Workspace, statements: list[str]
    ) -> None:
        with database.writing() as tx:
            create_label(tx, workspace.id, "One")
        api.get(PATH)
        statements.clear()
        api.get(PATH)
        for_one = len(statements)
        with database.writing() as tx:
            for number in range(100):
                create_label(tx, workspace.id, f"Label {number}")
        statements.clear()

        api.get(PATH)

        assert len(statements) == for_one


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

    def test_an_unknown_label_cannot_be_renamed(self, api: Api) -> None:
        response = api.post(PATH, {"name": "X"}, uuid="00000000-0000-4000-8000-000000000000")

        assert response.status_code == 404

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

    def test_a_repeated_request_with_one_idempotency_key_makes_one_label(self, api: Api) -> None:
        headers = {"Idempotency-Key": "k-1"}
        first = api.post(PATH, {"name": "Complaint"}, headers=headers)

        second = api.post(PATH, {"name": "Complaint"}, headers=headers)

        assert second.status_code == 201
        assert second.json() == first.json()
        assert second.headers["Idempotency-Replayed"] == "true"

    def test_an_idempotency_key_of_another_request_is_a_conflict(self, api: Api) -> None:
        api.post(PATH, {"name": "Complaint"}, headers={"Idempotency-Key": "k-1"})

        assert api.post(PATH, {"name": "Praise"}, headers={"Idempotency-Key": "k-1"}).status_code == 409

    def test_the_workspace_holds_at_most_250_labels(self, api: Api, database: Database, workspace: Workspace) -> None:
        with database.writing() as tx:
            for number in range(250):
                create_label(tx, workspace.id, f"Label {number}")

        assert api.post(PATH, {"name": "One more"}).status_code == 409

    @pytest.mark.parametrize(("role", "status"), [("editor", 201), ("viewer", 403), ("agent", 403), ("surveyor", 403)])
    def test_only_administrators_and_editors_write(self, api: Api, role: str, status: int) -> None:
        assert api.as_role(role).post(PATH, {"name": "Complaint"}).status_code == status

    def test_a_reading_token_cannot_write(self, api: Api) -> None:
        assert api.as_role("editor", scope="read").post(PATH, {"name": "X"}).status_code == 403


class TestDeleteLabel:
    def test_a_deleted_label_is_gone(self, api: Api) -> None:
        uuid = api.post(PATH, {"name": "Complaint"}).json()["uuid"]

        response = api.delete(PATH, uuid=uuid)

        assert (response.status_code, response.content) == (204, b"")
        assert api.delete(PATH, uuid=uuid).status_code == 404
        assert api.results(PATH) == []

    def test_a_deletion_names_its_label(self, api: Api) -> None:
        assert api.delete(PATH).json() == {"detail": "One of these parameters is required: uuid."}

    def test_the_label_of_another_workspace_does_not_exist(self, api: Api, other_api: Api) -> None:
        uuid = other_api.post(PATH, {"name": "Complaint"}).json()["uuid"]

        assert api.delete(PATH, uuid=uuid).status_code == 404
        assert api.results(PATH, uuid=uuid) == []
        assert len(other_api.results(PATH)) == 1
