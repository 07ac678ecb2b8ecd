"""The commands of docs/moving.md, from the first to the last, against a server that answers as current ones do."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from persistence.database import Database
from relayboard.cli import main
from relayboard.phone.phone import Phone
from tests.api import Api
from tests.documentation import ROOT, read_blocks
from tests.phones import new_phone
from tests.relayboard.move.other_server import TOKEN, OtherServer
from tests.relayboard.move.other_workspace import fill

COMMANDS = [
    line.removeprefix("$ ")
    for block in read_blocks(ROOT / "docs" / "moving.md")
    if block.language == "console"
    for line in block.text.splitlines()
]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_guide_moves_a_workspace(
    monkeypatch: pytest.MonkeyPatch,
    database_url: str,
    database: Database,
    api: Api,
    other: OtherServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fill(other)
    phone: Phone = new_phone(api)
    phone.register()
    (tmp_path / "token.txt").write_text(TOKEN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELAYBOARD_DATABASE_URL", database_url)
    monkeypatch.setenv("RELAYBOARD_SECRET_KEY", "test-secret-key-for-tests-only")
    names = {"https://rapidpro.example.org": other.url, "CODE": phone.state.claim_code or ""}
    said: dict[str, Any] = {}

    for command in COMMANDS:
        words = [names.get(word, word) for word in shlex.split(command)]
        assert main(words[1:]) == 0, command
        said = json.loads(capsys.readouterr().out)
        if words[1:3] == ["workspace", "create"]:
            names["UUID"] = said["uuid"]

    assert len(COMMANDS) > 8
    assert said["is_equal"]
    assert "Both sides agree." in (tmp_path / "report.html").read_text() or said["switched_on"]
