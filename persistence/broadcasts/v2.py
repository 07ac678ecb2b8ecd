"""Broadcasts: one text to many contacts, whose messages a worker creates later."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ColumnElement, insert, literal_column

from persistence.audience import OF_BROADCAST, Audience, save_audience
from persistence.changes import note_changed
from persistence.database import Transaction
from persistence.lists import ListSpec, by_change, changed_after, equals, within
from persistence.sql.columns import new_uuid
from persistence.sql.json_sql import declare_record, json_list, json_record
from persistence.sql.pages import Order
from persistence.tables.contacts import CONTACT_REF, GROUP_REF
from persistence.tables.messages import broadcast

PENDING, QUEUED, STARTED, COMPLETED, FAILED = "pending", "queued", "started", "completed", "failed"
INTERRUPTED = "interrupted"
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
"""The record in an anonymous workspace, which shows no URN."""
BROADCASTS = ListSpec(
    broadcast,
    BROADCAST_RECORD,
    by_change(Order(broadcast.c.created_on, broadcast.c.id)),
    masked=MASKED_BROADCAST_RECORD,
    filters={
        "id": equals(broadcast.c.id),
        "uuid": equals(broadcast.c.uuid),
        "modified_after": changed_after(broadcast),
        **within(broadcast.c.created_on),
    },
)


@dataclass(frozen=True, slots=True)
class NewBroadcast:
    """A broadcast to create: its content by language, and its audience. With `is_evaluated` the texts are sent
    unchanged: expressions in them were evaluated before, for another contact.
    """

    text: Mapping[str, str]
    base_language: str
    audience: Audience
    attachments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    quick_replies: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    channel_id: int | None = None
    is_evaluated: bool = False
    scheduled_on: datetime | None = None


def create_broadcast(tx: Transaction, workspace_id: int, new: NewBroadcast) -> int:
    """Store a broadcast as `pending` and wake the worker that creates its messages; returns its id."""
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
        "scheduled_on": new.scheduled_on,
        "created_on": tx.now,
        "modified_on": tx.now,
    }
    statement = insert(broadcast).values(workspace_id=workspace_id, **values).returning(broadcast.c.id)
    broadcast_id = tx.execute(statement).scalar_one()
    note_changed(tx, broadcast, workspace_id, [broadcast_id])
    save_audience(tx, workspace_id, OF_BROADCAST, broadcast_id, new.audience)
    tx.wake(WAKE)
    return broadcast_id
