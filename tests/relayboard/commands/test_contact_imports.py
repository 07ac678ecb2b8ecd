"""Imports of contacts by command: what stays of a file that is refused, and files that cannot be read or written."""

import json
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from persistence.media.store import FolderStore, finish_received
from persistence.workspaces.writes import create_workspace
from relayboard.cli import main
from relayboard.commands import contact_imports
from testbed.databases import open_database

PEOPLE = "Phone,Name\n+250788000111,Ann\nnonsense,Bob\n"
Import = Callable[..., Any]


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Import:
    """Imports a file into a workspace of its own; the result, or the error with another status."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELAYBOARD_DATABASE_URL", database_url)
    with closing(open_database(database_url)) as database, database.writing() as tx:
        workspace = create_workspace(tx, "Clinic", country="RW")
    Path("people.csv").write_text(PEOPLE)

    def run_import(*words: str, status: int = 0) -> Any:
        assert main(["contact", "import", "--workspace", workspace.uuid, *words]) == status
        said = capsys.readouterr()
        return json.loads(said.out) if status == 0 else said.err

    return run_import


def stored() -> list[Path]:
    return [each for each in Path("var/media").rglob("*") if each.is_file()]


@pytest.mark.parametrize(
    "words",
    [
        ("people.csv", "--group", "Nobodies"),
        ("people.csv", "--map", "Phone"),
        ("people.csv", "--map", "Phone=field:nothing"),
        ("empty.csv",),
        ("long.csv",),
    ],
)
def test_a_refused_file_is_not_kept(run: Import, words: tuple[str, ...]) -> None:
    Path("empty.csv").touch()
    Path("long.csv").write_text("Phone\n" + "7" * 9_000_000)

    said = run(*words, status=1)

    assert len(said.splitlines()) == 1
    assert stored() == []


def test_a_file_whose_import_was_interrupted_is_not_kept(run: Import, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(contact_imports, "create_import", interrupt)

    assert run("people.csv", status=130) == ""
    assert stored() == []


def test_what_a_killed_process_left_of_a_file_is_removed_by_workers(
    run: Import, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(contact_imports, "create_import", die)
        patch.setattr(FolderStore, "discard", lambda *_: None)
        run("people.csv", status=130)
    assert [each.parent.name for each in stored()] == ["received"]

    store = FolderStore(f"file://{Path('var/media').absolute()}")
    monkeypatch.setattr(store, "now", lambda: stored()[0].stat().st_mtime + 86_400)
    with closing(open_database(database_url)) as database:
        finish_received(database, store)
    assert stored() == []


def test_a_file_that_was_imported_is_not_kept_either(run: Import) -> None:
    done = run("people.csv", "--output", "rejected.csv")

    assert (done["created"], done["rejected"]) == (1, 1)
    assert "nonsense,Bob" in Path("rejected.csv").read_text(encoding="utf-8-sig")
    assert Path("rejected.csv").stat().st_mode & 0o777 == 0o600
    assert [each.parent.name for each in stored()] == ["imports"]


@pytest.mark.parametrize("output", ["nowhere/rejected.csv", "people.csv", "same.csv", "people.csv/rejected.csv", "."])
def test_an_output_that_cannot_be_written_is_refused_before_the_import(run: Import, output: str) -> None:
    Path("same.csv").symlink_to("people.csv")

    said = run("people.csv", "--output", output, status=1)

    assert said.startswith(f"relayboard: {output} ") and len(said.splitlines()) == 1
    assert Path("people.csv").read_text() == PEOPLE
    assert run("people.csv", "--dry-run")["created"] == 1


def test_rejected_rows_that_cannot_be_written_do_not_hide_that_the_import_is_done(run: Import) -> None:
    said = run("people.csv", "--output", "/dev/full", status=1)

    assert said.startswith("relayboard: the import is done, but /dev/full cannot be written: No space left on device; ")
    assert stored()[0].name in said
    assert run("people.csv", "--dry-run")["updated"] == 1


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_a_file_that_cannot_be_read_is_named_with_the_reason(run: Import, words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(writing)
    with open(reading):
        said = run(f"/dev/fd/{reading}", *words, status=1)
    absent = run("absent.csv", "--output", "rejected.csv", *words, status=1)

    assert said.endswith(" is a pipe, and an import reads its file several times: give a file\n")
    assert absent == "relayboard: absent.csv cannot be read: No such file or directory\n"
    assert stored() == []
