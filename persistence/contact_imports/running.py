"""What workers do with imports of contacts: the first rows of a file are read, then its contacts are written, a chunk
of rows in a transaction with the progress. After a crash the next worker continues behind the last chunk.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, BinaryIO

from sqlalchemy import delete, insert, select

from persistence.contact_imports.columns import Column, add_unread, find_kinds, guess_columns, make_fields, read_rows
from persistence.contact_imports.contact_imports import KEEP, REFUSE, REJECT, read_columns, show_columns
from persistence.contact_imports.reading import (
    COLUMNS_LIMIT,
    EXAMPLES,
    BadFile,
    Formats,
    Row,
    Rows,
    Survey,
    formats_of,
    give_examples,
    opened_rows,
)
from persistence.contacts.bulk import CREATED, REJECTED, UPDATED, Outcome, Reading, write_contacts
from persistence.contacts.urns import read_value
from persistence.data_jobs import Held, IsStopping, Stopped, finish, keep, kept
from persistence.database import Database, Transaction
from persistence.errors import InvalidInput
from persistence.exports.kinds import CLEARED, CsvSheet, defuse_cell
from persistence.groups.groups import find_manual_groups
from persistence.media.store import MediaStore
from persistence.tables.data_jobs import CANCELLED, COMPLETED, READY, imported_contact, rejected_row
from persistence.workspaces.records import Workspace

CHUNK_ROWS = 500
ROWS_LIMIT = 1_048_575
REJECTS_AT_ONCE = 1000

Numbered = tuple[int, Row]


@contextmanager
def stored_rows(store: MediaStore, location: str, encoding: str | None = None) -> Iterator[Rows]:
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
        with opened_rows(copy, encoding) as rows:
            yield rows


def preview(database: Database, store: MediaStore, held: Held, workspace: Workspace) -> None:
    """Reads the header and the first rows of an uploaded file, and counts its rows. Raises BadFile, InvalidInput."""
    row = held.row
    said = dict(row.reading or {})

    def rows() -> AbstractContextManager[Rows]:
        return stored_rows(store, row.source, said.get("encoding"))

    with kept(database, held):
        looked = look_at(database, workspace, rows, said, read_columns(row.columns))

    def end(tx: Transaction) -> None:
        values = {"columns": show_columns(looked.columns), "row_count": looked.count}
        reading = {**looked.reading, "said": said.get("said", [])}
        finish(tx, held, status=READY, reading=reading, finished_on=None, attempts=0, **values)

    database.write(end)


@dataclass(frozen=True, slots=True)
class Looked:
    """What a file has: its columns, how many rows, and how it is read."""

    columns: list[Column]
    count: int
    reading: dict[str, Any]


def look_at(
    database: Database,
    workspace: Workspace,
    opened: Callable[[], AbstractContextManager[Rows]],
    said: Mapping[str, Any],
    chosen: Sequence[Column] = (),
) -> Looked:
    """Reads a whole file: what its columns probably mean, unless they were chosen, and which of their values are not
    understood. `said` is how it is to be read; the rest is what its values suggest. Raises BadFile, InvalidInput.
    """
    survey = Survey(workspace, database.clock())
    with opened() as rows:
        header = next(filter(None, rows), [])
        if len(header) > COLUMNS_LIMIT:
            raise BadFile(f"A file may have {COLUMNS_LIMIT} columns.")
        last = 0
        for number, row in enumerate(rows, 1):
            if row:
                last = number
                survey.look(row)
            if last > ROWS_LIMIT:
                raise BadFile(f"A file may have {ROWS_LIMIT} rows.")
        encoding = rows.encoding
    best = survey.suggest_formats(formats_of(workspace))
    formats = formats_said(said, best)
    with database.reading() as tx:
        columns = guess_columns(tx, workspace, header, survey, formats)
        if len(chosen) == len(columns):
            columns = [replace(each, target=old.target) for each, old in zip(columns, chosen, strict=True)]
        kinds = find_kinds(tx, workspace, columns)
    if any(has_misfits(each, kind) for each, kind in zip(columns, kinds, strict=True)):
        with opened() as rows:
            columns = count_unread(database, workspace, columns, kinds, formats, rows)
    reading = {"encoding": encoding, **asdict(formats)}
    return Looked(columns, last, {**reading, "unread": said.get("unread", KEEP)})


def formats_said(said: Mapping[str, Any], other: Formats) -> Formats:
    """The formats that were chosen or found, in place of others."""
    return Formats(**{name: said.get(name, value) for name, value in asdict(other).items()})


def has_misfits(column: Column, kind: str) -> bool:
    read = {"number": column.numbers, "datetime": column.dates}.get(kind, column.filled)
    return read < column.filled


def count_unread(
    database: Database,
    workspace: Workspace,
    columns: Sequence[Column],
    kinds: Sequence[str],
    formats: Formats,
    rows: Iterator[Row],
) -> list[Column]:
    """The columns with those of their values that are no number or time as which their fields read them."""
    environment, now = formats.environment_of(workspace), database.clock()
    found: list[tuple[int, Sequence[str]]] = [(0, ()) for _ in columns]

    @lru_cache(maxsize=50_000, typed=True)
    def is_read(text: str, kind: str) -> bool:
        return kind in (read_value(workspace, text, now, environment) or {})

    typed = [place for place, each in enumerate(columns) if has_misfits(each, kinds[place])]
    next(filter(None, rows), [])
    for row in rows:
        for place in typed:
            cell = row[place] if place < len(row) else ""
            if cell and cell != CLEARED and not is_read(cell, kinds[place]):
                count, texts = found[place]
                found[place] = (count + 1, give_examples([*texts, cell]) if len(texts) < EXAMPLES else texts)
    return [
        replace(each, unread=count, unread_examples=tuple(texts))
        for each, (count, texts) in zip(columns, found, strict=True)
    ]


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
    columns: Sequence[Column] = read_columns(row.columns)
    if not row.last_row:
        columns = [replace(each, unread=0, unread_examples=()) for each in columns]
    said = dict(row.reading or {})
    if said.get("unread") == REFUSE and not row.last_row:
        with stored_rows(store, row.source, said.get("encoding")) as rows, kept(database, held):
            _refuse_unread(database, workspace, columns, rows, said)
    with stored_rows(store, row.source, said.get("encoding")) as rows:
        for chunk in chunks_of(rows, row.last_row):
            if is_stopping():
                raise Stopped
            columns = write_chunk(database, held, workspace, columns, chunk)
            note(chunk[-1][0] - 1, row.row_count)
    _end(database, store, held, columns, COMPLETED)


def reading_of(workspace: Workspace, said: Mapping[str, Any]) -> Reading:
    """How the values of a file are read; with the workspace's formats if nobody said."""
    formats = formats_said(said, formats_of(workspace))
    return Reading(formats.environment_of(workspace), refuses_unread=said.get("unread") == REJECT)


