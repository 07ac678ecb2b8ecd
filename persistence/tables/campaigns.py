from datetime import datetime, time
from typing import Any

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, Named, String, Text, Time, UniqueConstraint, false

from persistence.sql.columns import (
    BigId,
    Json,
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
from persistence.tables.contacts import FIELD_KEY_LENGTH as KEY_LENGTH
from persistence.tables.policies import SET_UP, TRIMMED, Audited, policy

INTERRUPT, SKIP, PASSIVE = START_MODES = "I", "S", "P"
UNSCHEDULED = "scheduling_since IS NOT NULL"

LIVING = "NOT is_archived"
UNFIRED = "fired_on IS NULL"

FIRST_WORD, ONLY_WORD = "first", "only"


class CampaignEventColumns(RecordColumns):
    campaign_id: Named[int] = Column(BigId, ForeignKey("campaign.id"))
    relative_to: Named[str] = Column(String(KEY_LENGTH))
    offset: Named[int] = Column(Integer)
    unit: Named[str] = Column(String(7))
    delivery_hour: Named[int] = Column(Integer)
    message: Named[Any] = Column(Json, nullable=True)
    base_language: Named[str | None] = Column(String(3))
    flow_id: Named[int | None] = Column(BigId, ForeignKey("flow.id"))
    start_mode: Named[str] = Column(String(1), default=INTERRUPT)
    is_deleted: Named[bool] = Column(Boolean, default=False)
    timed_on: Named[datetime] = Column(UtcDateTime)
    scheduling_since: Named[datetime | None] = Column(UtcDateTime)
    scheduling_after_id: Named[int] = Column(BigId, default=0)
    pass_until: Named[datetime | None] = Column(UtcDateTime)
    attempts: Named[int] = Column(Integer, default=0, server_default="0")
    leased_until: Named[datetime | None] = Column(UtcDateTime)
    error: Named[str | None] = Column(Text)
    created_on: Named[datetime] = Column(UtcDateTime)


campaign_event = numbered_table(
    "campaign_event",
    CampaignEventColumns,
    Index("ix_campaign_event_page", "workspace_id", "created_on", "id"),
    Index("ix_campaign_event_campaign", "campaign_id", "created_on", "id"),
    Index("ix_campaign_event_flow", "flow_id"),
    partial_index("ix_campaign_event_unscheduled", "scheduling_since", "id", where=UNSCHEDULED),
    info=policy(
        SET_UP,
        audited=Audited("campaign_events", ended={"is_deleted": True}),
        refers={"scheduling_after_id": "contact"},
    ),
)
"""`relative_to` is the key of a date field, which cannot be deleted while events use it, or of a date that every
contact has. `timed_on` is when the time settings were last changed. An event with `scheduling_since` waits for a
pass over its contacts; `scheduling_after_id` is the last contact done,
`attempts` how often a part was begun without getting on. Times before `scheduling_since` are past."""


class CampaignColumns(NamedRecordColumns):
    group_id: Named[int | None] = Column(BigId, ForeignKey("contact_group.id"))
    former_group_uuid: Named[str | None] = Column(UuidText)
    former_group_name: Named[str | None] = Column(String(64))
    is_archived: Named[bool] = Column(Boolean, default=False)
    created_on: Named[datetime] = Column(UtcDateTime)


campaign = numbered_table(
    "campaign",
    CampaignColumns,
    partial_index("uq_campaign_name", "workspace_id", "name_key", where=LIVING, unique=True),
    Index("ix_campaign_page", "workspace_id", "created_on", "id"),
    Index("ix_campaign_group", "group_id"),
    info=policy(SET_UP, audited=Audited("campaigns", "name", ("name", "is_archived"))),
)
"""Only archived campaigns can lose their group; they keep its name and UUID."""

LIVING_EVENT = ~campaign_event.c.is_deleted & ~campaign.c.is_archived


class CampaignFireColumns(OwnedColumns):
    event_id: Named[int] = Column(BigId, ForeignKey("campaign_event.id"))
    contact_id: Named[int] = Column(BigId, ForeignKey("contact.id"))
    due_on: Named[datetime] = Column(UtcDateTime)
    created_on: Named[datetime] = Column(UtcDateTime)
    fired_on: Named[datetime | None] = Column(UtcDateTime)
    is_skipped: Named[bool] = Column(Boolean, default=False, server_default=false())
    attempts: Named[int] = Column(Integer, default=0, server_default="0")


campaign_fire = numbered_table(
    "campaign_fire",
    CampaignFireColumns,
    UniqueConstraint("event_id", "contact_id", "due_on", "workspace_id"),
    partial_index("ix_campaign_fire_due", "workspace_id", "due_on", "id", where=UNFIRED),
    partial_index("ix_campaign_fire_event_due", "event_id", "due_on", "id", where=UNFIRED),
    partial_index("ix_campaign_fire_fired", "fired_on", "id", where="fired_on IS NOT NULL"),
    Index("ix_campaign_fire_contact", "contact_id", "due_on", "id"),
    info=policy(TRIMMED, erased="rows", merged="left"),
)
"""The unique triple lets an event fire once for a contact and a time, even if it is scheduled repeatedly. With
`is_skipped` its time came, and the contact was left out."""

IS_UNFIRED = campaign_fire.c.fired_on.is_(None)

CAMPAIGN_REF: dict[str, Any] = {"uuid": campaign.c.uuid, "name": campaign.c.name}


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
