"""What this side holds of a move, to be compared with the other side."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import Table, select

from persistence.broadcasts.v2 import BROADCASTS
from persistence.campaign_events.v2 import CAMPAIGN_EVENTS
from persistence.campaigns.v2 import CAMPAIGNS
from persistence.channels.channels import CHANNELS
from persistence.channels.events import CHANNEL_EVENTS
from persistence.channels.types import RELAYER
from persistence.classifiers import CLASSIFIERS
from persistence.contacts.v2 import CONTACTS
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.fields import FIELDS
from persistence.flow_starts.v2 import STARTS
from persistence.flows.v2 import FLOWS
from persistence.globals import GLOBALS
from persistence.groups.smart_groups import check_group_query
from persistence.groups.v2 import GROUPS
from persistence.labels import LABELS
from persistence.lists import ListQuery, ListSpec
from persistence.messages.v2 import MESSAGES
from persistence.move import moves
from persistence.move.gone import find_gone
from persistence.move.moves import Move, Moved, find_carried, find_moved, keep_moved
from persistence.optins import OPTINS
from persistence.resthooks.resthooks import RESTHOOKS
from persistence.resthooks.subscribers import SUBSCRIBERS
from persistence.runs.v2 import RUNS
from persistence.sql.columns import split
from persistence.tables.channels import channel
from persistence.tables.contacts import contact
from persistence.tables.flows import flow
from persistence.tables.moves import moved_record
from persistence.tables.service import archive
from persistence.templates import TEMPLATES
from persistence.tickets.tickets import TICKETS
from persistence.topics import TOPICS

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
        return check_group_query(tx, move.workspace, query) if query else ""
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
