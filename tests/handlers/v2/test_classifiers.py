"""`/api/v2/classifiers.json` over HTTP."""

import json
from typing import Any

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
