"""`/api/v2/workspace.json` over HTTP, and its older name."""

import pytest
from sqlalchemy import update

from persistence.database import Database
from persistence.tables.accounts import workspace as workspaces
from persistence.workspaces.records import Workspace
from tests.api import Api

PATHS = ["/api/v2/workspace.json", "/api/v2/org.json"]


@pytest.mark.parametrize("path", PATHS)
class TestReadWorkspace:
    def test_it_is_one_object_and_no_list(self, api: Api, workspace: Workspace, path: str) -> None:
        record = api.get(path).json()

        assert record.pop("credits", {"used": -1, "remaining": -1}) == {"used": -1, "remaining": -1}
        assert record == {
            "uuid": workspace.uuid,
            "name": "Riverside Health",
            "country": "RW",
            "languages": ["eng", "kin"],
            "primary_language": "eng",
            "timezone": "Africa/Kigali",
            "date_style": "day_first",
            "number_format": "1,234.5",
            "answer_limit": 12,
            "origins": [],
            "anon": False,
        }

    def test_it_is_the_workspace_of_the_token(self, api: Api, other_api: Api, path: str) -> None:
        assert (api.get(path).json()["name"], other_api.get(path).json()["name"]) == (
            "Riverside Health",
            "Hilltop Schools",
        )

    def test_a_change_shows_at_once(self, api: Api, database: Database, workspace: Workspace, path: str) -> None:
        api.get(path)
        with database.writing() as tx:
            mine = workspaces.c.id == workspace.id
            tx.execute(update(workspaces).where(mine).values(is_anonymous=True, country="", date_style="month_first"))

        record = api.get(path).json()

        assert (record["anon"], record["country"], record["date_style"]) == (True, "", "month_first")

    def test_the_workspace_cannot_be_written(self, api: Api, path: str) -> None:
        assert api.post(path, {"name": "Mine"}).status_code == 405
