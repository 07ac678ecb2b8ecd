from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, Named, String, Text, UniqueConstraint

from persistence.policies import SET_UP, TRIMMED, Audited, policy
from persistence.sql.columns import (
    BigId,
    Json,
    NamedRecordColumns,
    OwnedColumns,
    RecordColumns,
    UtcDateTime,
    UuidText,
    numbered_table,
    partial_index,
)
from persistence.tables.contacts import FIELD_KEY_LENGTH as KEY_LENGTH

INTERRUPT, SKIP, PASSIVE = START_MODES = "I", "S", "P"
UNSCHEDULED = "scheduling_since IS NOT NULL"


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

LIVING = "NOT is_archived"


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
UNFIRED = "fired_on IS NULL"


class CampaignFireColumns(OwnedColumns):
    event_id: Named[int] = Column(BigId, ForeignKey("campaign_event.id"))
    contact_id: Named[int] = Column(BigId, ForeignKey("contact.id"))
    due_on: Named[datetime] = Column(UtcDateTime)
    created_on: Named[datetime] = Column(UtcDateTime)
    fired_on: Named[datetime | None] = Column(UtcDateTime)
    attempts: Named[int] = Column(Integer, default=0, server_default="0")


campaign_fire = numbered_table(
    "campaign_fire",
    CampaignFireColumns,
    UniqueConstraint("event_id", "contact_id", "due_on", "workspace_id"),
    partial_index("ix_campaign_fire_due", "workspace_id", "due_on", "id", where=UNFIRED),
    partial_index("ix_campaign_fire_event_due", "event_id", "due_on", "id", where=UNFIRED),
    partial_index("ix_campaign_fire_fired", "fired_on", "id", where="fired_on IS NOT NULL"),
    partial_index("ix_campaign_fire_contact", "contact_id", where=UNFIRED),
    info=policy(TRIMMED, erased="rows", merged="left"),
)
"""The unique triple lets an event fire once for a contact and a time, even if it is scheduled repeatedly."""

IS_UNFIRED = campaign_fire.c.fired_on.is_(None)

CAMPAIGN_REF: dict[str, Any] = {"uuid": campaign.c.uuid, "name": campaign.c.name}
