"""Writes the records of a list into a file, in the order of their creation. The ids of all records are read first, so
that records which change meanwhile are neither left out nor written twice; those that are deleted are left out.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import orjson
from sqlalchemy import select

from persistence.database import Database
from persistence.exports.kinds import KINDS, query_of
from persistence.exports.sheets import CSV, JSONL, CsvSheet, Sheet, XlsxSheet
from persistence.lists import ListSpec
from persistence.workspaces import Workspace

IDS_AT_ONCE = 100_000
RECORDS_AT_ONCE = 1000

Note = Callable[[int, int], None]
"""Called after each part with how many records are done, and how many there are; it may raise to stop."""


def write_records(
    database: Database,
    workspace: Workspace,
    kind: str,
    form: str,
    filters: Mapping[str, Any],
    file: BinaryIO,
    note: Note,
) -> int:
    """Writes a file; returns the number of its records. Raises InvalidInput for a filter that cannot be used,
    SheetFull, and what `note` raises.
    """
    spec = KINDS[kind].spec
    ids = find_ids(database, workspace, spec, filters)
    done = 0
    note(done, len(ids))
    with database.reading() as tx:
        columns = KINDS[kind].lay_out(tx, workspace, filters)
    sheet: Sheet | None = None
    if form != JSONL:
        sheet = CsvSheet(file) if form == CSV else XlsxSheet(file)
        sheet.write(columns.header)
    for records in read_records(database, workspace, spec, ids):
        if sheet is None:
            file.write("".join(f"{record}\n" for record in records).encode())
        else:
            for record in records:
                sheet.write(columns.row_of(orjson.loads(record)))
        done += len(records)
        note(done, len(ids))
    if sheet is not None:
        sheet.close()
    return done


def find_ids(database: Database, workspace: Workspace, spec: ListSpec, filters: Mapping[str, Any]) -> "array[int]":
    """The ids of all records of a list, ascending: eight bytes for each."""
    found = array("q")
    while True:
        with database.reading() as tx:
            query = query_of(tx, workspace, filters)
            following = [spec.table.c.id > (found[-1] if found else 0)]
            statement = select(spec.table.c.id).where(*spec.conditions(query), *following)
            some = tx.execute(statement.order_by(spec.table.c.id).limit(IDS_AT_ONCE)).scalars().all()
        found.extend(some)
        if len(some) < IDS_AT_ONCE:
            return found


def read_records(database: Database, workspace: Workspace, spec: ListSpec, ids: Sequence[int]) -> Iterator[list[str]]:
    """The records with these ids as JSON texts, a part at a time."""
    for start in range(0, len(ids), RECORDS_AT_ONCE):
        some = list(ids[start : start + RECORDS_AT_ONCE])
        with database.reading() as tx:
            query = query_of(tx, workspace, {})
            yield spec.read(query, spec.table.c.id.in_(some), order_by=[spec.table.c.id])
