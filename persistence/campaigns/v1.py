"""Campaigns as v1 lists them: plain values, filters by several UUIDs."""

from dataclasses import replace

from persistence.campaigns.v2 import CAMPAIGNS
from persistence.lists import one_of, within
from persistence.sql.json_sql import declare_record
from persistence.tables.campaigns import campaign
from persistence.tables.contacts import group

CAMPAIGNS_V1 = replace(
    CAMPAIGNS,
    record=declare_record(
        {
            "uuid": campaign.c.uuid,
            "name": campaign.c.name,
            "group_uuid": group.c.uuid,
            "group": group.c.name,
            "campaign": campaign.c.id,
            "created_on": campaign.c.created_on,
        }
    ),
    standing=[~campaign.c.is_archived],
    filters={"uuid": one_of(campaign.c.uuid), **within(campaign.c.created_on)},
)
