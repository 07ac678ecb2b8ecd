"""Requests of persons: the list, which is the proof that they were met, what workers do with them, and the copy of
everything that is stored.
"""

import shutil
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import BinaryIO

from sqlalchemy import select

from persistence.archives.archives import MESSAGE, RUN
from persistence.channels.events import CHANNEL_EVENTS
from persistence.contacts.records import CONTACTS
from persistence.contacts.timeline import CONTACT_NOTES
from persistence.data_jobs import WAKE, Held, finish, keep, kept
from persistence.data_requests.erasing import (
    Counts,
    erase_from_archives,
    erase_media,
    erase_rows,
    find_own_media,
    is_for_nobody_else,
    lines_about,
    list_files,
    rewrite_files,
)
from persistence.data_requests.person import Person, find_person
from persistence.database import Database, Transaction
from persistence.deliveries.records import DELIVERIES
from persistence.exports.writing import read_records
from persistence.flow_starts.flow_starts import STARTS
from persistence.lists import ListQuery, ListSpec, equals
from persistence.media.store import MediaStore, place_in_store
from persistence.messages.records import MESSAGES
from persistence.pages import Order
from persistence.records import Record
from persistence.runs.records import RUNS
from persistence.sql.columns import new_uuid
from persistence.sql.names import check_room
from persistence.statements import update
from persistence.tables.contacts import contact
from persistence.tables.data_jobs import PENDING, data_request
from persistence.tables.flows import IS_BY_USER, OF_START, flow_start
from persistence.tables.messages import media
from persistence.tables.service import archive
from persistence.tickets.records import TICKETS
from persistence.workspaces.records import Workspace, hold_workspace

COPY, ERASE = "copy", "erase"
UNFINISHED_LIMIT = 100
rows = data_request.c

DATA_REQUESTS = ListSpec(
    data_request,
    Record(
        {
            "uuid": rows.uuid,
            "type": rows.type,
            "contact": rows.contact_uuid,
            "requested_by": rows.requested_by,
            "status": rows.status,
            "counts": rows.counts,
            "size": rows.size,
            "error": rows.error,
            "download_url": rows.location,
            "created_on": rows.created_on,
            "finished_on": rows.finished_on,
            "rewritten_on": rows.rewritten_on,
        }
    ),
    Order(rows.created_on, rows.id),
    filters={"uuid": equals(rows.uuid), "contact": equals(rows.contact_uuid)},
)
"""Newest first; `download_url` is a path in the media store."""

LISTS: dict[str, ListSpec] = {
    "messages": MESSAGES,
    "runs": RUNS,
    "tickets": TICKETS,
    "notes": CONTACT_NOTES,
    "calls": CHANNEL_EVENTS,
    "deliveries": DELIVERIES,
}


def create_request(
    tx: Transaction, workspace: Workspace, kind: str, contact_id: int, user_id: int | None, requested_by: str | None
) -> int:
    """A request that a worker meets soon; returns its id. Raises LimitReached if too many are not finished."""
    hold_workspace(tx, workspace.id)
    check_room(tx, workspace.id, data_request, rows.finished_on.is_(None), limit=UNFINISHED_LIMIT)
    mine = (contact.c.workspace_id == workspace.id) & (contact.c.id == contact_id)
    uuid = tx.execute(select(contact.c.uuid).where(mine)).scalar_one()
    tx.wake(WAKE)
    return tx.insert(
        data_request,
        workspace_id=workspace.id,
        user_id=user_id,
        type=kind,
        contact_uuid=uuid,
        contact_id=contact_id,
        status=PENDING,
        counts={},
        requested_by=requested_by,
        created_on=tx.now,
    )


def run_request(
    database: Database, store: MediaStore, held: Held, workspace: Workspace, *, is_forced: bool = False
) -> None:
    """Meets a request. Raises LeaseLost. `is_forced` rewrites also large files of the database."""
    with database.reading() as tx:
        person = find_person(tx, workspace.id, held.row.contact_id)
    if held.row.type == COPY:
        _copy(database, store, held, workspace, person)
    else:
        _erase(database, store, held, person, is_forced=is_forced)


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


def _copy(database: Database, store: MediaStore, held: Held, workspace: Workspace, person: Person) -> None:
    location = f"private/requests/{held.row.uuid}-{new_uuid()}.zip"
    with kept(database, held), store.writing(location) as file:
        counts = write_copy(database, store, workspace, person, file)
        size = file.tell()
    try:
        database.write(lambda tx: finish(tx, held, location=location, size=size, counts=counts))
    except BaseException:
        store.remove(location)
        raise


def _erase(database: Database, store: MediaStore, held: Held, person: Person, *, is_forced: bool) -> None:
    """Files first, those that archives name before the archives, then all rows in one transaction with what was there;
    after a crash the rest is done again."""
    with kept(database, held):
        files = erase_media(database, store, person)
        archived = erase_from_archives(database, store, person)
        with database.reading() as tx:
            old = [*list_files(tx, person.workspace_id), *_copies_of(tx, person)]
        for name in old:
            store.remove(name)
    if not held.row.counts:
        held.until = database.write(lambda tx: _erase_rows(tx, held, person, {"archived": archived, "files": files}))
    with kept(database, held):
        is_whole = rewrite_files(database, is_forced=is_forced)
    database.write(lambda tx: finish(tx, held, rewritten_on=tx.now if is_whole else None))


def _erase_rows(tx: Transaction, held: Held, person: Person, others: Counts) -> datetime:
    counts = {**erase_rows(tx, person), **others}
    theirs = (rows.workspace_id == person.workspace_id) & rows.contact_uuid.in_(person.uuids)
    tx.execute(update(data_request).where(theirs).values(location=None, size=None))
    return keep(tx, held, counts=counts)


def _copies_of(tx: Transaction, person: Person) -> list[str]:
    theirs = (rows.workspace_id == person.workspace_id) & rows.contact_uuid.in_(person.uuids)
    found = tx.execute(select(rows.location).where(theirs, rows.location.is_not(None))).scalars()
    return [location for location in found if location is not None]


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
