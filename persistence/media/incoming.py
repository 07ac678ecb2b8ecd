"""Files of incoming messages that are still at the provider. A message is stored at once, with the URL that each of its
files will have in the media store; a worker fetches the file, tries that a few times within an hour, and gives it up
then. Until the file is there, its row says so.

A lease is the pause before the next attempt: also the process that dies leaves its file to the next one.
"""

import mimetypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, insert, select, true

from channels.calls import Event, Media, Received
from channels.types import DEFAULT_GATEWAY
from persistence.database import Transaction
from persistence.errors import LimitReached, LostRace
from persistence.leases import Leases, is_free, list_receivers
from persistence.media.store import MediaStore, add_media
from persistence.relayers.commands import clean_text
from persistence.secrets.encryption import open_or_none, sealed_text
from persistence.sql.columns import is_uuid, new_uuid
from persistence.statements import update
from persistence.tables.accounts import workspace
from persistence.tables.channels import channel
from persistence.tables.messages import incoming_file, message

MOST_FILES = 20
"""Of a message."""
REFERENCE_LENGTH, TYPE_LENGTH = 4096, 100
TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*")
PLACE = "geo"
LINK = re.compile(r"https?://[^/\s]", re.IGNORECASE)
ENDING = re.compile(r"\.[a-z0-9]{1,8}")
UNKNOWN_TYPE = "application/octet-stream"
PAUSES = tuple(timedelta(minutes=each) for each in (3, 7, 10, 15, 20))
"""After the begin of each attempt; the first one is longer than an attempt can take."""
MOST_ATTEMPTS = len(PAUSES)
FILENAME = "file"

LEASES = Leases(incoming_file, true(), incoming_file.c.leased_until, lasts=PAUSES)
_rows = incoming_file.c
IS_EXPECTED = _rows.attempts >= 0


@dataclass(frozen=True, slots=True)
class Expected:
    """A file of a message: what the message says of it, and by which reference it is fetched, if it is. Of a file that
    came with the message, `size` is that of its content, which is among the received files of the store."""

    uuid: str
    content_type: str
    url: str
    reference: str
    size: int = 0

    @property
    def attachment(self) -> dict[str, str]:
        return {"content_type": self.content_type, "url": self.url}


@dataclass(frozen=True, slots=True)
class LeasedFile:
    """A file to fetch, with its channel; `config` is None if the channel was removed, or its settings cannot be
    decrypted."""

    id: int
    uuid: str
    workspace_id: int
    channel_id: int
    contact_id: int
    message_id: int
    content_type: str
    reference: str
    url: str
    is_stored: bool
    attempts: int
    channel_type: str
    config: dict[str, Any] | None


NAMES = tuple(each.name for each in fields(LeasedFile) if each.name in _rows)


def plan_files(tx: Transaction, workspace_id: int, root: str, found: Sequence[Media]) -> list[Expected]:
    """The attachments of a message for what its channel reported; `root` is the URL of the service. A file whose
    reference is longer than any or cannot be stored is left out, and so is what is neither a place nor a URL that a
    browser may open. One statement, none without files."""
    if not found:
        return []
    workspace_uuid = tx.execute(select(workspace.c.uuid).where(workspace.c.id == workspace_id)).scalar_one()
    planned = []
    for each in found[:MOST_FILES]:
        kind = each.content_type.lower()
        if each.url and (_is_place(each.url) if kind == PLACE else _is_link(each.url)):
            planned.append(Expected("", kind[:TYPE_LENGTH] or UNKNOWN_TYPE, each.url, ""))
        elif not each.url and each.reference and _is_kept(each.reference):
            kind = kind if TYPE.fullmatch(kind) and len(kind) <= TYPE_LENGTH else UNKNOWN_TYPE
            uuid = each.reference if each.content else new_uuid()
            url = f"{root}/media/{workspace_uuid}/{uuid}{_ending_of(kind)}"
            planned.append(Expected(uuid, kind, url, "" if each.content else each.reference, len(each.content)))
    return planned


def _is_kept(text: str) -> bool:
    return len(text) <= REFERENCE_LENGTH and text == clean_text(text)


def _is_link(url: str) -> bool:
    return _is_kept(url) and LINK.match(url) is not None


def _is_place(url: str) -> bool:
    latitude, _, longitude = url.partition(",")
    try:
        return abs(float(latitude)) <= 90 and abs(float(longitude)) <= 180  # degrees
    except ValueError:
        return False


def occupy(tx: Transaction, workspace_id: int, planned: Sequence[Expected], quota_bytes: int) -> list[Expected]:
    """Records those files that came with a message; those for which the workspace has no space are left out."""
    kept = []
    for each in planned:
        try:
            if each.size:
                add_media(
                    tx,
                    workspace_id,
                    each.uuid,
                    content_type=each.content_type,
                    filename=FILENAME,
                    size=each.size,
                    url=each.url,
                    quota_bytes=quota_bytes,
                )
        except LimitReached:
            continue
        kept.append(each)
    return kept


