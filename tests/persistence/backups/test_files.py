"""Runs that make a backup of one name: each has files of its own, and one of them gets the name.

SQLite in backups, and as the source of a copy, in this process.
"""

import errno
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from persistence.backups import copying, files
from persistence.backups.copying import _batches, copy_database
from persistence.backups.files import Manifest, reading_backup, writing_backup
from persistence.backups.files import copy_in_sqlite as copy_in
from persistence.backups.files import copy_out_sqlite as copy_out
from persistence.backups.writing import write_backup
from persistence.database import Database
from persistence.errors import BackupError
from persistence.media.store import FolderStore
from relayboard.base.private_files import ABANDONED_SECONDS


def manifest_of(version: str) -> Manifest:
    return Manifest(version, "0", "sqlite", "2026-03-02", None)


def finish_second_within_first(path: Path) -> None:
    """Begins a backup, and makes another one of its name before it ends."""
    with writing_backup(path, manifest_of("first")) as first, first.member("part") as stream:
        stream.write(b"of the first")
        with writing_backup(path, manifest_of("second")):
            pass


@pytest.mark.parametrize("refusal", [None, errno.EPERM, errno.EOPNOTSUPP])
def test_the_run_that_ends_first_gets_the_name_also_without_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: int | None
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(refusal, "no hard links")

    if refusal is not None:
        monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "weekly.zip"
    with pytest.raises(BackupError, match=r"weekly\.zip exists already: give the backup another name"):
        finish_second_within_first(path)

    with reading_backup(path) as reader:
        reader.check()
        assert reader.manifest.version == "second"
    assert list(tmp_path.iterdir()) == [path]


def test_two_runs_have_a_copy_of_the_database_each(
    sqlite_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, path, store = tmp_path / "relayboard.db", tmp_path / "backups" / "weekly.zip", tmp_path / "media"
    file.write_bytes(sqlite_template.read_bytes())
    drafts: list[Path] = []
    copy_out = files.copy_out_sqlite

    def begin_another(source: Path, draft: Path, writer: Any) -> None:
        drafts.append(draft)
        if len(drafts) == 1:
            write_backup(database, FolderStore(f"file://{store}"), path)
        copy_out(source, draft, writer)

    monkeypatch.setattr(files, "copy_out_sqlite", begin_another)
    with closing(Database(f"sqlite:///{file}")) as database, pytest.raises(BackupError, match="exists already"):
        write_backup(database, FolderStore(f"file://{store}"), path)

    assert len(set(drafts)) == 2
    assert list(path.parent.iterdir()) == [path]


def test_what_killed_runs_left_a_day_ago_is_removed_and_nothing_else(tmp_path: Path) -> None:
    path, run = tmp_path / "weekly.zip", "0" * 32
    left = [f"weekly.zip.{run}.part", f"weekly.zip.{run}.part.db", "weekly.zip.part", f"weekly.zip.{run}.part.db-wal"]
    others = [f"monthly.zip.{run}.part", "weekly.zip.old.part", "weekly.zip.part.txt", "weekly_zip.part"]
    long_ago = time.time() - ABANDONED_SECONDS - 1
    for name in left + others:
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (long_ago, long_ago))
    going_on = tmp_path / f"weekly.zip.{'1' * 32}.part"
    going_on.touch()

    with writing_backup(path, manifest_of("0")):
        pass

    assert {each.name for each in tmp_path.iterdir()} == {*others, going_on.name, path.name}


def test_a_failed_run_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), writing_backup(tmp_path / "weekly.zip", manifest_of("0")):
        raise ZeroDivisionError

    assert list(tmp_path.iterdir()) == []


NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"


def back_up(source: Path, path: Path, more_rows: int) -> Path:
    """A backup whose manifest tells of so many rows more of the first table."""
    with writing_backup(path, Manifest("0", "0", "sqlite", "2026-03-02", None)) as writer:
        copy_out(source, path.with_name("copy"), writer)
        writer.manifest.tables[0].rows += more_rows
    return path


def test_a_backup_is_a_database_again(sqlite_template: Path, tmp_path: Path) -> None:
    draft = tmp_path / "draft.db"
    with reading_backup(back_up(sqlite_template, tmp_path / "whole.zip", 0)) as reader:
        copy_in(reader, draft)

    with closing(sqlite3.connect(draft)) as connection:
        assert connection.execute("SELECT count(*) FROM workspace").fetchone() == (0,)


@pytest.mark.parametrize("more_rows", [1, -1])
def test_a_backup_with_other_rows_than_it_says_is_damaged(
    sqlite_template: Path, tmp_path: Path, more_rows: int
) -> None:
    draft = tmp_path / "draft.db"
    with (
        reading_backup(back_up(sqlite_template, tmp_path / "other.zip", more_rows)) as reader,
        pytest.raises(BackupError, match="is damaged: rows are missing"),
    ):
        copy_in(reader, draft)

    assert not draft.exists()


def test_a_source_to_which_somebody_writes_is_not_copied(sqlite_template: Path, tmp_path: Path) -> None:
    file = tmp_path / "relayboard.db"
    file.write_bytes(sqlite_template.read_bytes())
    with closing(sqlite3.connect(file)) as writing:
        writing.execute("BEGIN IMMEDIATE")
        with pytest.raises(BackupError, match=r"somebody is writing to .*relayboard\.db: stop the service first"):
            copy_database(f"sqlite:///{file}", NOWHERE)


@pytest.mark.together
@pytest.mark.parametrize(
    ("most_rows", "most_bytes", "batches"),
    [(20, 1000, [(3, 3)]), (2, 1000, [(2, 2), (1, 3)]), (20, 8, [(2, 2), (1, 3)]), (20, 1, [(1, 1), (1, 2), (1, 3)])],
)
def test_rows_are_copied_in_batches_until_there_are_so_many_or_so_many_bytes(
    monkeypatch: pytest.MonkeyPatch, most_rows: int, most_bytes: int, batches: list[tuple[int, int]]
) -> None:
    monkeypatch.setattr(copying, "BATCH_ROWS", most_rows)
    monkeypatch.setattr(copying, "BATCH_BYTES", most_bytes)
    with create_engine("sqlite://").connect() as connection:
        rows = connection.execute(text("VALUES (1, 'abc'), (2, 'def'), (3, 'ghi')"))

        assert [(each.rows, each.last) for each in _batches(rows)] == batches
