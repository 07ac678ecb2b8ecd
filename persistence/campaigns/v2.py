"""Campaigns: events relative to a date of each member of a group."""

from datetime import datetime

from sqlalchemy import ColumnElement, func, select

from persistence.database import Transaction
from persistence.sql.json_sql import as_text, declare_record, json_record
from persistence.sql.names import find_id, require_id
from persistence.sql.pages import Order, Page, Position, fetch_page
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
CAMPAIGNS_ORDER = Order(campaign.c.created_on, campaign.c.id)


def list_campaigns(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    uuid: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> Page:
    """The campaigns of a workspace, newest first; archived ones only when asked for by uuid."""
    conditions: list[ColumnElement[bool]] = [campaign.c.workspace_id == workspace_id]
    conditions.append(~campaign.c.is_archived if uuid is None else campaign.c.uuid == uuid)
    if before is not None:
        conditions.append(campaign.c.created_on <= before)
    if after is not None:
        conditions.append(campaign.c.created_on >= after)
    return fetch_page(
        tx,
        record=CAMPAIGN_RECORD,
        source=CAMPAIGN_SOURCE,
        source_id=campaign.c.id,
        order=CAMPAIGNS_ORDER,
        conditions=conditions,
        position=position,
        size=size,
    )


def read_campaign(tx: Transaction, workspace_id: int, campaign_id: int) -> str:
    """One campaign record as JSON text."""
    statement = select(as_text(CAMPAIGN_RECORD)).select_from(CAMPAIGN_SOURCE)
    mine = (campaign.c.workspace_id == workspace_id) & (campaign.c.id == campaign_id)
    return tx.execute(statement.where(mine)).scalar_one()


def find_campaign(tx: Transaction, workspace_id: int, uuid: str) -> int | None:
    """The id of the campaign with this uuid that is not archived."""
    return find_id(tx, workspace_id, campaign, uuid, ~campaign.c.is_archived)


def require_campaign(tx: Transaction, workspace_id: int, uuid: str) -> int:
    """The id of a campaign that is not archived. Raises RecordMissing."""
    return require_id(tx, workspace_id, campaign, uuid, ~campaign.c.is_archived)
