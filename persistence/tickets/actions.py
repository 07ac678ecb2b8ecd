"""The actions of users and flows on tickets: open, assign, add a note, change the topic, close and reopen, with their
history. Every function records its changes in the history, and updates the counts of topics and contacts and the groups
that depend on them. Rows are locked in the order of contacts, tickets, topics, groups, and by id within each.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select

from persistence.changes import change_contacts
from persistence.database import Transaction
from persistence.deletions import TICKET, note_deleted
from persistence.errors import NothingFound
from persistence.groups.groups import lock_contacts
from persistence.groups.smart_groups import refresh_contacts
from persistence.messages.incoming import ANEW
from persistence.messages.outgoing import Draft, add_outgoing
from persistence.sql.columns import columns_for, is_uuid, new_uuid
from persistence.stamps import TAKEN, TICKET_ASSIGNED, TICKET_CLOSED, TICKET_OPENED, changes_of, stamped, tell
from persistence.statements import update
from persistence.tables.contacts import CLOSED, OPEN, contact, ticket, ticket_event
from persistence.tickets.records import (
    ASSIGNED,
    NOTE_ADDED,
    OPENED,
    REOPENED,
    TOPIC_CHANGED,
    choose_assignees,
    unassign_tickets,
)
from persistence.tickets.routing import choose_in_turn, find_desk
from persistence.tickets.topics import count_tickets, find_default_topic
from persistence.triggers.schedules import start_for_closed
from persistence.workspaces.records import Workspace

TOLD = {OPENED: TICKET_OPENED, REOPENED: TICKET_OPENED, ASSIGNED: TICKET_ASSIGNED, CLOSED: TICKET_CLOSED}
"""What subscribers hear of what the history says."""


@dataclass(frozen=True, slots=True)
class ChosenTicket:
    """A ticket in its state when it was locked."""

    id: int
    uuid: str
    contact_id: int
    topic_id: int
    status: str
    assignee_id: int | None
    opened_on: datetime


CHOSEN = columns_for(ChosenTicket, ticket)


@dataclass(frozen=True, slots=True)
class NewTicket:
    """A ticket to open; the default topic is General. `flow` is the UUID and name of the flow that opens it. `uuid` is
    given if the ticket is already known by it. `is_attended` says that somebody is there who opens it: its contact is
    not told that the team is not.
    """

    contact_id: int
    topic_id: int | None = None
    assignee_id: int | None = None
    note: str | None = None
    opened_by_id: int | None = None
    flow: tuple[str, str] | None = None
    uuid: str | None = None
    is_attended: bool = False


def open_ticket(tx: Transaction, workspace: Workspace, new: NewTicket) -> int | None:
    """Opens a ticket; returns its id, or None if the contact has an open ticket already or is deleted. One without an
    assignee is assigned in turn, if the team of its topic does so. Outside of the team's hours the contact is answered,
    if it has a text for that, and may be written to.
    """
    mine = (contact.c.workspace_id == workspace.id) & (contact.c.id == new.contact_id) & ~contact.c.is_deleted
    row = tx.execute(select(contact.c.id).where(mine).with_for_update(key_share=True)).first()
    is_theirs = (ticket.c.contact_id == new.contact_id) & (ticket.c.status == OPEN)
    if row is None or tx.execute(select(ticket.c.id).where(is_theirs)).first() is not None:
        return None
    topic_id = find_default_topic(tx, workspace.id) if new.topic_id is None else new.topic_id
    assignee_id = new.assignee_id or next(iter(choose_in_turn(tx, workspace.id, topic_id)), None)
    desk = find_desk(tx, workspace, topic_id)
    flow_uuid, flow_name = new.flow or (None, None)
    ticket_id = tx.insert(
        ticket,
        workspace_id=workspace.id,
        uuid=new.uuid or new_uuid(),
        contact_id=new.contact_id,
        topic_id=topic_id,
        assignee_id=assignee_id,
        opened_by_id=new.opened_by_id,
        flow_uuid=flow_uuid,
        flow_name=flow_name,
        opened_on=tx.now,
        modified_on=stamped(tx, ticket, workspace.id),
        reply_due=desk.due_after(tx.now),
    )
    given = {"assignee_id": assignee_id, "topic_id": topic_id, "note": new.note}
    _note_down(tx, workspace.id, OPENED, [ticket_id], new.opened_by_id, **given)
    count_tickets(tx, workspace.id, {topic_id: (1, 0)})
    _count_open(tx, workspace, [new.contact_id])
    if desk.closed_text and not new.is_attended and not desk.hours.is_open(tx.now):
        answer = Draft(new.contact_id, desk.closed_text, automatic=ANEW)
        add_outgoing(tx, workspace.id, [answer], leaves_out_unreachable=True)
    return ticket_id


def choose_tickets(tx: Transaction, workspace_id: int, uuids: Sequence[str]) -> list[ChosenTicket]:
    """The tickets with these UUIDs, without repeats, locked together with their contacts. Raises InvalidInput for the
    first that is not found.
    """
    wanted = {uuid.lower() for uuid in uuids if is_uuid(uuid)}
    rows = ticket.c
    mine = (rows.workspace_id == workspace_id) & rows.uuid.in_(wanted)
    statement = select(*CHOSEN).where(mine).order_by(rows.id)
    if wanted:
        lock_contacts(tx, workspace_id, select(rows.contact_id).where(mine))
    found = [ChosenTicket(*row) for row in tx.execute(statement.with_for_update())] if wanted else ()
    chosen = {each.uuid: each for each in found}
    for uuid in uuids:
        if uuid.lower() not in chosen:
            raise NothingFound("tickets", uuid)
    return list(chosen.values())


def assign_tickets(
    tx: Transaction, workspace_id: int, chosen: Sequence[ChosenTicket], assignee_id: int | None, user_id: int | None
) -> list[str]:
    """Assigns tickets to a user, or to nobody; returns the UUIDs of those that were so already."""
    changing = [each for each in chosen if each.assignee_id != assignee_id]
    _change(tx, workspace_id, changing, assignee_id=assignee_id)
    _note_down(tx, workspace_id, ASSIGNED, [each.id for each in changing], user_id, assignee_id=assignee_id)
    return _others(chosen, changing)


def add_note(tx: Transaction, workspace_id: int, chosen: Sequence[ChosenTicket], note: str, user_id: int) -> list[str]:
    """Adds a note to tickets, which never fails; returns an empty list."""
    _change(tx, workspace_id, chosen)
    _note_down(tx, workspace_id, NOTE_ADDED, [each.id for each in chosen], user_id, note=note)
    return []


def change_topic(
    tx: Transaction, workspace: Workspace, chosen: Sequence[ChosenTicket], topic_id: int, user_id: int | None
) -> list[str]:
    """Moves tickets to a topic; returns the UUIDs of those that had it already. Open ones that nobody has are assigned
    in turn, if the team of the topic does so. Their first replies are due as this team wants them.
    """
    workspace_id = workspace.id
    changing = [each for each in chosen if each.topic_id != topic_id]
    free = [each for each in changing if each.status == OPEN and each.assignee_id is None]
    takers = choose_in_turn(tx, workspace_id, topic_id, len(free))
    desk = find_desk(tx, workspace, topic_id)
    _change(tx, workspace_id, changing, topic_id=topic_id, reply_due=None)
    due = [{"moved": each.id, "due": desk.due_after(each.opened_on)} for each in changing if desk.reply_minutes]
    if due:
        one = (ticket.c.workspace_id == workspace_id) & (ticket.c.id == bindparam("moved"))
        tx.execute(update(ticket).where(one).values(reply_due=bindparam("due")), due)
    _note_down(tx, workspace_id, TOPIC_CHANGED, [each.id for each in changing], user_id, topic_id=topic_id)
    left = Counter((each.topic_id, each.status) for each in changing)
    counts = {each.topic_id: (-left[each.topic_id, OPEN], -left[each.topic_id, CLOSED]) for each in changing}
    joined = Counter(each.status for each in changing)
    count_tickets(tx, workspace_id, counts | {topic_id: (joined[OPEN], joined[CLOSED])})
    for taker in sorted(set(takers)):
        assign_tickets(
            tx, workspace_id, [each for each, who in zip(free, takers, strict=True) if who == taker], taker, None
        )
    return _others(chosen, changing)


def close_tickets(
    tx: Transaction, workspace: Workspace, chosen: Sequence[ChosenTicket], user_id: int | None
) -> list[str]:
    """Closes open tickets, which may start flows; returns the UUIDs of those that were closed already."""
    changing = [each for each in chosen if each.status == OPEN]
    _move(tx, workspace, changing, OPEN, CLOSED, user_id)
    start_for_closed(tx, workspace.id, [each.id for each in changing])
    return _others(chosen, changing)


def reopen_tickets(
    tx: Transaction, workspace: Workspace, chosen: Sequence[ChosenTicket], user_id: int | None
) -> list[str]:
    """Opens closed tickets again; returns the UUIDs of those that were open, or whose contact has another open ticket.
    Of several closed tickets of one contact the newest is opened. It does not come back to somebody who has left.
    """
    contact_ids = {each.contact_id for each in chosen}
    is_theirs = (ticket.c.workspace_id == workspace.id) & ticket.c.contact_id.in_(contact_ids)
    busy = set(tx.execute(select(ticket.c.contact_id).where(is_theirs, ticket.c.status == OPEN)).scalars())
    newest = {each.contact_id: each for each in chosen if each.status == CLOSED and each.contact_id not in busy}
    changing = sorted(newest.values(), key=lambda each: each.id)
    _move(tx, workspace, changing, CLOSED, OPEN, user_id)
    present = choose_assignees(tx, workspace.id, {each.assignee_id for each in changing})
    left = [each.id for each in changing if each.assignee_id is not None and each.assignee_id not in present]
    unassign_tickets(tx, workspace.id, left, user_id)
    return _others(chosen, changing)


def move_tickets(tx: Transaction, workspace: Workspace, from_id: int, to_id: int, user_id: int | None) -> None:
    """Gives the tickets of a contact to another; both are locked. If both have an open one, the first's is closed,
    which starts no flow: the person is not done with.
    """
    rows = ticket.c
    both = (rows.workspace_id == workspace.id) & rows.contact_id.in_([from_id, to_id])
    found = tx.execute(select(*CHOSEN).where(both, rows.status == OPEN).order_by(rows.id).with_for_update())
    opened = [ChosenTicket(*row) for row in found]
    if len(opened) > 1:
        _move(tx, workspace, [each for each in opened if each.contact_id == from_id], OPEN, CLOSED, user_id)
    mine = (rows.workspace_id == workspace.id) & (rows.contact_id == from_id)
    moved = {"contact_id": to_id, "modified_on": stamped(tx, ticket, workspace.id)}
    if tx.execute(update(ticket).where(mine).values(**moved)).rowcount:
        _count_open(tx, workspace, [to_id])


def delete_tickets_of(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Removes the tickets of contacts with their history; the topics no longer count them."""
    theirs = (ticket.c.workspace_id == workspace_id) & ticket.c.contact_id.in_(contact_ids)
    columns = (ticket.c.uuid, ticket.c.topic_id, ticket.c.status)
    removed = tx.execute(delete(ticket).where(theirs).returning(*columns)).all()
    note_deleted(tx, workspace_id, TICKET, [row.uuid for row in removed])
    gone = Counter((row.topic_id, row.status) for row in removed)
    topic_ids = {row.topic_id for row in removed}
    count_tickets(tx, workspace_id, {each: (-gone[each, OPEN], -gone[each, CLOSED]) for each in topic_ids})


