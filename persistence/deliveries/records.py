"""What operators see of and do with deliveries: records, counts, sending again, trimming."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, func, select, update

from persistence.channels.former_channels import SEEN_ID, SEEN_REF, join_channels
from persistence.database import Transaction
from persistence.deliveries.failing_receivers import Endpoint
from persistence.deliveries.outbox import WAKE, name_receiver
from persistence.errors import Refused
from persistence.lists import ListSpec, belongs_to, equals
from persistence.sql.json_sql import declare_record, json_list, json_record_or_null
from persistence.sql.pages import Order
from persistence.tables.channels import channel, former_channel
from persistence.tables.deliveries import DELIVERED, FAILED, PENDING, delivery, delivery_attempt, resthook_subscriber

KEPT_FOR = timedelta(days=7)
"""How long a finished delivery can be listed and sent again."""

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


DELIVERIES = ListSpec(
    delivery,
    DELIVERY_RECORD,
    Order(delivery.c.created_on, delivery.c.id),
    source=join_channels(delivery, delivery),
    filters={"status": equals(delivery.c.status), "channel": belongs_to(delivery.c.channel_id, channel)},
)


@dataclass(frozen=True, slots=True)
class Ledger:
    """How many deliveries have each status."""

    pending: int
    delivered: int
    failed: int

    @property
    def total(self) -> int:
        return self.pending + self.delivered + self.failed


def count_deliveries(tx: Transaction, workspace_id: int) -> Ledger:
    """The counts of a workspace; trimmed deliveries are no longer counted."""
    statement = (
        select(delivery.c.status, func.count())
        .where(delivery.c.workspace_id == workspace_id)
        .group_by(delivery.c.status)
    )
    counts = {status: count for status, count in tx.execute(statement)}
    return Ledger(counts.get(PENDING, 0), counts.get(DELIVERED, 0), counts.get(FAILED, 0))


def send_again(tx: Transaction, workspace_id: int, uuid: str) -> bool:
    """Sends a finished delivery again to the current URL of its receiver, with the same event id. Returns False if
    there is no such delivery. Raises Refused if its receiver no longer has a URL.
    """
    finished = (delivery.c.workspace_id == workspace_id, delivery.c.uuid == uuid, delivery.c.status != PENDING)
    if tx.execute(select(delivery.c.id).where(*finished)).first() is None:
        return False
    if not _reopen(tx, workspace_id, delivery.c.uuid == uuid):
        raise Refused("The receiver of this delivery has no URL any more.")
    return True


def send_failed_again(tx: Transaction, workspace_id: int, since: datetime) -> int:
    """Sends failed deliveries that were created since a time again; returns their number. Those whose receiver no
    longer has a URL are left out.
    """
    return _reopen(tx, workspace_id, delivery.c.status == FAILED, delivery.c.created_on >= since)


def trim_deliveries(tx: Transaction, limit: int = 1000) -> int:
    """Deletes finished deliveries, with their attempts, that are older than KEPT_FOR; returns their number."""
    old = (
        select(delivery.c.id)
        .where(delivery.c.finished_on < tx.now - KEPT_FOR)
        .order_by(delivery.c.finished_on, delivery.c.id)
        .limit(limit)
    )
    return tx.execute(delete(delivery).where(delivery.c.id.in_(old.scalar_subquery()))).rowcount


def _reopen(tx: Transaction, workspace_id: int, *conditions: ColumnElement[bool]) -> int:
    """Sends finished deliveries again, with the same event ids, to the current URLs of their receivers. Those whose
    receiver no longer has a URL in this workspace are not changed. Returns how many are sent again.
    """
    finished = (delivery.c.workspace_id == workspace_id, delivery.c.status != PENDING, *conditions)
    statement = select(delivery.c.channel_id, delivery.c.subscriber_id).where(*finished).distinct()
    endpoints = [
        Endpoint(workspace_id, None if subscriber_id is not None else channel_id, subscriber_id)
        for channel_id, subscriber_id in tx.execute(statement)
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
    """The current URL of a receiver; for a phone that has left the workspace, the URL that it had there."""
    if endpoint.subscriber_id is not None:
        rows = resthook_subscriber.c
        is_it = (rows.workspace_id == endpoint.workspace_id) & (rows.id == endpoint.subscriber_id)
        return tx.execute(select(rows.target_url).where(is_it)).scalar()
    here, left = channel.c, former_channel.c
    is_here = (here.workspace_id == endpoint.workspace_id) & (here.id == endpoint.channel_id) & here.is_active
    has_left = (left.workspace_id == endpoint.workspace_id) & (left.channel_id == endpoint.channel_id)
    url = tx.execute(select(here.webhook_url).where(is_here)).scalar()
    return url if url is not None else tx.execute(select(left.webhook_url).where(has_left)).scalar()


def _is_to(endpoint: Endpoint) -> ColumnElement[bool]:
    if endpoint.subscriber_id is not None:
        return delivery.c.subscriber_id == endpoint.subscriber_id
    return (delivery.c.channel_id == endpoint.channel_id) & delivery.c.subscriber_id.is_(None)
