"""What this side holds of a move, to be compared with the other side, and what goes here because it was deleted there.

What was deleted on the other side since it was carried goes here too, or the report says why it stays. What was here
before the move, and was only joined with a record there, stays.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import Table, select

from channels.types import RELAYER
from persistence.broadcasts.records import BROADCASTS
from persistence.campaigns.records import CAMPAIGN_EVENTS, CAMPAIGNS
from persistence.channels.channels import CHANNELS
from persistence.channels.events import CHANNEL_EVENTS
from persistence.classifiers import CLASSIFIERS
from persistence.contacts.deletion import delete_contacts, empty_messages
from persistence.contacts.records import CONTACTS
from persistence.database import Transaction
from persistence.errors import InvalidInput, RecordMissing, Refused, SystemRecord
from persistence.fields import FIELDS, delete_field
from persistence.flow_starts.flow_starts import STARTS
from persistence.flows.records import FLOWS
from persistence.globals import GLOBALS, delete_global
from persistence.groups.groups import GROUPS, delete_group
from persistence.groups.smart_groups import check_group_query
from persistence.labels import LABELS, delete_label
from persistence.lists import ListQuery, ListSpec
from persistence.messages.records import MESSAGES
from persistence.move import moves
from persistence.move.moves import (
    CONTACT,
    FIELD,
    FLOW,
    GLOBAL,
    GROUP,
    LABEL,
    MESSAGE,
    OPTIN,
    SUBSCRIBER,
    TEMPLATE,
    TOPIC,
    Move,
    Moved,
    find_carried,
    find_moved,
    keep_moved,
)
from persistence.optins import OPTINS
from persistence.resthooks import RESTHOOKS, SUBSCRIBERS, end_subscriptions
from persistence.runs.records import RUNS
from persistence.sql.columns import split
from persistence.tables.channels import channel
from persistence.tables.contacts import contact, field, group
from persistence.tables.data_jobs import moved_record, workspace_move
from persistence.tables.flows import flow
from persistence.tables.messages import DELETED, label, message
from persistence.tables.service import archive, global_value
from persistence.templates import TEMPLATES
from persistence.tickets.records import TICKETS
from persistence.tickets.topics import TOPICS

SPECS: Mapping[str, tuple[ListSpec, str]] = {
    moves.CHANNEL: (replace(CHANNELS, standing=[]), "uuid"),
    moves.FIELD: (FIELDS, "key"),
    moves.GLOBAL: (GLOBALS, "key"),
    moves.GROUP: (GROUPS, "uuid"),
    moves.LABEL: (LABELS, "uuid"),
    moves.TOPIC: (TOPICS, "uuid"),
    moves.OPTIN: (OPTINS, "uuid"),
    moves.CLASSIFIER: (CLASSIFIERS, "uuid"),
    moves.TEMPLATE: (TEMPLATES, "uuid"),
    moves.CAMPAIGN: (CAMPAIGNS, "uuid"),
    moves.CAMPAIGN_EVENT: (CAMPAIGN_EVENTS, "uuid"),
    moves.RESTHOOK: (RESTHOOKS, "slug"),
    moves.SUBSCRIBER: (SUBSCRIBERS, "id"),
    moves.FLOW: (FLOWS, "uuid"),
    moves.CONTACT: (CONTACTS, "uuid"),
    moves.TICKET: (TICKETS, "uuid"),
    moves.BROADCAST: (BROADCASTS, "uuid"),
    moves.MESSAGE: (MESSAGES, "uuid"),
    moves.START: (STARTS, "uuid"),
    moves.RUN: (RUNS, "uuid"),
    moves.EVENT: (CHANNEL_EVENTS, "uuid"),
}
"""The lists in which records of each kind are seen here, and what tells them apart."""
UNLISTED = "is not listed there any more (deleted, or put into an archive), and stays here"
SHOWN_KEYS = {"slug": "resthook"}
TABLES: Mapping[str, Table] = {
    **{kind: spec.table for kind, (spec, _) in SPECS.items()},
    moves.ARCHIVE: archive,
}

GONE = "was deleted there"
Delete = Callable[[Transaction, Move, str], None]

WHOLE: Mapping[str, tuple[Table, Delete]] = {
    FIELD: (field, lambda tx, move, key: delete_field(tx, move.workspace, key)),
    GLOBAL: (global_value, lambda tx, move, key: delete_global(tx, move.workspace.id, key)),
    GROUP: (group, lambda tx, move, uuid: delete_group(tx, move.workspace.id, uuid)),
    LABEL: (label, lambda tx, move, uuid: delete_label(tx, move.workspace.id, uuid)),
}
"""Kinds whose lists are read whole in each pass, and how one of their records is deleted by its UUID or key."""
STAYING = (TOPIC, OPTIN, TEMPLATE)
"""Kinds that nobody can delete here."""


def find_held(
    tx: Transaction, move: Move, kind: str, references: Collection[str]
) -> tuple[dict[str, int | None], set[str]]:
    """Of these records what became of each that was looked at, and those whose record is here now."""
    known = find_moved(tx, move, kind, references)
    table = TABLES.get(kind)
    ids = {record for record in known.values() if record is not None}
    if table is None:
        return known, {reference for reference, record in known.items() if record is not None}
    held: set[int] = set()
    for some in split(sorted(ids)):
        mine = (table.c.workspace_id == move.workspace.id) & table.c.id.in_(some)
        if table is contact:
            mine &= ~contact.c.is_deleted
        held.update(tx.execute(select(table.c.id).where(mine)).scalars())
    return known, {reference for reference, record in known.items() if record in held}


def read_here(tx: Transaction, move: Move, kind: str, references: Sequence[str]) -> dict[str, dict[str, Any]]:
    """These records as the API shows them here, by what they are called there."""
    spec, key = SPECS[kind]
    ids = find_carried(tx, move, kind, references)
    table = spec.table
    mine = (table.c.workspace_id == move.workspace.id) & table.c.id.in_(sorted(ids.values()))
    keys = {number: str(value) for number, value in tx.execute(select(table.c.id, table.c[key]).where(mine))}
    records = [
        orjson.loads(each) for each in spec.read(ListQuery(tx, move.workspace), table.c.id.in_(sorted(ids.values())))
    ]
    shown = {str(each[SHOWN_KEYS.get(key, key)]): each for each in records}
    return {reference: shown[keys[number]] for reference, number in ids.items() if keys.get(number) in shown}


def find_new_uuids(tx: Transaction, move: Move, kind: str, references: Collection[str]) -> dict[str, str]:
    """The UUIDs here of these contacts, flows or groups."""
    ids = find_carried(tx, move, kind, references)
    table = TABLES[kind]
    uuids: dict[int, str] = {}
    for some in split(sorted(set(ids.values()))):
        mine = (table.c.workspace_id == move.workspace.id) & table.c.id.in_(some)
        uuids.update((number, uuid) for number, uuid in tx.execute(select(table.c.id, table.c.uuid).where(mine)))
    return {reference: uuids[number] for reference, number in ids.items() if number in uuids}


def comparable_query(tx: Transaction, move: Move, query: str) -> str:
    """The query of a group there as a group here would have it."""
    try:
        return check_group_query(tx, move.workspace, query, sees_urns=True) if query else ""
    except InvalidInput:
        return query


def note_unlisted(tx: Transaction, move: Move, kind: str, seen: Collection[str]) -> int:
    """Notes the records of a kind that were carried and are not listed there any more; returns how many."""
    gone = find_gone(tx, move, kind, seen)
    keep_moved(tx, move, kind, [Moved(each, number, f"{kind} {each}", UNLISTED) for each, number in gone.items()])
    return len(gone)


def list_flow_issues(tx: Transaction, move: Move) -> list[dict[str, Any]]:
    """The flows here with issues that need a hand."""
    mine = (flow.c.workspace_id == move.workspace.id) & ~flow.c.is_archived
    rows = tx.execute(select(flow.c.uuid, flow.c.name, flow.c.issues).where(mine).order_by(flow.c.name_key))
    return [{"uuid": row.uuid, "name": row.name, "issues": row.issues} for row in rows if row.issues]


def list_active_channels(tx: Transaction, move: Move) -> list[dict[str, Any]]:
    """What sends and receives here now."""
    rows = channel.c
    mine = (rows.workspace_id == move.workspace.id) & rows.is_active
    columns = (rows.uuid, rows.name, rows.address, rows.created_on)
    return [dict(row) for row in tx.execute(select(*columns).where(mine).order_by(rows.id)).mappings()]


def list_old_channels(tx: Transaction, move: Move) -> list[dict[str, Any]]:
    """The channels of the other side, which are kept here switched off; `is_phone` tells phones from gateways."""
    rows = channel.c
    ids = find_all_carried(tx, move, moves.CHANNEL)
    mine = (rows.workspace_id == move.workspace.id) & rows.id.in_(ids) & ~rows.is_active
    columns = (rows.name, rows.address, rows.type)
    return [
        {"name": row.name, "address": row.address, "is_phone": row.type == RELAYER}
        for row in tx.execute(select(*columns).where(mine).order_by(rows.id))
    ]


def find_all_carried(tx: Transaction, move: Move, kind: str) -> list[int]:
    """The ids of all records of a small kind."""
    rows = moved_record.c
    mine = (rows.workspace_id == move.workspace.id) & (rows.move_id == move.id) & (rows.kind == kind)
    found = tx.execute(select(rows.record).where(mine, rows.record.is_not(None)).order_by(rows.record)).scalars()
    return [number for number in found if number is not None]


def find_gone(tx: Transaction, move: Move, kind: str, seen: Collection[str]) -> dict[str, int]:
    """The records of a kind that were carried and are not among those that the other side lists now."""
    rows = moved_record.c
    mine = (rows.workspace_id == move.workspace.id) & (rows.move_id == move.id) & (rows.kind == kind)
    found = tx.execute(select(rows.reference, rows.record).where(mine, rows.record.is_not(None)).order_by(rows.record))
    return {reference: record for reference, record in found if reference not in seen and record is not None}


def forget_gone(tx: Transaction, move: Move, kind: str, seen: Collection[str]) -> None:
    """Deletes what the other side does not list any more, of a kind whose list was read whole."""
    gone = find_gone(tx, move, kind, seen)
    if kind == SUBSCRIBER and gone:
        end_subscriptions(tx, move.workspace.id, sorted(gone.values()))
        keep_moved(tx, move, kind, [Moved(reference, None, reference, GONE) for reference in gone])
    elif kind in STAYING:
        note = f"{GONE}, and stays here"
        keep_moved(tx, move, kind, [Moved(reference, number, reference, note) for reference, number in gone.items()])
    elif kind in WHOLE:
        keep_moved(tx, move, kind, [_delete(tx, move, kind, reference, number) for reference, number in gone.items()])


def delete_people(tx: Transaction, move: Move, uuids: Iterable[str]) -> None:
    """Deletes contacts that were deleted there, with their messages, runs and tickets, as there."""
    ids = find_carried(tx, move, CONTACT, uuids)
    rows = contact.c
    for some in split(sorted(ids)):
        mine = (rows.workspace_id == move.workspace.id) & rows.id.in_([ids[uuid] for uuid in some]) & ~rows.is_deleted
        here = {number: uuid for number, uuid in tx.execute(select(rows.id, rows.uuid).where(mine).order_by(rows.id))}
        with_it = sorted(number for uuid, number in ((each, ids[each]) for each in some) if here.get(number) == uuid)
        if with_it:
            delete_contacts(tx, move.workspace.id, with_it)
        stays = f"{GONE}; it was here before the move, and stays"
        keep_moved(
            tx,
            move,
            CONTACT,
            [
                Moved(uuid, ids[uuid], uuid, stays)
                if here.get(ids[uuid], uuid) != uuid
                else Moved(uuid, None, uuid, GONE)
                for uuid in some
            ],
        )


def find_living(tx: Transaction, move: Move, uuids: Iterable[str]) -> list[str]:
    """Those of these contacts that were carried and are not deleted here."""
    ids = find_carried(tx, move, CONTACT, uuids)
    rows, living = contact.c, set[int]()
    for some in split(sorted(ids.values())):
        mine = (rows.workspace_id == move.workspace.id) & rows.id.in_(some) & ~rows.is_deleted
        living.update(tx.execute(select(rows.id).where(mine)).scalars())
    return sorted(uuid for uuid, number in ids.items() if number in living)


def delete_messages_between(
    tx: Transaction, move: Move, after: datetime, before: datetime | None, listed: Sequence[str]
) -> int:
    """Deletes messages that were carried, were created between two times, and are not among those that the other side
    lists between them; returns how many."""
    rows = message.c
    within = (rows.workspace_id == move.workspace.id) & (rows.created_on > after) & (rows.visibility != DELETED)
    if before is not None:
        within &= rows.created_on < before
    here = set(find_carried(tx, move, MESSAGE, listed).values())
    came = moved_record.c
    mine = (came.workspace_id == move.workspace.id) & (came.move_id == move.id) & (came.kind == MESSAGE)
    found = select(rows.id, came.reference).join(moved_record, mine & (came.record == rows.id)).where(within)
    gone = {number: reference for number, reference in tx.execute(found) if number not in here}
    for some in split(sorted(gone)):
        empty_messages(tx, move.workspace.id, (rows.workspace_id == move.workspace.id) & rows.id.in_(some))
    keep_moved(tx, move, MESSAGE, [Moved(each, None, f"message {each}", GONE) for each in gone.values()])
    return len(gone)


def note_flow(tx: Transaction, move: Move, reference: str, number: int, why: str) -> None:
    keep_moved(tx, move, FLOW, [Moved(reference, number, reference, why)])


def _delete(tx: Transaction, move: Move, kind: str, reference: str, number: int) -> Moved:
    table, delete = WHOLE[kind]
    is_keyed = kind in (FIELD, GLOBAL)
    mine = (table.c.workspace_id == move.workspace.id) & (table.c.id == number)
    row = tx.execute(select(table.c.name, table.c.uuid, table.c.created_on).where(mine)).first()
    if row is None:
        return Moved(reference, None, reference, GONE)
    began = select(workspace_move.c.created_on).where(workspace_move.c.id == move.id)
    came_with_it = row.created_on >= tx.execute(began).scalar_one() if is_keyed else row.uuid == reference
    if not came_with_it:
        return Moved(reference, number, row.name, f"{GONE}; it was here before the move, and stays")
    try:
        delete(tx, move, reference)  # which refuses before it changes anything
    except (Refused, SystemRecord, RecordMissing) as error:
        return Moved(reference, number, row.name, f"{GONE}, and stays here: {error or 'it cannot be deleted'}")
    return Moved(reference, None, row.name, GONE)
