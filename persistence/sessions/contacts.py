"""Contacts as the flow engine sees them, many at a time."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import Executable, literal, select

from flows.clock import write_moment
from flows.engine import Contact
from flows.engine.contact import FieldValue, Ticket
from flows.urns import Urn
from persistence.database import Transaction
from persistence.sql.columns import columns_for
from persistence.sql.due_work import beside_index
from persistence.statements import among, statement
from persistence.tables.accounts import user
from persistence.tables.channels import channel
from persistence.tables.contacts import contact, contact_urn, field, group, group_membership
from persistence.tables.tickets import OPEN, ticket, topic

PLACES = ("state", "district", "ward")


class ContactRow(NamedTuple):
    """The columns of a contact's row that the engine reads; `fields` are stored values by the field's UUID."""

    id: int
    uuid: str
    name: str | None
    language: str | None
    status: str
    timezone: str | None
    created_on: datetime
    last_seen_on: datetime | None
    fields: Mapping[str, Mapping[str, str]]


CONTACT_COLUMNS = columns_for(ContactRow, contact)


def load_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> dict[int, Contact]:
    """The contacts with these ids that are not deleted, by id; five statements for any number."""
    if not contact_ids:
        return {}
    rows = [ContactRow(*row) for row in _select_contacts.rows(tx, workspace_id, contact_ids)]
    return complete_contacts(tx, workspace_id, rows, _read_field_keys(tx, workspace_id))


def complete_contacts(
    tx: Transaction,
    workspace_id: int,
    rows: Sequence[ContactRow],
    keys: Mapping[str, str],
    *,
    with_groups: bool = True,
    with_tickets: bool = True,
) -> dict[int, Contact]:
    """The contacts of these rows, by id; `keys` are fields' keys by UUID.

    Three statements, fewer without groups or tickets.
    """
    found = {row.id: _read_contact(row, keys) for row in rows}
    _add_urns(tx, workspace_id, found)
    if with_groups:
        _add_groups(tx, workspace_id, found)
    if with_tickets:
        _add_tickets(tx, workspace_id, found)
    return found


def _read_field_keys(tx: Transaction, workspace_id: int) -> dict[str, str]:
    return {uuid: key for uuid, key in _select_fields.rows(tx, workspace_id)}


def _read_contact(row: ContactRow, keys: Mapping[str, str]) -> Contact:
    return Contact(
        row.uuid,
        row.id,
        name=row.name or "",
        language=row.language or "",
        status=row.status,
        timezone=row.timezone or "",
        created_on=write_moment(row.created_on),
        last_seen_on=write_moment(row.last_seen_on) if row.last_seen_on else "",
        fields={keys[uuid]: _read_value(stored) for uuid, stored in row.fields.items() if uuid in keys},
    )


def _read_value(stored: Mapping[str, str]) -> FieldValue:
    number = stored.get("number")
    texts = {name: stored.get(name) or "" for name in ("datetime", *PLACES)}
    return FieldValue(stored["text"], None if number is None else Decimal(number), **texts)


def write_value(value: FieldValue | None) -> dict[str, str] | None:
    """The stored form of a value."""
    if value is None or not value.text:
        return None
    stored = {"text": value.text}
    if value.number is not None:
        stored["number"] = format(value.number, "f")
    texts = {name: getattr(value, name) for name in ("datetime", *PLACES)}
    return stored | {name: text for name, text in texts.items() if text}


def _add_urns(tx: Transaction, workspace_id: int, found: Mapping[int, Contact]) -> None:
    for contact_id, scheme, path, display, channel_uuid in _select_urns.rows(tx, workspace_id, [*found]):
        query = f"channel={channel_uuid}" if channel_uuid else ""
        found[contact_id].urns.append(Urn(scheme, path, query, display or ""))


def _add_groups(tx: Transaction, workspace_id: int, found: Mapping[int, Contact]) -> None:
    for contact_id, uuid, name in _select_groups.rows(tx, workspace_id, [*found]):
        found[contact_id].groups.append(uuid)
        found[contact_id].group_names[uuid] = name


def _add_tickets(tx: Transaction, workspace_id: int, found: Mapping[int, Contact]) -> None:
    for row in _select_tickets.rows(tx, workspace_id, [*found]):
        contact_id, uuid, topic_uuid, topic_name, user_uuid, user_name, email = row
        chosen = {"uuid": topic_uuid, "name": topic_name}
        assignee = {"uuid": user_uuid, "name": user_name.strip(), "email": email} if user_uuid else None
        found[contact_id].tickets.append(Ticket(uuid, OPEN, chosen, assignee))


@statement
def _select_fields(workspace_id: int) -> Executable:
    return select(field.c.uuid, field.c.key).where(field.c.workspace_id == workspace_id)


@statement
def _select_contacts(workspace_id: int, ids: Sequence[int]) -> Executable:
    mine = (beside_index(contact.c.workspace_id) == workspace_id) & among(contact.c.id, ids) & ~contact.c.is_deleted
    return select(*CONTACT_COLUMNS).where(mine)


@statement
def _select_urns(workspace_id: int, contact_ids: Sequence[int]) -> Executable:
    rows = contact_urn.c
    is_theirs = (channel.c.id == rows.channel_id) & (channel.c.workspace_id == rows.workspace_id)
    return (
        select(rows.contact_id, rows.scheme, rows.path, rows.display, channel.c.uuid)
        .outerjoin(channel, is_theirs & channel.c.is_active)
        .where(beside_index(rows.workspace_id) == workspace_id, among(rows.contact_id, contact_ids))
        .order_by(rows.contact_id, rows.priority, rows.id)
    )


@statement
def _select_groups(workspace_id: int, contact_ids: Sequence[int]) -> Executable:
    rows = group_membership.c
    mine = (beside_index(group.c.workspace_id) == workspace_id) & ~group.c.is_system
    return (
        select(rows.contact_id, group.c.uuid, group.c.name)
        .join(group, group.c.id == rows.group_id)
        .where(mine, among(rows.contact_id, contact_ids))
        .order_by(rows.contact_id, group.c.id)
    )


@statement
def _select_tickets(workspace_id: int, contact_ids: Sequence[int]) -> Executable:
    name = (user.c.first_name + " " + user.c.last_name).label("assignee_name")
    mine = (beside_index(ticket.c.workspace_id) == workspace_id) & among(ticket.c.contact_id, contact_ids)
    return (
        select(ticket.c.contact_id, ticket.c.uuid, topic.c.uuid, topic.c.name, user.c.uuid, name, user.c.email)
        .join(topic, topic.c.id == ticket.c.topic_id)
        .outerjoin(user, user.c.id == ticket.c.assignee_id)
        .where(mine, ticket.c.status == literal(OPEN, literal_execute=True))
        .order_by(ticket.c.contact_id, ticket.c.id)
    )
