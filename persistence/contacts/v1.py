"""Contacts as v1 shows them: flat lists instead of references, and filters with several values."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, literal_column, null, select

from flows.urns import Urn
from persistence.contacts.deletion import delete_contacts
from persistence.contacts.v2 import (
    fields_of_contact,
    in_groups,
    only_deleted,
    select_owners,
    show_fields,
    status_flag,
    urns_of_contact,
)
from persistence.database import Transaction
from persistence.errors import LostRace, RecordMissing, Refused
from persistence.lists import Condition, ListQuery, ListSpec, one_of, within
from persistence.sql.columns import split
from persistence.sql.json_sql import JsonDocument, declare_record, json_text_list
from persistence.sql.names import name_key
from persistence.sql.pages import Order
from persistence.tables.contacts import BLOCKED, STOPPED, contact, contact_urn, field, group, group_membership

NOTHING = JsonDocument(literal_column("'[]'"))


def _groups_of_contact(column: ColumnElement[Any]) -> ColumnElement[Any]:
    return json_text_list(
        select(column.label("item"))
        .join(group_membership, group_membership.c.group_id == group.c.id)
        .where(group_membership.c.contact_id == contact.c.id)
        .order_by(group.c.created_on, group.c.id)
        .correlate(contact)
    )


FIRST_PHONE = (
    select(contact_urn.c.path)
    .where(contact_urn.c.contact_id == contact.c.id, contact_urn.c.scheme == "tel")
    .order_by(contact_urn.c.priority, contact_urn.c.id)
    .limit(1)
    .correlate(contact)
    .scalar_subquery()
)


def _build_record(*, masked: bool) -> ColumnElement[Any]:
    return declare_record(
        {
            "uuid": contact.c.uuid,
            "name": contact.c.name,
            "language": contact.c.language,
            "group_uuids": _groups_of_contact(group.c.uuid),
            "urns": NOTHING if masked else urns_of_contact(masked=False),
            "fields": fields_of_contact(),
            "blocked": status_flag(BLOCKED),
            "failed": status_flag(STOPPED),
            "modified_on": contact.c.modified_on,
            "phone": null() if masked else FIRST_PHONE,
            "groups": _groups_of_contact(group.c.name),
        }
    )


def _of_addresses(query: ListQuery, texts: Sequence[str]) -> Condition:
    return contact.c.id.in_(select_owners(query, texts, "urns"))


CONTACTS_V1 = ListSpec(
    contact,
    _build_record(masked=False),
    Order(contact.c.modified_on, contact.c.id),
    masked=_build_record(masked=True),
    finish=show_fields,
    standing=only_deleted,
    options=frozenset({"deleted"}),
    is_read_at_once=True,
    filters={
        "uuid": one_of(contact.c.uuid),
        "urns": _of_addresses,
        "group_uuids": in_groups(contact.c.id),
        **within(contact.c.modified_on),
    },
)


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


def list_urns(tx: Transaction, workspace_id: int, contact_id: int) -> list[Urn]:
    """The URNs of a contact, the preferred one first."""
    rows = contact_urn.c
    statement = select(rows.scheme, rows.path, rows.display).where(
        rows.workspace_id == workspace_id, rows.contact_id == contact_id
    )
    found = tx.execute(statement.order_by(rows.priority, rows.id))
    return [Urn(row.scheme, row.path, display=row.display or "") for row in found]


def find_field_keys(tx: Transaction, workspace_id: int, names: Sequence[str]) -> dict[str, str]:
    """Field keys by the names in the request, each a key or, for older clients, a label in any case."""
    labels = {name: name_key(name.strip()) for name in names}
    statement = select(field.c.key, field.c.name_key).where(
        field.c.workspace_id == workspace_id,
        field.c.key.in_([name.lower() for name in names]) | field.c.name_key.in_(labels.values()),
    )
    rows = tx.execute(statement).all()
    by_key, by_label = {row.key for row in rows}, {row.name_key: row.key for row in rows}
    return {
        name: name.lower() if name.lower() in by_key else by_label.get(label, name) for name, label in labels.items()
    }
