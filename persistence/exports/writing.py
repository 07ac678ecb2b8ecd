"""Writes the records of a list into a file, in the order in which they were stored. The ids of all records are read
first, so that records which change meanwhile are neither left out nor written twice; deleted ones are left out.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, BinaryIO

import orjson

from persistence.database import Database
from persistence.exports.archived import ArchivedRecords, list_stored
from persistence.exports.kinds import KINDS, Columns, query_of
from persistence.exports.sheets import CSV, JSONL, CsvSheet, Sheet, XlsxSheet
from persistence.lists import ListSpec
from persistence.media.store import MediaStore
from persistence.workspaces import Workspace

IDS_AT_ONCE = 100_000
RECORDS_AT_ONCE = 1000

Note = Callable[[int, int], None]
"""Called after each part with how many records are done, and how many there are; it may raise to stop."""


def write_records(
    database: Database,
    store: MediaStore,
    workspace: Workspace,
    kind: str,
    form: str,
    filters: Mapping[str, Any],
    file: BinaryIO,
    note: Note,
) -> int:
    """Writes a file, archived records first; returns the number of its records. Raises InvalidInput for a filter that
    cannot be used, SheetFull, Refused for an archive without a file, ArchivesChanged, and what `note` raises.
    """
    spec = KINDS[kind].spec
    with database.reading() as tx:
        columns = KINDS[kind].lay_out(tx, workspace, filters)
        stored = list_stored(tx, workspace.id, kind)
    ids = find_ids(database, workspace, spec, filters)
    archived = ArchivedRecords(database, store, workspace, kind, filters, stored, ids)
    writer = _Writer(file, form, columns, len(ids) + archived.count, note)
    for some in _in_parts(archived.read()):
        writer.write(some)
    missing: set[int] = set()
    for start in range(0, len(ids), RECORDS_AT_ONCE):
        wanted = ids[start : start + RECORDS_AT_ONCE]
        records = read_some(database, workspace, spec, wanted)
        if len(records) < len(wanted) and archived.can_be:
            missing |= set(wanted) - {orjson.loads(record)["id"] for record in records}
        writer.write(records)
    for some in _in_parts(archived.read_rest(missing)):
        writer.write(some)
    writer.close()
    return writer.written


class _Writer:
    """The file of an export, and its progress."""

    def __init__(self, file: BinaryIO, form: str, columns: Columns, count: int, note: Note) -> None:
        self.written = 0
        self._file, self._row_of, self._count, self._note = file, columns.row_of, count, note
        self._sheet: Sheet | None = None
        note(0, count)
        if form != JSONL:
            self._sheet = CsvSheet(file) if form == CSV else XlsxSheet(file)
            self._sheet.write(columns.header)

    def write(self, records: Sequence[str]) -> None:
        if self._sheet is None:
            self._file.write("".join(f"{record}\n" for record in records).encode())
        else:
            for record in records:
                self._sheet.write(self._row_of(orjson.loads(record)))
        self.written += len(records)
        self._note(self.written, max(self.written, self._count))

    def close(self) -> None:
        if self._sheet is not None:
            self._sheet.close()


def _in_parts(records: Iterator[Mapping[str, Any]]) -> Iterator[list[str]]:
    """JSON texts of records, a part at a time."""
    while some := [orjson.dumps(each).decode() for each in islice(records, RECORDS_AT_ONCE)]:
        yield some


def find_ids(database: Database, workspace: Workspace, spec: ListSpec, filters: Mapping[str, Any]) -> "array[int]":
    """The ids of all records of a list, ascending: eight bytes for each."""
    found = array("q")
    while True:
        with database.reading() as tx:
            query = query_of(tx, workspace, filters)
            chosen = spec.select_ids(query).where(spec.table.c.id > (found[-1] if found else 0))
            some = tx.execute(chosen.limit(IDS_AT_ONCE)).scalars().all()
        found.extend(some)
        if len(some) < IDS_AT_ONCE:
            return found


def read_records(database: Database, workspace: Workspace, spec: ListSpec, ids: Sequence[int]) -> Iterator[list[str]]:
    """The records with these ids as JSON texts, a part at a time."""
    for start in range(0, len(ids), RECORDS_AT_ONCE):
        yield read_some(database, workspace, spec, ids[start : start + RECORDS_AT_ONCE])


def read_some(database: Database, workspace: Workspace, spec: ListSpec, ids: Sequence[int]) -> list[str]:
    """Those of a few records that are there, as JSON texts."""
    with database.reading() as tx:
        query = query_of(tx, workspace, {})
        return spec.read(query, spec.table.c.id.in_(list(ids)), order_by=[spec.table.c.id])
