"""Outgoing messages that nobody could send in time."""

from datetime import timedelta

from sqlalchemy import select, update

from persistence.database import Transaction
from persistence.messages import ERRORED, FAILED, IS_UNSENT, QUEUED, message
from persistence.stamps import later

TOO_OLD = "too_old"
UNSENT_FOR = timedelta(days=7)
"""Relayer protocol, life of an outgoing message: queued or errored ones fail after seven days."""


def fail_old_messages(tx: Transaction, limit: int = 1000) -> int:
    """Fails up to `limit` outgoing messages that are queued or errored for longer than UNSENT_FOR; how many."""
    is_waiting = message.c.status.in_((QUEUED, ERRORED))
    old = (
        select(message.c.id)
        .where(IS_UNSENT, is_waiting, message.c.created_on < tx.now - UNSENT_FOR)
        .order_by(message.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    statement = (
        update(message)
        .where(message.c.id.in_(old.scalar_subquery()), is_waiting)
        .values(status=FAILED, failed_reason=TOO_OLD, modified_on=later(tx, message))
    )
    return tx.execute(statement).rowcount
