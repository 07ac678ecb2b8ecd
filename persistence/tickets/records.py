"""Tickets: conversations that wait for a user."""

from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    func,
    literal_column,
    select,
)

from persistence.accounts.accounts import email_key
from persistence.lists import ListQuery, ListSpec, belongs_to, equals, reversible, within
from persistence.sql.json_sql import declare_record, json_record, json_record_or_null
from persistence.tables.accounts import user
from persistence.tables.contacts import CONTACT_REF, contact
from persistence.tables.tickets import TOPIC_REF, ticket, topic

OPENED, ASSIGNED, NOTE_ADDED, TOPIC_CHANGED = "opened", "assigned", "note_added", "topic_changed"
REOPENED = "reopened"
NOBODY = "nobody"
"""In the filter by assignee: tickets without one."""

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


def _assigned_to(_query: ListQuery, whom: str) -> ColumnElement[bool]:
    email = email_key(whom)
    theirs = select(user.c.id).where(user.c.email_key == email).scalar_subquery()
    return ticket.c.assignee_id.is_(None) if email == NOBODY else ticket.c.assignee_id == theirs


TICKETS = ListSpec(
    ticket,
    TICKET_RECORD,
    reversible(ticket.c.modified_on, ticket.c.id),
    source=WITH_REFERENCES,
    options=frozenset({"reverse"}),
    is_followed=True,
    filters={
        "uuid": equals(ticket.c.uuid),
        "contact": belongs_to(ticket.c.contact_id, contact),
        "status": lambda _query, status: ticket.c.status == status.strip().lower(),
        "topic": belongs_to(ticket.c.topic_id, topic),
        "assignee": _assigned_to,
        **within(ticket.c.modified_on),
    },
)
