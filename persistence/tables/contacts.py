import re
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    Named,
    String,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from persistence.sql.columns import (
    FOUND_BY,
    BigId,
    Json,
    JsonIndexed,
    LinkColumns,
    NamedRecordColumns,
    OwnedColumns,
    RecordColumns,
    UtcDateTime,
    UuidText,
    numbered_table,
    partial_index,
    table_of,
)
from persistence.tables.policies import SET_UP, Audited, policy

ACTIVE, BLOCKED, STOPPED, ARCHIVED = "active", "blocked", "stopped", "archived"
FIELD_NAME_LENGTH = FIELD_KEY_LENGTH = 36
FIELD_KEY = re.compile(r"[a-z][a-z0-9_]*\Z")

SORTED_LENGTH = 64

INITIALIZING, EVALUATING, READY = "initializing", "evaluating", "ready"

NOTE_LENGTH = 10_000

OPEN, CLOSED = "open", "closed"


class ContactColumns(RecordColumns):
    name: Named[str | None] = Column(String(128))
    language: Named[str | None] = Column(String(3))
    timezone: Named[str | None] = Column(String(64))
    status: Named[str] = Column(String(8), default=ACTIVE)
    is_deleted: Named[bool] = Column(Boolean, default=False)
    fields: Named[Any] = Column(JsonIndexed, nullable=False)
    current_flow_id: Named[int | None] = Column(BigId)
    open_ticket_count: Named[int] = Column(Integer, default=0)
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)
    last_seen_on: Named[datetime | None] = Column(UtcDateTime)
    handling_until: Named[datetime | None] = Column(UtcDateTime)
    handling_attempts: Named[int] = Column(Integer, default=0, server_default="0")
    merged_into_id: Named[int | None] = Column(BigId)
    answers_stopped_on: Named[datetime | None] = Column(UtcDateTime)


contact = numbered_table(
    "contact",
    ContactColumns,
    Index("ix_contact_page", "workspace_id", "is_deleted", "modified_on", "id"),
    info={FOUND_BY: "is_deleted IN (true, false)"}
    | policy(
        "the people a workspace is for",
        erased="apart",
        audited=Audited("contacts", ended={"is_deleted": True}, only_end=True, tells_creation=False),
        refers={"current_flow_id": "flow", "merged_into_id": "contact"},
    ),
)
"""`fields` maps a field's UUID to the types as which its value was read: {"text", "number", "datetime", "state",
"district", "ward"}. Only flows set `timezone`. `handling_until` is when a worker's lease of the contact ends,
and `handling_attempts` how many leases in a row were not given back.
`merged_into_id` is the contact that took over what a deleted one had. `answers_stopped_on` is since when it gets no
automatic answers, because it and a flow answered each other in a circle."""

_MARKS, _WORK = {"last_seen_on", "merged_into_id", "answers_stopped_on"}, {"current_flow_id", "handling_until"}
OF_PERSON = tuple(each.name for each in contact.c if each.nullable and each.name not in _MARKS | _WORK)
"""What is known of a person besides `fields`: what only one of two has is there after a merge."""
CLEARED: dict[str, Any] = {"is_deleted": True, "fields": {}, "open_ticket_count": 0}
CLEARED |= dict.fromkeys((*OF_PERSON, *sorted(_WORK)))
"""What deletes a contact, whose columns are empty then but for its keys and times."""


class SortName(FunctionElement[str]):
    """By what contacts are sorted by name: its beginning in the order of the characters, Latin letters of both cases
    alike. Those without a name come last."""

    type = String()
    inherit_cache = True


@compiles(SortName)
def _sort_name(element: SortName, compiler: SQLCompiler, **options: Any) -> str:
    # On PostgreSQL the order of the database's language would depend on the version of its library.
    order = ' COLLATE "C"' if compiler.dialect.name == "postgresql" else ""
    name = compiler.process(element.clauses, **options)
    return f"coalesce('0' || lower(substr({name}, 1, {SORTED_LENGTH}){order}), '1')"


