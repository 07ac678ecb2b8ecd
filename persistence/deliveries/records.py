"""What operators see and do with deliveries: records, the ledger, sending again, trimming."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select

from persistence.channels.former_channels import SEEN_ID, SEEN_REF, join_channels
from persistence.database import Transaction
from persistence.deliveries.receivers import reopen_deliveries
from persistence.errors import Refused
from persistence.sql.json_sql import declare_record, json_list, json_record_or_null
from persistence.sql.pages import Order, Page, Position, fetch_page
from persistence.tables.channels import channel
from persistence.tables.deliveries import DELIVERED, FAILED, PENDING, delivery, delivery_attempt

KEPT_FOR = timedelta(days=7)
"""So long a finished delivery can be looked at and sent again."""

DELIVERIES_ORDER = Order(delivery.c.created_on, delivery.c.id)

ATTEMPT_RECORD = declare_record(
    {
        "uuid": delivery_attempt.c.uuid,
        "number": delivery_attempt.c.number,
        "scheduled_on": delivery_attempt.c.scheduled_on,
        "finished_on": delivery_attempt.c.finished_on,
        "duration_ms": delivery_attempt.c.duration_ms,
        "status": delivery_attempt.c.status,
        "error": delivery_attempt.c.error,
        "answer": delivery_attempt.c.answer,
    }
)

DELIVERY_RECORD = declare_record(
    {
        "uuid": delivery.c.uuid,
        "event": delivery.c.event,
        "channel": json_record_or_null(SEEN_ID, SEEN_REF),
        "subscriber": delivery.c.subscriber_id,
        "url": delivery.c.url,
        "body": delivery.c.body,
        "status": delivery.c.status,
        "created_on": delivery.c.created_on,
        "finished_on": delivery.c.finished_on,
        "attempts": json_list(
            select(ATTEMPT_RECORD.label("item"))
            .where(delivery_attempt.c.delivery_id == delivery.c.id)
            .order_by(delivery_attempt.c.id)
            .correlate(delivery)
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Ledger:
    """How many deliveries there are in each state; every delivery is in exactly one."""

    pending: int
    delivered: int
    failed: int

    @property
    def total(self) -> int:
        return self.pending + self.delivered + self.failed


def list_deliveries(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    status: str | None = None,
    channel_uuid: str | None = None,
) -> Page:
    """The deliveries of a workspace with their attempts, newest first."""
    conditions = [delivery.c.workspace_id == workspace_id]
    if status is not None:
        conditions.append(delivery.c.status == status)
    if channel_uuid is not None:
        named = select(channel.c.id).where(channel.c.workspace_id == workspace_id, channel.c.uuid == channel_uuid)
        conditions.append(delivery.c.channel_id == named.scalar_subquery())
    return fetch_page(
        tx,
        record=DELIVERY_RECORD,
        source=join_channels(delivery, delivery),
        source_id=delivery.c.id,
        order=DELIVERIES_ORDER,
        conditions=conditions,
        position=position,
        size=size,
    )


def count_deliveries(tx: Transaction, workspace_id: int) -> Ledger:
    """The ledger of a workspace; finished deliveries leave it when they are trimmed."""
    statement = (
        select(delivery.c.status, func.count().label("deliveries"))
        .where(delivery.c.workspace_id == workspace_id)
        .group_by(delivery.c.status)
    )
    counts = {str(row.status): int(row.deliveries) for row in tx.execute(statement)}
    return Ledger(counts.get(PENDING, 0), counts.get(DELIVERED, 0), counts.get(FAILED, 0))


def send_again(tx: Transaction, workspace_id: int, uuid: str) -> bool:
    """Delivers a finished delivery once more to where its receiver is now, under the same event id.

    False when there is no such delivery. Raises Refused when its receiver has no URL any more.
    """
    finished = (delivery.c.workspace_id == workspace_id, delivery.c.uuid == uuid, delivery.c.status != PENDING)
    if tx.execute(select(delivery.c.id).where(*finished)).first() is None:
        return False
    if not reopen_deliveries(tx, workspace_id, delivery.c.uuid == uuid):
        raise Refused("The receiver of this delivery has no URL any more.")
    return True


def send_failed_again(tx: Transaction, workspace_id: int, since: datetime) -> int:
    """Delivers what was created since a moment and failed once more; the number of deliveries.

    Those whose receiver has no URL any more are left out.
    """
    return reopen_deliveries(tx, workspace_id, delivery.c.status == FAILED, delivery.c.created_on >= since)


def trim_deliveries(tx: Transaction, limit: int = 1000) -> int:
    """Deletes finished deliveries, with their attempts, that are older than KEPT_FOR; the number deleted."""
    old = (
        select(delivery.c.id)
        .where(delivery.c.finished_on < tx.now - KEPT_FOR)
        .order_by(delivery.c.finished_on, delivery.c.id)
        .limit(limit)
    )
    return tx.execute(delete(delivery).where(delivery.c.id.in_(old.scalar_subquery()))).rowcount
