"""Brings a workspace from a file into an installation, in one transaction. Rows keep their ids if the table is empty
here; otherwise all ids of a table move by the same number, so that their order stays.
"""

import shutil
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from errno import EINVAL
from itertools import count
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Table, func, insert, select, text

from persistence.accounts.accounts import email_key, end_unproven
from persistence.backups.files import is_of_backup, read_sequences, set_sequences
from persistence.database import Database, Transaction
from persistence.errors import Refused
from persistence.media.store import MediaStore
from persistence.migrations import current_revision
from persistence.tables.accounts import membership, user, workspace
from persistence.tables.policies import policy_of
from persistence.tables.service import boundary
from persistence.tickets.records import unassign_stranded
from persistence.workspace_files.writing import (
    BOUNDARIES,
    FORMAT,
    KINDS,
    MANIFEST,
    OWNER,
    USERS,
    VERSION,
    WORKSPACE,
    Counts,
    list_columns,
    list_tables,
    reader_of,
    target_of,
)

ROWS_AT_ONCE = 500
SPOILED = (
    *(zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError),
    orjson.JSONDecodeError,
)
"""What a file gives that is no workspace, or whose directory has other bytes: names, sizes, methods, flags."""
MANIFEST_BYTES = 1024 * 1024
LINE_BYTES = 16 * 1024 * 1024
"""A row of a table is shorter; one of a bomb is not."""
MOST_VALUES = 2_000_000
"""So many a row has at most: empty lists take fifty times their size in memory."""
BYTES_AT_ONCE = 8 * 1024 * 1024
"""Rows that are written together have hardly more."""
GROWS_AT_MOST, HARMLESS_BYTES = 200, 64 * 1024 * 1024
"""How many times as large as in the file a part may be, unless it is small. What people write grows thirty times."""


class BadWorkspaceFile(Refused):
    """A file that is no workspace, or cannot be brought in here; nothing was changed."""


@dataclass(slots=True)
class Renumbering:
    """The new ids of rows: for each table a number that is added, for users and boundaries each id."""

    workspace_id: int
    offsets: dict[str, int] = field(default_factory=dict)
    users: dict[int, int] = field(default_factory=dict)
    boundaries: dict[int, int] = field(default_factory=dict)

    def renumber(self, target: str, number: int) -> int | None:
        """The new id of a row of a table; None for a boundary that is not here."""
        if target == workspace.name:
            return self.workspace_id
        if target == user.name:
            return self.users[number]
        if target == boundary.name:
            return self.boundaries.get(number)
        return number + self.offsets.get(target, 0) if number else number


def read_workspace(database: Database, store: MediaStore, path: Path, base_url: str) -> tuple[str, Counts, list[str]]:
    """The UUID of the workspace, the rows of each table, and the users whose unproven accounts ended. Raises
    BadWorkspaceFile."""
    try:
        with zipfile.ZipFile(path) as packed:
            manifest = _read_manifest(database, packed, path)
            _check_sizes(packed, path)
            _write_files(packed, store)
            counts, ended = database.write(lambda tx: _Reading(tx, packed, manifest, base_url).run())
    except (*SPOILED, OSError) as error:
        if isinstance(error, OSError) and error.errno != EINVAL:  # a directory may say places before the beginning
            raise
        raise BadWorkspaceFile(f"{path} is not a file of a workspace") from error
    return str(manifest["workspace"]), counts, ended


