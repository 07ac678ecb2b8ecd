"""Creates broadcasts, stops them, and tells how far they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update

from persistence.audience import Audience, save_audience
from persistence.broadcasts.records import INTERRUPTED, IS_UNFINISHED, PENDING, WAKE
from persistence.changes import note_changed
from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.messages.outgoing import give_up
from persistence.messages.states import ERRORED, QUEUED
from persistence.sql.columns import is_uuid, new_uuid, split
from persistence.sql.names import must_exist
from persistence.tables.flow_starts import OF_BROADCAST
from persistence.tables.messages import broadcast, message

STOPPED = "stopped"
MOST_COUNTED = 10_000


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
    broadcast_id = tx.insert(broadcast, workspace_id=workspace_id, **values)
    note_changed(tx, broadcast, workspace_id, [broadcast_id])
    save_audience(tx, workspace_id, OF_BROADCAST, broadcast_id, new.audience)
    tx.wake(WAKE)
    return broadcast_id


def stop_broadcasts(tx: Transaction, workspace_id: int, uuids: Sequence[str]) -> None:
    """Stops broadcasts: no more messages are created, and those that no phone or gateway has yet fail. Broadcasts that
    are finished stay as they are. Raises InvalidInput for an unknown one.
    """
    rows = broadcast.c
    wanted = [uuid.lower() for uuid in uuids if is_uuid(uuid)]
    mine = (rows.workspace_id == workspace_id) & rows.uuid.in_(wanted)
    holding = select(rows.id, rows.uuid).where(mine).order_by(rows.id)
    found = {row.uuid: row.id for row in tx.execute(holding.with_for_update(key_share=True))}
    ids = sorted({must_exist(found.get(uuid.lower()), "broadcasts", uuid) for uuid in uuids})
    stopping = update(broadcast).where(rows.workspace_id == workspace_id, rows.id.in_(ids), IS_UNFINISHED)
    values = {"status": INTERRUPTED, "stopped_on": tx.now, "modified_on": tx.now}
    note_changed(tx, broadcast, workspace_id, tx.execute(stopping.values(**values).returning(rows.id)).scalars())
    unsent = (message.c.workspace_id == workspace_id) & message.c.broadcast_id.in_(ids)
    waiting = select(message.c.id).where(unsent, message.c.status.in_((QUEUED, ERRORED))).order_by(message.c.id)
    for some in split(list(tx.execute(waiting).scalars())):
        give_up(tx, workspace_id, some, STOPPED)


def read_progress(tx: Transaction, workspace_id: int, uuid: str) -> dict[str, Any]:
    """How far a broadcast is, with the number of its messages by status, counted among the first of them. Raises
    RecordMissing.
    """
    rows = broadcast.c
    mine = (rows.workspace_id == workspace_id) & (rows.uuid == uuid)
    moments = (rows.scheduled_on, rows.stopped_on)
    columns = (rows.id, rows.uuid, rows.status, rows.query, *moments, rows.total, rows.started)
    row = tx.execute(select(*columns).where(mine)).mappings().first()
    if row is None:
        raise RecordMissing
    theirs = (message.c.workspace_id == workspace_id) & (message.c.broadcast_id == row["id"])
    some = select(message.c.status).where(theirs).limit(MOST_COUNTED + 1).subquery()
    by_status = tx.execute(select(some.c.status, func.count().label("number")).group_by(some.c.status))
    counted: dict[str, int] = {each.status: each.number for each in by_status}
    number = sum(counted.values())
    return {name: value for name, value in row.items() if name != "id"} | {
        "messages": {status: count for status, count in sorted(counted.items())},
        "is_exact": number <= MOST_COUNTED,
    }
