"""Makes two contacts one."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Table, case, delete, exists, func, select, true, update

from persistence.audit.witness import MERGED, tell_deed
from persistence.changes import note_changed, note_messages
from persistence.contacts.actions import interrupt_contacts
from persistence.database import Transaction
from persistence.deletions import CONTACT, note_deleted
from persistence.errors import InvalidInput
from persistence.groups.members import add_members, hold_contacts, leave_all_groups
from persistence.groups.smart_groups import refresh_contacts
from persistence.labels import hold_messages
from persistence.sql.columns import split
from persistence.stamps import later, stamped
from persistence.tables.changes import conversation
from persistence.tables.channels import channel_event, gateway_call
from persistence.tables.contacts import ACTIVE, contact, contact_note, contact_urn, group, group_membership
from persistence.tables.data_jobs import imported_contact
from persistence.tables.flow_starts import flow_start, flow_start_contact
from persistence.tables.messages import broadcast, broadcast_contact, message
from persistence.tables.runs import flow_run, flow_session
from persistence.tables.triggers import trigger_contact
from persistence.tickets.actions import move_tickets
from persistence.workspaces import Workspace

NAMED_IN = ((broadcast_contact, "broadcast_id"), (flow_start_contact, "start_id"), (trigger_contact, "trigger_id"))
"""Where contacts are named as recipients, each once."""


def merge_contacts(tx: Transaction, workspace: Workspace, kept_id: int, other_id: int, *, user_id: int | None) -> None:
    """Gives all that `other` has to `kept`, and deletes `other`; one unit of work. What both have stays as `kept` has
    it. Raises InvalidInput if they are one contact, LostRace if one was deleted since the caller found it.
    """
    if kept_id == other_id:
        raise InvalidInput.on("other", "A contact cannot be merged with itself.")
    hold_contacts(tx, workspace.id, [kept_id, other_id])
    interrupt_contacts(tx, workspace.id, [other_id])
    both = _ours(contact, workspace) & contact.c.id.in_([kept_id, other_id])
    rows = {row.id: row for row in tx.execute(select(contact).where(both))}
    kept, other = rows[kept_id], rows[other_id]
    _move_runs(tx, workspace, kept_id, other_id)
    _move_urns(tx, workspace, kept_id, other_id)
    move_tickets(tx, workspace, other_id, kept_id, user_id)
    group_ids = _manual_groups(tx, workspace, other_id)
    leave_all_groups(tx, workspace.id, [other_id])
    moment = stamped(tx, contact, workspace.id)
    gained = {
        "name": kept.name or other.name,
        "language": kept.language or other.language,
        "timezone": kept.timezone or other.timezone,
        "fields": {**other.fields, **kept.fields},
        "created_on": min(kept.created_on, other.created_on),
        "last_seen_on": max(filter(None, (kept.last_seen_on, other.last_seen_on)), default=None),
    }
    emptied: dict[str, Any] = {"is_deleted": True, "fields": {}, "open_ticket_count": 0}
    emptied |= dict.fromkeys(("name", "language", "current_flow_id", "handling_until"))
    emptied["merged_into_id"] = kept_id
    # Whoever was merged is not what an import made any more, and is not taken back.
    of_imports = _ours(imported_contact, workspace) & imported_contact.c.contact_id.in_([kept_id, other_id])
    tx.execute(delete(imported_contact).where(of_imports))
    earlier = _ours(contact, workspace) & (contact.c.merged_into_id == other_id)
    tx.execute(update(contact).where(earlier).values(merged_into_id=kept_id))
    for contact_id, values in ((kept_id, gained), (other_id, emptied)):
        mine = (contact.c.workspace_id == workspace.id) & (contact.c.id == contact_id)
        tx.execute(update(contact).where(mine).values(modified_on=moment, **values))
    if kept.status == ACTIVE:
        for group_id in group_ids:
            add_members(tx, workspace.id, group_id, [kept_id])
    note_deleted(tx, workspace.id, CONTACT, [other.uuid], merged_into=kept.uuid)
    refresh_contacts(tx, workspace, [kept_id])
    _move_history(tx, workspace, kept_id, other_id)
    named = {table.name: _rename(tx, workspace, table, key, kept_id, other_id) for table, key in NAMED_IN}
    note_changed(tx, broadcast, workspace.id, named[broadcast_contact.name])
    for some in split(sorted(named[flow_start_contact.name])):
        starts = _ours(flow_start, workspace) & flow_start.c.id.in_(some)
        tx.execute(update(flow_start).where(starts).values(modified_on=stamped(tx, flow_start, workspace.id)))
    tell_deed(tx, workspace.id, "contacts", MERGED, kept.uuid, changes={"merged": [None, other.uuid]})


def _ours(table: Table, workspace: Workspace) -> ColumnElement[bool]:
    return table.c.workspace_id == workspace.id


def _of(table: Table, workspace: Workspace, contact_id: int) -> ColumnElement[bool]:
    return _ours(table, workspace) & (table.c.contact_id == contact_id)


def _move_runs(tx: Transaction, workspace: Workspace, kept_id: int, other_id: int) -> None:
    """A start has one run of each contact: where both took part, the other's run no longer tells its start."""
    tx.execute(update(flow_session).where(_of(flow_session, workspace, other_id)).values(contact_id=kept_id))
    theirs = flow_run.alias("theirs")
    both = exists().where(
        theirs.c.workspace_id == workspace.id, theirs.c.contact_id == kept_id, theirs.c.start_id == flow_run.c.start_id
    )
    moved = {
        "contact_id": kept_id,
        "start_id": case((both, None), else_=flow_run.c.start_id),
        "modified_on": stamped(tx, flow_run, workspace.id),
    }
    tx.execute(update(flow_run).where(_of(flow_run, workspace, other_id)).values(**moved))