Index(
    "ix_contact_name",
    *(contact.c.workspace_id, contact.c.is_deleted, SortName(contact.c.name), contact.c.id),
)


class ContactUrnColumns(OwnedColumns):
    contact_id: Named[int | None] = Column(BigId, ForeignKey("contact.id"))
    scheme: Named[str] = Column(String(16))
    path: Named[str] = Column(String(255))
    display: Named[str | None] = Column(String(255))
    priority: Named[int] = Column(Integer, default=0)
    channel_id: Named[int | None] = Column(Integer, ForeignKey("channel.id"))
    former_contact_id: Named[int | None] = Column(BigId)


contact_urn = numbered_table(
    "contact_urn",
    ContactUrnColumns,
    UniqueConstraint("workspace_id", "scheme", "path"),
    Index("ix_contact_urn_contact", "contact_id", "priority", "id"),
    info=policy(
        "how contacts are reached; one that is left keeps its history",
        erased="apart",
        merged="apart",
        refers={"former_contact_id": "contact"},
    ),
)
"""Lower `priority` comes first. A URN without a contact is free; `former_contact_id` is who had it last then, so that
it is found when the data of that person is asked for."""

CONTACT_REF: dict[str, Any] = {"uuid": contact.c.uuid, "name": contact.c.name}


class FieldColumns(RecordColumns):
    key: Named[str] = Column(String(FIELD_KEY_LENGTH))
    name: Named[str] = Column(String(FIELD_NAME_LENGTH))
    name_key: Named[str] = Column(Text)
    type: Named[str] = Column(String(8))
    is_featured: Named[bool] = Column(Boolean, default=False)
    priority: Named[int] = Column(Integer, default=0)
    agent_access: Named[str] = Column(String(4), default="view")
    created_on: Named[datetime] = Column(UtcDateTime)


field = numbered_table(
    "contact_field",
    FieldColumns,
    Index("uq_contact_field_key", "workspace_id", "key", unique=True),
    Index("uq_contact_field_name", "workspace_id", "name_key", unique=True),
    Index("ix_contact_field_page", "workspace_id", "created_on", "id"),
    info=policy(SET_UP, audited=Audited("fields", "name", ("name", "type", "agent_access"))),
)
"""`agent_access`: `none` hides the field from agents, `view` lets them read it, `edit` also write it."""


class GroupColumns(NamedRecordColumns):
    query: Named[str | None] = Column(Text)
    status: Named[str] = Column(String(12), default=READY)
    is_system: Named[bool] = Column(Boolean, default=False)
    member_count: Named[int] = Column(Integer, default=0)
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)
    evaluated_until: Named[datetime | None] = Column(UtcDateTime)
    evaluated_after_id: Named[int] = Column(BigId, default=0)
    attempts: Named[int] = Column(Integer, default=0, server_default="0")
    error: Named[str | None] = Column(Text)


group = numbered_table(
    "contact_group",
    GroupColumns,
    partial_index("ix_contact_group_unready", "status", "id", where="status <> 'ready'"),
    Index("uq_contact_group_name", "workspace_id", "name_key", unique=True),
    Index("ix_contact_group_page", "workspace_id", "created_on", "id"),
    info=policy(SET_UP, audited=Audited("groups", "name", ("name",)), refers={"evaluated_after_id": "contact"}),
)
"""`evaluated_until` is the end of the lease with which a worker finds the members of a smart group, in the order of
contact ids; `evaluated_after_id` is the last contact checked, and `attempts` how often one began since it got on. One
with an `error` was given up."""


class GroupMembershipColumns(LinkColumns):
    group_id: Named[int] = Column(BigId, ForeignKey("contact_group.id"), primary_key=True)
    contact_id: Named[int] = Column(BigId, ForeignKey("contact.id"), primary_key=True)


group_membership = table_of(
    "group_membership",
    GroupMembershipColumns,
    Index("ix_group_membership_contact", "contact_id", "group_id"),
    info=policy("who is in which group", erased="apart", merged="apart"),
)


