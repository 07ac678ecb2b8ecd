"""Resthooks, named events that flows trigger: the URLs that are called then, and the events themselves, which are kept
for two days.
"""

import re
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

import orjson
from sqlalchemy import delete, func, select

from persistence.channels.channels import Networks, check_webhook_url, new_webhook_secret
from persistence.database import Transaction, delete_old
from persistence.deletions import SUBSCRIBER, note_deleted
from persistence.deliveries.outbox import NewDelivery, count_moved, record_deliveries
from persistence.deliveries.settings import (
    IS_SUBSCRIBER_OFF,
    IS_SUBSCRIBER_PACED,
    OF_SUBSCRIBER,
    Endpoint,
    end_trouble,
    forget_settings,
    switch_on,
)
from persistence.errors import InUse, InvalidInput, RecordMissing
from persistence.lists import Condition, ListQuery, ListSpec, belongs_to, equals, reversible
from persistence.pages import Order
from persistence.records import Record
from persistence.sql.names import check_room, must_exist
from persistence.stamps import changes_of, stamped
from persistence.statements import update
from persistence.tables.deliveries import (
    FAILED,
    PENDING,
    SLUG_LENGTH,
    delivery,
    resthook,
    resthook_event,
    resthook_subscriber,
    webhook_receiver,
    webhook_trouble,
)
from persistence.workspaces.records import hold_workspace

SLUG = re.compile(r"[a-z0-9_\-]+\Z")

RESTHOOK_RECORD = Record(
    {"resthook": resthook.c.slug, "created_on": resthook.c.created_on, "modified_on": resthook.c.modified_on}
)

RESTHOOKS = ListSpec(
    resthook,
    RESTHOOK_RECORD,
    reversible(resthook.c.modified_on, resthook.c.id),
    options=frozenset({"reverse"}),
)

ENDED = "The subscription ended before this delivery."

SUBSCRIBER_RECORD = Record(
    {
        "id": resthook_subscriber.c.id,
        "resthook": resthook.c.slug,
        "target_url": resthook_subscriber.c.target_url,
        "created_on": resthook_subscriber.c.created_on,
    }
)

WITH_RESTHOOK = resthook_subscriber.join(resthook, resthook.c.id == resthook_subscriber.c.resthook_id)

SUBSCRIBERS = ListSpec(
    resthook_subscriber,
    SUBSCRIBER_RECORD,
    Order(resthook_subscriber.c.created_on, resthook_subscriber.c.id),
    source=WITH_RESTHOOK,
    standing=[resthook_subscriber.c.resthook_id.is_not(None)],
    filters={
        "id": equals(resthook_subscriber.c.id),
        "resthook": belongs_to(resthook_subscriber.c.resthook_id, resthook, by=resthook.c.slug),
    },
)

KEPT_FOR = timedelta(hours=48)
SUBSCRIBERS_PER_WORKSPACE = 250
"""Each event of a resthook is delivered to all of its own."""
EVENT = "resthook"
CONTENT_TYPE = "application/json"

EVENT_RECORD = Record(
    {"resthook": resthook.c.slug, "data": resthook_event.c.data, "created_on": resthook_event.c.created_on}
)


def find_resthook(tx: Transaction, workspace_id: int, slug: str) -> int | None:
    """The id of the resthook with this slug (any case)."""
    mine = (resthook.c.workspace_id == workspace_id) & (resthook.c.slug == slug.strip().lower())
    return tx.execute(select(resthook.c.id).where(mine)).scalar_one_or_none()


def ensure_resthook(tx: Transaction, workspace_id: int, slug: str) -> int:
    """The id of the resthook with this slug, which is created if there is none. Raises InvalidInput for a bad slug."""
    resthook_id = find_resthook(tx, workspace_id, slug)
    if resthook_id is not None:
        return resthook_id
    slug = slug.strip().lower()
    if len(slug) > SLUG_LENGTH or not SLUG.match(slug):
        raise InvalidInput.on("resthook", f"1 to {SLUG_LENGTH} letters, digits, hyphens and underscores.")
    times = {"created_on": tx.now, "modified_on": stamped(tx, resthook, workspace_id)}
    return tx.insert(resthook, workspace_id=workspace_id, slug=slug, **times)


