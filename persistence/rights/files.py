"""A person in files: the lines of archives, and uploaded files that only messages of this person name."""

import gzip
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import orjson
from sqlalchemy import Text, cast, select, update

from persistence.archives.archives import MESSAGE
from persistence.archives.reading import ArchiveGone, read_lines
from persistence.archives.writing import Measured
from persistence.audience_tables import OF_BROADCAST
from persistence.broadcasts.states import IS_UNFINISHED
from persistence.database import Database, Transaction
from persistence.media.media import delete_media, named_in
from persistence.media.store import MediaStore
from persistence.rights.alone import is_for_nobody_else
from persistence.rights.needles import Person
from persistence.sql.columns import new_uuid
from persistence.tables.messages import broadcast, media, message
from persistence.tables.service import archive


def erase_from_archives(database: Database, store: MediaStore, person: Person) -> int:
    """Writes each archive that has records of a person again without them; returns how many records there were. The row
    names the new file before the old one is removed. Archives that are merged meanwhile are read once more.
    """
    removed, read = 0, set[str]()
    while unread := [each for each in _list_archives(database, person) if each[1] not in read]:
        for row_id, location in unread:
            read.add(location)
            removed += _erase_from(database, store, person, row_id, location, read)
    return removed


def _list_archives(database: Database, person: Person) -> list[tuple[int, str]]:
    rows = archive.c
    mine = (rows.workspace_id == person.workspace_id) & rows.location.is_not(None)
    with database.reading() as tx:
        found = tx.execute(select(rows.id, rows.location).where(mine).order_by(rows.id)).all()
    return [(row_id, str(location)) for row_id, location in found]


def _erase_from(
    database: Database, store: MediaStore, person: Person, row_id: int, location: str, read: set[str]
) -> int:
    removed = named = 0
    for line in _read_present(store, location):
        removed += is_about(line, person)
        named += without_address(line, person) != line
    if not removed and not named:
        return 0
    folder, _, name = location.rpartition("/")
    new = f"{folder}/{name[: -len(ENDING) - UUID_LENGTH]}{new_uuid()}{ENDING}"
    kept = 0
    with store.writing(new) as file:
        measured = Measured(file)
        with gzip.GzipFile(fileobj=measured, mode="wb", mtime=0) as packed:
            for line in _read_present(store, location):
                if not is_about(line, person):
                    packed.write(without_address(line, person))
                    kept += 1
    values = {"location": new, "record_count": kept, "size": measured.size, "hash": measured.digest.hexdigest()}
    with database.writing() as tx:
        same = (archive.c.workspace_id == person.workspace_id) & (archive.c.id == row_id)
        is_ours = tx.execute(update(archive).where(same, archive.c.location == location).values(**values)).rowcount
    store.remove(location if is_ours else new)
    read.add(new)
    return removed


ENDING = ".jsonl.gz"
UUID_LENGTH = 36


def _read_present(store: MediaStore, location: str) -> Iterator[bytes]:
    """The lines of an archive; none if its file is gone, as that of a day is once its month is merged."""
    with suppress(ArchiveGone):
        yield from read_lines(store, location)


def is_about(line: bytes, person: Person) -> bool:
    """Whether an archived record belongs to a person."""
    if not any(uuid.encode() in line for uuid in person.uuids):
        return False
    record: dict[str, Any] = orjson.loads(line)
    return (record.get("contact") or {}).get("uuid") in person.uuids


def without_address(line: bytes, person: Person) -> bytes:
    """An archived record of somebody who had an address of the person before, without it."""
    if not any(path.encode() in line for path in person.paths):
        return line
    record: dict[str, Any] = orjson.loads(line)
    owner = record.get("contact") or {}
    bare = {**record, "contact": {**owner, **_bare(owner, person)}, **_bare(record, person)}
    return line if bare == record else orjson.dumps(bare) + b"\n"


def _bare(document: dict[str, Any], person: Person) -> dict[str, None]:
    urn = document.get("urn") or ""
    named = urn.partition(":")[2] in person.paths
    return dict.fromkeys((name for name in ("urn", "urn_display") if name in document), None) if named else {}


def lines_about(store: MediaStore, location: str, person: Person) -> Iterator[bytes]:
    """The lines of an archive that belong to a person."""
    return (line for line in _read_present(store, location) if is_about(line, person))


def find_own_media(database: Database, store: MediaStore, person: Person) -> list[str]:
    """The UUIDs of uploaded files that messages of this person name or named, also those in archives."""
    rows, files, stored = message.c, media.c, archive.c
    mine = (rows.workspace_id == person.workspace_id) & (rows.contact_id == person.contact_id)
    formerly = (files.workspace_id == person.workspace_id) & (files.former_contact_id == person.contact_id)
    archived = (stored.workspace_id == person.workspace_id) & (stored.archive_type == MESSAGE)
    with database.reading() as tx:
        named = select(rows.attachments).where(mine, cast(rows.attachments, Text) != "[]")
        found = [uuid for attachments in tx.execute(named).scalars() for uuid in named_in(attachments)]
        found += tx.execute(select(files.uuid).where(formerly).order_by(files.id)).scalars()
        locations = tx.execute(select(stored.location).where(archived, stored.location.is_not(None))).scalars().all()
    for location in locations:
        for line in lines_about(store, str(location), person):
            found += named_in(orjson.loads(line).get("attachments") or ())
    return list(dict.fromkeys(found))


def erase_media(database: Database, store: MediaStore, person: Person) -> int:
    """Deletes the uploaded files that no message of others and no broadcast to others names; returns how many."""
    named = find_own_media(database, store, person)
    with database.reading() as tx:
        own = [uuid for uuid in named if not _is_shared(tx, person, uuid)]
    for uuid in own:
        place = database.write(partial(delete_media, workspace_id=person.workspace_id, uuid=uuid))
        if place is not None:
            store.remove(place)
    return len(own)


def _is_shared(tx: Transaction, person: Person, media_uuid: str) -> bool:
    rows = message.c
    others = (rows.workspace_id == person.workspace_id) & (rows.contact_id != person.contact_id)
    named = cast(rows.attachments, Text).contains(media_uuid)
    to_others = (broadcast.c.started > 1) | (IS_UNFINISHED & ~is_for_nobody_else(OF_BROADCAST, person))
    to_many = (broadcast.c.workspace_id == person.workspace_id) & to_others
    sent = cast(broadcast.c.files, Text).contains(media_uuid)
    return (
        tx.execute(select(rows.id).where(others, named).limit(1)).first() is not None
        or tx.execute(select(broadcast.c.id).where(to_many, sent).limit(1)).first() is not None
    )
