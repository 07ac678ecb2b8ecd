"""Campaigns: events relative to a date of each member of a group."""

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Column, ColumnElement, ForeignKey, Index, Integer, String, Table, func, select, text

from persistence.columns import (
    UuidText,
    id_column,
    is_uuid,
    metadata,
    name_columns,
    time_column,
    uuid_column,
    workspace_column,
)
from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.groups import group
from persistence.pages import Order, Page, Position, fetch_page
from persistence.shapes import as_text, declare_record, json_record

LIVING = "NOT is_archived"

campaign = Table(
    "campaign",
    metadata,
    id_column(),
    uuid_column(),
    workspace_column(),
    *name_columns(),
    Column("group_id", Integer, ForeignKey("contact_group.id", ondelete="SET NULL")),
    Column("former_group_uuid", UuidText),
    Column("former_group_name", String(64)),
    Column("is_archived", Boolean, nullable=False, default=False),
    time_column("created_on"),
    Index(
        "uq_campaign_name",
        "workspace_id",
        "name_key",
        unique=True,
        postgresql_where=text(LIVING),
        sqlite_where=text(LIVING),
    ),
    Index("ix_campaign_page", "workspace_id", "created_on", "id"),
    Index("ix_campaign_group", "group_id"),
    sqlite_autoincrement=True,
)
"""Only archived campaigns may lose their group; they keep what it was when they were archived."""

CAMPAIGN_REF: dict[str, Any] = {"uuid": campaign.c.uuid, "name": campaign.c.name}

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
    document: str = tx.execute(statement.where(mine)).scalar_one()
    return document


def find_campaign(tx: Transaction, workspace_id: int, uuid: str) -> int | None:
    """The id of the campaign with this uuid that is not archived."""
    if not is_uuid(uuid):
        return None
    statement = select(campaign.c.id).where(campaign.c.workspace_id == workspace_id, campaign.c.uuid == uuid)
    campaign_id: int | None = tx.execute(statement.where(~campaign.c.is_archived)).scalar_one_or_none()
    return campaign_id


def require_campaign(tx: Transaction, workspace_id: int, uuid: str) -> int:
    """The id of a campaign that is not archived. Raises RecordMissing."""
    campaign_id = find_campaign(tx, workspace_id, uuid)
    if campaign_id is None:
        raise RecordMissing
    return campaign_id
