"""`/api/v2/resthooks.json` over HTTP."""

import pytest

from persistence.database import Database
from persistence.errors import InvalidInput
from persistence.resthooks import ensure_resthook, record_resthook_event
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

    @pytest.mark.together
    @pytest.mark.parametrize("slug", ["", "a b", "über", "x" * 51])
    def test_a_bad_slug_is_refused(self, database: Database, workspace: Workspace, slug: str) -> None:
        with pytest.raises(InvalidInput):
            add_resthook(database, workspace, slug)

    def test_a_resthook_is_made_by_hand_once(self, api: Api) -> None:
        made = api.post(PATH, {"resthook": " New-Birth "})

        assert (made.status_code, made.json()["resthook"]) == (201, "new-birth")
        for taken in ("new-birth", "NEW-BIRTH", "a b", ""):
            response = api.post(PATH, {"resthook": taken})
            assert (response.status_code, list(response.json())) == (400, ["resthook"])
        assert api.results(PATH) == [made.json()]


class TestDeletingResthooks:
    def test_a_resthook_without_subscribers_is_deleted_with_its_events(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        add_resthook(database, workspace, "birth")
        made = api.post(SUBSCRIBERS, {"resthook": "birth", "target_url": "https://hooks.example.org/b"}).json()
        with database.writing() as tx:
            record_resthook_event(tx, workspace.id, "birth", {"a": 1})

        refused = api.delete(PATH, resthook="birth")
        assert refused.status_code == 400
        assert api.delete(SUBSCRIBERS, id=made["id"]).status_code == 204
        assert [api.delete(PATH, resthook="Birth").status_code for _ in range(2)] == [204, 404]

        assert api.results(PATH) == api.results("/api/v2/resthook_events.json") == []
