"""Subscriptions to events of a workspace. One is a subscriber with types of events instead of a resthook, and a
receiver of webhooks like others; what it gets is written in `events.py`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import select

from persistence.channels.channels import Networks, check_webhook_url, new_webhook_secret
from persistence.database import Transaction
from persistence.deliveries.settings import Endpoint, end_trouble, is_delivery_to, name_at
from persistence.errors import InvalidInput, RecordMissing
from persistence.records import Shown
from persistence.resthooks import end_subscriptions
from persistence.sql.columns import time_text
from persistence.sql.names import check_room
from persistence.stamps import EVENT_AREAS, changes_of
from persistence.statements import update
from persistence.tables.deliveries import PENDING, delivery, resthook_subscriber
from persistence.tokens import Areas, check_area
from persistence.workspaces.records import Workspace, hold_workspace

SUBSCRIPTIONS_PER_WORKSPACE = 20
IS_SUBSCRIPTION = resthook_subscriber.c.events.is_not(None)


def create_subscription(
    tx: Transaction,
    workspace: Workspace,
    url: str,
    events: Sequence[str],
    networks: Networks = None,
    areas: Areas = None,
) -> tuple[int, str]:
    """Subscribes a URL to events from now on; returns the subscription's id and the secret that signs its events, which
    is not shown again. Raises InvalidInput, LimitReached, and NotAllowed for events of other areas than these.
    """
    hold_workspace(tx, workspace.id)
    chosen = check_events(events)
    _check_areas(areas, chosen)
    url = check_webhook_url(url, networks=networks)
    check_room(tx, workspace.id, resthook_subscriber, IS_SUBSCRIPTION, limit=SUBSCRIPTIONS_PER_WORKSPACE)
    secret = new_webhook_secret()
    subscriber_id = tx.insert(
        resthook_subscriber,
        workspace_id=workspace.id,
        events=chosen,
        target_url=url,
        webhook_secret=secret,
        created_on=tx.now,
    )
    changes_of(tx, workspace.id).are_subscriptions_changed = True
    return subscriber_id, secret


def change_subscription(
    tx: Transaction,
    endpoint: Endpoint,
    changes: Mapping[str, Any],
    networks: Networks = None,
    areas: Areas = None,
) -> None:
    """Changes the URL or the events of a subscription, whose workspace is held. What waits goes to the new URL. Raises
    InvalidInput, and NotAllowed as `create_subscription` does.
    """
    rows, values = resthook_subscriber.c, dict[str, Any]()
    mine = (rows.workspace_id == endpoint.workspace_id) & (rows.id == endpoint.subscriber_id)
    if areas is not None:
        _check_areas(areas, tx.execute(select(rows.events).where(mine)).scalar_one() or ())
    if "events" in changes:
        values["events"] = check_events(changes["events"] or ())
        _check_areas(areas, values["events"])
    if "url" in changes:
        if changes["url"] is None:
            raise InvalidInput.on("url", "A subscription has a URL; delete it to end it.")
        values["target_url"] = check_webhook_url(changes["url"], networks=networks)
        end_trouble(tx, subscriber_ids=[endpoint.subscriber_id or 0])
    tx.execute(update(resthook_subscriber).where(mine).values(**values))
    if "target_url" in values:
        waiting = is_delivery_to(endpoint) & (delivery.c.status == PENDING)
        url = values["target_url"]
        tx.execute(update(delivery).where(waiting).values(url=url, receiver=name_at(tx, endpoint, url)))
    changes_of(tx, endpoint.workspace_id).are_subscriptions_changed = True


def delete_subscription(tx: Transaction, workspace_id: int, subscriber_id: int) -> None:
    """Ends a subscription; what waits for it is given up. Raises RecordMissing."""
    hold_workspace(tx, workspace_id)
    rows = resthook_subscriber.c
    mine = (rows.workspace_id == workspace_id) & (rows.id == subscriber_id) & IS_SUBSCRIPTION
    if tx.execute(select(rows.id).where(mine)).first() is None:
        raise RecordMissing
    end_subscriptions(tx, workspace_id, [subscriber_id])


def check_events(events: Sequence[str]) -> list[str]:
    """The types of a subscription, each once, in the order of the catalogue. Raises InvalidInput."""
    for index, each in enumerate(events):
        if each not in EVENT_AREAS:
            raise InvalidInput.at("events", index, f"Unknown event: {each[:50]}.")
    if not events:
        raise InvalidInput.on("events", "Choose at least one event.")
    return [each for each in EVENT_AREAS if each in events]


def _check_areas(areas: Areas, events: Sequence[str]) -> None:
    """Raises NotAllowed if a token with these areas may not read what the events tell."""
    for each in events:
        check_area(areas, EVENT_AREAS[each])


def write_body(workspace_uuid: str, event_id: str, name: str, moment: datetime, data: Shown) -> bytes:
    """The body of an event: `data` is the record. `id` is the same in the header `webhook-id`."""
    shown = {"id": event_id, "type": name, "timestamp": time_text(moment), "workspace": workspace_uuid, "data": data}
    return orjson.dumps(shown)
