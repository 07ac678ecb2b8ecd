"""A workspace with life in it, for the demo and for pictures of the console."""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import insert, select, update

from flows.urns import Urn
from persistence.contacts.writes import ContactChange, create_contact
from persistence.conversations.writes import mark_read
from persistence.database import Transaction
from persistence.groups.groups import create_group
from persistence.messages.actions import add_label
from persistence.messages.states import HANDLED, INCOMING, OUTGOING
from persistence.messages.storing import note_stored
from persistence.relayers.delivery_reports import PHONE_FAILED
from persistence.sql.columns import new_uuid
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from persistence.tables.tickets import ticket, ticket_event
from persistence.tickets.actions import NewTicket, choose_tickets, close_tickets, open_ticket
from persistence.topics import create_topic
from persistence.workspaces import Workspace

CONTACTS = 200
DAYS = 21
MOST_EXCHANGES = 7
UNREAD = 6
FIRST_NUMBER = 250_788_200_000
FIRST_NAMES = """
    Amina Bosco Claudine David Esther Fatuma Grace Hassan Immaculée Joseph Kevin Lydia Moses Nadia Olive Peter
    Quentin Rehema Solange Thérèse Umutoni Vincent Wanjiru Yvonne Zawadi
"""
LAST_NAMES = """
    Achieng Habimana Ingabire Juma Kamau Mugisha Mukamana Njeri Ochieng Otieno Uwase Wafula
"""
EXCHANGES = (
    ("Is the clinic open on Monday?", "Yes, from 8 to 12. Bring your card."),
    ("When is my next appointment?", "On Thursday at 9, in room 4."),
    ("I lost my card, what should I do?", "Come with your identity card; we make a new one for you."),
    (
        "My baby has had a fever since yesterday evening",
        "Please come to the clinic today. A nurse is there until 5.",
    ),
    ("How much does the vaccine cost?", "It is free of charge for children under five."),
    ("Can I come tomorrow with my sister?", "Of course. We open at 8."),
    ("The water point in our village is broken again", "Thank you. We have told the district team."),
    ("Murakoze cyane", ""),
    ("Thank you, the nurse was very kind", "That is good to hear. Take care!"),
    ("Where do I get the new bed nets?", "At the health post in Nyamata, from Tuesday on."),
)
STATUSES = ("delivered",) * 12 + ("read",) * 3 + ("sent",) * 3 + ("failed",)
TOPICS = ("Appointments", "Medicine", "Complaints")
NOTES = ("She wrote twice this week.", "Ask the nurse on duty.", "Needs a call in Kinyarwanda.")


