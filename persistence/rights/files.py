"""A person in files: the lines of archives, and uploaded files that only messages of this person name."""

import gzip
from collections.abc import Iterator
from functools import partial
from typing import Any

import orjson
from sqlalchemy import Text, cast, select, update

from persistence.archives.writing import Measured
from persistence.database import Database, Transaction
from persistence.media.media import UUID, delete_media
from persistence.media.store import MediaStore
from persistence.rights.needles import Person
from persistence.sql.columns import new_uuid
from persistence.tables.messages import broadcast, message
from persistence.tables.service import archive


def erase_from_archives(database: Database, store: MediaStore, person: Person) -> int:
    """Writes each archive that has records of a person again without them; returns how many records there were. The row
    names the new file before the old one is removed.
    """
    with database.reading() as tx:
        rows = archive.c
        mine = (rows.workspace_id == person.workspace_id) & rows.location.is_not(None)
        found = [(row_id, location) for row_id, location in tx.execute(select(rows.id, rows.location).where(mine))]
    return sum(_erase_from(database, store, person, row_id, str(location)) for row_id, location in found)


def _erase_from(database: Database, store: MediaStore, person: Person, row_id: int, location: str) -> int:
    removed = sum(1 for _ in lines_about(store, location, person.uuid))
    if not removed:
        return 0
    folder, _, name = location.rpartition("/")
    new = f"{folder}/{name[: -len(ENDING) - UUID_LENGTH]}{new_uuid()}{ENDING}"
    kept = 0
    with store.writing(new) as file:
        measured = Measured(file)
        with gzip.GzipFile(fileobj=measured, mode="wb", mtime=0) as packed:
            for line in read_lines(store, location):
                if not is_about(line, person.uuid):
                    packed.write(line)
                    kept += 1
    values = {"location": new, "record_count": kept, "size": measured.size, "hash": measured.digest.hexdigest()}
    with database.writing() as tx:
        same = (archive.c.workspace_id == person.workspace_id) & (archive.c.id == row_id)
        is_ours = tx.execute(update(archive).where(same, archive.c.location == location).values(**values)).rowcount
    store.remove(location if is_ours else new)
    return removed


ENDING = ".jsonl.gz"
UUID_LENGTH = 36


def read_lines(store: MediaStore, location: str) -> Iterator[bytes]:
    """The lines of an archive."""
    stored = store.open(location)
    if stored is not None:
        with stored.stream, gzip.open(stored.stream) as packed:
            yield from packed


def is_about(line: bytes, contact_uuid: str) -> bool:
    """Whether an archived record belongs to a contact."""
    if contact_uuid.encode() not in line:
        return False
    record: dict[str, Any] = orjson.loads(line)
    return (record.get("contact") or {}).get("uuid") == contact_uuid


def lines_about(store: MediaStore, location: str, contact_uuid: str) -> Iterator[bytes]:
    """The lines of an archive that belong to a contact."""
    return (line for line in read_lines(store, location) if is_about(line, contact_uuid))


def find_own_media(tx: Transaction, person: Person) -> list[str]:
    """The UUIDs of uploaded files that messages of this person name."""
    rows = message.c
    mine = (rows.workspace_id == person.workspace_id) & (rows.contact_id == person.contact_id)
    named = select(rows.attachments).where(mine, cast(rows.attachments, Text) != "[]")
    urls = [each.get("url", "") for attachments in tx.execute(named).scalars() for each in attachments]
    return list(dict.fromkeys(found[-1].lower() for url in urls if (found := UUID.findall(url))))


def erase_media(database: Database, store: MediaStore, person: Person) -> int:
    """Deletes the uploaded files that no message of others and no broadcast to others names; returns how many."""
    with database.reading() as tx:
        own = [uuid for uuid in find_own_media(tx, person) if not _is_shared(tx, person, uuid)]
    for uuid in own:
        place = database.write(partial(delete_media, workspace_id=person.workspace_id, uuid=uuid))
        if place is not None:
            store.remove(place)
    return len(own)


def _is_shared(tx: Transaction, person: Person, media_uuid: str) -> bool:
    rows = message.c
    others = (rows.workspace_id == person.workspace_id) & (rows.contact_id != person.contact_id)
    named = cast(rows.attachments, Text).contains(media_uuid)
    to_many = (broadcast.c.workspace_id == person.workspace_id) & (broadcast.c.started > 1)
    sent = cast(broadcast.c.files, Text).contains(media_uuid)
    return (
        tx.execute(select(rows.id).where(others, named).limit(1)).first() is not None
        or tx.execute(select(broadcast.c.id).where(to_many, sent).limit(1)).first() is not None
    )
