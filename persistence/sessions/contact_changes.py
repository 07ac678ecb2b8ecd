"""Changes of contacts by flows, for many contacts at once."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, select, update

from flows.urns import Urn
from persistence.contacts.actions import block_contacts, interrupt_contacts, unblock_contacts
from persistence.contacts.leases import LeasedContact
from persistence.contacts.owners import find_owners
from persistence.contacts.writes import set_urns
from persistence.database import Transaction
from persistence.groups.members import add_members, leave_all_groups, remove_members, touch_contacts
from persistence.messages.outgoing import fail_waiting
from persistence.stamps import stamped
from persistence.tables.channels import channel
from persistence.tables.contacts import ACTIVE, ARCHIVED, BLOCKED, STOPPED, contact, contact_urn, field, group


@dataclass(slots=True)
class ContactDelta:
    """The changes of a contact in one sprint. `values` are new names, languages and time zones (empty: none). `fields`
    are stored values by key, None if a field was cleared. `urns` is the whole new list.
    """

    values: dict[str, str] = dataclasses.field(default_factory=dict)
    fields: dict[str, dict[str, str] | None] = dataclasses.field(default_factory=dict)
    urns: list[Urn] | None = None
    status: str | None = None

    @property
    def is_attribute_change(self) -> bool:
        return bool(self.values or self.fields)


def change_many(
    tx: Transaction, workspace_id: int, rows: Sequence[LeasedContact], deltas: Mapping[int, ContactDelta]
) -> None:
    """Merges changes into contacts whose locked rows are given."""
    changing = [row for row in rows if row.id in deltas]
    attributes = [row for row in changing if deltas[row.id].is_attribute_change]
    if attributes:
        keys = {key for row in attributes for key in deltas[row.id].fields}
        uuids = _find_field_uuids(tx, workspace_id, keys)
        statement = update(contact).where(contact.c.workspace_id == workspace_id, contact.c.id == bindparam("its_id"))
        names = ("name", "language", "timezone", "fields")
        changed: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
        parameters = [_merge(row, deltas[row.id], uuids) for row in attributes]
        tx.execute(statement.values(modified_on=stamped(tx, contact, workspace_id), **changed), parameters)
    for row in changing:
        delta = deltas[row.id]
        if delta.urns is not None:
            _change_urns(tx, workspace_id, row.id, delta.urns)
        if delta.status is not None and delta.status != row.status:
            _change_status(tx, workspace_id, row.id, delta.status)


def change_memberships(
    tx: Transaction, workspace_id: int, joined: Mapping[str, Sequence[int]], left: Mapping[str, Sequence[int]]
) -> None:
    """Adds contacts to manual groups and removes them, by the group's UUID; smart groups are updated separately."""
    uuids = sorted({*joined, *left})
    if not uuids:
        return
    mine = (group.c.workspace_id == workspace_id) & group.c.uuid.in_(uuids) & group.c.query.is_(None)
    rows = tx.execute(select(group.c.id, group.c.uuid).where(mine).order_by(group.c.id)).all()
    for group_id, uuid in rows:
        if joined.get(uuid):
            add_members(tx, workspace_id, group_id, joined[uuid])
        if left.get(uuid):
            remove_members(tx, workspace_id, group_id, left[uuid])


def _merge(row: LeasedContact, delta: ContactDelta, uuids: Mapping[str, str]) -> dict[str, Any]:
    fields = dict(row.fields)
    for key, value in delta.fields.items():
        if key not in uuids:
            continue  # the field was deleted while the flow ran
        if value is None:
            fields.pop(uuids[key], None)
        else:
            fields[uuids[key]] = value
    values = {name: delta.values.get(name, getattr(row, name)) or None for name in ("name", "language", "timezone")}
    return {"its_id": row.id, "new_fields": fields, **{f"new_{name}": value for name, value in values.items()}}


def _find_field_uuids(tx: Transaction, workspace_id: int, keys: set[str]) -> dict[str, str]:
    rows = field.c
    if not keys:
        return {}
    statement = select(rows.key, rows.uuid).where(rows.workspace_id == workspace_id, rows.key.in_(sorted(keys)))
    return {key: uuid for key, uuid in tx.execute(statement)}


def _change_urns(tx: Transaction, workspace_id: int, contact_id: int, urns: Sequence[Urn]) -> None:
    owners = find_owners(tx, workspace_id, urns)
    # Another contact may have got a URN since the flow checked it.
    free = [urn for urn in urns if urn.identity not in owners or owners[urn.identity].contact_id == contact_id]
    if set_urns(tx, workspace_id, contact_id, free):
        touch_contacts(tx, workspace_id, [contact_id])
    chosen = {urn.identity: urn.query_values.get("channel", [""])[0] for urn in free if urn.query}
    for urn in free:
        uuid = chosen.get(urn.identity)
        found = select(channel.c.id).where(channel.c.workspace_id == workspace_id, channel.c.uuid == uuid)
        rows = contact_urn.c
        mine = (rows.workspace_id == workspace_id) & (rows.scheme == urn.scheme) & (rows.path == urn.path)
        tx.execute(update(contact_urn).where(mine).values(channel_id=found.scalar_subquery() if uuid else None))


def _change_status(tx: Transaction, workspace_id: int, contact_id: int, status: str) -> None:
    if status == BLOCKED:
        block_contacts(tx, workspace_id, [contact_id])
        return
    if status == ACTIVE:
        unblock_contacts(tx, workspace_id, [contact_id])
    mine = (contact.c.workspace_id == workspace_id) & (contact.c.id == contact_id)
    tx.execute(update(contact).where(mine).values(status=status, modified_on=stamped(tx, contact, workspace_id)))
    if status in (STOPPED, ARCHIVED):
        interrupt_contacts(tx, workspace_id, [contact_id])
        fail_waiting(tx, workspace_id, [contact_id])
        leave_all_groups(tx, workspace_id, [contact_id])
