"""A copy of everything that is stored about a person: a ZIP file with a file of JSON Lines for each kind of record, the
records in archives too, and the files of messages."""

import shutil
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from sqlalchemy import select

from persistence.archives.archives import MESSAGE, RUN
from persistence.audience_tables import OF_START
from persistence.channels.events import CHANNEL_EVENTS
from persistence.contacts.notes import CONTACT_NOTES
from persistence.contacts.v2 import CONTACTS
from persistence.database import Database, Transaction
from persistence.deliveries.records import DELIVERIES
from persistence.exports.writing import read_records
from persistence.flow_starts.states import IS_BY_USER
from persistence.flow_starts.v2 import STARTS
from persistence.lists import ListQuery, ListSpec
from persistence.media.media import place_in_store
from persistence.media.store import MediaStore
from persistence.messages.v2 import MESSAGES
from persistence.rights.alone import is_for_nobody_else
from persistence.rights.files import find_own_media, lines_about
from persistence.rights.needles import Person
from persistence.runs.v2 import RUNS
from persistence.tables.flow_starts import flow_start
from persistence.tables.messages import media
from persistence.tables.service import archive
from persistence.tickets.tickets import TICKETS
from persistence.workspaces import Workspace

LISTS: dict[str, ListSpec] = {
    "messages": MESSAGES,
    "runs": RUNS,
    "tickets": TICKETS,
    "notes": CONTACT_NOTES,
    "calls": CHANNEL_EVENTS,
    "deliveries": DELIVERIES,
}


def write_copy(
    database: Database, store: MediaStore, workspace: Workspace, person: Person, file: BinaryIO
) -> dict[str, int]:
    """Writes the file; returns how many records of each kind it has."""
    counts: dict[str, int] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        counts["contacts"] = _write(packed, "contact", [_read_contact(database, workspace, person)])
        for name, spec in LISTS.items():
            ids = _find_ids(database, spec, person)
            counts[name] = _write(packed, name, read_records(database, workspace, spec, ids))
        counts["starts"] = _write(
            packed, "starts", read_records(database, workspace, STARTS, _find_starts(database, person))
        )
        for kind in (MESSAGE, RUN):
            name = f"archived_{kind}s"
            counts[name] = _write(packed, name, _read_archived(database, store, person, kind))
        counts["files"] = _write_media(packed, database, store, person)
    return counts


def _write(packed: zipfile.ZipFile, name: str, parts: Iterable[Sequence[str]]) -> int:
    count = 0
    with packed.open(f"{name}.jsonl", "w", force_zip64=True) as file:
        for records in parts:
            file.write("".join(f"{record}\n" for record in records).encode())
            count += len(records)
    return count


def _read_contact(database: Database, workspace: Workspace, person: Person) -> list[str]:
    with database.reading() as tx:
        return CONTACTS.read(ListQuery(tx, workspace), CONTACTS.table.c.id == person.contact_id)


def _find_ids(database: Database, spec: ListSpec, person: Person) -> list[int]:
    rows = spec.table.c
    mine = (rows.workspace_id == person.workspace_id) & (rows.contact_id == person.contact_id)
    with database.reading() as tx:
        return list(tx.execute(select(rows.id).where(mine).order_by(rows.id)).scalars())


def _find_starts(database: Database, person: Person) -> list[int]:
    """Those of this person alone: the values of others may be about anybody."""
    with database.reading() as tx:
        alone = is_for_nobody_else(OF_START, person)
        return list(tx.execute(select(flow_start.c.id).where(alone, IS_BY_USER).order_by(flow_start.c.id)).scalars())


def _read_archived(database: Database, store: MediaStore, person: Person, kind: str) -> Iterator[list[str]]:
    with database.reading() as tx:
        locations = _list_archives(tx, person.workspace_id, kind)
    for location in locations:
        yield [line.decode().rstrip("\n") for line in lines_about(store, location, person)]


def _list_archives(tx: Transaction, workspace_id: int, kind: str) -> list[str]:
    rows = archive.c
    mine = (rows.workspace_id == workspace_id) & (rows.archive_type == kind) & rows.rollup_id.is_(None)
    found = select(rows.location).where(mine, rows.location.is_not(None)).order_by(rows.start_date, rows.id)
    return [location for location in tx.execute(found).scalars() if location is not None]


def _write_media(packed: zipfile.ZipFile, database: Database, store: MediaStore, person: Person) -> int:
    wanted = find_own_media(database, store, person)
    with database.reading() as tx:
        mine = (media.c.workspace_id == person.workspace_id) & media.c.uuid.in_(wanted)
        places = [place_in_store(url) for url in tx.execute(select(media.c.url).where(mine)).scalars()]
    written = 0
    for place in places:
        stored = store.open(place)
        if stored is not None:
            name = f"media/{place.rpartition('/')[2]}"
            with stored.stream, packed.open(name, "w", force_zip64=True) as file:
                shutil.copyfileobj(stored.stream, file)
            written += 1
    return written