class ContactNoteColumns(RecordColumns):
    contact_id: Named[int] = Column(BigId, ForeignKey("contact.id"))
    user_id: Named[int | None] = Column(Integer, ForeignKey("app_user.id"))
    text: Named[str] = Column(Text)
    created_on: Named[datetime] = Column(UtcDateTime)


contact_note = numbered_table(
    "contact_note",
    ContactNoteColumns,
    Index("ix_contact_note_page", "workspace_id", "created_on", "id"),
    Index("ix_contact_note_contact", "contact_id", "created_on", "id"),
    info=policy(
        "what people wrote about a contact; they go with the contact", erased="apart", copied="notes", merged="moved"
    ),
)
"""What people of the workspace wrote about a contact."""

GROUP_REF: dict[str, Any] = {"uuid": group.c.uuid, "name": group.c.name}


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
    reply_due: Named[datetime | None] = Column(UtcDateTime)


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
    partial_index(
        "ix_ticket_due",
        *("workspace_id", "reply_due", "id"),
        where="status = 'open' AND replied_on IS NULL AND reply_due IS NOT NULL",
    ),
    partial_index("uq_ticket_open", "contact_id", "workspace_id", where="status = 'open'", unique=True),
    info=policy("the work of a help desk, in the lists of v2", erased="apart", copied="tickets", merged="apart"),
)
"""A contact has at most one open ticket. `flow_uuid` and `flow_name` are those of the flow that opened it, at that
time. `replied_on` is when a person first wrote to the contact after that, `reply_due` until when its team wants it."""


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
    partial_index("ix_ticket_event_topic", "topic_id", where="topic_id IS NOT NULL"),
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


class TeamColumns(NamedRecordColumns):
    assigns_in_turn: Named[bool] = Column(Boolean, default=False, server_default=false())
    hours: Named[Any] = Column(Json, default=list, server_default="[]", nullable=False)
    holidays: Named[Any] = Column(Json, default=list, server_default="[]", nullable=False)
    closed_text: Named[str] = Column(Text, default="", server_default="")
    reply_minutes: Named[int] = Column(Integer, default=0, server_default="0")
    created_on: Named[datetime] = Column(UtcDateTime)


team = numbered_table(
    "team",
    TeamColumns,
    Index("uq_team_name", "workspace_id", "name_key", unique=True),
    Index("ix_team_page", "workspace_id", "created_on", "id"),
    info=policy(
        SET_UP,
        audited=Audited(
            "teams", "name", ("name", "assigns_in_turn", "hours", "holidays", "closed_text", "reply_minutes")
        ),
    ),
)
"""`hours` are spans of the week, by the workspace's time zone (`persistence.tickets.hours`), none if it always works;
`holidays` days as ISO dates; 0 `reply_minutes` give no time for the first reply."""

TEAM_REF = {"uuid": team.c.uuid, "name": team.c.name}


class TeamTopicColumns(LinkColumns):
    topic_id: Named[int] = Column(BigId, ForeignKey("topic.id", ondelete="CASCADE"), primary_key=True)
    team_id: Named[int] = Column(BigId, ForeignKey("team.id", ondelete="CASCADE"))


team_topic = table_of(
    "team_topic",
    TeamTopicColumns,
    Index("ix_team_topic_team", "team_id", "topic_id"),
    info=policy("goes with its team or topic"),
)
"""A topic is of one team at most, so that everybody knows whose its tickets are."""


class TeamMemberColumns(LinkColumns):
    workspace_id: Named[int] = Column(Integer, ForeignKey("workspace.id"), primary_key=True)
    user_id: Named[int] = Column(Integer, ForeignKey("app_user.id"), primary_key=True)
    team_id: Named[int] = Column(BigId, ForeignKey("team.id", ondelete="CASCADE"))
    assigned_on: Named[datetime | None] = Column(UtcDateTime)


team_member = table_of(
    "team_member",
    TeamMemberColumns,
    Index("ix_team_member_team", "team_id", "user_id"),
    info=policy("goes with its team, or with its user's role in the workspace"),
)
"""A user has one team of a workspace at most. `assigned_on` is when the last ticket was assigned in
turn, later for each than for the one before."""
