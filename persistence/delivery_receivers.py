"""Sending finished deliveries again, to where their receivers are now."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, select, update

from persistence.channels import channel
from persistence.database import Transaction
from persistence.deliveries import PENDING, WAKE, delivery, name_receiver
from persistence.resthook_subscribers import resthook_subscriber
from persistence.webhook_trouble import Endpoint


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
    if endpoint.subscriber_id is not None:
        rows = resthook_subscriber.c
        mine: Sequence[ColumnElement[bool]] = (rows.id == endpoint.subscriber_id,)
        statement = select(rows.target_url)
    else:
        rows = channel.c
        mine = (rows.id == endpoint.channel_id, rows.is_active)
        statement = select(rows.webhook_url)
    url: str | None = tx.execute(statement.where(rows.workspace_id == endpoint.workspace_id, *mine)).scalar()
    return url


def _is_to(endpoint: Endpoint) -> ColumnElement[bool]:
    if endpoint.subscriber_id is not None:
        return delivery.c.subscriber_id == endpoint.subscriber_id
    return (delivery.c.channel_id == endpoint.channel_id) & delivery.c.subscriber_id.is_(None)
