"""Writes a workspace into a file, from one snapshot of the database, row by row: which tables are in the file, how rows
refer to each other, and how values are written.
"""

import shutil
import zipfile
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Column, Connection, Date, ForeignKey, Table, Time, select

from persistence.channels.terms import AUTOMATIC
from persistence.database import Database
from persistence.media.store import MediaStore, place_in_store
from persistence.migrations import current_revision
from persistence.secrets.encryption import KeyRing, give_keys
from persistence.sql.columns import UtcDateTime, time_text
from persistence.sql.engines import create_patient_engine
from persistence.stamps import ACTIVE, ARRIVED, CAME, COST, ERRORS, LOST, SEGMENTS, TAKEN, WENT, WROTE
from persistence.tables.accounts import membership, user, workspace
from persistence.tables.complete import metadata
from persistence.tables.messages import media
from persistence.tables.policies import policy_of
from persistence.tables.service import archive, boundary
from persistence.workspaces.records import Workspace
from relayboard.base.private_files import open_new

ROWS_AT_ONCE = 1000
USERS, WORKSPACE, BOUNDARIES, MANIFEST = "users", "workspace", "boundaries", "manifest.json"
Counts = dict[str, int]

FORMAT = "relayboard-workspace"
VERSION = 1
OWNER = "workspace_id"

KINDS = {
    "run": "flow_run",
    **dict.fromkeys((WROTE, TAKEN), "app_user"),
    **dict.fromkeys((CAME, WENT, ACTIVE, ERRORS, SEGMENTS, COST, ARRIVED, LOST, AUTOMATIC), "channel"),
}
"""The tables of kinds that are called otherwise (`Policy.refers_by`)."""


def write_workspace(
    database: Database, keys: KeyRing, store: MediaStore, owner: Workspace, path: Path, base_url: str
) -> Counts:
    """Writes the file, which only its owner can read, because secrets of channels are in it; returns the rows of each
    table. Raises FileExistsError.
    """
    engine = create_patient_engine(database.engine)
    give_keys(engine, keys)
    snapshot = {} if database.sqlite else {"isolation_level": "REPEATABLE READ"}
    try:
        with (
            open_new(path) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed,
            engine.connect().execution_options(**snapshot) as connection,
            connection.begin(),
        ):
            counts = _write_rows(connection, packed, owner)
            counts["files"] = _write_files(connection, packed, store, owner)
            head = {"format": FORMAT, "version": VERSION, "revision": current_revision(database.engine)}
            about = {"workspace": owner.uuid, "name": owner.name, "base_url": base_url, "counts": counts}
            packed.writestr(MANIFEST, orjson.dumps({**head, **about}, option=orjson.OPT_INDENT_2))
    except BaseException as error:
        if not isinstance(error, FileExistsError):
            path.unlink(missing_ok=True)
        raise
    finally:
        engine.dispose()
    return counts


def list_tables() -> list[Table]:
    """The tables of a file, those that others refer to first."""
    return [each for each in metadata.sorted_tables if OWNER in each.c and policy_of(each).is_carried]


def list_columns(table: Table) -> list[Column[Any]]:
    """The columns that are stored."""
    return [each for each in table.c if each.computed is None]


def target_of(table: Table, column: Column[Any]) -> str | None:
    """The table that a column refers to."""
    key: ForeignKey | None = next(iter(column.foreign_keys), None)
    return key.column.table.name if key is not None else policy_of(table).refers.get(str(column.name))


def own_references(table: Table) -> list[Column[Any]]:
    """The columns that refer to other rows of the same table."""
    return [each for each in table.c if any(key.column.table is table for key in each.foreign_keys)]


def show(value: Any) -> Any:
    """A value as JSON: times as in the API, days and hours in ISO 8601, documents as they are."""
    if isinstance(value, datetime):
        return time_text(value)
    return value.isoformat() if isinstance(value, (date, time)) else value


