"""Contacts, messages and broadcasts by command."""

import json
import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from persistence.broadcasts.expansion import expand_next
from persistence.workspaces.writes import create_workspace
from relayboard.cli import main
from testbed.databases import open_database

ANN = "tel:+250788000111"


class Line:
    """Commands on one workspace, and what they said."""

    def __init__(self, database_url: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.database = open_database(database_url)
        self.capsys = capsys
        with self.database.writing() as tx:
            self.workspace = create_workspace(tx, "Clinic", country="RW")

    def run(self, *words: str, status: int = 0) -> Any:
        assert main([*words[:2], "--workspace", self.workspace.uuid, *words[2:]]) == status
        said = self.capsys.readouterr()
        return json.loads(said.out) if status == 0 else said.err


@pytest.fixture
def line(
    monkeypatch: pytest.MonkeyPatch, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Line:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELAYBOARD_DATABASE_URL", database_url)
    return Line(database_url, capsys)


def test_a_contact_is_made_found_changed_and_deleted(line: Line) -> None:
    line.run("field", "create", "--name", "Age", "--type", "number")
    line.run("group", "create", "--name", "Mothers")
    made = line.run("contact", "create", "--name", "Ann", "--urn", ANN, "--field", "age=27", "--group", "mothers")
    line.run("contact", "create", "--name", "Bob")

    assert line.run("contact", "list", "--query", "fields.age > 20") == [line.run("contact", "show", ANN)]
    changed = line.run("contact", "change", ANN, "--name", "Ann Li", "--field", "age=")
    assert (changed["uuid"], changed["name"], changed["fields"]) == (made["uuid"], "Ann Li", {"age": None})
    assert (changed["urns"], changed["groups"]) == (made["urns"], made["groups"])

    line.run("contact", "delete", made["uuid"], "--yes")
    assert [each["name"] for each in line.run("contact", "list")] == ["Bob"]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_only_their_owner_may_read_files_about_people(line: Line, tmp_path: Path) -> None:
    line.run("contact", "create", "--name", "Ann", "--urn", ANN)
    before = os.umask(0o022)
    try:
        line.run("contact", "copy", ANN, "--output", "ann.zip")
        line.run("export", "people.csv")
    finally:
        os.umask(before)

    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("ann.zip", "people.csv")} == {0o600}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["list", "--query", "fields.nothing = 1"], "nothing"),
        (["show", "tel:+250788999999"], "+250788999999"),
        (["create", "--field", "age"], "age is not the value of a field, like age=27"),
        (["create", "--field", "nothing=1"], "nothing"),
        (["create", "--group", "Nobodies"], "Nobodies"),
        (["create", "--urn", "nonsense"], "Expected a URN"),
    ],
)
def test_what_a_contact_cannot_have_is_said_in_a_sentence(line: Line, words: list[str], sentence: str) -> None:
    said = line.run("contact", *words, status=1)

    assert sentence in said and len(said.splitlines()) == 1


def test_a_message_is_queued_for_its_contact(line: Line) -> None:
    line.run("contact", "create", "--name", "Ann", "--urn", ANN)

    sent = line.run("message", "send", "--contact", ANN, "--text", "Hello")

    assert (sent["contact"]["name"], sent["text"], sent["direction"]) == ("Ann", "Hello", "out")
    assert line.run("message", "list", "--contact", sent["contact"]["uuid"]) == [sent]


def test_a_broadcast_is_waited_for_until_its_messages_are_there(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    def work() -> None:
        with line.database.writing() as tx:
            expand_next(tx, line.workspace.id)

    monkeypatch.setattr("relayboard.commands.sending.pause", work)

    at_once = line.run("broadcast", "create", "--urn", ANN, "--text", "Hello")
    waited_for = line.run("broadcast", "create", "--urn", ANN, "--text", "Hello again", "--wait")

    assert at_once["status"] in ("pending", "queued")
    assert (waited_for["status"], waited_for["progress"]) == ("completed", {"total": 1, "started": 1})


def test_a_broadcast_for_later_is_listed_apart_shown_and_stopped(line: Line) -> None:
    text = ("--urn", ANN, "--text", "Hello")
    now = line.run("broadcast", "create", *text)
    day = (line.database.clock() + timedelta(days=2)).date().isoformat()
    later = line.run("broadcast", "create", *text, "--at", f"{day}T08:00")

    assert datetime.fromisoformat(later["scheduled_on"]).astimezone(line.workspace.zone).hour == 8
    assert line.run("broadcast", "list") == [now]
    assert line.run("broadcast", "list", "--scheduled") == [later]
    assert line.run("broadcast", "show", later["uuid"]) == later
    assert line.run("message", "list", "--broadcast", later["uuid"]) == []
    assert line.run("broadcast", "stop", later["uuid"], "--yes")["status"] == "interrupted"
    assert [each["status"] for each in line.run("broadcast", "list", "--scheduled")] == ["interrupted"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("create", "--urn", ANN, "--text", "Hi", "--at", "2020-01-01"), "at: A time in the future, within a year"),
        (("create", "--urn", ANN, "--text", "Hi", "--at", "2027-01-01", "--wait"), "give --at or --wait"),
        (("stop", "--yes", "6bbbf6b1-4b1c-4b0e-9bcd-6f0c59ad9d3f"), "there is no broadcast 6bbbf6b1"),
        (("stop", "--yes", "x"), "there is no broadcast x"),
    ],
)
def test_a_broadcast_that_cannot_be_sent_or_stopped_is_said_in_a_sentence(
    line: Line, words: Sequence[str], sentence: str
) -> None:
    said = line.run("broadcast", *words, status=1)

    assert sentence in said and len(said.splitlines()) == 1


def test_the_tokens_of_one_user_are_listed_and_revoked(line: Line) -> None:
    for email in ("ann@example.org", "bob@example.org"):
        line.run("user", "create", "--email", email, "--role", "editor")
        line.run("token", "create", "--email", email)
        line.run("token", "create", "--email", email)

    own = line.run("token", "list", "--email", "Ann@example.org")
    assert {each["email"] for each in own} == {"ann@example.org"} and len(own) == 2
    assert line.run("token", "revoke", "--email", "ann@example.org") == {"revoked": [each["public"] for each in own]}
    assert {each["email"] for each in line.run("token", "list")} == {"bob@example.org"}
    assert 'there is no user "eve@example.org"' in line.run("token", "revoke", "--email", "eve@example.org", status=1)
