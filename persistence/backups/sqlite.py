"""SQLite in a backup: the file itself, copied by SQLite's online backup while others continue to write."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from persistence.backups.errors import BackupError
from persistence.backups.files import BackupReader, BackupWriter
from persistence.backups.manifest import TableManifest, stored_columns
from persistence.progress import copy_reporting
from persistence.tables.complete import metadata
from relayboard.base.private_files import make_file, open_new

PLACE = "database.sqlite"


def copy_out(source: Path, draft: Path, writer: BackupWriter) -> None:
    """A snapshot of the database; `draft` is a new temporary file next to the backup."""
    make_file(draft)
    try:
        with closing(sqlite3.connect(source)) as reading, closing(sqlite3.connect(draft)) as copy:
            # Copying all pages in one step holds one read lock, which does not block writers. Several steps would start
            # again after every write of another process.
            reading.backup(copy, pages=-1)
            copy.execute("PRAGMA journal_mode=DELETE")
            writer.manifest.tables = _count(copy)
        with writer.member(PLACE) as stream, draft.open("rb") as file:
            copy_reporting(file, stream, "Writing the database", draft.stat().st_size)
    finally:
        _remove(draft)


def _count(connection: sqlite3.Connection) -> list[TableManifest]:
    return [
        TableManifest(
            str(table.name),
            stored_columns(table),
            connection.execute(f'SELECT count(*) FROM "{table.name}"').fetchone()[0],
        )
        for table in metadata.sorted_tables
    ]


def copy_in(reader: BackupReader, draft: Path) -> None:
    """The database as a file that nobody uses yet. Raises BackupError when SQLite finds it damaged."""
    _remove(draft)
    with reader.member(PLACE) as stream, open_new(draft) as file:
        copy_reporting(stream, file, "Restoring the database", reader.manifest.members[PLACE].size)
        file.flush()
        os.fsync(file.fileno())
    with closing(sqlite3.connect(draft)) as connection:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        counts = _count(connection)
    if found != "ok" or counts != reader.manifest.tables:
        _remove(draft)
        raise BackupError(f"{reader.path} is damaged: {found if found != 'ok' else 'rows are missing'}")


def put_in_place(draft: Path, target: Path) -> None:
    """Puts it where an unused database may be."""
    for ending in ("-wal", "-shm"):
        Path(f"{target}{ending}").unlink(missing_ok=True)
    draft.replace(target)


def _remove(draft: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        Path(f"{draft}{ending}").unlink(missing_ok=True)
