"""Broadcasts, one text to many contacts whose messages a worker creates later, as both generations show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, String, and_, case, exists, func, literal, select, update

from persistence.changes import note_changed
from persistence.contacts.audience import Audience, list_contacts, list_groups, save_audience
from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.lists import (
    Condition,
    ListQuery,
    ListSpec,
    by_change,
    changed_after,
    equals,
    one_of,
    stamped_on,
    within,
)
from persistence.messages.outgoing import give_up
from persistence.messages.templated import TemplateWish
from persistence.pages import Order
from persistence.records import Record
from persistence.sql.columns import is_uuid, new_uuid, split
from persistence.sql.names import must_exist
from persistence.tables.contacts import CONTACT_REF, GROUP_REF, contact, group
from persistence.tables.flows import OF_BROADCAST
from persistence.tables.messages import ERRORED, IS_UNDELIVERED, broadcast, message
from persistence.tables.messages import QUEUED as MESSAGE_QUEUED

WAKE = "broadcasts"

_FIELDS: dict[str, Any] = {
    "uuid": broadcast.c.uuid,
    "id": broadcast.c.id,
    "status": broadcast.c.status,
    "progress": Record({"total": broadcast.c.total, "started": broadcast.c.started}),
    "urns": broadcast.c.urns,
    "contacts": list_contacts(OF_BROADCAST, Record(CONTACT_REF)),
    "groups": list_groups(OF_BROADCAST, Record(GROUP_REF)),
    "text": broadcast.c.text,
    "attachments": broadcast.c.attachments,
    "quick_replies": broadcast.c.quick_replies,
    "base_language": broadcast.c.base_language,
    "template": broadcast.c.template,
    "created_on": broadcast.c.created_on,
    "scheduled_on": broadcast.c.scheduled_on,
    "error": broadcast.c.error,
    "modified_on": stamped_on(broadcast),
}
BROADCAST_RECORD = Record(_FIELDS)
MASKED_BROADCAST_RECORD = Record({**_FIELDS, "urns": []})
"""The record in an anonymous workspace, which shows no URN."""

HAS_UNDELIVERED = exists().where(message.c.broadcast_id == broadcast.c.id, IS_UNDELIVERED).correlate(broadcast)

PENDING, QUEUED, STARTED, COMPLETED, FAILED = "pending", "queued", "started", "completed", "failed"
LETTER = case(
    (broadcast.c.status == literal(PENDING), "I"),
    (broadcast.c.status.in_((QUEUED, STARTED)), "Q"),
    (broadcast.c.status != COMPLETED, "F"),
    ((broadcast.c.started == 0) | HAS_UNDELIVERED, "S"),
    else_="D",
)
"""`D` means sent to at least one recipient and delivered to all; `E` is never shown (contract reference, v1
broadcasts)."""
BASE_TEXT: ColumnElement[str] = broadcast.c.text.op("->>", return_type=String())(broadcast.c.base_language)

SUMMARY_FIELDS: dict[str, Any] = {
    "id": broadcast.c.id,
    "urns": broadcast.c.urns,
    "contacts": list_contacts(OF_BROADCAST, contact.c.uuid),
    "groups": list_groups(OF_BROADCAST, group.c.uuid),
    "text": BASE_TEXT,
    "created_on": broadcast.c.created_on,
    "status": LETTER,
}
SUMMARY = Record(SUMMARY_FIELDS)
MASKED_SUMMARY = Record({**SUMMARY_FIELDS, "urns": []})
"""The record in an anonymous workspace, which shows no URN."""
INTERRUPTED = "interrupted"

HAS_BEGUN: ColumnElement[bool] = broadcast.c.scheduled_on.is_(None) | (
    broadcast.c.scheduled_on <= broadcast.c.created_on
)
IS_SCHEDULED: ColumnElement[bool] = broadcast.c.scheduled_on > broadcast.c.created_on
"""Has not begun: waits for its time, or was stopped before."""
IS_UNFINISHED: ColumnElement[bool] = broadcast.c.status.in_(
    [literal(status, literal_execute=True) for status in (PENDING, QUEUED, STARTED)]
)
IS_GOING = and_(IS_UNFINISHED, HAS_BEGUN)
"""A worker has messages to create."""
WAITS = and_(broadcast.c.status == literal(PENDING, literal_execute=True), IS_SCHEDULED)
STOPPED = "stopped"
MOST_COUNTED = 10_000


def only_begun(query: ListQuery) -> list[Condition]:
    """Broadcasts that have not begun are listed only with the parameter `scheduled`, and then alone; who names one by
    `uuid` or `id` finds it in any case.
    """
    if query.values.get("scheduled"):
        return [IS_SCHEDULED]
    return [] if {"uuid", "id"} & query.values.keys() else [HAS_BEGUN]


BROADCASTS = ListSpec(
    broadcast,
    BROADCAST_RECORD,
    by_change(Order(broadcast.c.created_on, broadcast.c.id)),
    masked=MASKED_BROADCAST_RECORD,
    is_followed=True,
    standing=only_begun,
    options=frozenset({"scheduled"}),
    filters={
        "id": equals(broadcast.c.id),
        "uuid": equals(broadcast.c.uuid),
        "modified_after": changed_after(broadcast),
        **within(broadcast.c.created_on),
    },
)


def _with_letters(_query: ListQuery, letters: Sequence[str]) -> Condition:
    return LETTER.in_([letter.upper() for letter in letters])


BROADCASTS_V1 = ListSpec(
    broadcast,
    SUMMARY,
    Order(broadcast.c.created_on, broadcast.c.id),
    masked=MASKED_SUMMARY,
    standing=only_begun,
    filters={"id": one_of(broadcast.c.id), "status": _with_letters, **within(broadcast.c.created_on)},
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
    template: TemplateWish | None = None


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
        "template": _stored(new.template),
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


def _stored(wish: TemplateWish | None) -> dict[str, Any] | None:
    return wish and {"uuid": wish.uuid, "name": wish.name, "variables": list(wish.variables)}


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
    waiting = select(message.c.id).where(unsent, message.c.status.in_((MESSAGE_QUEUED, ERRORED))).order_by(message.c.id)
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
