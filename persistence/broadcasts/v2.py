"""Broadcasts: one text to many contacts, whose messages a worker makes later."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ColumnElement, insert, literal_column, select

from persistence.audience import OF_BROADCAST, Audience, save_audience
from persistence.database import Transaction
from persistence.sql.columns import new_uuid
from persistence.sql.json_sql import as_text, declare_record, json_list, json_record
from persistence.sql.pages import Order, Page, Position, fetch_page
from persistence.tables.contacts import CONTACT_REF, GROUP_REF
from persistence.tables.messages import broadcast

PENDING, QUEUED, STARTED, COMPLETED, FAILED = "pending", "queued", "started", "completed", "failed"
WAKE = "broadcasts"

_FIELDS: dict[str, ColumnElement[Any]] = {
    "uuid": broadcast.c.uuid,
    "id": broadcast.c.id,
    "status": broadcast.c.status,
    "progress": json_record({"total": broadcast.c.total, "started": broadcast.c.started}),
    "urns": broadcast.c.urns,
    "contacts": json_list(OF_BROADCAST.list_contacts(json_record(CONTACT_REF))),
    "groups": json_list(OF_BROADCAST.list_groups(json_record(GROUP_REF))),
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
    """A broadcast to make: what is said, by language, and to whom.

    With `is_evaluated` the texts are sent as they are: expressions in them were evaluated before, for somebody else.
    """

    text: Mapping[str, str]
    base_language: str
    audience: Audience
    attachments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    quick_replies: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    channel_id: int | None = None
    is_evaluated: bool = False


def create_broadcast(tx: Transaction, workspace_id: int, new: NewBroadcast) -> int:
    """Accept a broadcast as `pending` and wake the worker that makes its messages; its id."""
    values = {
        "uuid": new_uuid(),
        "status": PENDING,
        "urns": list(new.audience.urns),
        "text": dict(new.text),
        "attachments": dict.fromkeys(new.text, ()) | dict(new.attachments),
        "files": dict(new.files),
        "quick_replies": dict.fromkeys(new.text, ()) | dict(new.quick_replies),
        "base_language": new.base_language,
        "channel_id": new.channel_id,
        "is_evaluated": new.is_evaluated,
        "query": new.audience.query,
        "created_on": tx.now,
        "modified_on": tx.now,
    }
    statement = insert(broadcast).values(workspace_id=workspace_id, **values).returning(broadcast.c.id)
    broadcast_id = tx.execute(statement).scalar_one()
    save_audience(tx, OF_BROADCAST, broadcast_id, new.audience)
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
    return tx.execute(select(as_text(MASKED_BROADCAST_RECORD if masked else BROADCAST_RECORD)).where(mine)).scalar_one()
