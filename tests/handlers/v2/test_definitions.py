"""`/api/v2/definitions.json` over HTTP."""

from typing import Any

import pytest

from persistence.database import Database
from persistence.sql.columns import new_uuid
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.definition_files import bring_in, make_definition, make_file, read_registration

PATH = "/api/v2/definitions.json"
PARTS = ("flows", "campaigns", "triggers", "fields", "groups")

ALONE = {"dependencies": "none"}


def counts(document: dict[str, Any]) -> list[int]:
    return [len(document[part]) for part in PARTS]


@pytest.fixture
def file(database: Database, workspace: Workspace) -> dict[str, Any]:
    """The file that the workspace has imported."""
    document = read_registration()
    bring_in(database, workspace, document)
    return document


class TestReadDefinitions:
    def test_nothing_asked_for_gives_an_empty_file(self, api: Api, file: dict[str, Any]) -> None:
        document = api.get(PATH).json()

        assert counts(document) == [0, 0, 0, 0, 0]
        assert (document["version"], document["site"]) == ("13", "http://testserver")

    def test_unknown_and_malformed_uuids_are_passed_over(self, api: Api, file: dict[str, Any]) -> None:
        document = api.get(PATH, flow=[new_uuid(), "nonsense"], campaign=new_uuid()).json()

        assert counts(document) == [0, 0, 0, 0, 0]

    def test_a_flow_comes_with_all_that_hangs_together_with_it(self, api: Api, file: dict[str, Any]) -> None:
        document = api.get(PATH, flow=file["flows"][0]["uuid"]).json()

        assert counts(document) == [3, 1, 2, 3, 2]
        assert [one["name"] for one in document["flows"]] == ["Registration", "Consent", "Checkup Reminder"]
        assert [one["trigger_type"] for one in document["triggers"]] == ["K", "M"]
        assert document["triggers"][0] == file["triggers"][0]

    def test_a_campaign_brings_the_flows_it_starts(self, api: Api, file: dict[str, Any]) -> None:
        document = api.get(PATH, campaign=file["campaigns"][0]["uuid"], dependencies="flows").json()

        assert [one["name"] for one in document["flows"]] == ["Checkup Reminder"]
        assert document["campaigns"][0]["name"] == "Checkups"

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("word", "expected"),
        [
            ("all", [3, 1, 2, 3, 2]),
            ("TRUE", [3, 1, 2, 3, 2]),
            ("1", [3, 1, 2, 3, 2]),
            ("", [3, 1, 2, 3, 2]),
            ("flows", [2, 0, 1, 0, 0]),
            ("none", [1, 0, 0, 0, 0]),
            ("No", [1, 0, 0, 0, 0]),
            ("0", [1, 0, 0, 0, 0]),
        ],
    )
    def test_words_and_switches_say_what_comes_along(
        self, api: Api, file: dict[str, Any], word: str, expected: list[int]
    ) -> None:
        assert counts(api.get(PATH, flow=file["flows"][0]["uuid"], dependencies=word).json()) == expected

    def test_another_word_is_refused(self, api: Api) -> None:
        response = api.get(PATH, dependencies="some")

        assert response.status_code == 400
        assert "dependencies" in response.json()["detail"]

    def test_a_definition_is_the_newest_one(self, api: Api, database: Database, workspace: Workspace) -> None:
        given = make_definition(name="First")
        bring_in(database, workspace, make_file(given))
        bring_in(database, workspace, make_file({**given, "name": "Second"}))

        exported = api.get(PATH, flow=given["uuid"], **ALONE).json()["flows"][0]

        assert (exported["name"], exported["revision"], exported["uuid"]) == ("Second", 2, given["uuid"])

    def test_the_fields_of_group_queries_come_along(self, api: Api, file: dict[str, Any]) -> None:
        reminder = file["flows"][2]["uuid"]

        document = api.get(PATH, flow=reminder).json()

        adults = next(one for one in document["groups"] if one["name"] == "Adults")
        assert adults["query"] == "fields.age >= 18"
        assert "age" in [one["key"] for one in document["fields"]]

    def test_what_is_exported_imports_again_to_the_same(
        self, api: Api, database: Database, workspace: Workspace, file: dict[str, Any]
    ) -> None:
        exported = api.get(PATH, flow=file["flows"][0]["uuid"]).json()

        report = bring_in(database, workspace, exported)

        assert {one["change"] for one in (*report.flows, *report.campaigns, *report.triggers)} == {"unchanged"}
        assert api.get(PATH, flow=file["flows"][0]["uuid"]).json() == exported

    def test_another_workspace_makes_the_same_of_it(
        self, api: Api, other_api: Api, database: Database, other_workspace: Workspace, file: dict[str, Any]
    ) -> None:
        exported = api.get(PATH, flow=file["flows"][0]["uuid"]).json()
        report = bring_in(database, other_workspace, exported)

        again = other_api.get(PATH, flow=report.flows[0]["uuid"]).json()

        assert counts(again) == counts(exported)
        assert [one["name"] for one in again["flows"]] == [one["name"] for one in exported["flows"]]
        assert again["fields"] == exported["fields"]
        assert [one["query"] for one in again["groups"]] == [one["query"] for one in exported["groups"]]

    def test_an_export_takes_as_many_statements_for_three_flows_as_for_one(
        self, api: Api, file: dict[str, Any], statements: list[str]
    ) -> None:
        flows = [one["uuid"] for one in file["flows"]]
        api.get(PATH, flow=flows[0], **ALONE)
        statements.clear()
        api.get(PATH, flow=flows[0], **ALONE)
        for_one = len(statements)
        statements.clear()

        api.get(PATH, flow=flows, **ALONE)

        assert len(statements) == for_one
