from datetime import datetime, time
from typing import Any

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, Named, String, Text, Time

from persistence.policies import SET_UP, Audited, policy
from persistence.sql.columns import (
    BigId,
    Json,
    LinkColumns,
    RecordColumns,
    UtcDateTime,
    numbered_table,
    partial_index,
    table_of,
)

FIRST_WORD, ONLY_WORD = "first", "only"


class TriggerColumns(RecordColumns):
    type: Named[str] = Column(String(16))
    flow_id: Named[int] = Column(BigId, ForeignKey("flow.id"))
    keywords: Named[Any] = Column(Json, nullable=False)
    match: Named[str] = Column(String(5), default=FIRST_WORD)
    channel_id: Named[int | None] = Column(Integer, ForeignKey("channel.id"))
    is_archived: Named[bool] = Column(Boolean, default=False)
    repeat: Named[str | None] = Column(String(8))
    days: Named[str | None] = Column(String(7))
    time_of_day: Named[time | None] = Column(Time)
    next_fire_on: Named[datetime | None] = Column(UtcDateTime)
    attempts: Named[int] = Column(Integer, default=0, server_default="0")
    leased_until: Named[datetime | None] = Column(UtcDateTime)
    error: Named[str | None] = Column(Text)
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)


trigger = numbered_table(
    "trigger",
    TriggerColumns,
    Index("ix_trigger_page", "workspace_id", "created_on", "id"),
    Index("ix_trigger_flow", "flow_id"),
    partial_index(
        "ix_trigger_messages",
        "workspace_id",
        where="type IN ('keyword', 'catch_all', 'new_conversation') AND NOT is_archived",
        sqlite_where="type IN ('keyword', 'catch_all', 'new_conversation') AND is_archived = 0",
    ),
    partial_index("ix_trigger_due", "next_fire_on", "id", where="next_fire_on IS NOT NULL"),
    info=policy(SET_UP, audited=Audited("triggers", shown=("type", "keywords", "is_archived"))),
)
"""`repeat` of a schedule is never, daily, weekly or monthly, `days` its weekdays (M T W R F S U), `time_of_day` its
local time in the workspace's time zone; `next_fire_on` is null once it will not fire again. `error` is why it left
out its last time."""


class TriggerGroupColumns(LinkColumns):
    trigger_id: Named[int] = Column(BigId, ForeignKey("trigger.id", ondelete="CASCADE"), primary_key=True)
    group_id: Named[int] = Column(BigId, ForeignKey("contact_group.id"), primary_key=True)
    is_excluded: Named[bool] = Column(Boolean, default=False)


trigger_group = table_of(
    "trigger_group",
    TriggerGroupColumns,
    Index("ix_trigger_group_group", "group_id"),
    info=policy("goes with its trigger or group"),
)
"""The included and excluded groups of a trigger. A schedule starts the contacts of its groups."""


class TriggerContactColumns(LinkColumns):
    trigger_id: Named[int] = Column(BigId, ForeignKey("trigger.id", ondelete="CASCADE"), primary_key=True)
    contact_id: Named[int] = Column(BigId, ForeignKey("contact.id"), primary_key=True)


trigger_contact = table_of(
    "trigger_contact",
    TriggerContactColumns,
    info=policy("goes with its trigger or contact", erased="rows", merged="trigger_id"),
)
"""The contacts that a schedule starts in addition to those of its groups."""
