"""Runs that make a backup of one name: each has files of its own, and one of them gets the name."""

import errno
import os
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from persistence.backups import sqlite
from persistence.backups.errors import BackupError
from persistence.backups.files import reading_backup, writing_backup
from persistence.backups.manifest import Manifest
from persistence.backups.writing import write_backup
from persistence.database import Database
from persistence.media.folder import FolderStore
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
    copy_out = sqlite.copy_out

    def begin_another(source: Path, draft: Path, writer: Any) -> None:
        drafts.append(draft)
        if len(drafts) == 1:
            write_backup(database, FolderStore(f"file://{store}"), path)
        copy_out(source, draft, writer)

    monkeypatch.setattr(sqlite, "copy_out", begin_another)
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
