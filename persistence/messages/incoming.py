"""Messages that came in through a channel: how they are stored, and how automatic answers in a circle are found, for
example between two phones whose flows catch all.

What a machine does again and again is counted, because a person who answers a survey quickly gets as many messages, but
others. Each message of a flow that began anew because the contact wrote or called counts. What goes on (a flow that
waited, the reply of a webhook) counts only if its text was sent before, or once there are many times more messages than
a person reads. What is not an answer (campaigns, broadcasts, starts by people) does not count, and after a message that
a person wrote the count begins anew.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Executable, exists, literal, literal_column, select, true

from channels.sms import count_segments
from persistence.changes import change_contacts, change_messages, note_new_messages
from persistence.channels.channels import SEEN_NAME, SEEN_UUID, join_channels
from persistence.channels.event_form import BEGUN
from persistence.contacts.owners import UrnOwner
from persistence.database import Transaction
from persistence.leases import Share, has_row, is_free, list_workspaces_in_share
from persistence.messages.records import NEW_MESSAGE_RECORD
from persistence.records import Shown
from persistence.sessions.parking import IS_WAITING, find_free_contacts
from persistence.sql.columns import new_uuid, split
from persistence.stamps import MESSAGE_FAILED, MESSAGE_RECEIVED, NewMessage, tell
from persistence.statements import among, insert_rows, statement
from persistence.tables.accounts import workspace
from persistence.tables.campaigns import trigger
from persistence.tables.channels import channel_event
from persistence.tables.contacts import contact
from persistence.tables.flows import flow_session
from persistence.tables.messages import (
    CIRCLE,
    DELETED,
    FAILED,
    HANDLED,
    INCOMING,
    IS_UNHANDLED,
    OUTGOING,
    QUEUED,
    VISIBLE,
    message,
)
from persistence.triggers.records import IS_MESSAGE_TRIGGER
from persistence.workspaces.records import USUAL_ANSWERS

_rows = message.c
_OUTGOING_COLUMNS = (
    *("uuid", "workspace_id", "contact_id", "urn", "channel_id", "broadcast_id", "flow_id", "direction", "type"),
    *("status", "visibility", "text", "attachments", "quick_replies", "template", "failed_reason", "error_count"),
    *("author_id", "automatic", "segments", "is_fallback", "due_on", "due_reason", "created_on", "modified_on"),
)
_insert_outgoing = insert_rows(message, _OUTGOING_COLUMNS, (_rows.id, _rows.uuid, _rows.folder))
_insert_shown = insert_rows(message, _OUTGOING_COLUMNS, (*NEW_MESSAGE_RECORD.own_columns, _rows.folder, _rows.id))
_insert_incoming = insert_rows(
    message,
    (
        *("uuid", "workspace_id", "contact_id", "urn", "channel_id", "direction", "type", "status", "visibility"),
        *("text", "attachments", "quick_replies", "external_id", "error_count", "segments"),
        *("created_on", "stored_on", "modified_on"),
    ),
    (_rows.id, _rows.uuid, _rows.folder),
    unless_taken=("channel_id", "direction", "external_id", "workspace_id"),
)

Row = Mapping[str, Any]

NEUTRAL, GOING_ON, ANEW = 0, 1, 2
"""What made a message by itself: nothing that the contact did; a dialog that goes on; a flow that began because the
contact wrote or called."""
ANSWERS = (GOING_ON, ANEW)
WITHIN = timedelta(minutes=5)
MOST_FACTOR = 4
MOST_READ = 4000
"""Messages of a contact that are looked at."""

HANDLING_FAILED = "handling_failed"


@dataclass(frozen=True, slots=True)
class Received:
    """The report of a channel: who sent what and when; `external_id` distinguishes repeats from new messages."""

    owner: UrnOwner
    text: str
    received_on: datetime
    external_id: str
    attachments: tuple[dict[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """The message of a report, and whether this was its first report."""

    message_id: int
    is_new: bool


def store_received(
    tx: Transaction, workspace_id: int, channel_id: int, reports: Sequence[Received]
) -> dict[str, Stored]:
    """Store incoming messages as `queued` for handling, by external id; repeats return the existing message. The caller
    leaves out messages that another workspace got through the channel while it had it (`find_known_messages`). One
    statement for any number, two if there are repeats. Wakes the workers that handle incoming messages when there are
    new ones.
    """
    wanted = {report.external_id: report for report in reports}
    if not wanted:
        return {}
    rows = [_row(tx, workspace_id, channel_id, report) for report in wanted.values()]
    new_contacts = {report.owner.contact_id for report in wanted.values() if report.owner.is_new}
    ids = insert_incoming(tx, workspace_id, rows, new_contacts)
    if ids:
        tx.wake("incoming")
    stored = {row["external_id"]: Stored(ids[row["uuid"]], True) for row in rows if row["uuid"] in ids}
    repeated = [name for name in wanted if name not in stored]
    if repeated:
        columns = message.c
        known = select(columns.id, columns.external_id).where(
            columns.workspace_id == workspace_id,
            columns.channel_id == channel_id,
            columns.direction == INCOMING,
            columns.external_id.in_(repeated),
        )
        stored |= {name: Stored(message_id, False) for message_id, name in tx.execute(known) if name}
    return stored


def find_known_messages(tx: Transaction, channel_id: int, external_ids: Collection[str]) -> dict[str, tuple[int, int]]:
    """The workspace and id of those messages that came through the channel before, by external id; one statement."""
    known = _select_known.rows(tx, channel_id, [*external_ids])
    return {name: (workspace_id, number) for name, workspace_id, number in known}


def find_queued(tx: Transaction, workspace_ids: Sequence[int], ids: Sequence[int]) -> set[int]:
    """Those of these incoming messages that are not handled yet; one statement."""
    found = _select_statuses.rows(tx, workspace_ids, ids) if ids else ()
    return {number for number, status in found if status == QUEUED}


def insert_outgoing(tx: Transaction, workspace_id: int, rows: Sequence[Row]) -> dict[str, int]:
    """Inserts outgoing messages; returns their ids by UUID."""
    return _note(tx, workspace_id, rows, _insert_outgoing.rows(tx, rows))


def insert_shown(tx: Transaction, workspace_id: int, row: Row) -> Shown:
    """Inserts an outgoing message that no flow made; returns it as lists show it."""
    stored = _insert_shown.rows(tx, [row])
    _note(tx, workspace_id, [row], [(number, row["uuid"], folder) for *_, folder, number in stored])
    return NEW_MESSAGE_RECORD.read(stored)[0]


def insert_incoming(
    tx: Transaction, workspace_id: int, rows: Sequence[Row], new_contacts: Set[int] = frozenset()
) -> dict[str, int]:
    """Inserts those of these incoming messages that are not there yet; returns their ids by UUID. The `new_contacts`
    were created by this unit of work, and these are their first messages.
    """
    return _note(tx, workspace_id, rows, _insert_incoming.rows(tx, rows), new_contacts)


def note_stored(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> None:
    """Notes messages that were inserted otherwise."""
    names = ("contact_id", "channel_id", "direction", "status", "segments", "created_on", "visibility", "folder")
    for some in split(ids):
        mine = (_rows.workspace_id == workspace_id) & _rows.id.in_(some)
        found = tx.execute(select(_rows.id, *(_rows[name] for name in names)).where(mine)).mappings()
        note_new_messages(tx, workspace_id, [_new_message(dict(row), row["id"], row["folder"]) for row in found])


@dataclass(slots=True)
class Answers:
    """The automatic answers that a contact got lately without a person's doing."""

    limit: int
    is_stopped: bool
    total: int = 0
    anew: int = 0
    texts: Counter[str] = field(default_factory=Counter)
    is_over: bool = False

    def count(self, automatic: int | None, text: str) -> None:
        """Counts a message, the latest one first."""
        if automatic is None:
            self.is_over = True
        elif not self.is_over and automatic in ANSWERS:
            self.total += 1
            if automatic == ANEW:
                self.anew += 1
            else:
                self.texts[text] += 1

    @property
    def go_in_circle(self) -> bool:
        repeated = self.texts.total() - len(self.texts)
        return self.limit > 0 and (self.anew + repeated >= self.limit or self.total >= self.limit * MOST_FACTOR)


