"""Progress bars are for the stderr of a terminal, and long work says how far it is."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from persistence.backups.copying import copy_database
from persistence.backups.writing import restore_backup, write_backup
from persistence.boundaries import read_features, store_boundaries
from persistence.database import Database
from persistence.definitions.importing import import_definitions
from persistence.media.store import open_store
from persistence.workspaces.records import Workspace
from relayboard.base.progress import listening, report
from relayboard.base.settings import Settings
from relayboard.commands.progress import show_progress
from testbed.servers import postgres_database
from tests.boundary_files import RWANDA
from tests.definition_files import make_definition, make_file, say

Reports = list[tuple[str, int, int]]


@pytest.fixture
def heard() -> Iterator[Reports]:
    reports: Reports = []
    with listening(lambda *told: reports.append(told)):
        yield reports


def ends(heard: Reports) -> dict[str, tuple[int, int]]:
    """The last report of each work."""
    return {what: (done, total) for what, done, total in heard}


def test_nobody_else_sees_them(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress("Restoring"):
        report("Restoring", 1, 2)

    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_on_stderr_what_is_done_and_the_time_that_is_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")

    with show_progress("Restoring"):
        report("Checking the backup", 50, 1000)

    said = capsys.readouterr()
    assert said.out == "" and "Checking the backup" in said.err and "50/1,000" in said.err and ":--" in said.err


def test_backup_restore_and_copy_say_how_far_they_are(
    heard: Reports, sqlite_template: Path, tmp_path: Path, postgres_url: str, settings: Settings
) -> None:
    source = tmp_path / "relayboard.db"
    source.write_bytes(sqlite_template.read_bytes())
    here = replace(settings, database_url=f"sqlite:///{source}", media_url=f"file://{tmp_path / 'media'}")
    there = replace(settings, database_url=f"sqlite:///{tmp_path / 'new.db'}", media_url=f"file://{tmp_path / 'new'}")
    store = open_store(here)
    with store.writing("a.txt") as file:
        file.write(b"hello")
    database = Database(here.database_url)
    write_backup(database, store, tmp_path / "backup.zip")
    database.close()
    restore_backup(tmp_path / "backup.zip", there)
    with postgres_database(postgres_url) as url:
        copy_database(here.database_url, url)

    found = ends(heard)
    assert found["Copying files"] == (1, 0) and found["Putting back files"] == (1, 1)
    for what in ("Writing the database", "Checking the backup", "Restoring the database", "Comparing"):
        done, total = found[what]
        assert done == total > 0, what


def test_imports_say_how_far_they_are(heard: Reports, database: Database, workspace: Workspace) -> None:
    document = json.loads(json.dumps(make_file(make_definition(say("Hello")), make_definition(say("Bye"), name="Bye"))))
    with database.writing() as tx:
        store_boundaries(tx, read_features(RWANDA, None))
        import_definitions(tx, workspace, document)

    assert ends(heard) == {"Storing boundaries": (5, 5), "Importing flows": (2, 2)}
