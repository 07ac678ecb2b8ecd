"""Contacts as v1 shows them: flat lists instead of references, and filters that take several values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, literal_column, null, select

from flows.urns import Urn
from persistence.contacts.urns import is_one_of
from persistence.contacts.v2 import contacts_order, fields_of_contact, status_flag, urns_of_contact
from persistence.contacts.writes import delete_contacts
from persistence.database import Transaction
from persistence.errors import RecordMissing, Refused
from persistence.sql.columns import is_uuid
from persistence.sql.json_sql import JsonDocument, as_text, json_record, json_text_list
from persistence.sql.names import name_key
from persistence.sql.numbered_pages import NumberedPage, fetch_numbered_page
from persistence.tables.contacts import BLOCKED, STOPPED, contact, contact_urn, field, group, group_membership

DELETED_AT_ONCE = 1000
NOTHING = JsonDocument(literal_column("'[]'"))


@dataclass(frozen=True, slots=True)
class ContactFilter:
    """Which contacts are meant; None and empty lists leave a property open, all others must hold."""

    uuids: Sequence[str] | None = None
    urns: Sequence[Urn] | None = None
    group_uuids: Sequence[str] | None = None
    before: datetime | None = None
    after: datetime | None = None

    @property
    def is_empty(self) -> bool:
        return not self.uuids and self.urns is None and not self.group_uuids

    def conditions(self, workspace_id: int) -> list[ColumnElement[bool]]:
        rows = contact.c
        found: list[ColumnElement[bool]] = []
        if self.uuids:
            found.append(rows.uuid.in_(self.uuids))
        if self.urns is not None:
            mine = (contact_urn.c.workspace_id == workspace_id) & contact_urn.c.contact_id.is_not(None)
            owners = select(contact_urn.c.contact_id).where(mine, is_one_of(self.urns))
            found.append(rows.id.in_(owners))
        if self.group_uuids:
            uuids = [uuid for uuid in self.group_uuids if is_uuid(uuid)]
            members = select(group_membership.c.contact_id).join(group, group.c.id == group_membership.c.group_id)
            found.append(rows.id.in_(members.where(group.c.workspace_id == workspace_id, group.c.uuid.in_(uuids))))
        if self.before is not None:
            found.append(rows.modified_on <= self.before)
        if self.after is not None:
            found.append(rows.modified_on >= self.after)
        return found


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


def contact_summary(workspace_id: int, *, masked: bool = False) -> ColumnElement[Any]:
    """The v1 record; `masked` hides addresses."""
    return json_record(
        {
            "uuid": contact.c.uuid,
            "name": contact.c.name,
            "language": contact.c.language,
            "group_uuids": _groups_of_contact(group.c.uuid),
            "urns": NOTHING if masked else urns_of_contact(masked=False),
            "fields": fields_of_contact(workspace_id, for_agent=False),
            "blocked": status_flag(BLOCKED),
            "failed": status_flag(STOPPED),
            "modified_on": contact.c.modified_on,
            "phone": null() if masked else FIRST_PHONE,
            "groups": _groups_of_contact(group.c.name),
        }
    )


def list_contact_summaries(
    tx: Transaction,
    workspace_id: int,
    wanted: ContactFilter,
    number: int,
    size: int,
    *,
    deleted: bool = False,
    masked: bool = False,
) -> NumberedPage:
    """The contacts of a workspace that fit, the one changed last first; deleted ones instead when asked for."""
    mine = [contact.c.workspace_id == workspace_id, contact.c.is_deleted.is_(deleted)]
    return fetch_numbered_page(
        tx,
        record=contact_summary(workspace_id, masked=masked),
        source=contact,
        order=contacts_order(),
        conditions=[*mine, *wanted.conditions(workspace_id)],
        number=number,
        size=size,
    )


def read_contact_summary(tx: Transaction, workspace_id: int, contact_id: int, *, masked: bool = False) -> str:
    """One contact's record as JSON text."""
    tx.flush()
    mine = (contact.c.workspace_id == workspace_id) & (contact.c.id == contact_id)
    record = contact_summary(workspace_id, masked=masked)
    return tx.execute(select(as_text(record)).select_from(contact).where(mine)).scalar_one()


def delete_matching_contacts(tx: Transaction, workspace_id: int, wanted: ContactFilter) -> None:
    """Delete all contacts that fit.

    Raises Refused for a filter that names nothing, so that a slip cannot delete everybody, and RecordMissing when no
    contact fits.
    """
    if wanted.is_empty:
        raise Refused("One of these parameters is needed: group_uuids, urns, uuid.")
    mine = (contact.c.workspace_id == workspace_id) & ~contact.c.is_deleted
    statement = select(contact.c.id).where(mine, *wanted.conditions(workspace_id)).order_by(contact.c.id)
    contact_ids = list(tx.execute(statement).scalars())
    if not contact_ids:
        raise RecordMissing
    for some in _portions(contact_ids):
        delete_contacts(tx, workspace_id, some)


def _portions(contact_ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """Parts that fit into one statement on every database."""
    for start in range(0, len(contact_ids), DELETED_AT_ONCE):
        yield contact_ids[start : start + DELETED_AT_ONCE]


def list_urns(tx: Transaction, workspace_id: int, contact_id: int) -> list[Urn]:
    """The URNs of a contact, the preferred one first."""
    rows = contact_urn.c
    statement = select(rows.scheme, rows.path, rows.display).where(
        rows.workspace_id == workspace_id, rows.contact_id == contact_id
    )
    found = tx.execute(statement.order_by(rows.priority, rows.id))
    return [Urn(row.scheme, row.path, display=row.display or "") for row in found]


def find_field_keys(tx: Transaction, workspace_id: int, names: Sequence[str]) -> dict[str, str]:
    """Field keys by the texts that name them, each a key or, for older clients, a label in any case."""
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