def _move(
    tx: Transaction, workspace: Workspace, changing: Sequence[ChosenTicket], old: str, new: str, user_id: int | None
) -> None:
    """Changes the status of locked tickets, with all counts."""
    if not changing:
        return
    ids = [each.id for each in changing]
    mine = (ticket.c.workspace_id == workspace.id) & ticket.c.id.in_(ids) & (ticket.c.status == old)
    closed_on = tx.now if new == CLOSED else None
    moment = stamped(tx, ticket, workspace.id)
    tx.execute(update(ticket).where(mine).values(status=new, closed_on=closed_on, modified_on=moment))
    _note_down(tx, workspace.id, CLOSED if new == CLOSED else REOPENED, ids, user_id)
    step = 1 if new == OPEN else -1
    moved = Counter(each.topic_id for each in changing)
    count_tickets(tx, workspace.id, {topic_id: (step * count, -step * count) for topic_id, count in moved.items()})
    _count_open(tx, workspace, [each.contact_id for each in changing])


def _change(tx: Transaction, workspace_id: int, changing: Sequence[ChosenTicket], **values: Any) -> None:
    if changing:
        mine = (ticket.c.workspace_id == workspace_id) & ticket.c.id.in_([each.id for each in changing])
        tx.execute(update(ticket).where(mine).values(modified_on=stamped(tx, ticket, workspace_id), **values))


