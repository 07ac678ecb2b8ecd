"""A command line on the test's database."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from persistence.workspaces.records import Workspace
from relayboard.cli import main


class Command:
    """Runs a command; returns its status and the JSON that it prints. What it complains of is in `complaint`."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.complaint = ""

    def __call__(self, *words: object) -> tuple[int, Any]:
        self._capsys.readouterr()
        status = main([str(word) for word in words])
        printed, self.complaint = self._capsys.readouterr()
        return status, json.loads(printed) if printed else None


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, database_url: str, tmp_path: Path
) -> Command:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELAYBOARD_DATABASE_URL", database_url)
    return Command(capsys)


@pytest.fixture
def run(command: Command, workspace: Workspace) -> Callable[..., tuple[int, Any]]:
    """Runs a command for the workspace."""
    return lambda noun, verb, *arguments: command(noun, verb, "--workspace", workspace.uuid, *arguments)
