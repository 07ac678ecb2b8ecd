"""What workers do with imports of contacts: the first rows of a file are read, then its contacts are written, a chunk
of rows in a transaction with the progress. After a crash the next worker continues behind the last chunk.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import BinaryIO

from sqlalchemy import delete, insert, select

from persistence.contacts.bulk import CREATED, REJECTED, UPDATED, Outcome, write_contacts
from persistence.data_jobs import Held, IsStopping, Stopped, finish, keep, kept
from persistence.database import Database, Transaction
from persistence.exports.sheets import CsvSheet, defuse_cell
from persistence.groups.members import find_manual_groups
from persistence.imports.columns import Column, guess_columns, make_fields, read_rows
from persistence.imports.contact_imports import read_columns, show_columns
from persistence.imports.reading import COLUMNS_LIMIT, BadFile, Row, opened_rows
from persistence.media.store import MediaStore
from persistence.tables.data_jobs import CANCELLED, COMPLETED, READY, rejected_row
from persistence.workspaces import Workspace

CHUNK_ROWS = 500
EXAMPLES = 3
ROWS_LIMIT = 1_048_575
REJECTS_AT_ONCE = 1000

Numbered = tuple[int, Row]


@contextmanager
def stored_rows(store: MediaStore, location: str) -> Iterator[Iterator[Row]]:
    """The rows of a file in the media store; it is copied, because a bucket cannot be read from any place. Raises
    BadFile.
    """
    stored = store.open_kept(location.rpartition("/")[2], location)
    if stored is None:
        raise BadFile("The uploaded file is no longer there.")
    with tempfile.TemporaryFile() as copy:
        with stored.stream:
            shutil.copyfileobj(stored.stream, copy)
        copy.seek(0)
        with opened_rows(copy) as rows:
            yield rows


def preview(database: Database, store: MediaStore, held: Held, workspace: Workspace) -> None:
    """Reads the header and the first rows of an uploaded file, and counts its rows. Raises BadFile, InvalidInput."""
    row = held.row
    with stored_rows(store, row.source) as rows, kept(database, held):
        header, first, count = read_beginning(rows)
    with database.reading() as tx:
        columns = guess_columns(tx, workspace, header, first)
    shown = show_columns(columns)
    database.write(lambda tx: _end_preview(tx, held, shown, count))


def _end_preview(tx: Transaction, held: Held, columns: list[dict[str, object]], count: int) -> None:
    finish(tx, held, status=READY, columns=columns, row_count=count, finished_on=None)


def read_beginning(rows: Iterator[Row]) -> tuple[Row, list[Row], int]:
    """The header, the first rows below it that are not empty, and the number of all rows below it. Raises BadFile for
    too many.
    """
    header = next(filter(None, rows), [])
    if len(header) > COLUMNS_LIMIT:
        raise BadFile(f"A file may have {COLUMNS_LIMIT} columns.")
    first: list[Row] = []
    last = 0
    for number, row in enumerate(rows, 1):
        if row:
            last = number
            if len(first) < EXAMPLES:
                first.append(row)
        if last > ROWS_LIMIT:
            raise BadFile(f"A file may have {ROWS_LIMIT} rows.")
    return header, first, last


def run_import(
    database: Database,
    store: MediaStore,
    held: Held,
    workspace: Workspace,
    is_stopping: IsStopping,
    note: Callable[[int, int], None] = lambda _done, _count: None,
) -> None:
    """Writes the contacts of a file that people have started, from the first row that is not done. Raises BadFile,
    InvalidInput, LeaseLost, Stopped.
    """
    row = held.row
    columns = read_columns(row.columns)
    with stored_rows(store, row.source) as rows:
        for chunk in chunks_of(rows, row.last_row):
            if is_stopping():
                raise Stopped
            write_chunk(database, held, workspace, columns, chunk)
            note(chunk[-1][0] - 1, row.row_count)
    _end(database, store, held, columns, COMPLETED)


def end_cancelled(database: Database, store: MediaStore, held: Held) -> None:
    """Ends an import that people have cancelled. Raises LeaseLost."""
    _end(database, store, held, read_columns(held.row.columns), CANCELLED)


def chunks_of(rows: Iterator[Row], last_row: int) -> Iterator[list[Numbered]]:
    """The rows after one, a chunk at a time, without the header, the first row that is not empty."""
    chunk: list[Numbered] = []
    is_below = False
    for number, row in enumerate(rows, 1):
        if number <= last_row or not is_below:
            is_below = is_below or bool(row)
            continue
        chunk.append((number, row))
        if len(chunk) == CHUNK_ROWS:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def write_chunk(
    database: Database, held: Held, workspace: Workspace, columns: Sequence[Column], chunk: Sequence[Numbered]
) -> None:
    """One transaction: the contacts of a chunk, its rejected rows and the progress. Raises InvalidInput if the group is
    gone.
    """
    contacts, refused = read_rows(columns, chunk)
    cells_of = dict(chunk)
    last = chunk[-1][0]

    def write(tx: Transaction) -> datetime:
        outcomes = [*write_contacts(tx, workspace, contacts, _groups_of(tx, held, workspace)), *refused]
        until = keep(tx, held, last_row=last, attempts=0, **_counts(held, outcomes))
        rejected = [each for each in outcomes if each.result == REJECTED]
        if rejected:
            owner = {"workspace_id": workspace.id, "import_id": held.row.id}
            made = [
                {**owner, "number": each.number, "reason": each.reason, "cells": _storable(cells_of[each.number])}
                for each in rejected
            ]
            tx.execute(insert(rejected_row), made)
        return until

    held.until = database.write(write)


def _groups_of(tx: Transaction, held: Held, workspace: Workspace) -> list[int]:
    group = held.row.group_uuid
    return [] if group is None else find_manual_groups(tx, workspace.id, [group], field="group")


def _counts(held: Held, outcomes: Sequence[Outcome]) -> dict[str, object]:
    """The counters of the job with these outcomes added, by the database."""
    rows = held.table.c
    results = [each.result for each in outcomes]
    return {name: rows[name] + results.count(name) for name in (CREATED, UPDATED, REJECTED) if name in results}


def _storable(cells: Row) -> Row:
    """PostgreSQL cannot store the character with the code 0."""
    return [cell.replace("\x00", "") for cell in cells]


def _end(database: Database, store: MediaStore, held: Held, columns: Sequence[Column], status: str) -> None:
    """Writes the file of rejected rows, if there are any, and ends the job."""
    row = held.row
    location: str | None = f"private/imports/{row.uuid}.csv"
    assert location is not None
    with store.writing(location) as file:
        size = write_rejects(database, held, columns, file)
    if not size:
        store.remove(location)
        location = None

    def end(tx: Transaction) -> None:
        finish(tx, held, status=status, location=location, size=size or None, source=None)
        mine = (rejected_row.c.workspace_id == row.workspace_id) & (rejected_row.c.import_id == row.id)
        tx.execute(delete(rejected_row).where(mine))

    database.write(end)
    store.remove(row.source)


def write_rejects(database: Database, held: Held, columns: Sequence[Column], file: BinaryIO) -> int:
    """The rejected rows as CSV, with the reason after the cells: the file can be corrected and imported again. Returns
    its bytes, 0 without rejected rows.
    """
    width = len(columns)
    sheet = None
    last = 0
    while True:
        with database.reading() as tx:
            found = _read_rejects(tx, held, last)
        if not found:
            break
        if sheet is None:
            sheet = CsvSheet(file, defuse_cell)
            sheet.write([*(each.header for each in columns), "Row", "Reason"])
        for number, reason, cells in found:
            sheet.write([*cells[:width], *[""] * (width - len(cells)), number, reason])
        last = found[-1][0]
    if sheet is None:
        return 0
    sheet.close()
    return file.tell()


def _read_rejects(tx: Transaction, held: Held, last: int) -> list[tuple[int, str, Row]]:
    rows = rejected_row.c
    mine = (rows.workspace_id == held.row.workspace_id) & (rows.import_id == held.row.id) & (rows.number > last)
    statement = select(rows.number, rows.reason, rows.cells).where(mine).order_by(rows.number).limit(REJECTS_AT_ONCE)
    return [(number, reason, list(cells)) for number, reason, cells in tx.execute(statement)]


def try_rows(
    database: Database, workspace: Workspace, columns: Sequence[Column], rows: Iterator[Row]
) -> Iterator[Outcome]:
    """What an import would do with each row; nothing is stored. A chunk does not see the ones before it."""
    for chunk in chunks_of(rows, 1):
        yield from _try_chunk(database, workspace, columns, chunk)


def _try_chunk(
    database: Database, workspace: Workspace, columns: Sequence[Column], chunk: Sequence[Numbered]
) -> list[Outcome]:
    found: list[Outcome] = []
    try:
        with database.writing() as tx:
            made = make_fields(tx, workspace, columns)
            contacts, refused = read_rows(made, chunk)
            found = sorted([*write_contacts(tx, workspace, contacts), *refused], key=lambda each: each.number)
            raise _Undone
    except _Undone:
        return found


class _Undone(Exception):
    """Rolls a transaction back."""