def _note_down(
    tx: Transaction, workspace_id: int, kind: str, ticket_ids: Sequence[int], user_id: int | None, **values: Any
) -> None:
    shared = {"workspace_id": workspace_id, "type": kind, "user_id": user_id, "created_on": tx.now, **values}
    if ticket_ids:
        if kind in TOLD:
            tell(tx, workspace_id, TOLD[kind], ticket_ids)
        if values.get("assignee_id") is not None:
            changes_of(tx, workspace_id).counted[TAKEN, tx.now.date(), values["assignee_id"]] += len(ticket_ids)
        tx.execute(insert(ticket_event), [{**shared, "ticket_id": ticket_id} for ticket_id in ticket_ids])


_OPEN_TICKETS = (
    select(func.count()).where(ticket.c.contact_id == contact.c.id, ticket.c.status == OPEN).scalar_subquery()
)


def _count_open(tx: Transaction, workspace: Workspace, contact_ids: Sequence[int]) -> None:
    """Recounts the open tickets of contacts and updates the groups that depend on it."""
    change_contacts(tx, workspace.id, contact_ids, {"open_ticket_count": _OPEN_TICKETS})
    refresh_contacts(tx, workspace, contact_ids)


def _others(chosen: Sequence[ChosenTicket], changing: Sequence[ChosenTicket]) -> list[str]:
    changed = {each.id for each in changing}
    return [each.uuid for each in chosen if each.id not in changed]
