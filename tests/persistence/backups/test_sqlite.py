"""SQLite in backups, and as the source of a copy, in this process."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from persistence.backups import copying
from persistence.backups.copying import _batches, copy_database
from persistence.backups.errors import BackupError
from persistence.backups.files import reading_backup, writing_backup
from persistence.backups.manifest import Manifest
from persistence.backups.sqlite import copy_in, copy_out

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
