"""Requests of persons: the list, which is the proof that they were met, and what workers do with them."""

from datetime import datetime

from sqlalchemy import select, update

from persistence.data_jobs import WAKE, Held, finish, keep, kept
from persistence.database import Database, Transaction
from persistence.lists import ListSpec, equals
from persistence.media.store import MediaStore
from persistence.rights.copying import write_copy
from persistence.rights.erasing import Counts, erase_rows, list_files
from persistence.rights.files import erase_from_archives, erase_media
from persistence.rights.needles import Person, find_person
from persistence.rights.rewriting import rewrite_files
from persistence.sql.columns import new_uuid
from persistence.sql.json_sql import declare_record
from persistence.sql.names import check_room
from persistence.sql.pages import Order
from persistence.tables.contacts import contact
from persistence.tables.data_jobs import PENDING, data_request
from persistence.workspaces import Workspace, hold_workspace

COPY, ERASE = "copy", "erase"
UNFINISHED_LIMIT = 100
rows = data_request.c

DATA_REQUESTS = ListSpec(
    data_request,
    declare_record(
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


def _erase_rows(tx: Transaction, held: Held, person: Person, beside: Counts) -> datetime:
    counts = {**erase_rows(tx, person), **beside}
    theirs = (rows.workspace_id == person.workspace_id) & rows.contact_uuid.in_(person.uuids)
    tx.execute(update(data_request).where(theirs).values(location=None, size=None))
    return keep(tx, held, counts=counts)


def _copies_of(tx: Transaction, person: Person) -> list[str]:
    theirs = (rows.workspace_id == person.workspace_id) & rows.contact_uuid.in_(person.uuids)
    found = tx.execute(select(rows.location).where(theirs, rows.location.is_not(None))).scalars()
    return [location for location in found if location is not None]
