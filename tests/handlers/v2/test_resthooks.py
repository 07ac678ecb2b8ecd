"""`/api/v2/resthooks.json` over HTTP."""

import pytest

from persistence.database import Database
from persistence.errors import InvalidInput
from persistence.resthooks import ensure_resthook
from persistence.workspaces.records import Workspace
from tests.api import Api

PATH = "/api/v2/resthooks.json"
SUBSCRIBERS = "/api/v2/resthook_subscribers.json"


def add_resthook(database: Database, workspace: Workspace, slug: str) -> int:
    with database.writing() as tx:
        return ensure_resthook(tx, workspace.id, slug)


class TestListResthooks:
    def test_the_last_changed_resthook_comes_first(self, api: Api, database: Database, workspace: Workspace) -> None:
        for slug in ("registration", "birth"):
            add_resthook(database, workspace, slug)
        api.post(SUBSCRIBERS, {"resthook": "registration", "target_url": "https://hooks.example.org/r"})

        records = api.results(PATH)

        assert [record["resthook"] for record in records] == ["registration", "birth"]
        assert records[0]["modified_on"] > records[0]["created_on"]
        assert [record["resthook"] for record in api.results(PATH, reverse="1")] == ["birth", "registration"]


class TestMakingResthooks:
    def test_a_slug_is_lower_case_and_made_once(self, database: Database, workspace: Workspace) -> None:
        first = add_resthook(database, workspace, " New-Registration ")

        assert add_resthook(database, workspace, "new-registration") == first

    @pytest.mark.parametrize("slug", ["", "a b", "über", "x" * 51])
    def test_a_bad_slug_is_refused(self, database: Database, workspace: Workspace, slug: str) -> None:
        with pytest.raises(InvalidInput):
            add_resthook(database, workspace, slug)