def find_circles(tx: Transaction, workspace_id: int, contact_ids: Collection[int]) -> set[int]:
    """The contacts of these that get no automatic answers any more; one statement, which reads the messages of five
    minutes. Those of whom it is news are marked.
    """
    if not contact_ids:
        return set()
    rows = _select_answers.rows(tx, workspace_id, sorted(contact_ids), tx.now - WITHIN)
    known: dict[int, Answers] = {}
    for contact_id, stopped_on, limit, automatic, text, number in rows:
        answers = known.get(contact_id)
        if answers is None:
            wanted = USUAL_ANSWERS if limit is None else limit
            answers = known[contact_id] = Answers(wanted, is_stopped=stopped_on is not None)
        if number is not None:
            answers.count(automatic, text)
    news = [contact_id for contact_id, each in known.items() if each.go_in_circle and not each.is_stopped]
    mark(tx, workspace_id, news, is_stopped=True)
    return {contact_id for contact_id, each in known.items() if each.is_stopped or each.go_in_circle}


def mark(tx: Transaction, workspace_id: int, contact_ids: Sequence[int], *, is_stopped: bool) -> None:
    """Marks contacts as those that get no automatic answers, or lets them have answers again."""
    if not contact_ids:
        return
    rows = contact.c
    others = rows.answers_stopped_on.is_(None) if is_stopped else rows.answers_stopped_on.is_not(None)
    theirs = rows.id.in_(sorted(contact_ids)) & others
    change_contacts(tx, workspace_id, theirs, {"answers_stopped_on": tx.now if is_stopped else None})


