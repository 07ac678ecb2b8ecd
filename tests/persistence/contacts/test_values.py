"""Values of fields that may name boundaries."""

from typing import Any

import pytest

from persistence.contacts.values import read_place_values
from persistence.database import Database
from persistence.workspaces import Workspace

KINDS = {"note": "text", "state": "state"}


@pytest.mark.parametrize("values", [{"note": {"text": "Kigali"}}, {"state": None}, {"note": None, "state": None}, {}])
def test_boundaries_are_read_only_for_a_value_that_may_name_one(
    database: Database, workspace: Workspace, statements: list[str], values: dict[str, Any]
) -> None:
    with database.reading() as tx:
        assert read_place_values(tx, workspace, {}, values, KINDS) == values

    assert statements == []
