from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import select

from flows.engine import Event
from persistence.channels.event_form import FLOW
from persistence.database import Transaction
from persistence.deliveries.outbox import NewDelivery, record_deliveries
from persistence.messages.outgoing import send_event_reply
from persistence.tables.channels import channel
from persistence.workspaces import Workspace
from worker.webhooks.reply import interpret_reply

JSON_TYPE = "application/json"


def record_flow_events(tx: Transaction, workspace: Workspace, contact_id: int, events: Sequence[Event]) -> None:
    """Tells the channel's receiver that a contact reached an API action, and sends what that action was answered."""
    for event in events:
        if event["type"] != "flow_event_made":
            continue
        channel_id = _deliver_to_channel(tx, workspace.id, contact_id, event["payload"])
        reply = interpret_reply(event["answer"], workspace.country)
        if reply is not None:
            send_event_reply(
                tx,
                workspace.id,
                reply.text,
                urns=reply.urns,
                contact_uuids=reply.contact_uuids,
                event_contact_id=contact_id,
                channel_id=channel_id,
            )


def _deliver_to_channel(tx: Transaction, workspace_id: int, contact_id: int, payload: Mapping[str, Any]) -> int | None:
    uuid = (payload.get("channel") or {}).get("uuid")
    if not uuid:
        return None
    columns = (channel.c.id, channel.c.webhook_url, channel.c.webhook_events)
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == uuid) & channel.c.is_active
    row = tx.execute(select(*columns).where(mine)).first()
    if row is None:
        return None
    if row.webhook_url and (row.webhook_events is None or FLOW in row.webhook_events):
        body = orjson.dumps({"event": FLOW} | dict(payload))
        new = NewDelivery(FLOW, row.webhook_url, JSON_TYPE, body, channel_id=row.id, contact_id=contact_id)
        record_deliveries(tx, workspace_id, [new])
    channel_id: int = row.id
    return channel_id
