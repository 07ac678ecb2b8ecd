"""Events of resthooks, which flows trigger; they are kept for two days and delivered to all subscribers."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

import orjson
from sqlalchemy import delete, select

from persistence.database import Transaction
from persistence.deliveries.failing_receivers import IS_SUBSCRIBER_OFF, end_trouble
from persistence.deliveries.outbox import NewDelivery, record_deliveries
from persistence.deliveries.settings import IS_SUBSCRIBER_PACED
from persistence.lists import Condition, ListQuery, ListSpec, belongs_to
from persistence.resthooks.resthooks import ensure_resthook
from persistence.sql.json_sql import declare_record
from persistence.sql.pages import Order
from persistence.tables.deliveries import resthook, resthook_event, resthook_subscriber, webhook_trouble

KEPT_FOR = timedelta(hours=48)
EVENT = "resthook"
CONTENT_TYPE = "application/json"

EVENT_RECORD = declare_record(
    {"resthook": resthook.c.slug, "data": resthook_event.c.data, "created_on": resthook_event.c.created_on}
)


def _kept(query: ListQuery) -> list[Condition]:
    return [resthook_event.c.created_on >= query.tx.now - KEPT_FOR]


RESTHOOK_EVENTS = ListSpec(
    resthook_event,
    EVENT_RECORD,
    Order(resthook_event.c.created_on, resthook_event.c.id),
    source=resthook_event.join(resthook, resthook.c.id == resthook_event.c.resthook_id),
    standing=_kept,
    filters={"resthook": belongs_to(resthook_event.c.resthook_id, resthook, by=resthook.c.slug)},
)


def record_resthook_event(
    tx: Transaction, workspace_id: int, slug: str, data: Mapping[str, Any], *, told: Collection[str] = ()
) -> list[str]:
    """Records that a resthook was triggered and queues a delivery of `data` to each subscriber; returns the delivery
    ids. `data` is the body of a resthook event (interface specification, resthooks). Subscribers whose URL is in `told`
    have accepted the event already; those that are switched off get nothing. A resthook that does not exist is
    created. Raises InvalidInput for a bad slug.
    """
    resthook_id = ensure_resthook(tx, workspace_id, slug)
    tx.insert(resthook_event, workspace_id=workspace_id, resthook_id=resthook_id, data=dict(data), created_on=tx.now)
    body = orjson.dumps(data)
    rows, trouble = resthook_subscriber.c, webhook_trouble.c
    found = (
        select(rows.id, rows.target_url, trouble.began_on, IS_SUBSCRIBER_OFF, IS_SUBSCRIBER_PACED)
        .outerjoin(webhook_trouble, trouble.subscriber_id == rows.id)
        .where(rows.resthook_id == resthook_id)
        .order_by(rows.id)
    )
    subscribers = tx.execute(found).all()
    recovered = [number for number, url, began_on, *_ in subscribers if url in told and began_on is not None]
    if recovered:
        end_trouble(tx, subscriber_ids=recovered)
    deliveries = [
        NewDelivery(EVENT, url, CONTENT_TYPE, body, subscriber_id=number, is_paced=is_paced)
        for number, url, _, is_off, is_paced in subscribers
        if url not in told and not is_off
    ]
    return record_deliveries(tx, workspace_id, deliveries)


def trim_resthook_events(tx: Transaction, limit: int = 1000) -> int:
    """Deletes events that are older than KEPT_FOR; returns their number."""
    rows = resthook_event.c
    old = select(rows.id).where(rows.created_on < tx.now - KEPT_FOR).order_by(rows.created_on, rows.id).limit(limit)
    return tx.execute(delete(resthook_event).where(rows.id.in_(old.scalar_subquery()))).rowcount
