"""Checks a v2 request for a campaign event against the workspace."""

from collections.abc import Mapping
from typing import Any

from persistence.campaign_events.writes import (
    ONE_OF_TWO,
    EventForm,
    change_campaign_event,
    create_campaign_event,
    find_date,
    read_message,
    require_event,
)
from persistence.campaigns.v2 import find_campaign
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.flows.flows import require_active_flow
from persistence.sql.names import must_exist
from persistence.workspaces import Workspace


def create_from_form(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> int:
    """Create an event of the campaign in the body; returns its id. Raises InvalidInput."""
    uuid = body.get("campaign")
    if uuid is None:
        raise InvalidInput.on("campaign", "A value is required.", "required")
    campaign_id = must_exist(find_campaign(tx, workspace.id, uuid), "campaign", uuid)
    return create_campaign_event(tx, workspace.id, campaign_id, _read(tx, workspace, body))


def change_from_form(tx: Transaction, workspace: Workspace, uuid: str, body: Mapping[str, Any]) -> int:
    """Change an event; returns its id. Raises RecordMissing, or InvalidInput, also for another campaign than its
    own."""
    _, campaign_id, *_ = require_event(tx, workspace.id, uuid)
    campaign_uuid = body.get("campaign")
    if campaign_uuid is not None and find_campaign(tx, workspace.id, campaign_uuid) != campaign_id:
        raise InvalidInput.on("campaign", "The campaign of an event cannot be changed.")
    return change_campaign_event(tx, workspace.id, uuid, _read(tx, workspace, body))


def _read(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> EventForm:
    message, flow = body.get("message"), body.get("flow")
    if (message is None) == (flow is None):
        raise InvalidInput.across(ONE_OF_TWO)
    relative_to = find_date(tx, workspace.id, body["relative_to"])
    timing = (relative_to, body["offset"], body["unit"], body["delivery_hour"])
    if message is None:
        return EventForm(*timing, flow_id=require_active_flow(tx, workspace.id, str(flow), field="flow"))
    return EventForm(*timing, *read_message(workspace, message))