def receive_contents(store: MediaStore, events: Sequence[Event]) -> tuple[tuple[Event, ...], list[str]]:
    """Writes the files that came with messages to the store, and returns the events, which refer to them, and their
    UUIDs. Nothing of it counts before the messages are committed. Raises StoreUnavailable."""
    made, uuids = list[Event](), list[str]()
    for event in events:
        if not isinstance(event, Received) or not any(each.content for each in event.attachments):
            made.append(event)
            continue
        files = list[Media]()
        for each in event.attachments[:MOST_FILES]:
            if each.content:
                uuids.append(new_uuid())
                with store.receiving(uuids[-1]) as file:
                    file.write(each.content)
            files.append(replace(each, reference=uuids[-1]) if each.content else each)
        made.append(replace(event, attachments=tuple(files)))
    return tuple(made), uuids


def _ending_of(kind: str) -> str:
    ending = (mimetypes.guess_extension(kind) if kind != UNKNOWN_TYPE else "") or ""
    return ending if ENDING.fullmatch(ending) else ""


def expect_files(tx: Transaction, workspace_id: int, message_id: int, planned: Sequence[Expected]) -> None:
    """Has the files of a message fetched, if it was stored with them: of a report that came twice at the same time, one
    is stored. Wakes the worker that fetches. Raises LostRace if files came with the other one."""
    referred = [each for each in planned if each.reference]
    if not referred and not any(each.size for each in planned):
        return
    mine = (message.c.workspace_id == workspace_id) & (message.c.id == message_id)
    columns = (message.c.channel_id, message.c.contact_id, message.c.attachments)
    channel_id, contact_id, attachments = tx.execute(select(*columns).where(mine)).one()
    named = {each["url"] for each in attachments}
    if any(each.size and each.url not in named for each in planned):
        raise LostRace
    common = {"workspace_id": workspace_id, "channel_id": channel_id, "contact_id": contact_id}
    rows = [
        {
            **common,
            "message_id": message_id,
            "uuid": each.uuid,
            "content_type": each.content_type,
            "reference": each.reference,
            "url": each.url,
            "leased_until": tx.now,
            "created_on": tx.now,
        }
        for each in referred
        if each.url in named
    ]
    if rows:
        tx.execute(insert(incoming_file), rows)
        tx.wake("files")


def list_fetching_channels(tx: Transaction) -> list[tuple[int, int]]:
    """The workspaces and channels with a file that is due; one index seek for each."""
    due = is_free(_rows.leased_until, tx.now)
    return list_receivers(tx, _rows.workspace_id, _rows.channel_id, IS_EXPECTED, due, _rows.leased_until)


def lease_files(tx: Transaction, rooms: Mapping[tuple[int, int], int]) -> list[LeasedFile]:
    """The files that are due for longest, after this was counted as an attempt: at most so many of each workspace's
    channel. Commit this before they are fetched."""
    leased = []
    for (workspace_id, channel_id), room in sorted(rooms.items()):
        theirs = (_rows.workspace_id == workspace_id) & (_rows.channel_id == channel_id)
        due = select(_rows.id).where(theirs, IS_EXPECTED, is_free(_rows.leased_until, tx.now))
        for file_id in tx.execute(due.order_by(_rows.leased_until, _rows.id).limit(room)).scalars().all():
            if LEASES.take_next(tx, workspace_id, row_id=file_id) is not None:
                leased.append(_read_leased(tx, workspace_id, file_id))
    return leased


def _read_leased(tx: Transaction, workspace_id: int, file_id: int) -> LeasedFile:
    config = channel.c.config
    its = (channel.c.id == _rows.channel_id) & (channel.c.workspace_id == _rows.workspace_id)
    found = select(*(_rows[name] for name in NAMES), channel.c.type, channel.c.is_active, sealed_text(config))
    mine = (_rows.workspace_id == workspace_id) & (_rows.id == file_id)
    row = tx.execute(found.select_from(incoming_file.outerjoin(channel, its)).where(mine)).one()
    kind, is_active, sealed = row[-3:]
    opened = open_or_none(tx.dialect, config, sealed) if is_active else None
    # A channel that another workspace took over is none of this one: without its settings nobody is asked.
    return LeasedFile(**dict(zip(NAMES, row, strict=False)), channel_type=kind or DEFAULT_GATEWAY, config=opened)


def keep_file(tx: Transaction, leased: LeasedFile, content_type: str, size: int, quota_bytes: int) -> bool:
    """Records a file that was received into the store; false if nobody wants it any more, because its message was
    deleted, or if another attempt has begun. Raises LimitReached at the workspace's quota."""
    mine = (_rows.workspace_id == leased.workspace_id) & (_rows.id == leased.id) & (_rows.attempts == leased.attempts)
    if tx.execute(update(incoming_file).where(mine, ~_rows.is_stored).values(is_stored=True)).rowcount == 0:
        # It was recorded already if the connection to the database broke at the commit, and this is its repeat.
        return tx.execute(select(_rows.id).where(mine)).first() is not None
    add_media(
        tx,
        leased.workspace_id,
        leased.uuid,
        content_type=content_type,
        filename=FILENAME,
        size=size,
        url=leased.url,
        quota_bytes=quota_bytes,
    )
    return True


def forget_file(tx: Transaction, leased: LeasedFile) -> bool:
    """Ends the work on a file, because it has its place in the store or was given up; false if that was done before."""
    mine = (_rows.workspace_id == leased.workspace_id) & (_rows.id == leased.id)
    return tx.execute(delete(incoming_file).where(mine)).rowcount > 0


def is_expected(tx: Transaction, uuid: str) -> bool:
    """Whether a file is still to be fetched."""
    return is_uuid(uuid) and tx.execute(select(_rows.id).where(_rows.uuid == uuid).limit(1)).first() is not None
