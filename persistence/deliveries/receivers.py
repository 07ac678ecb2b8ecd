"""Sending finished deliveries again, to where their receivers are now."""

from sqlalchemy import ColumnElement, Table, select, update

from persistence.database import Transaction
from persistence.deliveries.failing_receivers import Endpoint
from persistence.deliveries.outbox import WAKE, name_receiver
from persistence.tables.channels import channel, former_channel
from persistence.tables.deliveries import PENDING, delivery, resthook_subscriber


def reopen_deliveries(tx: Transaction, workspace_id: int, *conditions: ColumnElement[bool]) -> int:
    """Delivers finished deliveries once more, under the same event ids, to where their receivers are now.

    Those whose receiver has no URL any more, in this workspace, stay as they are. Returns how many are sent again.
    """
    finished = (delivery.c.workspace_id == workspace_id, delivery.c.status != PENDING, *conditions)
    statement = select(delivery.c.channel_id, delivery.c.subscriber_id).where(*finished).distinct()
    endpoints = [
        Endpoint(workspace_id, None if row.subscriber_id is not None else row.channel_id, row.subscriber_id)
        for row in tx.execute(statement)
    ]
    reopened = 0
    for endpoint in dict.fromkeys(endpoints):
        url = _find_url(tx, endpoint)
        if url is not None:
            fresh = {"status": PENDING, "attempts": 0, "scheduled_on": tx.now, "due_on": tx.now, "finished_on": None}
            moved = update(delivery).where(*finished, _is_to(endpoint))
            reopened += tx.execute(moved.values(url=url, receiver=name_receiver(url), **fresh)).rowcount
    if reopened:
        tx.wake(WAKE)
    return reopened


def _find_url(tx: Transaction, endpoint: Endpoint) -> str | None:
    """The present URL of a receiver; for a phone that has left the workspace, the one it had there."""
    places: list[tuple[Table, ColumnElement[str] | ColumnElement[str | None], ColumnElement[bool]]]
    if endpoint.subscriber_id is not None:
        rows = resthook_subscriber
        places = [(rows, rows.c.target_url, rows.c.id == endpoint.subscriber_id)]
    else:
        left = former_channel.c
        places = [
            (channel, channel.c.webhook_url, (channel.c.id == endpoint.channel_id) & channel.c.is_active),
            (former_channel, left.webhook_url, left.channel_id == endpoint.channel_id),
        ]
    for table, url, is_it in places:
        found = tx.execute(select(url).where(table.c.workspace_id == endpoint.workspace_id, is_it)).scalar()
        if found is not None:
            return str(found)
    return None


def _is_to(endpoint: Endpoint) -> ColumnElement[bool]:
    if endpoint.subscriber_id is not None:
        return delivery.c.subscriber_id == endpoint.subscriber_id
    return (delivery.c.channel_id == endpoint.channel_id) & delivery.c.subscriber_id.is_(None)