def answer_again(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Lets contacts have automatic answers again; the count begins anew, as after a message of a person."""
    mark(tx, workspace_id, contact_ids, is_stopped=False)
    rows = message.c
    recent = (rows.direction == OUTGOING) & (rows.created_on > tx.now - WITHIN) & rows.automatic.in_(ANSWERS)
    theirs = rows.contact_id.in_(sorted(contact_ids)) & recent
    change_messages(tx, workspace_id, theirs, {"automatic": NEUTRAL})


def channels_in_circle(rows: Iterable[Mapping[str, Any]]) -> set[int]:
    """The channels by which new messages would have gone, had they not been answers in a circle."""
    return {row["channel_id"] for row in rows if row["failed_reason"] == CIRCLE and row["channel_id"] is not None}


@dataclass(frozen=True, slots=True)
class UnhandledMessage:
    """An incoming message; `channel` and `urn` say how it came in."""

    id: int
    uuid: str
    contact_id: int
    text: str
    attachments: Sequence[Mapping[str, str]]
    urn: str | None
    channel_uuid: str | None
    channel_name: str | None
    created_on: datetime


def list_receiving_workspaces(tx: Transaction, share: Share = Share.ALL) -> list[int]:
    """The workspaces with unhandled messages."""
    return list_workspaces_in_share(tx, message.c.workspace_id, IS_UNHANDLED, message.c.created_on, share)


def finish_plain_messages(tx: Transaction, workspace_id: int, limit: int) -> int:
    """Put the oldest messages that no flow needs into the inbox; returns how many. Several processes may do so. No flow
    needs a message if its workspace has no trigger for messages and its contact is in no flow.
    """
    # Two statements: in a join with the other rows, the database might read and lock the due rows repeatedly.
    ids = [number for (number,) in _lock_plain.rows(tx, workspace_id, tx.now, limit)]
    if not ids:
        return 0
    return len(change_messages(tx, workspace_id, ids, {"status": HANDLED}, only=IS_UNHANDLED))


def may_need_flows(tx: Transaction, workspace_id: int) -> bool:
    """Whether there may be messages that `finish_plain_messages` leaves to flows."""
    return bool(_look_for_need.rows(tx, workspace_id)[0][0])


def find_senders(tx: Transaction, workspace_id: int, limit: int) -> list[int]:
    """Contacts with unhandled messages that are neither leased nor parked, those that wait longest first."""
    return find_free_contacts(tx, workspace_id, message, IS_UNHANDLED, message.c.created_on, limit)


def load_first_unhandled(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> dict[int, UnhandledMessage]:
    """The oldest unhandled message of each contact, by contact id; one statement."""
    found = _select_unhandled.rows(tx, workspace_id, contact_ids)
    return {one.contact_id: one for one in (UnhandledMessage(*row) for row in found)}


def find_newcomers(tx: Transaction, workspace_id: int, messages: Sequence[UnhandledMessage]) -> set[int]:
    """Those of the senders with whom a conversation begins: they have no earlier message, and no channel said before
    that they began one."""
    ids = [each.id for each in messages]
    other = message.alias("other")
    earlier = exists().where(other.c.contact_id == message.c.contact_id, other.c.id < message.c.id)
    mine = (message.c.workspace_id == workspace_id) & message.c.id.in_(ids)
    begun = exists().where(channel_event.c.contact_id == message.c.contact_id, channel_event.c.type == BEGUN)
    return set(tx.execute(select(message.c.contact_id).where(mine, ~earlier, ~begun)).scalars())


def has_written(tx: Transaction, workspace_id: int, contact_id: int) -> bool:
    """Whether a conversation with a contact has begun: a next message would come from no newcomer."""
    has_message = exists().where(message.c.workspace_id == workspace_id, message.c.contact_id == contact_id)
    events = channel_event.c
    has_begun = exists().where(
        events.workspace_id == workspace_id, events.contact_id == contact_id, events.type == BEGUN
    )
    return bool(tx.execute(select(has_message | has_begun)).scalar_one())


def finish_messages(tx: Transaction, workspace_id: int, flows: Mapping[int, int | None]) -> None:
    """Marks messages as handled; `flows` says for each id which flow handled it, None for the inbox."""
    by_flow: dict[int | None, list[int]] = {}
    for message_id, flow_id in flows.items():
        by_flow.setdefault(flow_id, []).append(message_id)
    for flow_id, ids in by_flow.items():
        change_messages(tx, workspace_id, ids, {"status": HANDLED, "flow_id": flow_id}, only=IS_UNHANDLED)


def give_up_messages(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> None:
    """Says of messages that no flow could handle them: each attempt ended its worker. They go to the inbox."""
    change_messages(tx, workspace_id, ids, {"failed_reason": HANDLING_FAILED}, only=IS_UNHANDLED)


@statement
def _select_statuses(workspace_ids: Sequence[int], ids: Sequence[int]) -> Executable:
    # Statuses are compared outside: the index of messages that are not handled would be read as a whole.
    return select(_rows.id, _rows.status).where(among(_rows.workspace_id, workspace_ids), among(_rows.id, ids))


@statement
def _select_known(channel_id: int, external_ids: Sequence[str]) -> Executable:
    mine = (_rows.channel_id == channel_id) & (_rows.direction == INCOMING)
    return select(_rows.external_id, _rows.workspace_id, _rows.id).where(
        mine, among(_rows.external_id, external_ids, "TEXT")
    )


@statement
def _select_answers(
    workspace_id: int, contact_ids: Sequence[int], since: datetime, *, is_sqlite: bool = False
) -> Executable:
    rows = message.c
    limit = select(workspace.c.answer_limit).where(workspace.c.id == workspace_id).scalar_subquery()
    recent = (rows.contact_id == contact.c.id) & (rows.created_on > since)
    sent = recent & (rows.workspace_id == workspace_id) & (rows.direction == OUTGOING)
    wanted = sent & rows.failed_reason.is_distinct_from(CIRCLE)
    mine = (contact.c.workspace_id == workspace_id) & among(contact.c.id, contact_ids)
    known = (contact.c.id, contact.c.answers_stopped_on, limit)
    if is_sqlite:
        found = select(*known, rows.automatic, rows.text, rows.id).select_from(contact.outerjoin(message, wanted))
        return found.where(mine).order_by(contact.c.id, rows.created_on.desc(), rows.id.desc())
    # A seek for each contact: a join may read what all contacts of the workspace got in these minutes.
    latest = select(rows.automatic, rows.text, rows.id, rows.created_on).where(wanted)
    latest = latest.order_by(rows.created_on.desc(), rows.id.desc()).limit(literal_column(str(MOST_READ)))
    seek = latest.correlate(contact).lateral("latest")
    found = select(*known, seek.c.automatic, seek.c.text, seek.c.id).select_from(contact.outerjoin(seek, true()))
    return found.where(mine).order_by(contact.c.id, seek.c.created_on.desc(), seek.c.id.desc())


def _row(tx: Transaction, workspace_id: int, channel_id: int, report: Received) -> dict[str, Any]:
    return {
        "uuid": new_uuid(),
        "workspace_id": workspace_id,
        "channel_id": channel_id,
        "contact_id": report.owner.contact_id,
        "urn": report.owner.urn,
        "direction": INCOMING,
        "type": "text",
        "status": QUEUED,
        "visibility": VISIBLE,
        "text": report.text,
        "attachments": list(report.attachments),
        "quick_replies": [],
        "external_id": report.external_id,
        "error_count": 0,
        "segments": count_segments(report.owner.urn, report.text),
        "created_on": report.received_on,
        "stored_on": tx.now,
        "modified_on": tx.now,
    }


def _note(
    tx: Transaction,
    workspace_id: int,
    rows: Sequence[Row],
    stored: Sequence[Any],
    new_contacts: Set[int] = frozenset(),
) -> dict[str, int]:
    given = {row["uuid"]: row for row in rows}
    made = [
        _new_message(row := given[uuid], number, folder, is_of_new=row["contact_id"] in new_contacts)
        for number, uuid, folder in stored
    ]
    note_new_messages(tx, workspace_id, made)
    tell(tx, workspace_id, MESSAGE_RECEIVED, [each.id for each in made if each.direction == INCOMING])
    tell(tx, workspace_id, MESSAGE_FAILED, [number for number, uuid, _ in stored if given[uuid]["status"] == FAILED])
    return {uuid: number for number, uuid, _ in stored}


def _new_message(row: Row, number: int, folder: str | None, *, is_of_new: bool = False) -> NewMessage:
    return NewMessage(
        number,
        row["contact_id"],
        row["channel_id"],
        row["direction"],
        row["created_on"],
        folder,
        is_deleted=row["visibility"] == DELETED,
        is_of_new=is_of_new,
        segments=0 if row["status"] == FAILED else row["segments"] or 0,
        cost=0 if row["status"] == FAILED else row.get("cost", 0),
        status=row["status"],
        author_id=row.get("author_id"),
    )


@statement(is_prepared=False)
def _lock_plain(workspace_id: int, now: datetime, most: int) -> Executable:
    may_start = exists().where(trigger.c.workspace_id == workspace_id, IS_MESSAGE_TRIGGER)
    mine = (message.c.workspace_id == workspace_id) & IS_UNHANDLED
    # By seeks for each message, in their order: a join would begin at contacts or sessions, if they are taken for few.
    sender = (contact.c.workspace_id == message.c.workspace_id) & (contact.c.id == message.c.contact_id)
    free = select(literal(1)).where(sender, is_free(contact.c.handling_until, now)).correlate(message)
    waiting = select(literal(1)).where(flow_session.c.contact_id == message.c.contact_id, IS_WAITING).correlate(message)
    return (
        select(message.c.id)
        .where(mine, ~may_start, has_row(free), ~has_row(waiting))
        .order_by(message.c.created_on, message.c.id)
        .limit(most)
        # Locks only the messages: a transaction that stores further messages of the same contacts locks the contacts
        # and must not wait.
        .with_for_update(of=message, skip_locked=True)
    )


@statement
def _look_for_need(workspace_id: int) -> Executable:
    starting = select(trigger.c.id).where(trigger.c.workspace_id == workspace_id, IS_MESSAGE_TRIGGER)
    waiting = select(flow_session.c.id).where(flow_session.c.workspace_id == workspace_id, IS_WAITING)
    return select(starting.exists() | has_row(waiting.order_by(flow_session.c.timeout_on)))


@statement(is_prepared=False)
def _select_unhandled(workspace_id: int, contact_ids: Sequence[int]) -> Executable:
    rows = message.c
    columns = (rows.id, rows.uuid, rows.contact_id, rows.text, rows.attachments, rows.urn)
    theirs = (rows.workspace_id == workspace_id) & among(rows.contact_id, contact_ids) & IS_UNHANDLED
    found = select(*columns, SEEN_UUID, SEEN_NAME, rows.created_on).select_from(join_channels(message, message))
    return found.where(theirs).order_by(rows.created_on.desc(), rows.id.desc())
