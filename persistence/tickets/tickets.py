"""Tickets: conversations that wait for a person."""

from typing import Any

from sqlalchemy import ColumnElement, FromClause, func, literal_column, select

from persistence.database import Transaction
from persistence.sql.columns import is_uuid
from persistence.sql.json_sql import as_text, declare_record, json_record, json_record_or_null
from persistence.sql.pages import Order, Page, Position, fetch_page
from persistence.tables.accounts import user
from persistence.tables.contacts import CONTACT_REF, contact
from persistence.tables.tickets import TOPIC_REF, ticket, topic

OPENED, ASSIGNED, NOTE_ADDED, TOPIC_CHANGED = "opened", "assigned", "note_added", "topic_changed"
REOPENED = "reopened"

assignee = user.alias("assignee")
opener = user.alias("opener")

WITH_REFERENCES = (
    ticket.join(contact, contact.c.id == ticket.c.contact_id)
    .join(topic, topic.c.id == ticket.c.topic_id)
    .outerjoin(assignee, assignee.c.id == ticket.c.assignee_id)
    .outerjoin(opener, opener.c.id == ticket.c.opened_by_id)
)


def _user_ref(rows: FromClause) -> ColumnElement[Any]:
    name = func.trim(rows.c.first_name + literal_column("' '") + rows.c.last_name)
    return json_record_or_null(rows.c.id, {"email": rows.c.email, "name": name})


TICKET_RECORD = declare_record(
    {
        "uuid": ticket.c.uuid,
        "contact": json_record(CONTACT_REF),
        "status": ticket.c.status,
        "topic": json_record(TOPIC_REF),
        "assignee": _user_ref(assignee),
        "opened_on": ticket.c.opened_on,
        "opened_by": _user_ref(opener),
        "opened_in": json_record_or_null(ticket.c.flow_uuid, {"uuid": ticket.c.flow_uuid, "name": ticket.c.flow_name}),
        "modified_on": ticket.c.modified_on,
        "closed_on": ticket.c.closed_on,
    }
)

NEVER = ticket.c.id < 0


def tickets_order(*, reverse: bool = False) -> Order:
    return Order(ticket.c.modified_on, ticket.c.id, descending=not reverse)


def list_tickets(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    uuid: str | None = None,
    contact_uuid: str | None = None,
    reverse: bool = False,
) -> Page:
    """The tickets of a workspace by their last change, newest first; an unknown contact gives an empty page."""
    conditions = [ticket.c.workspace_id == workspace_id]
    if uuid is not None:
        conditions.append(ticket.c.uuid == uuid)
    if contact_uuid is not None:
        owner = select(contact.c.id).where(contact.c.workspace_id == workspace_id, contact.c.uuid == contact_uuid)
        is_theirs = ticket.c.contact_id == owner.scalar_subquery()
        conditions.append(is_theirs if is_uuid(contact_uuid) else NEVER)
    return fetch_page(
        tx,
        record=TICKET_RECORD,
        source=WITH_REFERENCES,
        source_id=ticket.c.id,
        order=tickets_order(reverse=reverse),
        conditions=conditions,
        position=position,
        size=size,
    )


def read_ticket(tx: Transaction, workspace_id: int, ticket_id: int) -> str:
    """One ticket record as JSON text."""
    tx.flush()
    mine = (ticket.c.workspace_id == workspace_id) & (ticket.c.id == ticket_id)
    statement = select(as_text(TICKET_RECORD)).select_from(WITH_REFERENCES).where(mine)
    return tx.execute(statement).scalar_one()
