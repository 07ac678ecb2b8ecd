"""The records of an export."""

import pytest

from persistence.database import Database
from persistence.exports import writing
from persistence.exports.kinds import KINDS
from persistence.exports.writing import find_ids
from persistence.workspaces.records import Workspace
from tests.factories import id_of, make_contact


def test_ids_are_read_in_portions_and_each_is_found_once(
    database: Database, workspace: Workspace, other_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "IDS_AT_ONCE", 3)
    mine = [id_of(database, make_contact(database, workspace)) for _ in range(4)]
    make_contact(database, other_workspace)

    assert list(find_ids(database, workspace, KINDS["contacts"].spec, {})) == mine
