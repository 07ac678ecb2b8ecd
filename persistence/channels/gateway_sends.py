"""The queue of HTTP gateways, with a row for each message that they do not have yet (relayer protocol, section 22). A
message is sent to its gateway in parts, one request each. The row stores how many parts were begun and how many the
gateway has accepted; it is deleted when the last part is accepted or the message is given up.
"""

from collections.abc import Collection, Sequence

from sqlalchemy import delete

from persistence.database import Transaction
from persistence.sql.listed_rows import ROWS, inserting
from persistence.tables.messages import gateway_send

CONVERSATION, BULK = 0, 1
"""Priorities: replies and single messages come before broadcasts, campaigns and flow starts."""


_QUEUEING = inserting(gateway_send, [column.name for column in gateway_send.c if column.name != "id"])


def queue_sends(tx: Transaction, workspace_id: int, sends: Sequence[tuple[int | None, int, int]]) -> None:
    """Queue messages of this unit of work for their gateways: the channel, the message and the priority of each; one
    statement.
    """
    new = {"workspace_id": workspace_id, "parts_begun": 0, "parts_accepted": 0, "error_count": 0, "attempts": 0}
    times = {"created_on": tx.now, "due_on": tx.now}
    rows = [
        {"channel_id": channel_id, "message_id": number, "priority": priority, **new, **times}
        for channel_id, number, priority in sends
    ]
    _QUEUEING.run_later(tx, {ROWS: rows})


def drop_sends_of(tx: Transaction, workspace_id: int, channel_ids: Collection[int]) -> None:
    """Delete the queues of released gateways."""
    rows = gateway_send.c
    tx.execute(delete(gateway_send).where(rows.workspace_id == workspace_id, rows.channel_id.in_(channel_ids)))
