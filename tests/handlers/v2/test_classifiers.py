"""`/api/v2/classifiers.json` over HTTP."""

import json
from typing import Any

import pytest

from persistence.classifiers import CLASSIFIERS, create_classifier
from persistence.database import Database
from persistence.lists import read_record
from persistence.workspaces.records import Workspace
from tests.api import Api

PATH = "/api/v2/classifiers.json"


def add(database: Database, workspace: Workspace, name: str) -> dict[str, Any]:
    with database.writing() as tx:
        made = create_classifier(tx, workspace.id, name, "wit", ["book_slot", "cancel_slot"])
        record: dict[str, Any] = json.loads(read_record(tx, CLASSIFIERS, workspace, made))
        return record


class TestListClassifiers:
    def test_classifiers_come_newest_first(self, api: Api, database: Database, workspace: Workspace) -> None:
        first, second = (add(database, workspace, name) for name in ("First", "Second"))

        assert api.results(PATH) == [second, first]
        assert first["intents"] == ["book_slot", "cancel_slot"]

    def test_filters_by_uuid_and_time_of_creation_combine(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        first, second = (add(database, workspace, name) for name in ("First", "Second"))

        assert api.results(PATH, uuid=first["uuid"]) == [first]
        assert api.results(PATH, after=second["created_on"]) == [second]
        assert api.results(PATH, before=first["created_on"])[0] == first
        assert api.results(PATH, uuid=second["uuid"], before=first["created_on"]) == []

    @pytest.mark.parametrize("query", [{"uuid": "x"}, {"before": "x"}, {"after": "x"}])
    def test_a_malformed_filter_is_refused(self, api: Api, query: dict[str, str]) -> None:
        assert api.get(PATH, **query).status_code == 400

    def test_those_of_another_workspace_are_not_seen(
        self, api: Api, database: Database, other_workspace: Workspace
    ) -> None:
        theirs = add(database, other_workspace, "Theirs")

        assert theirs not in api.results(PATH)
        assert api.results(PATH, uuid=theirs["uuid"]) == []

    @pytest.mark.parametrize(("role", "status"), [("viewer", 200), ("agent", 403), ("surveyor", 403)])
    def test_agents_and_surveyors_see_none(self, api: Api, role: str, status: int) -> None:
        assert api.as_role(role).get(PATH).status_code == status