def _read_manifest(database: Database, packed: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    with packed.open(MANIFEST) as file:
        manifest: dict[str, Any] = orjson.loads(file.read(MANIFEST_BYTES))
    if is_of_backup(manifest):
        raise BadWorkspaceFile(
            f"{path} is a backup of a whole installation: `relayboard restore` puts it into an empty one"
        )
    if manifest["format"] != FORMAT or manifest["version"] != VERSION:
        raise BadWorkspaceFile("this version cannot read the file")
    if manifest["revision"] != current_revision(database.engine):
        raise BadWorkspaceFile("the file was written with another schema: use the same version on both sides")
    return manifest


def _check_sizes(packed: zipfile.ZipFile, path: Path) -> None:
    """Raises BadWorkspaceFile for a bomb: what its directory says is as much as is read of a part."""
    for info in packed.infolist():
        if info.file_size > max(HARMLESS_BYTES, GROWS_AT_MOST * info.compress_size):
            grows = info.file_size // max(info.compress_size, 1)
            raise BadWorkspaceFile(
                f"{path} is not read: {info.filename} would become {grows} times as large, {info.file_size:,} bytes"
            )


def _write_files(packed: zipfile.ZipFile, store: MediaStore) -> None:
    """Files first: a row must not name one that is not there. Raises BadWorkspaceFile for a name outside of the
    store."""
    for info in packed.infolist():
        if info.filename.startswith("media/") and not info.is_dir():
            try:
                with packed.open(info) as file, store.writing(info.filename.removeprefix("media/")) as placed:
                    shutil.copyfileobj(file, placed)
            except ValueError as error:
                raise BadWorkspaceFile(f"the file holds {info.filename}, which is outside of the store") from error


class _Reading:
    """One attempt to bring a workspace in."""

    def __init__(self, tx: Transaction, packed: zipfile.ZipFile, manifest: Mapping[str, Any], base_url: str) -> None:
        self.tx = tx
        self.packed = packed
        here, there = base_url.rstrip("/"), str(manifest["base_url"]).rstrip("/")
        place = f"/media/{manifest['workspace']}/"
        is_moved = bool(here and there and here != there)
        self.urls = (f"{there}{place}".encode(), f"{here}{place}".encode()) if is_moved else None

    def run(self) -> tuple[Counts, list[str]]:
        numbering = Renumbering(self._add_workspace())
        numbering.users = self._add_users()
        numbering.boundaries = self._find_boundaries()
        tables = list_tables()
        numbering.offsets = self._find_offsets(tables)
        counts = {str(table.name): self._add_rows(table, numbering) for table in tables}
        if not self.tx.sqlite:
            set_sequences(self.tx.connection, read_sequences(self.tx.connection))
        unassign_stranded(self.tx, numbering.workspace_id)
        return counts, self._end_unproven(numbering.workspace_id)

    def _end_unproven(self, workspace_id: int) -> list[str]:
        """Whoever opened an invitation here to somebody else's address does not get into this workspace."""
        members = select(user.c.id, user.c.email).join(membership, membership.c.user_id == user.c.id)
        found = self.tx.execute(members.where(membership.c.workspace_id == workspace_id)).all()
        return [email for user_id, email in found if end_unproven(self.tx, user_id) is not None]

    def _add_workspace(self) -> int:
        (row,) = self._read(WORKSPACE)
        if self.tx.execute(select(workspace.c.id).where(workspace.c.uuid == row["uuid"])).first() is not None:
            raise BadWorkspaceFile(f"the workspace {row['uuid']} is here already")
        return self.tx.insert(
            workspace, **{name: value for name, value in _load(workspace, row).items() if name != "id"}
        )

    def _add_users(self) -> dict[int, int]:
        """Users are found by their address; the others are created, and have no password."""
        found = {}
        for row in self._read(USERS):
            mine = select(user.c.id).where(user.c.email_key == email_key(row["email"]))
            present = self.tx.execute(mine).scalar_one_or_none()
            if present is None:
                values = {name: value for name, value in _load(user, row).items() if name != "id"}
                values["email_key"] = email_key(row["email"])
                present = self.tx.insert(user, **values)
            found[row["id"]] = present
        return found

    def _find_boundaries(self) -> dict[int, int]:
        named = {row["osm_id"]: row["id"] for row in self._read(BOUNDARIES)}
        here = select(boundary.c.osm_id, boundary.c.id).where(boundary.c.osm_id.in_(named))
        return {named[osm_id]: place_id for osm_id, place_id in self.tx.execute(here)}

    def _find_offsets(self, tables: list[Table]) -> dict[str, int]:
        """How far the ids of each table move: behind every id that was ever given here."""
        numbered = [each for each in tables if "id" in each.c]
        if self.tx.sqlite:
            rows = self.tx.execute(text("SELECT name, seq FROM sqlite_sequence"))
            given = {name: last for name, last in rows}
        else:
            given = read_sequences(self.tx.connection)
        largest = {
            each.name: self.tx.execute(select(func.coalesce(func.max(each.c.id), 0))).scalar_one() for each in numbered
        }
        return {each.name: max(int(given.get(each.name, 0)), int(largest[each.name])) for each in numbered}

    def _add_rows(self, table: Table, numbering: Renumbering) -> int:
        some: list[dict[str, Any]] = []
        written = size = 0
        for line in self._lines(table.name):
            row = orjson.loads(line)
            size += len(line)
            renumbered = _renumber(table, _load(table, row), numbering)
            if renumbered is None:
                continue
            some.append(renumbered)
            written += 1
            if len(some) == ROWS_AT_ONCE or size > BYTES_AT_ONCE:
                self.tx.connection.execute(insert(table), some)
                some, size = [], 0
        if some:
            self.tx.connection.execute(insert(table), some)
        return written

    def _read(self, name: str) -> Iterator[dict[str, Any]]:
        return map(orjson.loads, self._lines(name))

    def _lines(self, name: str) -> Iterator[bytes]:
        """Raises BadWorkspaceFile for a line that is no row."""
        with self.packed.open(f"{name}.jsonl") as file:
            for number in count(1):
                line = file.readline(LINE_BYTES + 1)
                if not line:
                    return
                if len(line) > LINE_BYTES or sum(map(line.count, (b",", b"[", b"{"))) > MOST_VALUES:
                    raise BadWorkspaceFile(f"line {number} of {name}.jsonl is larger than a row can be")
                yield line if self.urls is None else line.replace(*self.urls)


def _load(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with the values that the columns hold."""
    values = {}
    for column in list_columns(table):
        value, read = row[column.name], reader_of(column)
        values[column.name] = value if read is None or value is None else read(value)
    return values


def _renumber(table: Table, row: dict[str, Any], numbering: Renumbering) -> dict[str, Any] | None:
    """A row with its new ids; None for one that refers to a boundary that is not here."""
    for column in list_columns(table):
        value = row[column.name]
        target = target_of(table, column) if column.name != OWNER else workspace.name
        kind = policy_of(table).refers_by.get(str(column.name))
        if kind is not None:
            target = KINDS.get(row[kind], row[kind])
        if column.name == "id":
            target = table.name
        if target is None or value is None:
            continue
        if isinstance(value, list):
            row[column.name] = [numbering.renumber(target, each) for each in value]
            continue
        row[column.name] = numbering.renumber(target, value)
        if row[column.name] is None:
            return None
    return row
