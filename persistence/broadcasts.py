"""Broadcasts: one text to many contacts, whose messages a worker makes later."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    insert,
    literal_column,
    select,
    text,
)

from persistence.columns import Json, id_column, metadata, new_uuid, time_column, uuid_column, workspace_column
from persistence.contacts import CONTACT_REF, contact
from persistence.database import Transaction
from persistence.groups import GROUP_REF, group
from persistence.pages import Order, Page, Position, fetch_page
from persistence.shapes import as_text, declare_record, json_list, json_record

PENDING, QUEUED, STARTED, COMPLETED, FAILED = "pending", "queued", "started", "completed", "failed"
WAKE = "broadcasts"

broadcast = Table(
    "broadcast",
    metadata,
    id_column(),
    uuid_column(),
    workspace_column(),
    Column("status", String(11), nullable=False),
    Column("urns", Json, nullable=False),
    Column("text", Json, nullable=False),
    Column("attachments", Json, nullable=False),
    Column("files", Json, nullable=False),
    Column("quick_replies", Json, nullable=False),
    Column("base_language", String(3), nullable=False),
    Column("is_evaluated", Boolean, nullable=False, default=False),
    Column("channel_id", Integer, ForeignKey("channel.id")),
    Column("query", Text),
    Column("total", Integer, nullable=False, default=-1),
    Column("started", Integer, nullable=False, default=0),
    Column("last_contact_id", Integer, nullable=False, default=0),
    time_column("created_on"),
    time_column("modified_on"),
    Index("ix_broadcast_page", "workspace_id", "created_on", "id"),
    Index(
        "ix_broadcast_unfinished",
        "modified_on",
        "id",
        postgresql_where=text("status IN ('pending', 'queued', 'started')"),
        sqlite_where=text("status IN ('pending', 'queued', 'started')"),
    ),
    sqlite_autoincrement=True,
)
"""`attachments` holds media uuids by language, `files` what messages carry for them. Contacts get their messages in the
order of their ids; `last_contact_id` is the last that has its message, committed together with it."""

broadcast_contact = Table(
    "broadcast_contact",
    metadata,
    Column("broadcast_id", Integer, ForeignKey("broadcast.id"), primary_key=True),
    Column("contact_id", Integer, ForeignKey("contact.id"), primary_key=True),
    Column("is_named", Boolean, nullable=False),
)
"""`is_named` tells contacts that were named from those found by an address."""

broadcast_group = Table(
    "broadcast_group",
    metadata,
    Column("broadcast_id", Integer, ForeignKey("broadcast.id"), primary_key=True),
    Column("group_id", Integer, ForeignKey("contact_group.id", ondelete="CASCADE"), primary_key=True),
    Index("ix_broadcast_group_group", "group_id"),
)

_CONTACTS = json_list(
    select(json_record(CONTACT_REF).label("item"))
    .join(broadcast_contact, broadcast_contact.c.contact_id == contact.c.id)
    .where(broadcast_contact.c.broadcast_id == broadcast.c.id, broadcast_contact.c.is_named)
    .order_by(contact.c.id)
    .correlate(broadcast)
)
_GROUPS = json_list(
    select(json_record(GROUP_REF).label("item"))
    .join(broadcast_group, broadcast_group.c.group_id == group.c.id)
    .where(broadcast_group.c.broadcast_id == broadcast.c.id)
    .order_by(group.c.id)
    .correlate(broadcast)
)
_FIELDS: dict[str, ColumnElement[Any]] = {
    "uuid": broadcast.c.uuid,
    "id": broadcast.c.id,
    "status": broadcast.c.status,
    "progress": json_record({"total": broadcast.c.total, "started": broadcast.c.started}),
    "urns": broadcast.c.urns,
    "contacts": _CONTACTS,
    "groups": _GROUPS,
    "text": broadcast.c.text,
    "attachments": broadcast.c.attachments,
    "quick_replies": broadcast.c.quick_replies,
    "base_language": broadcast.c.base_language,
    "created_on": broadcast.c.created_on,
}
BROADCAST_RECORD = declare_record(_FIELDS)
MASKED_BROADCAST_RECORD = declare_record({**_FIELDS, "urns": literal_column("'[]'", JSON())})
"""The record in an anonymous workspace, which shows no address."""
BROADCASTS_ORDER = Order(broadcast.c.created_on, broadcast.c.id)


@dataclass(frozen=True, slots=True)
class NewBroadcast:
    """A broadcast to make: to whom (`address_ids` own the `urns` that are shown), and what, by language.

    `query` finds further contacts when the messages are made.

    With `is_evaluated` the texts are sent as they are: expressions in them were evaluated before, for somebody else.
    """

    text: Mapping[str, str]
    base_language: str
    contact_ids: Sequence[int] = ()
    group_ids: Sequence[int] = ()
    urns: Sequence[str] = ()
    address_ids: Sequence[int] = ()
    attachments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    quick_replies: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    channel_id: int | None = None
    is_evaluated: bool = False
    query: str | None = None


def create_broadcast(tx: Transaction, workspace_id: int, new: NewBroadcast) -> int:
    """Accept a broadcast as `pending` and wake the worker that makes its messages; its id."""
    values = {
        "uuid": new_uuid(),
        "status": PENDING,
        "urns": list(new.urns),
        "text": dict(new.text),
        "attachments": dict.fromkeys(new.text, ()) | dict(new.attachments),
        "files": dict(new.files),
        "quick_replies": dict.fromkeys(new.text, ()) | dict(new.quick_replies),
        "base_language": new.base_language,
        "channel_id": new.channel_id,
        "is_evaluated": new.is_evaluated,
        "query": new.query,
        "created_on": tx.now,
        "modified_on": tx.now,
    }
    statement = insert(broadcast).values(workspace_id=workspace_id, **values).returning(broadcast.c.id)
    broadcast_id: int = tx.execute(statement).scalar_one()
    named = dict.fromkeys(new.address_ids, False) | dict.fromkeys(new.contact_ids, True)
    if named:
        rows = [
            {"broadcast_id": broadcast_id, "contact_id": one, "is_named": is_named} for one, is_named in named.items()
        ]
        tx.execute(insert(broadcast_contact), rows)
    if new.group_ids:
        groups = [{"broadcast_id": broadcast_id, "group_id": one} for one in dict.fromkeys(new.group_ids)]
        tx.execute(insert(broadcast_group), groups)
    tx.wake(WAKE)
    return broadcast_id


def list_broadcasts(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    broadcast_id: int | None = None,
    uuid: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    masked: bool = False,
) -> Page:
    """The broadcasts of a workspace, newest first; filters combine by AND."""
    conditions: list[ColumnElement[bool]] = [broadcast.c.workspace_id == workspace_id]
    if broadcast_id is not None:
        conditions.append(broadcast.c.id == broadcast_id)
    if uuid is not None:
        conditions.append(broadcast.c.uuid == uuid)
    if before is not None:
        conditions.append(broadcast.c.created_on <= before)
    if after is not None:
        conditions.append(broadcast.c.created_on >= after)
    return fetch_page(
        tx,
        record=MASKED_BROADCAST_RECORD if masked else BROADCAST_RECORD,
        source=broadcast,
        source_id=broadcast.c.id,
        order=BROADCASTS_ORDER,
        conditions=conditions,
        position=position,
        size=size,
    )


def read_broadcast(tx: Transaction, workspace_id: int, broadcast_id: int, *, masked: bool = False) -> str:
    """One broadcast record as JSON text."""
    mine = (broadcast.c.workspace_id == workspace_id) & (broadcast.c.id == broadcast_id)
    document: str = tx.execute(
        select(as_text(MASKED_BROADCAST_RECORD if masked else BROADCAST_RECORD)).where(mine)
    ).scalar_one()
    return document
