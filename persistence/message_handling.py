"""Handling of incoming messages that no flow takes: they go to the inbox."""

from sqlalchemy import select, update

from persistence.database import Transaction
from persistence.messages import HANDLED, INCOMING, QUEUED, message


def handle_incoming(tx: Transaction, limit: int) -> int:
    """Put the oldest unhandled messages into the inbox; returns how many. Several processes may do so at once."""
    waiting = (message.c.direction == INCOMING) & (message.c.status == QUEUED)
    due = (
        select(message.c.id)
        .where(waiting)
        .order_by(message.c.created_on, message.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    moved = update(message).where(message.c.id.in_(due), message.c.status == QUEUED)
    return tx.execute(moved.values(status=HANDLED, modified_on=tx.now)).rowcount
