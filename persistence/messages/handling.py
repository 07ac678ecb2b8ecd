"""Handling of incoming messages: which are due, which go to the inbox at once, and their results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Executable, exists, literal, select

from persistence.changes import change_messages
from persistence.channels.states import SEEN_NAME, SEEN_UUID, join_channels
from persistence.database import Transaction
from persistence.leases import is_free
from persistence.messages.states import HANDLED, IS_UNHANDLED
from persistence.sessions.parking import IS_WAITING, find_free_contacts
from persistence.sql.due_work import Share, has_row, list_workspaces_in_share
from persistence.statements import among, statement
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from persistence.tables.runs import flow_session
from persistence.tables.triggers import trigger
from persistence.triggers.records import IS_MESSAGE_TRIGGER

HANDLING_FAILED = "handling_failed"


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


def may_need_flows(tx: Transaction, workspace_id: int) -> bool:
    """Whether there may be messages that `finish_plain_messages` leaves to flows."""
    return bool(_look_for_need.rows(tx, workspace_id)[0][0])


@statement
def _look_for_need(workspace_id: int) -> Executable:
    starting = select(trigger.c.id).where(trigger.c.workspace_id == workspace_id, IS_MESSAGE_TRIGGER)
    waiting = select(flow_session.c.id).where(flow_session.c.workspace_id == workspace_id, IS_WAITING)
    return select(starting.exists() | has_row(waiting.order_by(flow_session.c.timeout_on)))


def find_senders(tx: Transaction, workspace_id: int, limit: int) -> list[int]:
    """Contacts with unhandled messages that are neither leased nor parked, those that wait longest first."""
    return find_free_contacts(tx, workspace_id, message, IS_UNHANDLED, message.c.created_on, limit)


def load_first_unhandled(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> dict[int, UnhandledMessage]:
    """The oldest unhandled message of each contact, by contact id; one statement."""
    found = _select_unhandled.rows(tx, workspace_id, contact_ids)
    return {one.contact_id: one for one in (UnhandledMessage(*row) for row in found)}


@statement(is_prepared=False)
def _select_unhandled(workspace_id: int, contact_ids: Sequence[int]) -> Executable:
    rows = message.c
    columns = (rows.id, rows.uuid, rows.contact_id, rows.text, rows.attachments, rows.urn)
    theirs = (rows.workspace_id == workspace_id) & among(rows.contact_id, contact_ids) & IS_UNHANDLED
    found = select(*columns, SEEN_UUID, SEEN_NAME, rows.created_on).select_from(join_channels(message, message))
    return found.where(theirs).order_by(rows.created_on.desc(), rows.id.desc())


def find_newcomers(tx: Transaction, workspace_id: int, messages: Sequence[UnhandledMessage]) -> set[int]:
    """Those of the senders with whom a conversation begins: they have no earlier message."""
    ids = [each.id for each in messages]
    other = message.alias("other")
    earlier = exists().where(other.c.contact_id == message.c.contact_id, other.c.id < message.c.id)
    mine = (message.c.workspace_id == workspace_id) & message.c.id.in_(ids)
    return set(tx.execute(select(message.c.contact_id).where(mine, ~earlier)).scalars())


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
