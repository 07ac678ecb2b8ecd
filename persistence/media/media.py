"""Uploaded files that can be attached to messages."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Text, cast, delete, select, update

from persistence.database import Database, Transaction
from persistence.errors import LimitReached, NothingFound
from persistence.media.store import MediaStore
from persistence.sql.columns import is_uuid, split
from persistence.tables.data_jobs import contact_import
from persistence.tables.messages import media, media_usage, message

UUID = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])", re.IGNORECASE | re.ASCII)

RECEIVED_SECONDS = 3600.0
"""Uploads without a write for this long are abandoned: slower clients are disconnected."""


def add_media(
    tx: Transaction,
    workspace_id: int,
    uuid: str,
    *,
    content_type: str,
    filename: str,
    size: int,
    url: str,
    quota_bytes: int,
) -> None:
    """Record a file that is, or is about to be, in the media store. Raises LimitReached at the workspace's quota."""
    _occupy(tx, workspace_id, size, quota_bytes)
    values = {"content_type": content_type, "filename": filename, "size": size, "url": url}
    tx.insert(media, workspace_id=workspace_id, uuid=uuid, created_on=tx.now, **values)


def _occupy(tx: Transaction, workspace_id: int, size: int, quota_bytes: int) -> None:
    """Counts and compares in one statement, so that concurrent uploads cannot exceed the quota."""
    tx.execute(tx.upsert(media_usage).values(workspace_id=workspace_id, bytes=0).on_conflict_do_nothing())
    used = media_usage.c
    has_room = (used.workspace_id == workspace_id) & (used.bytes + size <= quota_bytes)
    if tx.execute(update(media_usage).where(has_room).values(bytes=used.bytes + size)).rowcount == 0:
        raise LimitReached(
            f"The files of a workspace may occupy {quota_bytes} bytes; there is no space left for this file."
        )


def named_in(attachments: Iterable[Mapping[str, Any]]) -> list[str]:
    """The UUIDs of the uploaded files that attachments of a message name."""
    return [found[-1].lower() for each in attachments if (found := UUID.findall(each.get("url", "")))]


def note_former_owners(tx: Transaction, workspace_id: int, which: ColumnElement[bool]) -> None:
    """Keeps with files whose they were, before the messages that name them are emptied."""
    rows = message.c
    named = rows.workspace_id == workspace_id, which, cast(rows.attachments, Text) != "[]"
    owners: dict[int, set[str]] = {}
    for contact_id, attachments in tx.execute(select(rows.contact_id, rows.attachments).where(*named)):
        owners.setdefault(contact_id, set()).update(named_in(attachments))
    for contact_id, uuids in sorted(owners.items()):
        for some in split(sorted(uuids)):
            theirs = (media.c.workspace_id == workspace_id) & media.c.uuid.in_(some)
            tx.execute(update(media).where(theirs).values(former_contact_id=contact_id))


def delete_media(tx: Transaction, workspace_id: int, uuid: str) -> str | None:
    """Delete the record of a file and free its space; returns its path in the store, None if the workspace has no
    such file."""
    if not is_uuid(uuid):
        return None
    mine = (media.c.workspace_id == workspace_id) & (media.c.uuid == uuid.lower())
    row = tx.execute(delete(media).where(mine).returning(media.c.size, media.c.url)).first()
    if row is None:
        return None
    size, url = row
    freed = update(media_usage).where(media_usage.c.workspace_id == workspace_id)
    tx.execute(freed.values(bytes=media_usage.c.bytes - size))
    return place_in_store(url)


def list_media(tx: Transaction, workspace_id: int) -> list[dict[str, Any]]:
    """The files of a workspace, newest first."""
    columns = (media.c.uuid, media.c.content_type, media.c.filename, media.c.size, media.c.url, media.c.created_on)
    rows = tx.execute(select(*columns).where(media.c.workspace_id == workspace_id).order_by(media.c.id.desc()))
    return [{str(name): value for name, value in row._mapping.items()} for row in rows]


def read_usage(tx: Transaction, workspace_id: int) -> int:
    """The bytes that the files of a workspace use together."""
    used = select(media_usage.c.bytes).where(media_usage.c.workspace_id == workspace_id)
    return tx.execute(used).scalar() or 0


def place_in_store(url: str) -> str:
    """The path of a file in the media store, with which its URL ends."""
    return url.rpartition("/media/")[2]


def finish_received(database: Database, store: MediaStore) -> None:
    """Clean up after killed processes: a file whose row was committed gets its final name, others are deleted."""
    for uuid in store.list_received(RECEIVED_SECONDS):
        with database.reading() as tx:
            url = tx.execute(select(media.c.url).where(media.c.uuid == uuid)).scalar()
            place = find_import_file(tx, uuid) if url is None else place_in_store(url)
        if place is None:
            store.discard(uuid)
        else:
            store.accept(uuid, place)


def place_of_import(file_uuid: str) -> str:
    """The path in the media store of a file of contacts that was uploaded; nobody can download it."""
    return f"uploads/{file_uuid}"


def find_import_file(tx: Transaction, file_uuid: str) -> str | None:
    """The path of the file of an import that was uploaded with this UUID."""
    named = select(contact_import.c.source).where(contact_import.c.source == place_of_import(file_uuid))
    return tx.execute(named.limit(1)).scalar()


@dataclass(frozen=True, slots=True)
class MediaFile:
    """An uploaded file: its UUID, and the `content_type` and `url` that messages contain."""

    uuid: str
    content_type: str
    url: str

    @property
    def attachment(self) -> dict[str, str]:
        return {"content_type": self.content_type, "url": self.url}


def find_media(tx: Transaction, workspace_id: int, references: Iterable[str]) -> dict[str, MediaFile]:
    """Uploaded files of the workspace by reference; one statement, unknown references are left out. A reference is a
    media UUID, or `type:url` whose URL contains the UUID.
    """
    uuids = {reference: _uuids_in(reference) for reference in references}
    wanted = {uuid for found in uuids.values() for uuid in found}
    if not wanted:
        return {}
    statement = select(media.c.uuid, media.c.content_type, media.c.url)
    rows = tx.execute(statement.where(media.c.workspace_id == workspace_id, media.c.uuid.in_(wanted)))
    known = {uuid: MediaFile(uuid, content_type, url) for uuid, content_type, url in rows}
    named = {name: [known[uuid] for uuid in found if uuid in known] for name, found in uuids.items()}
    return {name: files[0] for name, files in named.items() if files}


def find_attachments(
    tx: Transaction, workspace_id: int, references: Sequence[str], *, field: str = "attachments"
) -> list[dict[str, str]]:
    """The attachments of messages for references (see `find_media`). Raises InvalidInput for the first unknown
    reference.
    """
    known = find_media(tx, workspace_id, references)
    for index, reference in enumerate(references):
        if reference not in known:
            raise NothingFound(field, reference, index)
    return [known[reference].attachment for reference in references]


def _uuids_in(reference: str) -> list[str]:
    """All UUIDs of a reference, the last one first: in URLs the file comes after its workspace."""
    return [found.lower() for found in UUID.findall(reference)][::-1]
