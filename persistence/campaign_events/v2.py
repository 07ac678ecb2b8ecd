"""Campaign events: messages to send and flows to start at a time relative to a date of each contact."""

from sqlalchemy import ColumnElement, case, literal, select

from persistence.database import Transaction
from persistence.sql.columns import is_uuid
from persistence.sql.json_sql import as_text, declare_record, json_record, json_record_or_null
from persistence.sql.names import name_key
from persistence.sql.pages import Order, Page, Position, fetch_page
from persistence.tables.campaigns import CAMPAIGN_REF, campaign, campaign_event
from persistence.tables.contacts import field
from persistence.tables.flows import FLOW_REF, flow

SYSTEM_DATES = {"created_on": "Created On", "last_seen_on": "Last Seen On"}
"""The dates every contact has, by key: their names."""

RELATIVE_NAME = case(
    *(
        (campaign_event.c.relative_to == literal(key, literal_execute=True), literal(name, literal_execute=True))
        for key, name in SYSTEM_DATES.items()
    ),
    else_=field.c.name,
)

CAMPAIGN_EVENT_RECORD = declare_record(
    {
        "uuid": campaign_event.c.uuid,
        "campaign": json_record(CAMPAIGN_REF),
        "relative_to": json_record(
            {"key": campaign_event.c.relative_to, "name": RELATIVE_NAME, "label": RELATIVE_NAME}
        ),
        "offset": campaign_event.c.offset,
        "unit": campaign_event.c.unit,
        "delivery_hour": campaign_event.c.delivery_hour,
        "flow": json_record_or_null(flow.c.uuid, FLOW_REF),
        "message": campaign_event.c.message,
        "created_on": campaign_event.c.created_on,
    }
)
CAMPAIGN_EVENT_SOURCE = (
    campaign_event.join(campaign, campaign.c.id == campaign_event.c.campaign_id)
    .outerjoin(
        field,
        (field.c.workspace_id == campaign_event.c.workspace_id) & (field.c.key == campaign_event.c.relative_to),
    )
    .outerjoin(flow, flow.c.id == campaign_event.c.flow_id)
)
CAMPAIGN_EVENTS_ORDER = Order(campaign_event.c.created_on, campaign_event.c.id)


def list_campaign_events(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    uuid: str | None = None,
    campaign_reference: str | None = None,
) -> Page:
    """The events of campaigns that are not archived, newest first; a campaign is named by uuid or name (any case)."""
    conditions = living_events_of(workspace_id)
    if uuid is not None:
        conditions.append(campaign_event.c.uuid == uuid)
    if campaign_reference is not None:
        chosen = campaign.c.name_key == name_key(campaign_reference.strip())
        if is_uuid(campaign_reference):
            chosen |= campaign.c.uuid == campaign_reference
        named = select(campaign.c.id).where(campaign.c.workspace_id == workspace_id, ~campaign.c.is_archived, chosen)
        conditions.append(campaign_event.c.campaign_id.in_(named))
    return fetch_page(
        tx,
        record=CAMPAIGN_EVENT_RECORD,
        source=CAMPAIGN_EVENT_SOURCE,
        source_id=campaign_event.c.id,
        order=CAMPAIGN_EVENTS_ORDER,
        conditions=conditions,
        position=position,
        size=size,
    )


def living_events_of(workspace_id: int) -> list[ColumnElement[bool]]:
    """The conditions for events that exist, of campaigns that are not archived."""
    living = select(campaign.c.id).where(campaign.c.workspace_id == workspace_id, ~campaign.c.is_archived)
    return [
        campaign_event.c.workspace_id == workspace_id,
        ~campaign_event.c.is_deleted,
        campaign_event.c.campaign_id.in_(living),
    ]


def read_campaign_event(tx: Transaction, workspace_id: int, event_id: int) -> str:
    """One event record as JSON text."""
    statement = select(as_text(CAMPAIGN_EVENT_RECORD)).select_from(CAMPAIGN_EVENT_SOURCE)
    mine = (campaign_event.c.workspace_id == workspace_id) & (campaign_event.c.id == event_id)
    return tx.execute(statement.where(mine)).scalar_one()


def is_date_used(tx: Transaction, workspace_id: int, key: str) -> bool:
    """Whether an event counts from the contact field with this key."""
    using = select(campaign_event.c.id).where(*living_events_of(workspace_id), campaign_event.c.relative_to == key)
    return tx.execute(using.limit(1)).first() is not None
