"""`relayboard start`."""

from collections.abc import Callable
from typing import Any

import pytest

from persistence.database import Database
from persistence.tables.flows import flow_start
from persistence.workspaces.records import Workspace
from tests.run_rows import add_flow, add_start, uuid_of

Run = Callable[..., tuple[int, Any]]


@pytest.fixture
def start_uuid(database: Database, workspace: Workspace) -> str:
    return uuid_of(database, flow_start, add_start(database, workspace, add_flow(database, workspace)))


def test_a_start_is_listed_and_interrupted(run: Run, start_uuid: str) -> None:
    _, (before,) = run("start", "list")
    status, stopped = run("start", "interrupt", "--start", start_uuid.upper())

    assert (before["uuid"], before["status"]) == (start_uuid, "pending")
    assert (status, stopped["uuid"], stopped["status"]) == (0, start_uuid, "interrupted")
    assert run("start", "list")[1] == [stopped]


def test_interrupting_twice_changes_nothing(run: Run, start_uuid: str) -> None:
    first, second = (run("start", "interrupt", "--start", start_uuid) for _ in range(2))

    assert first == second
