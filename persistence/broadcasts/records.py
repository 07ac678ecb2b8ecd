"""Broadcasts, one text to many contacts whose messages a worker creates later, as both generations show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, String, and_, case, delete, exists, func, literal, literal_column, select

from persistence.changes import note_changed
from persistence.contacts.audience import Audience, leave_audience, list_contacts, list_groups, save_audience
from persistence.database import Transaction
from persistence.deletions import BROADCAST, note_deleted
from persistence.errors import RecordMissing
from persistence.lists import (
    Condition,
    ListQuery,
    ListSpec,
    belongs_to,
    by_change,
    changed_after,
    equals,
    insert_read,
    one_of,
    stamped_on,
    within,
)
from persistence.messages.outgoing import give_up
from persistence.messages.templated import TemplateWish
from persistence.pages import Order
from persistence.records import Record, Shown, write_record
from persistence.repeating import NEVER, find_next_due
from persistence.sql.columns import is_uuid, new_uuid, split, time_text
from persistence.sql.names import must_exist
from persistence.stamps import BROADCAST_DONE, final_time, tell
from persistence.statements import update
from persistence.tables.contacts import CONTACT_REF, GROUP_REF, contact, group
from persistence.tables.flows import OF_BROADCAST
from persistence.tables.messages import ERRORED, IS_UNDELIVERED, broadcast, message
from persistence.tables.messages import QUEUED as MESSAGE_QUEUED
from persistence.workspaces.records import Workspace

WAKE = "broadcasts"

_OTHER = broadcast.alias()
_PARENT: ColumnElement[str] = (
    select(_OTHER.c.uuid)
    .where(_OTHER.c.workspace_id == broadcast.c.workspace_id, _OTHER.c.id == broadcast.c.parent_id)
    .correlate(broadcast)
    .scalar_subquery()
)
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
    "repeat": broadcast.c.repeat,
    "days": broadcast.c.days,
    "repeat_until": broadcast.c.repeat_until,
    "repeat_times": broadcast.c.repeat_times,
    "repeated": broadcast.c.repeated,
    "parent": _PARENT,
    "error": broadcast.c.error,
    "modified_on": stamped_on(broadcast),
}
BROADCAST_RECORD = Record(_FIELDS)
MASKED_BROADCAST_RECORD = Record({**_FIELDS, "urns": []})
"""The record in an anonymous workspace, which shows no URN."""
_ROW = Record({**_FIELDS, **dict.fromkeys(("contacts", "groups", "parent", "modified_on"))})
"""What the row of a broadcast that is created tells of it."""

HAS_UNDELIVERED = exists().where(message.c.broadcast_id == broadcast.c.id, IS_UNDELIVERED).correlate(broadcast)

PENDING, QUEUED, STARTED, COMPLETED, FAILED = "pending", "queued", "started", "completed", "failed"
DRAFT, INTERRUPTED = "draft", "interrupted"
LETTER = case(
    (broadcast.c.status.in_((PENDING, DRAFT)), "I"),
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
IS_DRAFT: ColumnElement[bool] = broadcast.c.status == literal_column(f"'{DRAFT}'")
IS_NO_DRAFT: ColumnElement[bool] = broadcast.c.status != literal_column(f"'{DRAFT}'")
HAS_BEGUN: ColumnElement[bool] = broadcast.c.scheduled_on.is_(None) | (
    broadcast.c.scheduled_on <= broadcast.c.created_on
)
IS_SCHEDULED: ColumnElement[bool] = broadcast.c.scheduled_on > broadcast.c.created_on
"""Has not begun: waits for its time, or was stopped before. One that repeats never begins itself."""
IS_UNFINISHED: ColumnElement[bool] = broadcast.c.status.in_(
    [literal(status, literal_execute=True) for status in (PENDING, QUEUED, STARTED)]
)
IS_GOING = and_(IS_UNFINISHED, HAS_BEGUN)
"""A worker has messages to create."""
WAITS = and_(broadcast.c.status == literal(PENDING, literal_execute=True), IS_SCHEDULED)
STOPPED = "stopped"
MOST_COUNTED = 10_000
SHOWN_TIMES = 3


def only_begun(query: ListQuery) -> list[Condition]:
    """Broadcasts that have not begun are listed only with the parameter `scheduled`, and drafts with `draft`, and then
    alone; who names one by `uuid` or `id` finds it in any case.
    """
    asked = []
    if query.values.get("draft"):
        asked.append(IS_DRAFT)
    if query.values.get("scheduled"):
        asked += [IS_SCHEDULED, IS_NO_DRAFT]
    if asked or {"uuid", "id"} & query.values.keys():
        return asked
    return [HAS_BEGUN, IS_NO_DRAFT]


BROADCASTS = ListSpec(
    broadcast,
    BROADCAST_RECORD,
    by_change(Order(broadcast.c.created_on, broadcast.c.id)),
    masked=MASKED_BROADCAST_RECORD,
    is_followed=True,
    standing=only_begun,
    options=frozenset({"scheduled", "draft"}),
    filters={
        "id": equals(broadcast.c.id),
        "uuid": equals(broadcast.c.uuid),
        "parent": belongs_to(broadcast.c.parent_id, broadcast),
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


class When(NamedTuple):
    """When a broadcast is sent, at once without a time, and how it repeats; as the table has it."""

    @classmethod
    def of(cls, row: Row[Any]) -> "When":
        """That of a stored broadcast."""
        return cls(*(getattr(row, name) for name in cls._fields))

    scheduled_on: datetime | None = None
    repeat: str | None = None
    days: str | None = None
    time_of_day: time | None = None
    repeat_until: date | None = None
    repeat_times: int | None = None


AT_ONCE = When()


@dataclass(frozen=True, slots=True)
class NewBroadcast:
    """A broadcast to create: its content by language, its audience, and when. With `is_evaluated` the
    texts are sent unchanged: expressions in them were evaluated before, for another contact.
    """

    text: Mapping[str, str]
    base_language: str
    audience: Audience
    attachments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    quick_replies: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    channel_id: int | None = None
    is_evaluated: bool = False
    when: When = AT_ONCE
    template: TemplateWish | None = None
    is_draft: bool = False

    @property
    def content(self) -> dict[str, Any]:
        """What the row has of it."""
        return {
            "urns": list(self.audience.urns),
            "text": dict(self.text),
            "attachments": dict.fromkeys(self.text, ()) | dict(self.attachments),
            "files": dict(self.files),
            "quick_replies": dict.fromkeys(self.text, ()) | dict(self.quick_replies),
            "template": _stored(self.template),
            "base_language": self.base_language,
            "channel_id": self.channel_id,
            "is_evaluated": self.is_evaluated,
            "query": self.audience.query,
            **self.when._asdict(),
        }


def create_broadcast(tx: Transaction, workspace_id: int, new: NewBroadcast, *, parent_id: int | None = None) -> int:
    """Stores a broadcast as `pending`, one of a parent as `queued`, and wakes the worker that creates its messages; a
    draft waits. Returns its id.
    """
    return int(_create(tx, workspace_id, new, parent_id)["id"])


def create_shown(tx: Transaction, workspace: Workspace, new: NewBroadcast) -> str:
    """Stores the broadcast of a request; returns it as its list shows it."""
    shown = _create(tx, workspace.id, new) | new.audience.shown
    shown["modified_on"] = time_text(final_time(tx, workspace.id))
    return write_record(shown | {"urns": []} if workspace.is_anonymous else shown)


def _create(tx: Transaction, workspace_id: int, new: NewBroadcast, parent_id: int | None = None) -> Shown:
    values = {
        "workspace_id": workspace_id,
        "uuid": new_uuid(),
        "status": DRAFT if new.is_draft else PENDING if parent_id is None else QUEUED,
        "parent_id": parent_id,
        "created_on": tx.now,
        "modified_on": tx.now,
        **new.content,
    }
    shown = insert_read(tx, broadcast, values, _ROW)
    note_changed(tx, broadcast, workspace_id, [shown["id"]])
    save_audience(tx, workspace_id, OF_BROADCAST, shown["id"], new.audience)
    if not new.is_draft:
        tx.wake(WAKE)
    return shown


def change_broadcast(tx: Transaction, workspace_id: int, broadcast_id: int, new: NewBroadcast) -> None:
    """Gives a broadcast that has not begun, and that the caller has locked, another content, audience and time. Sent at
    once it is created at this moment, like one that begins.
    """
    rows = broadcast.c
    mine = (rows.workspace_id == workspace_id) & (rows.id == broadcast_id)
    values = {**new.content, "status": DRAFT if new.is_draft else PENDING, "modified_on": tx.now}
    if not new.is_draft and new.when.scheduled_on is None:
        values["created_on"] = tx.now
    tx.execute(update(broadcast).where(mine).values(values))
    note_changed(tx, broadcast, workspace_id, [broadcast_id])
    leave_audience(tx, workspace_id, OF_BROADCAST, broadcast_id)
    save_audience(tx, workspace_id, OF_BROADCAST, broadcast_id, new.audience)
    if not new.is_draft:
        tx.wake(WAKE)


def delete_broadcast(tx: Transaction, workspace_id: int, broadcast_id: int, uuid: str) -> None:
    """Deletes a draft that the caller has locked."""
    leave_audience(tx, workspace_id, OF_BROADCAST, broadcast_id)
    tx.execute(delete(broadcast).where(broadcast.c.workspace_id == workspace_id, broadcast.c.id == broadcast_id))
    note_deleted(tx, workspace_id, BROADCAST, [uuid])


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
    stopped = tx.execute(stopping.values(**values).returning(rows.id)).scalars().all()
    note_changed(tx, broadcast, workspace_id, stopped)
    tell(tx, workspace_id, BROADCAST_DONE, stopped)
    unsent = (message.c.workspace_id == workspace_id) & message.c.broadcast_id.in_(ids)
    waiting = select(message.c.id).where(unsent, message.c.status.in_((MESSAGE_QUEUED, ERRORED))).order_by(message.c.id)
    for some in split(list(tx.execute(waiting).scalars())):
        give_up(tx, workspace_id, some, STOPPED)


def find_following(workspace: Workspace, when: When, due_on: datetime, after: datetime) -> datetime | None:
    """The first time after a moment at which a broadcast that was due is due again; None if never."""
    return find_next_due(
        due_on, when.repeat or NEVER, when.days, workspace.zone, after, when.time_of_day, when.repeat_until
    )


def find_times(
    workspace: Workspace, when: When, repeated: int = 0, *, most: int = SHOWN_TIMES, upto: datetime | None = None
) -> list[datetime]:
    """The next times of a broadcast that was made so many times already, up to a moment."""
    moments: list[datetime] = []
    left = most if when.repeat_times is None else min(most, when.repeat_times - repeated)
    moment = when.scheduled_on
    while moment is not None and len(moments) < left and (upto is None or moment <= upto):
        moments.append(moment)
        moment = find_following(workspace, when, moment, moment)
    return moments


def read_progress(tx: Transaction, workspace: Workspace, uuid: str) -> dict[str, Any]:
    """How far a broadcast is, with its next times if it waits, and with the number of its messages by status, counted
    among the first of them. Raises RecordMissing.
    """
    rows = broadcast.c
    mine = (rows.workspace_id == workspace.id) & (rows.uuid == uuid)
    row = tx.execute(select(broadcast).where(mine)).first()
    if row is None:
        raise RecordMissing
    waits = row.status == PENDING and row.scheduled_on is not None and row.scheduled_on > row.created_on
    theirs = (message.c.workspace_id == workspace.id) & (message.c.broadcast_id == row.id)
    some = select(message.c.status).where(theirs).limit(MOST_COUNTED + 1).subquery()
    by_status = tx.execute(select(some.c.status, func.count().label("number")).group_by(some.c.status))
    counted: dict[str, int] = {each.status: each.number for each in by_status}
    number = sum(counted.values())
    shown = ("uuid", "status", "query", "scheduled_on", "stopped_on", "total", "started")
    return {name: getattr(row, name) for name in shown} | {
        "next_times": find_times(workspace, When.of(row), row.repeated) if waits else [],
        "messages": {status: count for status, count in sorted(counted.items())},
        "is_exact": number <= MOST_COUNTED,
    }