def _move_urns(tx: Transaction, workspace: Workspace, kept_id: int, other_id: int) -> None:
    """The other's URNs come after those of the kept contact, in their order."""
    rows = contact_urn.c
    last = select(func.coalesce(func.max(rows.priority), -1)).where(_of(contact_urn, workspace, kept_id))
    first = tx.execute(last).scalar_one() + 1
    moved = {"contact_id": kept_id, "priority": rows.priority + first}
    tx.execute(update(contact_urn).where(_of(contact_urn, workspace, other_id)).values(**moved))


def _manual_groups(tx: Transaction, workspace: Workspace, contact_id: int) -> Sequence[int]:
    rows = group_membership.c
    statement = select(rows.group_id).join(
        group, (group.c.id == rows.group_id) & (group.c.workspace_id == rows.workspace_id)
    )
    mine = _of(group_membership, workspace, contact_id)
    found = statement.where(mine, group.c.query.is_(None), ~group.c.is_system).order_by(rows.group_id)
    return tx.execute(found).scalars().all()


def _move_history(tx: Transaction, workspace: Workspace, kept_id: int, other_id: int) -> None:
    theirs = _of(message, workspace, other_id)
    hold_messages(tx, theirs)
    _join_conversations(tx, workspace, kept_id, other_id)
    moving = update(message).where(theirs).values(contact_id=kept_id, modified_on=later(tx, message))
    note_messages(tx, workspace.id, tx.execute(moving.returning(message.c.id)).scalars())
    for table in (channel_event, contact_note, gateway_call):
        tx.execute(update(table).where(_of(table, workspace, other_id)).values(contact_id=kept_id))


def _join_conversations(tx: Transaction, workspace: Workspace, kept_id: int, other_id: int) -> None:
    """What was unread stays unread. The conversation is written anew once the messages have moved."""
    rows = conversation.c
    mine = _ours(conversation, workspace) & rows.contact_id.in_([kept_id, other_id])
    found = tx.execute(select(rows.contact_id, rows.read_id, rows.is_unread).where(mine)).all()
    unread = [row.read_id for row in found if row.is_unread]
    read_id = min(unread) if unread else max((row.read_id for row in found), default=0)
    if not unread:
        newest = select(func.max(message.c.id)).where(
            _ours(message, workspace), message.c.contact_id.in_([kept_id, other_id])
        )
        read_id = tx.execute(newest).scalar_one() or read_id
    if any(row.contact_id == kept_id for row in found):
        tx.execute(delete(conversation).where(_of(conversation, workspace, other_id)))
    tx.execute(update(conversation).where(mine).values(contact_id=kept_id, read_id=read_id))


def _rename(tx: Transaction, workspace: Workspace, table: Table, key: str, kept_id: int, other_id: int) -> set[int]:
    """Who named the other as a recipient has named the kept contact; returns the ids of what named the other."""
    named = table.alias("named")
    both = exists().where(
        named.c.workspace_id == workspace.id, named.c.contact_id == kept_id, named.c[key] == table.c[key]
    )
    theirs = _of(table, workspace, other_id)
    shown = table.c.get("is_named", true())
    naming = set(tx.execute(select(table.c[key]).where(theirs, shown)).scalars())
    tx.execute(update(table).where(theirs, ~both).values(contact_id=kept_id))
    tx.execute(delete(table).where(theirs))
    return naming