def create_resthook(tx: Transaction, workspace_id: int, slug: str) -> int:
    """Create a resthook; returns its id. Raises InvalidInput for a bad or taken slug, LimitReached at the workspace's
    limit."""
    hold_workspace(tx, workspace_id)
    if find_resthook(tx, workspace_id, slug) is not None:
        raise InvalidInput.on("resthook", "This resthook exists already.", "taken")
    check_room(tx, workspace_id, resthook)
    return ensure_resthook(tx, workspace_id, slug)


def is_subscriber(tx: Transaction, workspace_id: int, number: int) -> bool:
    """Whether it is the id of a subscriber of a resthook, or of a subscription to events."""
    mine = (resthook_subscriber.c.workspace_id == workspace_id) & (resthook_subscriber.c.id == number)
    return tx.execute(select(resthook_subscriber.c.id).where(mine)).first() is not None


def delete_resthook(tx: Transaction, workspace_id: int, slug: str) -> None:
    """Delete a resthook and its events; a flow that triggers it later makes it anew. Raises RecordMissing, and InUse
    while it has subscribers.
    """
    resthook_id = find_resthook(tx, workspace_id, slug)
    if resthook_id is None:
        raise RecordMissing
    mine = (resthook.c.workspace_id == workspace_id) & (resthook.c.id == resthook_id)
    # Waits for transactions that subscribe or trigger it.
    tx.execute(select(resthook.c.id).where(mine).with_for_update())
    theirs = (resthook_subscriber.c.workspace_id == workspace_id) & (resthook_subscriber.c.resthook_id == resthook_id)
    if number := tx.execute(select(func.count()).where(theirs)).scalar_one():
        raise InUse(f"This resthook has {number} subscribers: end their subscriptions first.")
    events = (resthook_event.c.workspace_id == workspace_id) & (resthook_event.c.resthook_id == resthook_id)
    tx.execute(delete(resthook_event).where(events))
    tx.execute(delete(resthook).where(mine))


def touch_resthooks(tx: Transaction, workspace_id: int, resthook_ids: list[int]) -> None:
    """Update `modified_on` of these resthooks."""
    if resthook_ids:
        mine = (resthook.c.workspace_id == workspace_id) & resthook.c.id.in_(resthook_ids)
        tx.execute(update(resthook).where(mine).values(modified_on=stamped(tx, resthook, workspace_id)))


def create_subscriber(
    tx: Transaction, workspace_id: int, slug: str, target_url: str, *, allowed_networks: Networks = ()
) -> int:
    """Subscribe a URL to a resthook; returns the subscriber's id. Raises InvalidInput for an unknown resthook, a bad
    URL, a URL with a private address outside `allowed_networks`, and a URL that is subscribed already; LimitReached at
    the workspace's limit.
    """
    resthook_id = must_exist(find_resthook(tx, workspace_id, slug), "resthook", slug)
    target_url = check_webhook_url(target_url, "target_url", allowed_networks)
    rows = resthook_subscriber.c
    same = select(rows.id).where(rows.resthook_id == resthook_id, rows.target_url == target_url)
    if tx.execute(same).first() is not None:
        raise InvalidInput.across("This URL is already subscribed.")
    check_room(tx, workspace_id, resthook_subscriber, rows.resthook_id.is_not(None), limit=SUBSCRIBERS_PER_WORKSPACE)
    secret = {"webhook_secret": new_webhook_secret(), "created_on": tx.now}
    subscriber_id = tx.insert(
        resthook_subscriber, workspace_id=workspace_id, resthook_id=resthook_id, target_url=target_url, **secret
    )
    touch_resthooks(tx, workspace_id, [resthook_id])
    return subscriber_id


def delete_subscriber(tx: Transaction, workspace_id: int, subscriber_id: int) -> None:
    """End the subscription to a resthook. Raises RecordMissing."""
    rows = resthook_subscriber.c
    mine = (rows.workspace_id == workspace_id) & (rows.id == subscriber_id) & rows.resthook_id.is_not(None)
    if tx.execute(select(rows.id).where(mine)).first() is None or not end_subscriptions(
        tx, workspace_id, [subscriber_id]
    ):
        raise RecordMissing