def fill_sample(
    tx: Transaction,
    workspace: Workspace,
    *,
    channel_id: int,
    user_id: int,
    label_id: int,
    group_id: int,
    fields: Sequence[str],
) -> None:
    """Fill a workspace; the same each time, but for the times, which end now. `fields` are the keys of a date and a
    text field. Takes about two seconds.
    """
    chance = random.Random(NOTES[0])
    helpers = create_group(tx, workspace.id, "Health workers")
    contacts = _make_contacts(tx, workspace, chance, (group_id, helpers), fields)
    known = {"created_on": tx.now - timedelta(days=2 * DAYS)}
    tx.execute(update(contact).where(contact.c.id.in_([contact_id for contact_id, _ in contacts])).values(known))
    rows = [row for each in contacts for row in _make_messages(tx.now, chance, each)]
    for row in rows:
        row |= {"workspace_id": workspace.id, "uuid": new_uuid(), "channel_id": channel_id}
    rows.sort(key=lambda row: row["created_on"])
    note_stored(tx, workspace.id, tx.execute(insert(message).returning(message.c.id), rows).scalars().all())
    _note_seen(tx, rows)
    incoming = [row for row in rows if row["direction"] == INCOMING]
    asked = [row["uuid"] for row in chance.sample(incoming, 60)]
    mine = (message.c.workspace_id == workspace.id) & message.c.uuid.in_(asked)
    add_label(tx, workspace.id, list(tx.execute(select(message.c.id).where(mine)).scalars()), label_id)
    newest = dict.fromkeys(row["contact_id"] for row in reversed(incoming))
    mark_read(tx, workspace.id, list(newest)[UNREAD:])
    _make_tickets(tx, workspace, chance, list(newest)[:: len(newest) // 24], user_id)


def _make_contacts(
    tx: Transaction, workspace: Workspace, chance: random.Random, group_ids: Sequence[int], fields: Sequence[str]
) -> list[tuple[int, str]]:
    """Contacts with a number, half of them in the first group, one in ten in the second; their ids and URNs."""
    names = [f"{first} {last}" for last in LAST_NAMES.split() for first in FIRST_NAMES.split()]
    chance.shuffle(names)
    districts = ("Bugesera", "Gasabo", "Huye", "Musanze", "Rubavu")
    made = []
    for at in range(CONTACTS):
        number = f"+{FIRST_NUMBER + at * 137}"
        groups = [group_ids[0]] if at % 2 == 0 else [group_ids[1]] if at % 10 == 1 else []
        due = (tx.now + timedelta(days=chance.randrange(10, 200))).date().isoformat()
        values = {fields[0]: due if at % 2 == 0 else None, fields[1]: chance.choice(districts)}
        change = ContactChange(
            name=names[at] if at % 9 else None,
            language=chance.choice(("eng", "kin")),
            urns=[Urn("tel", number)],
            group_ids=groups,
            fields=values,
        )
        made.append((create_contact(tx, workspace, change), f"tel:{number}"))
    return made


def _make_messages(now: datetime, chance: random.Random, owner: tuple[int, str]) -> list[dict[str, Any]]:
    """Questions and answers of the last weeks, most of them in the last one."""
    rows = []
    for _ in range(chance.randrange(MOST_EXCHANGES)):
        question, answer = chance.choice(EXCHANGES)
        asked = now - timedelta(days=DAYS * chance.random() ** 1.6, minutes=chance.randrange(5, 600))
        rows.append(_message(owner, INCOMING, HANDLED, question, asked))
        answered = asked + timedelta(minutes=chance.randrange(2, 90))
        if answer and answered < now and chance.random() < 0.8:
            rows.append(_message(owner, OUTGOING, chance.choice(STATUSES), answer, answered))
    return rows


def _message(owner: tuple[int, str], direction: str, status: str, text: str, on: datetime) -> dict[str, Any]:
    contact_id, urn = owner
    is_sent = direction == OUTGOING and status != "failed"
    return {
        "contact_id": contact_id,
        "urn": urn,
        "direction": direction,
        "status": status,
        "failed_reason": PHONE_FAILED if status == "failed" else None,
        "text": text,
        "attachments": [],
        "quick_replies": [],
        "created_on": on,
        "modified_on": on,
        "sent_on": on + timedelta(seconds=9) if is_sent else None,
    }


def _note_seen(tx: Transaction, rows: Sequence[dict[str, Any]]) -> None:
    seen = {row["contact_id"]: row["created_on"] for row in rows if row["direction"] == INCOMING}
    for contact_id, on in seen.items():
        tx.execute(update(contact).where(contact.c.id == contact_id).values(last_seen_on=on))


def _make_tickets(
    tx: Transaction, workspace: Workspace, chance: random.Random, contact_ids: Sequence[int], user_id: int
) -> None:
    """A ticket for each of the contacts, of the last weeks; every second one is closed."""
    topic_ids = [create_topic(tx, workspace.id, name) for name in TOPICS]
    for at, contact_id in enumerate(contact_ids):
        opened = tx.now - timedelta(days=DAYS * at / len(contact_ids), minutes=chance.randrange(20, 400))
        assignee = user_id if at % 3 else None
        note = chance.choice(NOTES) if at % 4 == 0 else None
        ticket_id = open_ticket(
            tx, workspace, NewTicket(contact_id, chance.choice(topic_ids), assignee, note, opened_by_id=user_id)
        )
        mine = (ticket.c.workspace_id == workspace.id) & (ticket.c.id == ticket_id)
        tx.execute(update(ticket_event).where(ticket_event.c.ticket_id == ticket_id).values(created_on=opened))
        values: dict[str, Any] = {"opened_on": opened}
        if at % 2:
            uuid = tx.execute(select(ticket.c.uuid).where(mine)).scalar_one()
            close_tickets(tx, workspace, choose_tickets(tx, workspace.id, [uuid]), user_id)
            replied = opened + timedelta(minutes=chance.randrange(4, 240))
            values |= {"replied_on": replied, "closed_on": replied + timedelta(minutes=chance.randrange(5, 900))}
        tx.execute(update(ticket).where(mine).values(values))
