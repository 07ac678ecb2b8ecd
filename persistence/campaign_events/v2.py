"""Campaign events: messages to send and flows to start at a time relative to a date of each contact."""

from sqlalchemy import ColumnElement, case, literal, select

from persistence.database import Transaction
from persistence.lists import Condition, ListQuery, ListSpec, equals
from persistence.sql.json_sql import declare_record, json_record, json_record_or_null
from persistence.sql.names import is_called
from persistence.sql.pages import Order
from persistence.tables.campaigns import CAMPAIGN_REF, campaign, campaign_event
from persistence.tables.contacts import field
from persistence.tables.flows import FLOW_REF, flow

SYSTEM_DATES = {"created_on": "Created On", "last_seen_on": "Last Seen On"}
"""The names of the dates that every contact has, by key."""

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
        "error": campaign_event.c.error,
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


def living_events_of(workspace_id: int) -> list[ColumnElement[bool]]:
    """The conditions for existing events of campaigns that are not archived."""
    living = select(campaign.c.id).where(campaign.c.workspace_id == workspace_id, ~campaign.c.is_archived)
    return [
        campaign_event.c.workspace_id == workspace_id,
        ~campaign_event.c.is_deleted,
        campaign_event.c.campaign_id.in_(living),
    ]


def living_events(query: ListQuery) -> list[Condition]:
    """The standing conditions of events: they exist, and their campaigns are not archived."""
    return living_events_of(query.workspace.id)


def _of_campaign(query: ListQuery, reference: str) -> Condition:
    mine = (campaign.c.workspace_id == query.workspace.id) & ~campaign.c.is_archived
    return campaign_event.c.campaign_id.in_(select(campaign.c.id).where(mine, is_called(campaign, reference)))


CAMPAIGN_EVENTS = ListSpec(
    campaign_event,
    CAMPAIGN_EVENT_RECORD,
    Order(campaign_event.c.created_on, campaign_event.c.id),
    source=CAMPAIGN_EVENT_SOURCE,
    standing=living_events,
    filters={"uuid": equals(campaign_event.c.uuid), "campaign": _of_campaign},
)


def campaigns_with(tx: Transaction, workspace_id: int, condition: ColumnElement[bool]) -> list[str]:
    """The campaigns with existing events that meet a condition, as sentences name them."""
    using = select(campaign_event.c.campaign_id).where(*living_events_of(workspace_id), condition)
    mine = (campaign.c.workspace_id == workspace_id) & campaign.c.id.in_(using)
    names = tx.execute(select(campaign.c.name).where(mine).order_by(campaign.c.name)).scalars()
    return [f'the campaign "{name}"' for name in names]
