"""Deleting contacts, with what only they have."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, case, delete

from persistence.changes import change_contacts, change_messages, hold_messages
from persistence.contacts.records import CONTACTS_V1
from persistence.contacts.writes import free_urns
from persistence.database import Transaction
from persistence.deletions import CONTACT, NOTE, note_deleted
from persistence.errors import LostRace, RecordMissing, Refused
from persistence.groups.groups import hold_contacts, leave_all_groups
from persistence.lists import ListQuery
from persistence.media.store import note_former_owners
from persistence.messages.outgoing import INACTIVE, WAITS
from persistence.relayers.reports import forget_calls_of
from persistence.sessions.sessions import delete_sessions_of
from persistence.sql.columns import split
from persistence.tables.complete import metadata
from persistence.tables.contacts import CLEARED, contact, contact_note, contact_urn
from persistence.tables.messages import DELETED, message
from persistence.tables.policies import policy_of
from persistence.tickets.actions import delete_tickets_of

GOING = [table for table in metadata.sorted_tables if policy_of(table).erased == "deleted"]
EMPTIED: dict[str, Any] = {"text": "", "attachments": [], "quick_replies": [], "urn": None, "visibility": DELETED}
EMPTIED |= {"template": None, "failed_detail": None}
"""What a deleted message says no more."""
_IS_THERE = ~contact.c.is_deleted


def delete_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Mark contacts as deleted: their properties are cleared, their URNs become free, their tickets and runs are
    deleted and their messages emptied. Raises LostRace if one of them was deleted since the caller found it.
    """
    hold_contacts(tx, workspace_id, contact_ids)
    delete_sessions_of(tx, workspace_id, contact_ids)
    free_urns(tx, (contact_urn.c.workspace_id == workspace_id) & contact_urn.c.contact_id.in_(contact_ids))
    delete_tickets_of(tx, workspace_id, contact_ids)
    leave_all_groups(tx, workspace_id, contact_ids)
    gone = change_contacts(tx, workspace_id, contact_ids, CLEARED, only=_IS_THERE, returning=(contact.c.uuid,))
    note_deleted(tx, workspace_id, CONTACT, [uuid for (uuid,) in gone])
    _delete_messages_of(tx, workspace_id, contact_ids)
    forget_calls_of(tx, workspace_id, contact_ids)
    for table in GOING:
        tx.execute(delete(table).where(table.c.workspace_id == workspace_id, table.c.contact_id.in_(contact_ids)))


def delete_matching_contacts(query: ListQuery) -> None:
    """Delete all contacts that match the query. Raises Refused for a query without filters, so that a mistake cannot
    delete all contacts, RecordMissing if no contact matches, and LostRace if other contacts match once they are locked.
    """
    if not query.values:
        raise Refused("One of these parameters is required: group_uuids, urns, uuid.")
    wanted = CONTACTS_V1.select_ids(query)
    held = query.tx.execute(wanted.with_for_update()).scalars().all()
    contact_ids = query.tx.execute(wanted).scalars().all()
    if contact_ids != held:
        raise LostRace
    if not contact_ids:
        raise RecordMissing
    for some in split(contact_ids):
        delete_contacts(query.tx, query.workspace.id, some)


def _delete_messages_of(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    theirs = (message.c.workspace_id == workspace_id) & message.c.contact_id.in_(contact_ids)
    empty_messages(tx, workspace_id, theirs)
    notes = contact_note.c
    theirs = (notes.workspace_id == workspace_id) & notes.contact_id.in_(contact_ids)
    note_deleted(tx, workspace_id, NOTE, tx.execute(delete(contact_note).where(theirs).returning(notes.uuid)).scalars())


def empty_messages(tx: Transaction, workspace_id: int, theirs: ColumnElement[bool]) -> None:
    """Messages of a workspace lose what they say; their records stay as `deleted`."""
    hold_messages(tx, theirs)
    note_former_owners(tx, workspace_id, theirs)
    # Queued messages fail in the same statement: a second change of a row would make PostgreSQL lock its channel, in
    # the wrong order.
    failed = {name: case((WAITS, value), else_=message.c[name]) for name, value in INACTIVE.items()}
    changing = theirs & ((message.c.visibility != DELETED) | WAITS)
    change_messages(tx, workspace_id, changing, {**EMPTIED, **failed})
