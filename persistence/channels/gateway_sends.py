"""The queue of HTTP gateways, with a row for each message that they do not have yet (relayer protocol, section 22). A
message is sent to its gateway in parts, one request each. The row stores how many parts were begun and how many the
gateway has accepted; it is deleted when the last part is accepted or the message is given up.
"""

from collections.abc import Collection

from sqlalchemy import delete, insert, literal, select

from persistence.database import Transaction
from persistence.tables.messages import gateway_send, message

CONVERSATION, BULK = 0, 1
"""Priorities: replies and single messages come before broadcasts, campaigns and flow starts."""


def queue_sends(tx: Transaction, uuids: Collection[str], priority: int) -> None:
    """Queue messages for their gateways, by UUID; one statement."""
    if not uuids:
        return
    fresh = [literal(priority), literal(0), literal(0), literal(0), message.c.created_on, message.c.created_on]
    rows = select(message.c.workspace_id, message.c.channel_id, message.c.id, *fresh).where(message.c.uuid.in_(uuids))
    columns = [column.name for column in gateway_send.c if column.name != "id"]
    tx.execute(insert(gateway_send).from_select(columns, rows.order_by(message.c.id)))


def drop_sends_of(tx: Transaction, workspace_id: int, channel_ids: Collection[int]) -> None:
    """Delete the queues of released gateways."""
    rows = gateway_send.c
    tx.execute(delete(gateway_send).where(rows.workspace_id == workspace_id, rows.channel_id.in_(channel_ids)))