def list_subscriber_states(tx: Transaction, workspace_id: int) -> list[dict[str, Any]]:
    """All subscribers of a workspace for operators; for those that are switched off, with time and reason, which a
    person's switch does not have."""
    rows, trouble = resthook_subscriber.c, webhook_trouble.c
    since = func.coalesce(webhook_receiver.c.switched_off_on, trouble.switched_off_on).label("switched_off_on")
    off = (since, trouble.reason.label("switched_off_reason"))
    statement = (
        select(rows.id, resthook.c.slug.label("resthook"), rows.target_url, rows.created_on, *off)
        .select_from(
            WITH_RESTHOOK.outerjoin(webhook_trouble, trouble.subscriber_id == rows.id).outerjoin(
                webhook_receiver, OF_SUBSCRIBER
            )
        )
        .where(rows.workspace_id == workspace_id)
        .order_by(rows.id)
    )
    # Names of joined columns are a subclass of str, which cannot be keys in JSON.
    return [{str(name): value for name, value in row.items()} for row in tx.execute(statement).mappings()]


def switch_on_subscriber(tx: Transaction, workspace_id: int, subscriber_id: int) -> bool:
    """Switches on a subscriber that failed for long, or clears its failures; returns whether it had failed. Raises
    RecordMissing.
    """
    rows = resthook_subscriber.c
    mine = (rows.workspace_id == workspace_id) & (rows.id == subscriber_id)
    if tx.execute(select(rows.id).where(mine)).first() is None:
        raise RecordMissing("No such subscriber.")
    return switch_on(tx, Endpoint(workspace_id, subscriber_id=subscriber_id))


def find_subscribers_at(tx: Transaction, workspace_id: int, slug: str, urls: Collection[str]) -> list[int]:
    """The ids of a resthook's subscribers at these URLs."""
    rows = resthook_subscriber.c
    statement = (
        select(rows.id)
        .join(resthook, resthook.c.id == rows.resthook_id)
        .where(rows.workspace_id == workspace_id, resthook.c.slug == slug, rows.target_url.in_(sorted(urls)))
    )
    return list(tx.execute(statement.order_by(rows.id)).scalars())


def end_subscriptions(tx: Transaction, workspace_id: int, subscriber_ids: Collection[int]) -> bool:
    """Removes subscribers and gives up pending deliveries to them; returns whether any existed."""
    rows = resthook_subscriber.c
    theirs = (rows.workspace_id == workspace_id) & rows.id.in_(subscriber_ids)
    ended = tx.execute(delete(resthook_subscriber).where(theirs).returning(rows.id, rows.resthook_id)).all()
    note_deleted(tx, workspace_id, SUBSCRIBER, [str(number) for number, _ in ended])
    waiting = (delivery.c.workspace_id == workspace_id) & delivery.c.subscriber_id.in_(subscriber_ids)
    given_up = tx.execute(
        update(delivery)
        .where(waiting, delivery.c.subscriber_id.is_not(None), delivery.c.status == PENDING)
        .values(status=FAILED, last_error=ENDED, finished_on=tx.now)
    )
    count_moved(tx, FAILED, given_up.rowcount)
    end_trouble(tx, subscriber_ids=subscriber_ids)
    forget_settings(tx, workspace_id, subscriber_ids)
    touch_resthooks(tx, workspace_id, [resthook_id for _, resthook_id in ended if resthook_id is not None])
    if any(resthook_id is None for _, resthook_id in ended):
        changes_of(tx, workspace_id).are_subscriptions_changed = True
    return bool(ended)


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
    tx: Transaction, workspace_id: int, slug: str, data: Mapping[str, Any], *, accepted: Collection[str] = ()
) -> list[str]:
    """Records that a resthook was triggered and queues a delivery of `data` to each subscriber; returns the delivery
    ids. `data` is the body of a resthook event (interface specification, resthooks). Subscribers whose URL is in
    `accepted` got the event already; those that are switched off get nothing. A resthook that does not exist is
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
    recovered = [number for number, url, began_on, *_ in subscribers if url in accepted and began_on is not None]
    if recovered:
        end_trouble(tx, subscriber_ids=recovered)
    deliveries = [
        NewDelivery(EVENT, url, CONTENT_TYPE, body, subscriber_id=number, is_paced=is_paced)
        for number, url, _, is_off, is_paced in subscribers
        if url not in accepted and not is_off
    ]
    return record_deliveries(tx, workspace_id, deliveries)


def trim_resthook_events(tx: Transaction, limit: int = 1000) -> int:
    """Deletes events that are older than KEPT_FOR; returns their number."""
    return delete_old(tx, resthook_event.c.created_on, KEPT_FOR, limit)
