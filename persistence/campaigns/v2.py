"""Campaigns: events relative to a date of each member of a group."""

from sqlalchemy import func

from persistence.database import Transaction
from persistence.lists import Condition, ListQuery, ListSpec, equals, within
from persistence.sql.json_sql import declare_record, json_record
from persistence.sql.names import find_id, require_id
from persistence.sql.pages import Order
from persistence.tables.campaigns import campaign
from persistence.tables.contacts import group

CAMPAIGN_RECORD = declare_record(
    {
        "uuid": campaign.c.uuid,
        "name": campaign.c.name,
        "archived": campaign.c.is_archived,
        "group": json_record(
            {
                "uuid": func.coalesce(group.c.uuid, campaign.c.former_group_uuid),
                "name": func.coalesce(group.c.name, campaign.c.former_group_name),
            }
        ),
        "created_on": campaign.c.created_on,
    }
)
CAMPAIGN_SOURCE = campaign.outerjoin(group, group.c.id == campaign.c.group_id)


def _in_use(query: ListQuery) -> list[Condition]:
    """Archived campaigns are listed only with the filter `uuid`."""
    return [] if "uuid" in query.values else [~campaign.c.is_archived]


CAMPAIGNS = ListSpec(
    campaign,
    CAMPAIGN_RECORD,
    Order(campaign.c.created_on, campaign.c.id),
    source=CAMPAIGN_SOURCE,
    standing=_in_use,
    filters={"uuid": equals(campaign.c.uuid), **within(campaign.c.created_on)},
)


def find_campaign(tx: Transaction, workspace_id: int, uuid: str) -> int | None:
    """The id of the campaign with this uuid that is not archived."""
    return find_id(tx, workspace_id, campaign, uuid, ~campaign.c.is_archived)


def require_campaign(tx: Transaction, workspace_id: int, uuid: str) -> int:
    """The id of a campaign that is not archived. Raises RecordMissing."""
    return require_id(tx, workspace_id, campaign, uuid, ~campaign.c.is_archived)
