"""`/api/v2/users.json` over HTTP."""

from typing import Any

import pytest

from persistence.database import Database
from persistence.users import add_member
from persistence.workspaces.records import Workspace
from tests.api import Api

PATH = "/api/v2/users.json"
UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def joel(database: Database, workspace: Workspace) -> str:
    with database.writing() as tx:
        return add_member(tx, workspace.id, "Joel@Example.org", "editor", first_name="Joel", last_name="Otieno").uuid


@pytest.fixture
def agent(database: Database, workspace: Workspace) -> str:
    with database.writing() as tx:
        return add_member(tx, workspace.id, "zuri@example.org", "agent", first_name="Zuri").uuid


def found(api: Api, **query: Any) -> list[str]:
    return [one["uuid"] for one in api.results(PATH, **query)]


class TestListUsers:
    def test_a_record_has_name_and_role(self, api: Api, joel: str) -> None:
        record = api.results(PATH, uuid=joel)[0]

        assert record == {
            "uuid": joel,
            "email": "Joel@Example.org",
            "name": "Joel Otieno",
            "first_name": "Joel",
            "last_name": "Otieno",
            "role": "editor",
            "team": None,
            "avatar": None,
            "created_on": record["created_on"],
        }

    def test_who_joined_last_comes_first(self, api: Api, joel: str, agent: str) -> None:
        assert found(api)[:2] == [agent, joel]

    def test_a_single_name_has_no_blank_around_it(self, api: Api, agent: str) -> None:
        assert api.results(PATH, uuid=agent)[0]["name"] == "Zuri"

    def test_filters_take_several_values_of_any_case_and_combine(self, api: Api, joel: str, agent: str) -> None:
        assert found(api, uuid=[joel, agent]) == found(api, uuid=f"{joel},{agent}") == [agent, joel]
        assert found(api, email="JOEL@example.ORG") == [joel]
        assert found(api, role=["editor", "agent"]) == [agent, joel]
        assert found(api, role="editor", email="joel@example.org", uuid=joel) == [joel]
        assert found(api, role="agent", email="joel@example.org") == []

    def test_what_names_nobody_gives_an_empty_list(self, api: Api, joel: str) -> None:
        assert found(api, uuid=UNKNOWN) == found(api, email="x@example.org") == found(api, role="surveyor") == []

    @pytest.mark.together
    @pytest.mark.parametrize(("count", "status"), [(100, 200), (101, 400)])
    def test_a_filter_takes_at_most_100_values(self, api: Api, count: int, status: int) -> None:
        emails = ",".join(f"user{number}@example.org" for number in range(count))

        assert api.get(PATH, email=emails).status_code == status

    def test_a_user_of_two_workspaces_has_a_role_in_each(
        self, api: Api, other_api: Api, database: Database, other_workspace: Workspace, joel: str
    ) -> None:
        with database.writing() as tx:
            add_member(tx, other_workspace.id, "joel@example.org", "viewer")

        assert api.results(PATH, uuid=joel)[0]["role"] == "editor"
        assert other_api.results(PATH, uuid=joel)[0]["role"] == "viewer"
        assert len(other_api.results(PATH)) == 2
