from datetime import datetime

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, Named, String, Text

from persistence.policies import SET_UP, Audited, policy
from persistence.sql.columns import (
    BigId,
    NamedRecordColumns,
    OwnedColumns,
    RecordColumns,
    UtcDateTime,
    UuidText,
    numbered_table,
    partial_index,
)


class TicketerColumns(NamedRecordColumns):
    type: Named[str] = Column(String(32))
    created_on: Named[datetime] = Column(UtcDateTime)


ticketer = numbered_table(
    "ticketer",
    TicketerColumns,
    Index("uq_ticketer_name", "workspace_id", "name_key", unique=True),
    Index("ix_ticketer_page", "workspace_id", "created_on", "id"),
    info=policy(SET_UP, audited=Audited("ticketers", "name", ("name",))),
)

OPEN, CLOSED = "open", "closed"


class TicketColumns(RecordColumns):
    contact_id: Named[int] = Column(BigId, ForeignKey("contact.id"))
    status: Named[str] = Column(String(6), default=OPEN)
    topic_id: Named[int] = Column(BigId, ForeignKey("topic.id"))
    assignee_id: Named[int | None] = Column(Integer, ForeignKey("app_user.id"))
    opened_by_id: Named[int | None] = Column(Integer, ForeignKey("app_user.id"))
    flow_uuid: Named[str | None] = Column(UuidText)
    flow_name: Named[str | None] = Column(String(255))
    opened_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)
    closed_on: Named[datetime | None] = Column(UtcDateTime)
    replied_on: Named[datetime | None] = Column(UtcDateTime)


ticket = numbered_table(
    "ticket",
    TicketColumns,
    Index("ix_ticket_page", "workspace_id", "modified_on", "id"),
    Index("ix_ticket_contact", "contact_id", "modified_on", "id"),
    Index("ix_ticket_status", "workspace_id", "status", "modified_on", "id"),
    Index("ix_ticket_topic", "workspace_id", "topic_id", "modified_on", "id"),
    Index("ix_ticket_desk", "workspace_id", "assignee_id", "modified_on", "id"),
    Index("ix_ticket_opened", "workspace_id", "opened_on", "id"),
    partial_index("ix_ticket_closed", "workspace_id", "closed_on", "id", where="closed_on IS NOT NULL"),
    partial_index("ix_ticket_assignee", "assignee_id", where="assignee_id IS NOT NULL"),
    partial_index("ix_ticket_opener", "opened_by_id", where="opened_by_id IS NOT NULL"),
    partial_index("uq_ticket_open", "contact_id", "workspace_id", where="status = 'open'", unique=True),
    info=policy("the work of a help desk, in the lists of v2", erased="apart", copied="tickets", merged="apart"),
)
"""A contact has at most one open ticket. `flow_uuid` and `flow_name` are those of the flow that opened it, at that
time. `replied_on` is when a person first wrote to the contact after that."""


class TicketEventColumns(OwnedColumns):
    ticket_id: Named[int] = Column(BigId, ForeignKey("ticket.id", ondelete="CASCADE"))
    type: Named[str] = Column(String(13))
    user_id: Named[int | None] = Column(Integer, ForeignKey("app_user.id"))
    assignee_id: Named[int | None] = Column(Integer, ForeignKey("app_user.id"))
    topic_id: Named[int | None] = Column(BigId, ForeignKey("topic.id"))
    note: Named[str | None] = Column(Text)
    created_on: Named[datetime] = Column(UtcDateTime)


ticket_event = numbered_table(
    "ticket_event",
    TicketEventColumns,
    Index("ix_ticket_event_ticket", "ticket_id", "created_on", "id"),
    info=policy("what happened to a ticket", erased="apart"),
)
"""The history of tickets: who did what, with the new value."""


class TopicColumns(NamedRecordColumns):
    is_system: Named[bool] = Column(Boolean, default=False)
    open_count: Named[int] = Column(Integer, default=0)
    closed_count: Named[int] = Column(Integer, default=0)
    created_on: Named[datetime] = Column(UtcDateTime)


topic = numbered_table(
    "topic",
    TopicColumns,
    Index("uq_topic_name", "workspace_id", "name_key", unique=True),
    Index("ix_topic_page", "workspace_id", "created_on", "id"),
    info=policy(SET_UP, audited=Audited("topics", "name", ("name",))),
)
"""The counts change in the transaction that opens, closes or moves tickets."""

TOPIC_REF = {"uuid": topic.c.uuid, "name": topic.c.name}
