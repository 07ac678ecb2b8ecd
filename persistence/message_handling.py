"""Handling of incoming messages that no flow takes: they go to the inbox."""

from sqlalchemy import select, update

from persistence.database import Transaction
from persistence.messages import HANDLED, IS_UNHANDLED, QUEUED, message


def handle_incoming(tx: Transaction, limit: int) -> int:
    """Put the oldest unhandled messages into the inbox; returns how many. Several processes may do so at once."""
    due = (
        select(message.c.id)
        .where(IS_UNHANDLED)
        .order_by(message.c.created_on, message.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    moved = update(message).where(message.c.id.in_(due), message.c.status == QUEUED)
    return tx.execute(moved.values(status=HANDLED, modified_on=tx.now)).rowcount
