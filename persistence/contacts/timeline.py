"""Everything that is known to have happened with a contact, newest first, and the notes of people on contacts."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, FromClause, and_, delete, func, literal_column, null, or_, select

from persistence.channels.events import CHANNEL_EVENTS
from persistence.conversations import tell_of_note
from persistence.database import Transaction
from persistence.deletions import NOTE, note_deleted
from persistence.errors import NotAllowed, RecordMissing
from persistence.groups.groups import hold_contacts
from persistence.leases import beside_index
from persistence.lists import ListQuery, ListSpec, belongs_to, equals
from persistence.messages.records import MESSAGES
from persistence.pages import Order, Position
from persistence.records import Record, Shown, optional, select_records
from persistence.sql.columns import time_text
from persistence.tables.accounts import user
from persistence.tables.channels import channel_event
from persistence.tables.contacts import CONTACT_REF, TOPIC_REF, contact, contact_note, ticket, ticket_event, topic
from persistence.tables.flows import FLOW_REF, flow, flow_run
from persistence.tables.messages import DELETED, message
from persistence.workspaces.records import Workspace

assignee = user.alias("assignee")

RUN = Record(
    {
        "uuid": flow_run.c.uuid,
        "flow": Record(FLOW_REF),
        "status": flow_run.c.status,
        "responded": flow_run.c.responded,
    }
)
RUNS = flow_run.join(flow, flow.c.id == flow_run.c.flow_id)
TICKET_EVENTS = (
    ticket.join(ticket_event, ticket_event.c.ticket_id == ticket.c.id)
    .join(topic, topic.c.id == ticket.c.topic_id)
    .outerjoin(user, user.c.id == ticket_event.c.user_id)
    .outerjoin(assignee, assignee.c.id == ticket_event.c.assignee_id)
)
RANKS = 8
"""A place in the timeline is a time, and for the same time a number: the id of the record times this, and its kind."""

rows = contact_note.c
SOURCE: FromClause = contact_note.join(contact, contact.c.id == rows.contact_id).outerjoin(
    user, user.c.id == rows.user_id
)


@dataclass(frozen=True, slots=True)
class Kind:
    """What happens with contacts: the property of the item that contains the record, where the records are, and their
    time. Records of a kind are found by the contact's index.
    """

    name: str
    shown_as: str | None
    record: Record | Callable[[ListQuery], Record]
    source: FromClause
    moment: ColumnElement[datetime]
    id: ColumnElement[int]
    workspace_id: ColumnElement[int]
    contact_id: ColumnElement[int]
    conditions: Sequence[ColumnElement[bool]] = ()
    failed_reason: ColumnElement[str | None] | None = None


def refer_to_user(people: FromClause) -> Record:
    """A user by address and name, or null."""
    name = func.trim(people.c.first_name + literal_column("' '") + people.c.last_name)
    return optional(people.c.id, {"email": people.c.email, "name": name})


TICKET_EVENT = Record(
    {
        "ticket": ticket.c.uuid,
        "type": ticket_event.c.type,
        "topic": Record(TOPIC_REF),
        "user": refer_to_user(user),
        "assignee": refer_to_user(assignee),
        "note": ticket_event.c.note,
    }
)


NOTE_RECORD = Record(
    {
        "uuid": rows.uuid,
        "contact": Record(CONTACT_REF),
        "user": refer_to_user(user),
        "text": rows.text,
        "created_on": rows.created_on,
    }
)


def _run_kind(name: str, moment: ColumnElement[Any]) -> Kind:
    rows = flow_run.c
    return Kind(
        name,
        "run",
        RUN,
        RUNS,
        moment,
        rows.id,
        rows.workspace_id,
        rows.contact_id,
        [moment.is_not(None)],
    )


KINDS = (
    Kind(
        "created",
        None,
        Record({"uuid": contact.c.uuid}),
        contact,
        contact.c.created_on,
        contact.c.id,
        contact.c.workspace_id,
        contact.c.id,
        [~contact.c.is_deleted],
    ),
    _run_kind("run_started", flow_run.c.created_on),
    _run_kind("run_ended", flow_run.c.exited_on),
    Kind(
        "ticket_event",
        "ticket_event",
        TICKET_EVENT,
        TICKET_EVENTS,
        ticket_event.c.created_on,
        ticket_event.c.id,
        ticket.c.workspace_id,
        ticket.c.contact_id,
        [ticket_event.c.workspace_id == ticket.c.workspace_id],
    ),
    Kind(
        "note",
        "note",
        NOTE_RECORD,
        SOURCE,
        contact_note.c.created_on,
        contact_note.c.id,
        contact_note.c.workspace_id,
        contact_note.c.contact_id,
    ),
    Kind(
        "channel_event",
        "channel_event",
        CHANNEL_EVENTS.record_of,
        CHANNEL_EVENTS.source_of(),
        channel_event.c.created_on,
        channel_event.c.id,
        channel_event.c.workspace_id,
        channel_event.c.contact_id,
    ),
    Kind(
        "message",
        "message",
        MESSAGES.record_of,
        MESSAGES.source_of(),
        message.c.created_on,
        message.c.id,
        message.c.workspace_id,
        message.c.contact_id,
        [message.c.visibility != DELETED],
        message.c.failed_reason,
    ),
)
"""In the order of what comes first at the same time."""


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """Items, newest first, and the place after which the next page begins (None: there is none)."""

    items: list[Shown]
    next: Position | None


def read_timeline(
    tx: Transaction,
    workspace: Workspace,
    contact_id: int,
    *,
    position: Position | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    kinds: Collection[str],
    size: int,
) -> TimelinePage:
    """A page of the timeline of a contact, with these kinds of events; one statement for each kind."""
    query = ListQuery(tx, workspace)
    found: list[tuple[datetime, int, Shown]] = []
    for rank, kind in enumerate(KINDS):
        if kind.name not in kinds:
            continue
        limits = [kind.moment <= before] if before is not None else []
        limits += [kind.moment >= after] if after is not None else []
        limits += [] if position is None else [_is_older(kind, rank, position)]
        mine = (beside_index(kind.workspace_id) == workspace.id) & (kind.contact_id == contact_id)
        picked = (
            select(kind.id.label("id"), kind.moment.label("moment"))
            .select_from(kind.source)
            .where(mine, *kind.conditions, *limits)
            .order_by(kind.moment.desc(), kind.id.desc())
            .limit(size + 1)
            .cte("picked")
        )
        record = kind.record if isinstance(kind.record, Record) else kind.record(query)
        reason = null() if kind.failed_reason is None else kind.failed_reason
        beside = (reason, picked.c.moment, picked.c.id)
        statement = select_records(record, kind.source, kind.id, picked, is_sqlite=tx.sqlite).add_columns(*beside)
        rows = tx.execute(statement, query.asking).all()
        found += [
            (moment, number * RANKS + rank, _item(kind, moment, reason, shown))
            for (*_, reason, moment, number), shown in zip(rows, record.read(rows), strict=True)
        ]
    found.sort(key=lambda each: each[:2], reverse=True)
    shown = found[:size]
    following = Position(shown[-1][0], shown[-1][1]) if len(found) > size else None
    return TimelinePage([item for _, _, item in shown], following)


CONTACT_NOTES = ListSpec(
    contact_note,
    NOTE_RECORD,
    Order(rows.created_on, rows.id),
    source=SOURCE,
    filters={"uuid": equals(rows.uuid), "contact": belongs_to(rows.contact_id, contact)},
)


def write_note(tx: Transaction, workspace_id: int, contact_id: int, user_id: int, text: str) -> int:
    """Write a note on a contact; returns its id. Raises LostRace if the contact was deleted since the caller found
    it.
    """
    hold_contacts(tx, workspace_id, [contact_id])
    values = {"contact_id": contact_id, "user_id": user_id, "text": text, "created_on": tx.now}
    note_id = tx.insert(contact_note, workspace_id=workspace_id, **values)
    tell_of_note(tx, workspace_id, contact_id)
    return note_id


def delete_note(tx: Transaction, workspace_id: int, uuid: str, *, own_of: int | None = None) -> None:
    """Delete a note; `own_of` is the user who may only delete their own. Raises RecordMissing and NotAllowed."""
    mine = (rows.workspace_id == workspace_id) & (rows.uuid == uuid)
    found = tx.execute(select(rows.user_id, rows.contact_id).where(mine)).first()
    if found is None:
        raise RecordMissing
    if own_of is not None and found.user_id != own_of:
        raise NotAllowed("Agents delete only their own notes.")
    if not tx.execute(delete(contact_note).where(mine)).rowcount:
        raise RecordMissing
    note_deleted(tx, workspace_id, NOTE, [uuid])
    tell_of_note(tx, workspace_id, found.contact_id)


def _is_older(kind: Kind, rank: int, position: Position) -> ColumnElement[bool]:
    """Whether an event comes after a place; the first comparison lets the database seek in the index."""
    last_id = (position.id - rank - 1) // RANKS
    return and_(kind.moment <= position.value, or_(kind.moment < position.value, kind.id <= last_id))


def _item(kind: Kind, moment: datetime, failed_reason: str | None, shown: Shown) -> Shown:
    item: Shown = {"type": kind.name, "time": time_text(moment)}
    item |= {} if kind.shown_as is None else {kind.shown_as: shown}
    return item | ({} if failed_reason is None else {"failed_reason": failed_reason})
