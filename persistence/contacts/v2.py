"""Contacts as v2 shows them: the record, and the list with its filters."""

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, ColumnElement, case, literal, literal_column, null, or_, select, type_coerce

from flows.urns import Urn
from persistence.database import Transaction
from persistence.sql.columns import is_uuid
from persistence.sql.json_sql import JsonPart, as_text, json_list, json_map, json_record, json_text_list
from persistence.sql.names import name_key
from persistence.sql.pages import Order, Page, Position, fetch_page
from persistence.tables.contacts import BLOCKED, STOPPED, contact, contact_urn, field, group, group_membership
from persistence.tables.flows import FLOW_REF, flow

MASKED_PATH = "********"
NEVER = contact.c.id < 0


def unless_deleted(value: ColumnElement[Any]) -> ColumnElement[Any]:
    """The value, null for a deleted contact."""
    return case((contact.c.is_deleted, null()), else_=value)


def status_flag(status: str) -> ColumnElement[Any]:
    """Whether a contact has this status, null for a deleted one."""
    return type_coerce(unless_deleted(contact.c.status == status), Boolean)


GROUPS_OF_CONTACT = json_list(
    select(json_record({"uuid": group.c.uuid, "name": group.c.name}).label("item"))
    .join(group_membership, group_membership.c.group_id == group.c.id)
    .where(group_membership.c.contact_id == contact.c.id)
    .order_by(group.c.created_on, group.c.id)
    .correlate(contact)
)

CURRENT_FLOW = (
    select(json_record(FLOW_REF)).where(flow.c.id == contact.c.current_flow_id).correlate(contact).scalar_subquery()
)
"""The flow a contact waits in, or null."""


def urns_of_contact(*, masked: bool) -> ColumnElement[Any]:
    """The URNs of a contact as a list of texts, the preferred one first."""
    path = literal(MASKED_PATH, literal_execute=True) if masked else contact_urn.c.path
    return json_text_list(
        select((contact_urn.c.scheme + literal_column("':'") + path).label("item"))
        .where(contact_urn.c.contact_id == contact.c.id)
        .order_by(contact_urn.c.priority, contact_urn.c.id)
        .correlate(contact)
    )


def fields_of_contact(workspace_id: int, *, for_agent: bool) -> ColumnElement[Any]:
    """Every field of the workspace by key with the part of the value that is of the field's own type."""
    conditions = [field.c.workspace_id == workspace_id, ~contact.c.is_deleted]
    if for_agent:
        conditions.append(field.c.agent_access != "none")
    value = JsonPart(contact.c.fields, field.c.uuid, field.c.type)
    return json_map(
        select(field.c.key.label("key"), value.label("item")).where(*conditions).order_by(field.c.id).correlate(contact)
    )


def contact_record(workspace_id: int, *, masked: bool = False, for_agent: bool = False) -> ColumnElement[Any]:
    """The v2 record; `masked` hides addresses, `for_agent` leaves out the fields that agents may not see."""
    parts = {
        "uuid": contact.c.uuid,
        "name": contact.c.name,
        "status": unless_deleted(contact.c.status),
        "language": contact.c.language,
        "urns": urns_of_contact(masked=masked),
        "groups": GROUPS_OF_CONTACT,
        "fields": fields_of_contact(workspace_id, for_agent=for_agent),
        "flow": CURRENT_FLOW,
        "created_on": contact.c.created_on,
        "modified_on": contact.c.modified_on,
        "last_seen_on": contact.c.last_seen_on,
        "blocked": status_flag(BLOCKED),
        "stopped": status_flag(STOPPED),
    }
    return json_record(parts)


def contacts_order(*, reverse: bool = False) -> Order:
    return Order(contact.c.modified_on, contact.c.id, descending=not reverse)


def list_contacts(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    uuid: str | None = None,
    urn: Urn | None = None,
    group_reference: str | None = None,
    deleted: bool = False,
    before: datetime | None = None,
    after: datetime | None = None,
    reverse: bool = False,
    masked: bool = False,
    for_agent: bool = False,
) -> Page:
    """Contacts by time of modification, newest first; unknown references give an empty page."""
    conditions: list[ColumnElement[bool]] = [contact.c.workspace_id == workspace_id, contact.c.is_deleted.is_(deleted)]
    if uuid is not None:
        conditions.append(contact.c.uuid == uuid)
    if urn is not None:
        conditions.append(_owns(workspace_id, urn))
    if group_reference is not None:
        conditions.append(_is_member(workspace_id, group_reference))
    if before is not None:
        conditions.append(contact.c.modified_on <= before)
    if after is not None:
        conditions.append(contact.c.modified_on >= after)
    return fetch_page(
        tx,
        record=contact_record(workspace_id, masked=masked, for_agent=for_agent),
        source=contact,
        source_id=contact.c.id,
        order=contacts_order(reverse=reverse),
        conditions=conditions,
        position=position,
        size=size,
    )


def _owns(workspace_id: int, urn: Urn) -> ColumnElement[bool]:
    rows = contact_urn.c
    mine = (rows.workspace_id == workspace_id) & (rows.scheme == urn.scheme) & (rows.path == urn.path)
    return contact.c.id == select(rows.contact_id).where(mine).scalar_subquery()


def _is_member(workspace_id: int, reference: str) -> ColumnElement[bool]:
    named = group.c.name_key == name_key(reference.strip())
    wanted = or_(group.c.uuid == reference, named) if is_uuid(reference) else named
    return contact.c.id.in_(
        select(group_membership.c.contact_id)
        .join(group, group.c.id == group_membership.c.group_id)
        .where(group.c.workspace_id == workspace_id, wanted)
    )


def read_contact(
    tx: Transaction, workspace_id: int, contact_id: int, *, masked: bool = False, for_agent: bool = False
) -> str:
    """One contact record as JSON text."""
    tx.flush()
    record = contact_record(workspace_id, masked=masked, for_agent=for_agent)
    mine = (contact.c.workspace_id == workspace_id) & (contact.c.id == contact_id)
    return tx.execute(select(as_text(record)).where(mine)).scalar_one()
