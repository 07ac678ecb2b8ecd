"""Erases a person from all tables of a workspace. TREATED says what happens to each table; a test compares it with the
tables that there are. Rows of others that mention the person's address lose the text with it.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote_plus

import orjson
from sqlalchemy import Column, ColumnElement, Table, Text, and_, cast, delete, func, or_, select, update

from persistence.audience_tables import OF_BROADCAST, OF_START
from persistence.changes import note_changed
from persistence.contacts.deletion import delete_contacts
from persistence.data_jobs import PENDING_AGAIN, UNFINISHED
from persistence.database import Transaction
from persistence.rights.alone import is_for_nobody_else
from persistence.rights.needles import Person, redact
from persistence.stamps import stamped
from persistence.tables.audit import audit_event
from persistence.tables.campaigns import campaign_fire
from persistence.tables.channels import gateway_call
from persistence.tables.contacts import contact, contact_note, contact_urn
from persistence.tables.data_jobs import FAILED, contact_import, export, imported_contact, rejected_row
from persistence.tables.deliveries import delivery, resthook_event
from persistence.tables.flow_starts import flow_start, flow_start_contact
from persistence.tables.messages import broadcast, broadcast_contact, message
from persistence.tables.moves import moved_record
from persistence.tables.runs import flow_run, flow_session, parked_sprint
from persistence.tables.service import kept_answer
from persistence.tables.tickets import ticket
from persistence.tables.triggers import trigger_contact

Counts = dict[str, int]
STOPPED_BY_ERASURE = "A person's data was erased while this was waiting: begin again."

OWN_ROWS: Mapping[str, Table] = {
    each.name: each
    for each in (
        campaign_fire,
        broadcast_contact,
        flow_start_contact,
        trigger_contact,
        parked_sprint,
        delivery,
        gateway_call,
        imported_contact,
    )
}
"""Rows of the contact that delete_contacts leaves; attempts go with their deliveries."""
MENTIONS: Mapping[str, Column[Any]] = {
    "delivery": delivery.c.body,
    "resthook_event": resthook_event.c.data,
    "idempotency_answer": kept_answer.c.body,
    "imported_contact": imported_contact.c.changes,
}
"""Rows that go if this column mentions the person."""
DOCUMENTS: Sequence[Column[Any]] = (
    broadcast.c.urns,
    flow_start.c.params,
    flow_start.c.parent,
    flow_session.c.state,
    flow_run.c.results,
    audit_event.c.changes,
    export.c.filters,
)
"""Documents of others, in which texts with an address of the person become empty."""
QUERIES: Sequence[Column[Any]] = (broadcast.c.query, flow_start.c.query)
"""Queries of the past that name an address."""


AFFECTED: Sequence[str] = sorted(
    {
        *("contact", "contact_urn", "contact_note", "group_membership", "message", "message_label", "flow_session"),
        *("ticket", "ticket_event", "channel_event", "delivery_attempt", "media", "moved_record", "conversation"),
        *("contact_import", "rejected_row", "data_request"),
        *OWN_ROWS,
        *MENTIONS,
        *(each.table.name for each in (*DOCUMENTS, *QUERIES)),
    }
)
"""The tables from which something of a person is erased: their files are rewritten."""


def count_own(tx: Transaction, person: Person) -> Counts:
    """How much is stored about a person, by kind."""
    kinds: dict[str, Table] = {
        "messages": message,
        "runs": flow_run,
        "tickets": ticket,
        "notes": contact_note,
        "delivery": delivery,
        "imported_contact": imported_contact,
    }
    return {name: _count(tx, _own(table, person)) for name, table in kinds.items()}


def _count(tx: Transaction, which: ColumnElement[bool]) -> int:
    return tx.execute(select(func.count()).where(which)).scalar_one()


def _own(table: Table, person: Person) -> ColumnElement[bool]:
    mine: ColumnElement[bool] = (table.c.workspace_id == person.workspace_id) & (
        table.c.contact_id == person.contact_id
    )
    return mine


def erase_rows(tx: Transaction, person: Person) -> Counts:
    """Erases a person, who may be deleted already, from the tables; returns how much was there."""
    counts = count_own(tx, person)
    mine = (contact.c.workspace_id == person.workspace_id) & (contact.c.id == person.contact_id)
    if not tx.execute(select(contact.c.is_deleted).where(mine).with_for_update()).scalar_one():
        delete_contacts(tx, person.workspace_id, [person.contact_id])
    tx.execute(update(contact).where(mine).values(timezone=None))
    _empty_lone_broadcasts(tx, person)
    _empty_lone_starts(tx, person)
    to, of = broadcast_contact.c, flow_start_contact.c
    named = select(to.broadcast_id).where(_own(broadcast_contact, person), to.is_named)
    _change(tx, person, broadcast, broadcast.c.id.in_(named))
    named = select(of.start_id).where(_own(flow_start_contact, person), of.is_named)
    _change(tx, person, flow_start, flow_start.c.id.in_(named))
    for table in OWN_ROWS.values():
        tx.execute(delete(table).where(_own(table, person)))
    paths = (contact_urn.c.workspace_id == person.workspace_id) & contact_urn.c.path.in_(person.paths)
    tx.execute(delete(contact_urn).where(paths, contact_urn.c.contact_id.is_(None)))
    for name, column in MENTIONS.items():
        mentioned = [row for row, body in _find(tx, person, column) if _is_in_body(person, body)]
        for row in mentioned:
            tx.execute(delete(column.table).where(row))
        counts[name] = counts.get(name, 0) + len(mentioned)
    for column in DOCUMENTS:
        _redact(tx, person, column)
    for column in QUERIES:
        for row, query in _find(tx, person, column):
            if person.is_in(query, by_uuid=False):
                tx.execute(update(column.table).where(row).values({column: None}))
    _forget_address_of_others(tx, person)
    _forget_notes_of_moves(tx, person)
    _forget_files(tx, person)
    return counts


def _forget_address_of_others(tx: Transaction, person: Person) -> None:
    """Messages of somebody who had an address of the person before keep their texts."""
    urns = [message.c.urn.endswith(f":{path}", autoescape=True) for path in person.paths]
    if urns:
        mine = message.c.workspace_id == person.workspace_id
        tx.execute(update(message).where(mine, or_(*urns)).values(urn=None))


def _forget_notes_of_moves(tx: Transaction, person: Person) -> None:
    """What could not be carried from another server is told by name."""
    rows = moved_record.c
    if person.name is not None:
        named = (rows.workspace_id == person.workspace_id) & (rows.name == person.name)
        tx.execute(update(moved_record).where(named).values(name=None, note=None))
    for column in (rows.name, rows.note):
        for row, told in _find(tx, person, column):
            if person.is_in(told):
                tx.execute(update(moved_record).where(row).values(name=None, note=None))


def _empty_lone_broadcasts(tx: Transaction, person: Person) -> None:
    """A broadcast to nobody else says what was written to this person."""
    lone = is_for_nobody_else(OF_BROADCAST, person)
    for broadcast_id, texts in tx.execute(select(broadcast.c.id, broadcast.c.text).where(lone)).all():
        values = {"text": dict.fromkeys(texts, ""), "attachments": {}, "files": {}, "quick_replies": {}}
        _change(tx, person, broadcast, broadcast.c.id == broadcast_id, values)


def _empty_lone_starts(tx: Transaction, person: Person) -> None:
    """The values of a start of nobody else are about this person, whoever they name."""
    given = flow_start.c.params.is_not(None) | flow_start.c.parent.is_not(None)
    _change(tx, person, flow_start, is_for_nobody_else(OF_START, person) & given, {"params": None, "parent": None})


def _find(tx: Transaction, person: Person, column: Column[Any]) -> list[tuple[ColumnElement[bool], Any]]:
    """The rows of the workspace that may mention the person: the condition for each, and its text or document."""
    keys = list(column.table.primary_key)
    may_be = (column.table.c.workspace_id == person.workspace_id) & person.may_be_in(column)
    found = tx.execute(select(column, *keys).where(may_be)).all()
    return [
        (and_(*(key == value for key, value in zip(keys, values, strict=True))), content) for content, *values in found
    ]


def _is_in_body(person: Person, body: Any) -> bool:
    """Forms are stored as they are sent, with escapes."""
    text = body if isinstance(body, str) else orjson.dumps(body).decode()
    return person.is_in(text) or person.is_in(unquote_plus(text))


def _redact(tx: Transaction, person: Person, column: Column[Any]) -> None:
    for row, document in _find(tx, person, column):
        bare = redact(document, person)
        left = [each for each in bare if each] if column is broadcast.c.urns else bare
        if left != document:
            _change(tx, person, column.table, row, {column.name: left})


def _change(
    tx: Transaction, person: Person, table: Table, which: ColumnElement[bool], values: Mapping[str, Any] | None = None
) -> None:
    """Gives rows other values; those that lists show are news."""
    new = dict(values or {})
    if table in (flow_start, flow_run):
        new["modified_on"] = stamped(tx, table, person.workspace_id)
    if table is broadcast:
        mine = (broadcast.c.workspace_id == person.workspace_id) & which
        note_changed(tx, broadcast, person.workspace_id, tx.execute(select(broadcast.c.id).where(mine)).scalars())
    if new:
        tx.execute(update(table).where(table.c.workspace_id == person.workspace_id, which).values(new))


def _forget_files(tx: Transaction, person: Person) -> None:
    """Files of exports and imports may name anybody: their rows lose them, and what is not finished begins again. The
    caller removes the files afterwards (see `list_files`)."""
    exports = export.c.workspace_id == person.workspace_id
    tx.execute(update(export).where(exports).values(location=None, size=None))
    tx.execute(update(export).where(exports, export.c.status.in_(UNFINISHED)).values(**PENDING_AGAIN))
    imports = contact_import.c.workspace_id == person.workspace_id
    ended = {"status": FAILED, "error": STOPPED_BY_ERASURE, "finished_on": tx.now, "leased_until": None}
    open_ = imports & contact_import.c.finished_on.is_(None)
    tx.execute(update(contact_import).where(open_).values(**ended))
    tx.execute(update(contact_import).where(imports).values(location=None, size=None, source=None))
    for row_id, columns in tx.execute(select(contact_import.c.id, contact_import.c.columns).where(imports)).all():
        bare = [{**each, "examples": []} for each in columns]
        tx.execute(update(contact_import).where(imports, contact_import.c.id == row_id).values(columns=bare))
    tx.execute(delete(rejected_row).where(rejected_row.c.workspace_id == person.workspace_id))


def list_files(tx: Transaction, workspace_id: int) -> list[str]:
    """The files of exports and imports of a workspace, which may name anybody."""
    found: list[str] = []
    for column in (export.c.location, contact_import.c.location, contact_import.c.source):
        owned = column.table.c.workspace_id == workspace_id
        named = select(cast(column, Text)).where(owned, column.is_not(None))
        found += [name for name in tx.execute(named).scalars() if name is not None]
    return found