def _refuse_unread(
    database: Database, workspace: Workspace, columns: Sequence[Column], rows: Iterator[Row], said: Mapping[str, Any]
) -> None:
    """Raises InvalidInput if a value of a file is not understood."""
    counted = add_unread(columns, try_rows(database, workspace, columns, rows, said))
    faults = [
        f"{each.title}: {each.unread} of {each.filled} values are not understood, such as "
        + ", ".join(f'"{text[:64]}"' for text in each.unread_examples)
        for each in counted
        if each.unread
    ]
    if faults:
        raise InvalidInput.across(f"Nothing was imported. {'. '.join(faults)}.")


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
) -> Sequence[Column]:
    """One transaction: the contacts of a chunk, its rejected rows, what was not understood, and the progress. Returns
    the columns with their new counts. Raises InvalidInput if the group is gone.
    """
    contacts, refused = read_rows(columns, chunk)
    cells_of = dict(chunk)
    last = chunk[-1][0]
    reading = reading_of(workspace, held.row.reading or {})

    def write(tx: Transaction) -> tuple[datetime, Sequence[Column]]:
        outcomes = [*write_contacts(tx, workspace, contacts, _groups_of(tx, held, workspace), reading), *refused]
        counted = add_unread(columns, outcomes)
        changed = {} if counted == columns and last > CHUNK_ROWS + 1 else {"columns": show_columns(counted)}
        until = keep(tx, held, last_row=last, attempts=0, **changed, **_counts(held, outcomes))
        owner = {"workspace_id": workspace.id, "import_id": held.row.id}
        changed_contacts = [
            {**owner, "contact_id": each.contact_id, "is_new": each.result == CREATED, "changes": each.changes}
            for each in outcomes
            if each.changes is not None
        ]
        if changed_contacts:
            tx.execute(insert(imported_contact), changed_contacts)
        told = [each for each in outcomes if each.result == REJECTED or each.unread]
        if told:
            made = [
                {**owner, "number": each.number, "reason": _reason(each), "cells": _storable(cells_of[each.number])}
                for each in told
            ]
            tx.execute(insert(rejected_row), made)
        return until, counted

    held.until, counted = database.write(write)
    return counted


def _reason(outcome: Outcome) -> str:
    """Why a row is in the file of rejected rows: it was rejected, or imported with values that are only texts."""
    if outcome.result == REJECTED:
        return outcome.reason
    unread = ", ".join(f'{key}: "{text[:64]}"' for key, text in outcome.unread)
    return f"Imported, but not understood: {unread}."


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
    database: Database,
    workspace: Workspace,
    columns: Sequence[Column],
    rows: Iterator[Row],
    said: Mapping[str, Any],
) -> Iterator[Outcome]:
    """What an import would do with each row; nothing is stored. A chunk does not see the ones before it."""
    reading = reading_of(workspace, said)
    for chunk in chunks_of(rows, 0):
        yield from _try_chunk(database, workspace, columns, chunk, reading)


def _try_chunk(
    database: Database, workspace: Workspace, columns: Sequence[Column], chunk: Sequence[Numbered], reading: Reading
) -> list[Outcome]:
    found: list[Outcome] = []
    try:
        with database.writing() as tx:
            made = make_fields(tx, workspace, columns)
            contacts, refused = read_rows(made, chunk)
            found = sorted(
                [*write_contacts(tx, workspace, contacts, (), reading), *refused], key=lambda each: each.number
            )
            raise _Undone
    except _Undone:
        return found


class _Undone(Exception):
    """Rolls a transaction back."""
