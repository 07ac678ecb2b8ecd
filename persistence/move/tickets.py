"""Writes tickets of another server."""

from collections import Counter
from collections.abc import Sequence

from sqlalchemy import insert, select, update

from persistence.database import Transaction
from persistence.groups.smart_groups import refresh_contacts
from persistence.move.history import NO_CONTACT
from persistence.move.moves import CONTACT, TICKET, TOPIC, Move, Moved, Record, find_carried, keep_moved
from persistence.sql.columns import is_uuid, new_uuid
from persistence.stamps import stamped
from persistence.tables.contacts import contact
from persistence.tables.tickets import CLOSED, OPEN, ticket, ticket_event
from persistence.tickets.assignees import choose_assignees
from persistence.tickets.tickets import OPENED
from persistence.topics import count_tickets, find_default_topic
from persistence.users import find_member

NO_TOPIC = "its topic is not here: it has the topic of those without one"
SECOND = "was open there, and is closed here: the contact has another open ticket"


def write_tickets(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    """Tickets with their topic, status and the people who are here; later passes bring what became of them."""
    known = find_carried(tx, move, TICKET, [each["reference"] for each in records])
    people = find_carried(tx, move, CONTACT, [each["contact"] for each in records])
    topics = find_carried(tx, move, TOPIC, [each["topic"] for each in records])
    default = find_default_topic(tx, move.workspace.id)
    users = {
        email: find_member(tx, move.workspace.id, email)
        for email in {each[name] for each in records for name in ("assignee", "opened_by")} - {None}
    }
    able = choose_assignees(tx, move.workspace.id, set(users.values()))
    counts: Counter[tuple[int, str]] = Counter()
    opened: Counter[int] = Counter()
    moved = []
    for each in sorted(records, key=lambda each: each["opened_on"] or tx.now):
        if each["contact"] not in people:
            moved.append(Moved(each["reference"], None, each["label"], NO_CONTACT))
            continue
        topic_id = topics.get(each["topic"] or "") or default
        user_id = users.get(each["assignee"])
        assignee_id = user_id if user_id in able else None
        lack = "cannot act on tickets here" if user_id else "is not here"
        notes = [f"was assigned to {each['assignee']}, who {lack}"] if each["assignee"] and not assignee_id else []
        opener_id = users.get(each["opened_by"])
        if each["opened_by"] and not opener_id:
            notes.append(f"was opened by {each['opened_by']}, who is not here")
        if each["topic"] and each["topic"] not in topics:
            notes.append(NO_TOPIC)
        ticket_id, lost = _store(
            tx,
            move,
            each,
            known.get(each["reference"]),
            people[each["contact"]],
            topic_id,
            assignee_id,
            opener_id,
            counts,
            opened,
        )
        if each["reference"] not in known:
            _note_opening(tx, move, each, ticket_id, users.get(each["opened_by"]), assignee_id, topic_id)
        notes += [lost] if lost else []
        moved.append(Moved(each["reference"], ticket_id, each["label"], "; ".join(notes) or None))
    count_tickets(
        tx,
        move.workspace.id,
        {topic_id: (counts[topic_id, OPEN], counts[topic_id, CLOSED]) for topic_id in sorted({t for t, _ in counts})},
    )
    _count_open(tx, move, opened)
    keep_moved(tx, move, TICKET, moved)


def _store(
    tx: Transaction,
    move: Move,
    record: Record,
    ticket_id: int | None,
    contact_id: int,
    topic_id: int,
    assignee_id: int | None,
    opener_id: int | None,
    counts: Counter[tuple[int, str]],
    opened: Counter[int],
) -> tuple[int, str | None]:
    """Inserts or changes a ticket; returns its id, and what was lost. `counts` are of topics, `opened` of contacts."""
    rows, status, lost = ticket.c, record["status"], None
    theirs = (rows.workspace_id == move.workspace.id) & (rows.contact_id == contact_id) & (rows.status == OPEN)
    other = tx.execute(select(rows.id).where(theirs, rows.id != (ticket_id or 0))).first()
    if status == OPEN and other is not None:
        status, lost = CLOSED, SECOND
    closed_on = None if status == OPEN else record["closed_on"] or record["modified_on"] or tx.now
    values = {"status": status, "topic_id": topic_id, "assignee_id": assignee_id, "closed_on": closed_on}
    mine = (rows.workspace_id == move.workspace.id) & (rows.id == (ticket_id or 0))
    held = None if ticket_id is None else tx.execute(select(rows.status, rows.topic_id).where(mine)).first()
    if held is not None and ticket_id is not None:
        counts[held.topic_id, held.status] -= 1
        opened[contact_id] -= held.status == OPEN
        tx.execute(update(ticket).where(mine).values(modified_on=stamped(tx, ticket, move.workspace.id), **values))
    else:
        opened_on = record["opened_on"] or tx.now
        is_free = tx.execute(select(rows.id).where(rows.uuid == record["reference"])).first() is None
        ticket_id = tx.insert(
            ticket,
            workspace_id=move.workspace.id,
            uuid=record["reference"] if is_free and is_uuid(record["reference"]) else new_uuid(),
            contact_id=contact_id,
            flow_uuid=record["flow_uuid"] if is_uuid(record["flow_uuid"] or "") else None,
            flow_name=record["flow_name"],
            opened_by_id=opener_id,
            opened_on=opened_on,
            modified_on=record["modified_on"] or closed_on or opened_on,
            **values,
        )
    counts[topic_id, status] += 1
    opened[contact_id] += status == OPEN
    return ticket_id, lost


def _note_opening(
    tx: Transaction,
    move: Move,
    record: Record,
    ticket_id: int,
    user_id: int | None,
    assignee_id: int | None,
    topic_id: int,
) -> None:
    """The first entry of a ticket's history, which is all that the API shows of it."""
    values = {"workspace_id": move.workspace.id, "ticket_id": ticket_id, "type": OPENED, "user_id": user_id}
    given = {"assignee_id": assignee_id, "topic_id": topic_id, "note": record["note"]}
    tx.execute(insert(ticket_event).values(**values, **given, created_on=record["opened_on"] or tx.now))


def _count_open(tx: Transaction, move: Move, opened: Counter[int]) -> None:
    changed = {contact_id: change for contact_id, change in opened.items() if change}
    for contact_id, change in sorted(changed.items()):
        mine = (contact.c.workspace_id == move.workspace.id) & (contact.c.id == contact_id)
        tx.execute(update(contact).where(mine).values(open_ticket_count=contact.c.open_ticket_count + change))
    if changed:
        refresh_contacts(tx, move.workspace, sorted(changed))
