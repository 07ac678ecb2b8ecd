"""Writes the records of a list, archived ones too, into a file, in the order in which they were stored. The ids of all
records are read first, so that records which change meanwhile are neither left out nor written twice; deleted ones
are left out.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, BinaryIO

import orjson
from sqlalchemy import select

from persistence.archives.archives import DAILY, MESSAGE, RUN, ArchiveGone, read_lines
from persistence.contacts.records import MASKED_PATH
from persistence.data_jobs import Stopped
from persistence.database import Database, Transaction
from persistence.errors import Refused
from persistence.exports.kinds import CSV, JSONL, KINDS, Columns, CsvSheet, Sheet, XlsxSheet, query_of
from persistence.lists import ListSpec
from persistence.media.store import MediaStore
from persistence.tables.service import archive
from persistence.workspaces.records import Workspace

IDS_AT_ONCE = 100_000
RECORDS_AT_ONCE = 1000

Note = Callable[[int, int], None]
"""Called after each part with how many records are done, and how many there are; it may raise to stop."""
Record = dict[str, Any]
ARCHIVED_KINDS: Mapping[str, tuple[str, str]] = {"messages": (MESSAGE, "created_on"), "runs": (RUN, "modified_on")}
"""The type of the archives of an exported kind, and the property that `after` and `before` mean."""
COMPLETE: Mapping[str, Record] = {
    "messages": {
        **dict.fromkeys(("uuid", "urn", "channel", "flow", "sent_on", "modified_on", "media", "broadcast")),
        **dict.fromkeys(("failed_reason", "failed_detail", "author")),
        "type": "text",
        "archived": False,
        "visibility": "visible",
        "text": "",
        "attachments": [],
        "quick_replies": [],
        "labels": [],
    },
    "runs": {
        **dict.fromkeys(("uuid", "start", "exit_type", "exited_on")),
        "responded": False,
        "path": [],
        "values": {},
    },
}
"""What archives of other servers may lack."""
OUT = {"outbox": ("queued", "errored"), "sent": ("wired", "sent", "delivered", "read"), "failed": ("failed",)}


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
        return spec.read(query, spec.table.c.id.in_(list(ids)))


@dataclass(frozen=True, slots=True)
class Stored:
    """A file of archived records. Until it is trimmed its records are in the live table, too."""

    id: int
    location: str
    record_count: int
    is_trimmed: bool
    period: str
    name: str


class ArchivesChanged(Stopped):
    """Archives were merged or written anew while they were read: the export begins again."""


def list_stored(tx: Transaction, workspace_id: int, kind: str) -> list[Stored]:
    """The archives of a kind, the oldest first."""
    if kind not in ARCHIVED_KINDS:
        return []
    rows = archive.c
    mine = (
        (rows.workspace_id == workspace_id) & (rows.archive_type == ARCHIVED_KINDS[kind][0]) & rows.rollup_id.is_(None)
    )
    columns = (rows.id, rows.location, rows.record_count, rows.is_trimmed, rows.period, rows.start_date)
    listed = select(*columns).where(mine, rows.location.is_not(None)).order_by(rows.start_date, rows.part, rows.id)
    return [
        Stored(row_id, str(location), count, is_trimmed, period, f"{period} archive of {start}")
        for row_id, location, count, is_trimmed, period, start in tx.execute(listed)
    ]


def is_in_folder(record: Record, folder: str) -> bool:
    """The rule of the column `folder` (persistence/tables/messages.py), for archived messages."""
    visibility = record["visibility"]
    if record["direction"] == "in":
        if record["status"] != "handled" or visibility not in ("visible", "archived"):
            return False
        own = "archived" if visibility == "archived" else "flows" if record["flow"] else "inbox"
        return folder in (own, "incoming")
    return visibility == "visible" and record["status"] in OUT.get(folder, ())


def _read_time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ArchivedRecords:
    """The archived records of an export. `ids` are the live ones, ascending, which are read from the tables; what was
    archived after they were listed is read last."""

    database: Database
    store: MediaStore
    workspace: Workspace
    kind: str
    filters: Mapping[str, Any]
    listed: Sequence[Stored]
    ids: Sequence[int]

    @property
    def can_be(self) -> bool:
        """Whether records of this kind are archived."""
        return self.kind in ARCHIVED_KINDS

    @property
    def count(self) -> int:
        """How many records there may be at most."""
        return sum(each.record_count for each in self.listed)

    def read(self) -> Iterator[Record]:
        """What was archived before. Raises ArchivesChanged, Refused."""
        for stored in self.listed:
            for record in self._read_file(stored):
                if stored.is_trimmed or not self._is_live(record["id"]):
                    yield record

    def read_rest(self, missing: Collection[int]) -> Iterator[Record]:
        """What was archived meanwhile: `missing` are ids of live records that were no longer there. Raises as
        `read`."""
        with self.database.reading() as tx:
            present = list_stored(tx, self.workspace.id, self.kind)
        known = {each.id for each in self.listed}
        for stored in present:
            if stored.id not in known and stored.period == DAILY:
                found = self._read_file(stored)
                yield from (each for each in found if each["id"] in missing or not self._is_live(each["id"]))
        for stored in self.listed if missing else ():
            if not stored.is_trimmed:
                yield from (each for each in self._read_file(stored) if each["id"] in missing)

    def _is_live(self, number: int) -> bool:
        place = bisect_left(self.ids, number)
        return place < len(self.ids) and self.ids[place] == number

    def _read_file(self, stored: Stored) -> Iterator[Record]:
        try:
            for line in read_lines(self.store, stored.location):
                record = orjson.loads(line)
                record |= {name: empty for name, empty in COMPLETE[self.kind].items() if name not in record}
                if _matches(self.kind, record, self.filters):
                    yield _masked(record) if self.workspace.is_anonymous else record
        except ArchiveGone as error:
            with self.database.reading() as tx:
                if stored in list_stored(tx, self.workspace.id, self.kind):
                    raise Refused(f"The file of the {stored.name} is not in the media store.") from error
            raise ArchivesChanged from error


def _in_parts(records: Iterator[Mapping[str, Any]]) -> Iterator[list[str]]:
    """JSON texts of records, a part at a time."""
    while some := [orjson.dumps(each).decode() for each in islice(records, RECORDS_AT_ONCE)]:
        yield some


def _matches(kind: str, record: Record, filters: Mapping[str, Any]) -> bool:
    moment = _read_time(record.get(ARCHIVED_KINDS[kind][1]) or record["created_on"])
    if "after" in filters and moment < _read_time(filters["after"]):
        return False
    if "before" in filters and moment > _read_time(filters["before"]):
        return False
    if "flow" in filters and str(record["flow"]["uuid"]).lower() != filters["flow"].lower():
        return False
    return "folder" not in filters or is_in_folder(record, filters["folder"].lower())


def _masked(record: Record) -> Record:
    """A record that was archived before the workspace became anonymous."""
    if "urn" in record:
        record = {**record, "urn": None}
    contact = record["contact"]
    if contact.get("urn"):
        urn = f"{contact['urn'].partition(':')[0]}:{MASKED_PATH}"
        record = {**record, "contact": {**contact, "urn": urn, "urn_display": MASKED_PATH}}
    return record
