"""`relayboard start`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from persistence.database import Database
from persistence.tables.flow_starts import flow_start
from persistence.workspaces import Workspace
from relayboard.cli import main
from tests.run_rows import add_flow, add_start, uuid_of

Run = Callable[..., tuple[int, Any, str]]
NOWHERE = "0f6b9b1a-2f5d-4b0c-9f57-0c8a9b0ddf7e"


@pytest.fixture
def run(capsys: Any, monkeypatch: Any, database_url: str, tmp_path: Path, workspace: Workspace) -> Run:
    """Runs a command for the workspace on the test's database; returns its status, the JSON that it prints and its
    error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELAYBOARD_DATABASE_URL", database_url)

    def run_command(verb: str, *arguments: str) -> tuple[int, Any, str]:
        capsys.readouterr()
        status = main(["start", verb, "--workspace", workspace.uuid, *arguments])
        printed = capsys.readouterr()
        return status, json.loads(printed.out) if printed.out else None, printed.err

    return run_command


@pytest.fixture
def start_uuid(database: Database, workspace: Workspace) -> str:
    return uuid_of(database, flow_start, add_start(database, workspace, add_flow(database, workspace)))


def test_a_start_is_listed_and_interrupted(run: Run, start_uuid: str) -> None:
    _, (before,), _ = run("list")
    status, stopped, _ = run("interrupt", "--start", start_uuid.upper())

    assert (before["uuid"], before["status"]) == (start_uuid, "pending")
    assert (status, stopped["uuid"], stopped["status"]) == (0, start_uuid, "interrupted")
    assert run("list")[1] == [stopped]


def test_interrupting_twice_changes_nothing(run: Run, start_uuid: str) -> None:
    first, second = (run("interrupt", "--start", start_uuid) for _ in range(2))

    assert first == second


@pytest.mark.parametrize("uuid", [NOWHERE, "nonsense"])
def test_an_unknown_start_is_an_error(run: Run, start_uuid: str, uuid: str) -> None:
    status, printed, complaint = run("interrupt", "--start", uuid)

    assert (status, printed) == (1, None)
    assert complaint.startswith("relayboard: ")
