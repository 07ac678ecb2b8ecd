"""A workspace with life in it, for the demo and for pictures of the console, whose records have the names of the
contract's examples.

Gives records of the demo workspace the UUIDs and names by which the examples of the contract call them, so that
"Execute" in the explorer works on an example as it is. Where another record has the UUID already, nothing changes.
"""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Table, insert, select

from channels.sms import count_segments
from flows.urns import Urn
from persistence.broadcasts.forms import read_form
from persistence.broadcasts.records import create_broadcast
from persistence.campaigns.records import create_campaign
from persistence.changes import change_contacts, change_each_contact, change_each_message
from persistence.contacts.writes import ContactChange, create_contact
from persistence.conversations import mark_read
from persistence.database import Transaction
from persistence.definitions.assets import adopt_uuid
from persistence.groups.groups import create_group
from persistence.messages.actions import add_label
from persistence.messages.incoming import note_stored
from persistence.relayers.reports import PHONE_FAILED
from persistence.resthooks import ensure_resthook
from persistence.sql.columns import new_uuid, time_text
from persistence.stamps import TAKEN, WROTE, changes_of
from persistence.statements import update
from persistence.tables.accounts import user
from persistence.tables.campaigns import campaign
from persistence.tables.channels import channel
from persistence.tables.contacts import OPEN, contact, group, ticket, ticket_event, topic
from persistence.tables.messages import HANDLED, INCOMING, OUTGOING, broadcast, label, message
from persistence.tickets.actions import NewTicket, choose_tickets, close_tickets, open_ticket
from persistence.tickets.topics import create_topic
from persistence.users import add_member
from persistence.workspaces.records import Workspace

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
FLOW = "c2a7b6f0-3f19-4d53-9f39-77a0f4a1a111"
CALLED_CONTACTS = (
    "6d1f0a52-5f0e-4a4e-8d09-3d0c0a1f7b21",
    "09d23a05-47fe-41e4-bfe9-b8f6b119e9ab",
    "0c7b6a59-4838-4726-9516-05f4e3d2c1b0",
)
GROUP, LABEL = "9a3c5b1e-1c7d-4e9b-a5a0-0d1e2f3a4b5c", "51a0c0a4-8a6b-4a0c-9b0e-6f2d1c3b4a5f"
CAMPAIGN, BROADCAST = "2e0d9d2f-6b0a-4f0c-8f2e-b7d3c5a91c44", "0197a6c1-52d0-7a0e-9f57-5d0c1b7e2a11"
TICKET, TOPIC = "0197a700-1111-7222-8333-944455566677", "d0a1b2c3-d4e5-4f60-8718-293a4b5c6d7e"
CHANNEL, USER = "3f0c1a52-8b7e-4d19-9a60-5c2f7be0d411", "1f2e3d4c-5b6a-4798-8071-625344352617"
EMAIL, RESTHOOK = "joel@example.org", "new-registration"
COLLEAGUES = (("Aline", "Mukamana"), ("Eric", "Nkurunziza"), ("Beatrice", "Uwera"))


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
    change_contacts(tx, workspace.id, [each for each, _ in contacts], {"created_on": tx.now - timedelta(days=2 * DAYS)})
    rows = [row for each in contacts for row in _make_messages(tx.now, chance, each)]
    for row in rows:
        row |= {"workspace_id": workspace.id, "uuid": new_uuid(), "channel_id": channel_id}
    rows.sort(key=lambda row: row["created_on"])
    note_stored(tx, workspace.id, tx.execute(insert(message).returning(message.c.id), rows).scalars().all())
    _note_seen(tx, workspace.id, rows)
    incoming = [row for row in rows if row["direction"] == INCOMING]
    asked = [row["uuid"] for row in chance.sample(incoming, 60)]
    mine = (message.c.workspace_id == workspace.id) & message.c.uuid.in_(asked)
    add_label(tx, workspace.id, list(tx.execute(select(message.c.id).where(mine)).scalars()), label_id)
    newest = dict.fromkeys(row["contact_id"] for row in reversed(incoming))
    mark_read(tx, workspace.id, list(newest)[UNREAD:])
    _make_tickets(tx, workspace, chance, list(newest)[:: len(newest) // 24], user_id)


def name_examples(
    tx: Transaction, workspace: Workspace, *, channel_id: int, group_id: int, label_id: int, user_id: int
) -> None:
    """Names records of a filled workspace that nobody has seen yet, and makes those that are lacking."""
    mine = contact.c.workspace_id == workspace.id
    ticketed = select(ticket.c.contact_id).where(ticket.c.workspace_id == workspace.id, ticket.c.status == OPEN)
    free = (
        select(contact.c.id)
        .where(mine, contact.c.id.not_in(ticketed))
        .order_by(contact.c.id)
        .limit(len(CALLED_CONTACTS))
    )
    for contact_id, uuid in zip(tx.execute(free).scalars().all(), CALLED_CONTACTS, strict=False):
        adopt_uuid(tx, contact, contact_id, uuid)
    for table, record_id, uuid in ((channel, channel_id, CHANNEL), (group, group_id, GROUP), (label, label_id, LABEL)):
        adopt_uuid(tx, table, record_id, uuid)
    adopt_uuid(tx, topic, create_topic(tx, workspace.id, "Home visits"), TOPIC)
    _name_first(tx, workspace, ticket, TICKET)
    colleague = add_member(tx, workspace.id, EMAIL, "agent", first_name="Joel", last_name="Habimana")
    adopt_uuid(tx, user, colleague.id, USER)
    ensure_resthook(tx, workspace.id, RESTHOOK)
    adopt_uuid(tx, campaign, create_campaign(tx, workspace.id, "Antenatal care", group_id), CAMPAIGN)
    later = time_text(tx.now + timedelta(days=300))
    notice = {"text": {"eng": "The clinic has a new roof. Come and see!"}, "groups": [GROUP], "scheduled_on": later}
    form = read_form(tx, workspace, {**notice, "base_language": "eng"})
    adopt_uuid(tx, broadcast, create_broadcast(tx, workspace.id, form), BROADCAST)


def fill_team(tx: Transaction, workspace: Workspace) -> None:
    """Gives a filled workspace colleagues, who wrote its answers and share its tickets."""
    chance = random.Random(EMAIL)
    people = [
        add_member(tx, workspace.id, f"{first.lower()}@example.org", "agent", first_name=first, last_name=last).id
        for first, last in COLLEAGUES
    ]
    counted = changes_of(tx, workspace.id).counted
    answers = select(message.c.id, message.c.contact_id, message.c.created_on).where(
        message.c.workspace_id == workspace.id, message.c.direction == OUTGOING
    )
    shared = {}
    for message_id, contact_id, written_on in tx.execute(answers.order_by(message.c.id)).tuples():
        author_id = people[contact_id % len(people)]
        shared[message_id] = {"author_id": author_id}
        counted[WROTE, written_on.date(), author_id] += 1
    change_each_message(tx, workspace.id, shared)
    assigned = select(ticket.c.id, ticket.c.assignee_id, ticket.c.opened_on).where(
        ticket.c.workspace_id == workspace.id, ticket.c.assignee_id.is_not(None)
    )
    for ticket_id, former_id, opened_on in tx.execute(assigned.order_by(ticket.c.id)).tuples().all():
        assignee_id = chance.choice(people)
        mine = (ticket.c.workspace_id == workspace.id) & (ticket.c.id == ticket_id)
        tx.execute(update(ticket).where(mine).values(assignee_id=assignee_id))
        counted[TAKEN, tx.now.date(), former_id or 0] -= 1
        counted[TAKEN, opened_on.date(), assignee_id] += 1


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
        "segments": count_segments(urn, text),
        "created_on": on,
        "modified_on": on,
        "sent_on": on + timedelta(seconds=9) if is_sent else None,
    }


def _note_seen(tx: Transaction, workspace_id: int, rows: Sequence[dict[str, Any]]) -> None:
    seen = {row["contact_id"]: row["created_on"] for row in rows if row["direction"] == INCOMING}
    change_each_contact(tx, workspace_id, {contact_id: {"last_seen_on": on} for contact_id, on in seen.items()})


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


def _name_first(tx: Transaction, workspace: Workspace, table: Table, uuid: str) -> None:
    first = select(table.c.id).where(table.c.workspace_id == workspace.id).order_by(table.c.id).limit(1)
    adopt_uuid(tx, table, tx.execute(first).scalar_one(), uuid)