def reader_of(column: Column[Any]) -> Callable[[Any], Any] | None:
    """What makes a value of a column from its JSON; None if it is the same."""
    if isinstance(column.type, UtcDateTime):
        return datetime.fromisoformat
    if isinstance(column.type, Date):
        return date.fromisoformat
    if isinstance(column.type, Time):
        return time.fromisoformat
    return None


def _write_rows(connection: Connection, packed: zipfile.ZipFile, owner: Workspace) -> Counts:
    counts = {WORKSPACE: _write(packed, WORKSPACE, _rows(connection, workspace, workspace.c.id == owner.id))}
    users: set[int] = set()
    mine = select(membership.c.user_id).where(membership.c.workspace_id == owner.id)
    users |= set(connection.execute(mine).scalars())
    places: set[int] = set()
    for table in list_tables():
        rows = _rows(connection, table, table.c[OWNER] == owner.id)
        counts[str(table.name)] = _write(packed, str(table.name), _noting(table, rows, users, places))
    counts[USERS] = _write(packed, USERS, _rows(connection, user, user.c.id.in_(users)))
    named = select(boundary.c.id, boundary.c.osm_id).where(boundary.c.id.in_(places))
    found = [{"id": place_id, "osm_id": osm_id} for place_id, osm_id in connection.execute(named)]
    counts[BOUNDARIES] = _write(packed, BOUNDARIES, iter(found))
    return counts


def _noting(
    table: Table, rows: Iterator[dict[str, Any]], users: set[int], places: set[int]
) -> Iterator[dict[str, Any]]:
    """The same rows; the users and boundaries that they refer to are noted."""
    kinds: tuple[tuple[str, set[int]], ...] = ((user.name, users), (boundary.name, places))
    noted = [(each.name, found) for each in table.c for name, found in kinds if target_of(table, each) == name]
    by_kind = list(policy_of(table).refers_by.items())
    for row in rows:
        for name, found in noted:
            if row[name] is not None:
                found.add(row[name])
        users.update(row[name] for name, kind in by_kind if KINDS.get(row[kind]) == user.name)
        yield row


def _rows(connection: Connection, table: Table, which: Any) -> Iterator[dict[str, Any]]:
    """The rows of a table as JSON values; those that others of the same table refer to come first."""
    columns = list_columns(table)
    first = [each.is_not(None) for each in own_references(table)]
    ordered = select(*columns).where(which).order_by(*first, *table.primary_key)
    emptied = dict.fromkeys(policy_of(table).emptied)
    found = connection.execute(ordered.execution_options(stream_results=True, yield_per=ROWS_AT_ONCE))
    names = [str(each.name) for each in columns]
    for row in found:
        yield {name: show(value) for name, value in zip(names, row, strict=True)} | emptied


def _write(packed: zipfile.ZipFile, name: str, rows: Iterator[dict[str, Any]]) -> int:
    count = 0
    with packed.open(f"{name}.jsonl", "w", force_zip64=True) as file:
        for row in rows:
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
            count += 1
    return count


def _write_files(connection: Connection, packed: zipfile.ZipFile, store: MediaStore, owner: Workspace) -> int:
    """Uploaded files and archives under their paths in the media store."""
    urls = connection.execute(select(media.c.url).where(media.c.workspace_id == owner.id)).scalars().all()
    named = select(archive.c.location).where(archive.c.workspace_id == owner.id, archive.c.location.is_not(None))
    archives: Sequence[str | None] = connection.execute(named).scalars().all()
    names = [*(place_in_store(url) for url in urls), *(each for each in archives if each is not None)]
    written = 0
    for name in dict.fromkeys(names):
        stored = store.open(name)
        if stored is not None:
            with stored.stream, packed.open(f"media/{name}", "w", force_zip64=True) as file:
                shutil.copyfileobj(stored.stream, file)
            written += 1
    return written
