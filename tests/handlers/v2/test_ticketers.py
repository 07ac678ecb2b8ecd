"""`/api/v2/ticketers.json` over HTTP."""

import json
from typing import Any

import pytest

from persistence.database import Database
from persistence.lists import read_record
from persistence.ticketers import TICKETERS, create_ticketer
from persistence.workspaces.records import Workspace
from tests.api import Api

PATH = "/api/v2/ticketers.json"


def add(database: Database, workspace: Workspace, name: str) -> dict[str, Any]:
    with database.writing() as tx:
        made = create_ticketer(tx, workspace.id, name, "zendesk")
        record: dict[str, Any] = json.loads(read_record(tx, TICKETERS, workspace, made))
        return record


class TestListTicketers:
    def test_every_workspace_has_an_internal_ticketer(self, api: Api) -> None:
        (record,) = api.results(PATH)

        assert (record["name"], record["type"]) == ("Relayboard Tickets", "internal")

    def test_ticketers_come_newest_first(self, api: Api, database: Database, workspace: Workspace) -> None:
        first, second = (add(database, workspace, name) for name in ("First", "Second"))

        assert api.results(PATH)[:2] == [second, first]

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
