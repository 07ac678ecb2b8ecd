"""Archived messages and runs for exports: the filters of their lists, applied to the lines of archives."""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import select

from persistence.archives.archives import DAILY, MESSAGE, RUN
from persistence.archives.reading import ArchiveGone, read_lines
from persistence.contacts.v2 import MASKED_PATH
from persistence.data_jobs import Stopped
from persistence.database import Database, Transaction
from persistence.errors import Refused
from persistence.media.store import MediaStore
from persistence.tables.service import archive
from persistence.workspaces import Workspace

Record = dict[str, Any]
KINDS: Mapping[str, tuple[str, str]] = {"messages": (MESSAGE, "created_on"), "runs": (RUN, "modified_on")}
"""The type of the archives of an exported kind, and the property that `after` and `before` mean."""
COMPLETE: Mapping[str, Record] = {
    "messages": {
        **dict.fromkeys(("uuid", "urn", "channel", "flow", "sent_on", "modified_on", "media", "broadcast")),
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
    if kind not in KINDS:
        return []
    rows = archive.c
    mine = (rows.workspace_id == workspace_id) & (rows.archive_type == KINDS[kind][0]) & rows.rollup_id.is_(None)
    columns = (rows.id, rows.location, rows.record_count, rows.is_trimmed, rows.period, rows.start_date)
    listed = select(*columns).where(mine, rows.location.is_not(None)).order_by(rows.start_date, rows.part, rows.id)
    return [
        Stored(row_id, str(location), count, is_trimmed, period, f"{period} archive of {start}")
        for row_id, location, count, is_trimmed, period, start in tx.execute(listed)
    ]


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
        return self.kind in KINDS

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


def _matches(kind: str, record: Record, filters: Mapping[str, Any]) -> bool:
    moment = _read_time(record.get(KINDS[kind][1]) or record["created_on"])
    if "after" in filters and moment < _read_time(filters["after"]):
        return False
    if "before" in filters and moment > _read_time(filters["before"]):
        return False
    if "flow" in filters and str(record["flow"]["uuid"]).lower() != filters["flow"].lower():
        return False
    return "folder" not in filters or is_in_folder(record, filters["folder"].lower())


def _read_time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_in_folder(record: Record, folder: str) -> bool:
    """The rule of the column `folder` (persistence/tables/messages.py), for archived messages."""
    visibility = record["visibility"]
    if record["direction"] == "in":
        if record["status"] != "handled" or visibility not in ("visible", "archived"):
            return False
        own = "archived" if visibility == "archived" else "flows" if record["flow"] else "inbox"
        return folder in (own, "incoming")
    return visibility == "visible" and record["status"] in OUT.get(folder, ())


def _masked(record: Record) -> Record:
    """A record that was archived before the workspace became anonymous."""
    if "urn" in record:
        record = {**record, "urn": None}
    contact = record["contact"]
    if contact.get("urn"):
        urn = f"{contact['urn'].partition(':')[0]}:{MASKED_PATH}"
        record = {**record, "contact": {**contact, "urn": urn, "urn_display": MASKED_PATH}}
    return record
