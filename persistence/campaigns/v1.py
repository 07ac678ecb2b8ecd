"""Campaigns as v1 lists them: plain values, filters by several UUIDs."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, select

from persistence.campaigns.v2 import CAMPAIGN_SOURCE, CAMPAIGNS_ORDER
from persistence.database import Transaction
from persistence.sql.json_sql import as_text, declare_record
from persistence.sql.numbered_pages import NumberedPage, fetch_numbered_page
from persistence.tables.campaigns import campaign
from persistence.tables.contacts import group

CAMPAIGN_SUMMARY = declare_record(
    {
        "uuid": campaign.c.uuid,
        "name": campaign.c.name,
        "group_uuid": group.c.uuid,
        "group": group.c.name,
        "campaign": campaign.c.id,
        "created_on": campaign.c.created_on,
    }
)


def list_campaign_summaries(
    tx: Transaction,
    workspace_id: int,
    number: int,
    size: int,
    *,
    uuids: Sequence[str] | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> NumberedPage:
    """The campaigns of a workspace that are not archived, newest first."""
    conditions: list[ColumnElement[bool]] = [campaign.c.workspace_id == workspace_id, ~campaign.c.is_archived]
    if uuids:
        conditions.append(campaign.c.uuid.in_(uuids))
    if before is not None:
        conditions.append(campaign.c.created_on <= before)
    if after is not None:
        conditions.append(campaign.c.created_on >= after)
    return fetch_numbered_page(
        tx,
        record=CAMPAIGN_SUMMARY,
        source=CAMPAIGN_SOURCE,
        order=CAMPAIGNS_ORDER,
        conditions=conditions,
        number=number,
        size=size,
    )


def read_campaign_summary(tx: Transaction, workspace_id: int, campaign_id: int) -> str:
    """One campaign's record as JSON text."""
    statement = select(as_text(CAMPAIGN_SUMMARY)).select_from(CAMPAIGN_SOURCE)
    mine = (campaign.c.workspace_id == workspace_id) & (campaign.c.id == campaign_id)
    return tx.execute(statement.where(mine)).scalar_one()
