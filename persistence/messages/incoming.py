"""Messages that came in through a channel: how they are stored, and automatic answers in a circle.

Automatic answers in a circle: two machines answer each other for ever, for example two phones whose flows catch all.

What a machine does again and again is counted, because a person who answers a survey quickly gets as many messages, but
others. Each message of a flow that begun anew because the contact wrote or called counts. What goes on (a flow that
waited, the reply of a webhook) counts only if its text was sent before, or once there are many times more messages than
a person reads. What is not an answer (campaigns, broadcasts, starts by people) does not count, and after a message that
a person wrote the count begins anew.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Executable, literal_column, select, true

from persistence.changes import change_contacts, change_messages, note_new_messages
from persistence.contacts.owners import UrnOwner
from persistence.database import Transaction
from persistence.messages.states import CIRCLE, INCOMING, OUTGOING, QUEUED
from persistence.sql.columns import new_uuid, split
from persistence.stamps import NewMessage
from persistence.statements import among, insert_rows, statement
from persistence.tables.accounts import workspace
from persistence.tables.contacts import contact
from persistence.tables.messages import DELETED, VISIBLE, message
from persistence.workspaces import USUAL_ANSWERS

_rows = message.c
_insert_outgoing = insert_rows(
    message,
    (
        *("uuid", "workspace_id", "contact_id", "urn", "channel_id", "broadcast_id", "flow_id", "direction", "type"),
        *("status", "visibility", "text", "attachments", "quick_replies", "failed_reason", "error_count"),
        *("automatic", "created_on", "modified_on"),
    ),
    (_rows.id, _rows.uuid, _rows.folder),
)
_insert_incoming = insert_rows(
    message,
    (
        *("uuid", "workspace_id", "contact_id", "urn", "channel_id", "direction", "type", "status", "visibility"),
        *("text", "attachments", "quick_replies", "external_id", "error_count"),
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


@statement
def _select_known(channel_id: int, external_ids: Sequence[str]) -> Executable:
    mine = (_rows.channel_id == channel_id) & (_rows.direction == INCOMING)
    return select(_rows.external_id, _rows.workspace_id, _rows.id).where(
        mine, among(_rows.external_id, external_ids, "TEXT")
    )


def find_known_messages(tx: Transaction, channel_id: int, external_ids: Collection[str]) -> dict[str, tuple[int, int]]:
    """The workspace and id of those messages that came through the channel before, by external id; one statement."""
    known = _select_known.rows(tx, channel_id, [*external_ids])
    return {name: (workspace_id, number) for name, workspace_id, number in known}


def insert_outgoing(tx: Transaction, workspace_id: int, rows: Sequence[Row]) -> dict[str, int]:
    """Inserts outgoing messages; returns their ids by UUID."""
    return _note(tx, workspace_id, rows, _insert_outgoing.rows(tx, rows))


def insert_incoming(
    tx: Transaction, workspace_id: int, rows: Sequence[Row], new_contacts: Set[int] = frozenset()
) -> dict[str, int]:
    """Inserts those of these incoming messages that are not there yet; returns their ids by UUID. The `new_contacts`
    were created by this unit of work, and these are their first messages.
    """
    return _note(tx, workspace_id, rows, _insert_incoming.rows(tx, rows), new_contacts)


def note_stored(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> None:
    """Notes messages that were inserted otherwise."""
    names = ("contact_id", "channel_id", "direction", "created_on", "visibility", "folder")
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
    return {uuid: number for number, uuid, _ in stored}


def _new_message(row: Row, number: int, folder: str | None, *, is_of_new: bool = False) -> NewMessage:
    is_deleted = row["visibility"] == DELETED
    return NewMessage(
        number, row["contact_id"], row["channel_id"], row["direction"], row["created_on"], folder, is_deleted, is_of_new
    )
