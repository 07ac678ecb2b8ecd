"""Campaign events as v1 shows, writes and deletes them: letters for units, one text, plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import String, case, select

from persistence.campaign_events.v2 import CAMPAIGN_EVENTS, RELATIVE_NAME
from persistence.campaign_events.writes import (
    ONE_OF_TWO,
    EventForm,
    change_campaign_event,
    create_campaign_event,
    delete_campaign_events,
    find_event,
    find_or_create_date,
    read_message,
)
from persistence.campaigns.v2 import find_campaign
from persistence.database import Transaction
from persistence.errors import InvalidInput, RecordMissing, Refused
from persistence.flows.flows import require_active_flow
from persistence.lists import Condition, ListQuery, one_of, within
from persistence.sql.columns import is_uuid
from persistence.sql.json_sql import Template, declare_record
from persistence.sql.names import must_exist
from persistence.tables.campaigns import campaign, campaign_event
from persistence.tables.flows import flow
from persistence.workspaces import Workspace

UNIT_LETTERS = {"minutes": "M", "hours": "H", "days": "D", "weeks": "W"}
UNITS = {letter: word for word, letter in UNIT_LETTERS.items()}


class _Translation(
    Template, sqlite="""json_extract({0}, '$."' || {1} || '"')""", postgresql="({0} ->> {1})", kind=String()
):
    """The text of a document at the key in a column; null if there is none."""


EVENT_RECORD = declare_record(
    {
        "uuid": campaign_event.c.uuid,
        "campaign_uuid": campaign.c.uuid,
        "flow_uuid": flow.c.uuid,
        "relative_to": RELATIVE_NAME,
        "offset": campaign_event.c.offset,
        "unit": case(UNIT_LETTERS, value=campaign_event.c.unit),
        "delivery_hour": campaign_event.c.delivery_hour,
        "message": _Translation(campaign_event.c.message, campaign_event.c.base_language),
        "created_on": campaign_event.c.created_on,
        "event": campaign_event.c.id,
        "campaign": campaign.c.id,
        "flow": flow.c.id,
    }
)


def _of_campaigns(query: ListQuery, uuids: Sequence[str]) -> Condition:
    known = [uuid for uuid in uuids if is_uuid(uuid)]
    named = select(campaign.c.id).where(campaign.c.workspace_id == query.workspace.id, campaign.c.uuid.in_(known))
    return campaign_event.c.campaign_id.in_(named)


EVENTS_V1 = replace(
    CAMPAIGN_EVENTS,
    record=EVENT_RECORD,
    filters={
        "uuid": one_of(campaign_event.c.uuid),
        "campaign_uuid": _of_campaigns,
        **within(campaign_event.c.created_on),
    },
)


def write_event(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> int:
    """Change the event with `uuid`, or create an event of `campaign_uuid`; returns its id. Raises InvalidInput."""
    uuid, campaign_uuid = body.get("uuid"), body.get("campaign_uuid") or None
    if uuid is not None:
        if campaign_uuid is not None:
            raise InvalidInput.across("Give either uuid or campaign_uuid.")
        must_exist(find_event(tx, workspace.id, uuid), "uuid", uuid)
        return change_campaign_event(tx, workspace.id, uuid, _read(tx, workspace, body))
    if campaign_uuid is None:
        raise InvalidInput.on("campaign_uuid", "A value is required.", "required")
    campaign_id = must_exist(find_campaign(tx, workspace.id, campaign_uuid), "campaign_uuid", campaign_uuid)
    return create_campaign_event(tx, workspace.id, campaign_id, _read(tx, workspace, body))


def _read(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> EventForm:
    message, flow_uuid = body.get("message") or None, body.get("flow_uuid") or None
    if (message is None) == (flow_uuid is None):
        raise InvalidInput.across(ONE_OF_TWO)
    flow_id = None
    if flow_uuid is not None:
        flow_id = require_active_flow(tx, workspace.id, flow_uuid, field="flow_uuid")
    relative_to = find_or_create_date(tx, workspace.id, body["relative_to"])
    timing = (relative_to, body["offset"], UNITS[body["unit"]], body["delivery_hour"])
    if message is None:
        return EventForm(*timing, flow_id=flow_id)
    return EventForm(*timing, *read_message(workspace, message))


def delete_events(query: ListQuery) -> None:
    """Delete the events that match. Raises Refused without a filter, RecordMissing if nothing matches."""
    if not query.values:
        raise Refused("One of these parameters is required: uuid, campaign_uuid.")
    event_ids = list(query.tx.execute(EVENTS_V1.select_ids(query)).scalars())
    if not event_ids:
        raise RecordMissing
    delete_campaign_events(query.tx, query.workspace.id, event_ids)
