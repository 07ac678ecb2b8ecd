"""Deliveries of events to webhooks, created in the transaction that causes the event."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson
from sqlalchemy import insert, select, update

from persistence.channels.event_form import CONTENT_TYPE, FLOW, EventChannel, Fields, channel_fields, encode_form
from persistence.database import Transaction
from persistence.deliveries.failing_receivers import IS_CHANNEL_OFF
from persistence.errors import RecordMissing, Refused
from persistence.sql.columns import is_uuid, new_uuid
from persistence.tables.accounts import workspace
from persistence.tables.channels import channel
from persistence.tables.deliveries import FAILED, PENDING, delivery

WAKE = "webhooks"
TEST_EVENT = "test"
REMOVED = "The delivery URL was removed before this delivery."


@dataclass(frozen=True, slots=True)
class ChannelEvent:
    """One event of a channel with its parameters; `contact_id` is the contact who gets a reply without recipients."""

    event: str
    fields: Fields
    contact_id: int | None = None


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """A body to send to a URL, for a channel or a resthook's subscriber."""

    event: str
    url: str
    content_type: str
    body: bytes
    channel_id: int | None = None
    subscriber_id: int | None = None
    contact_id: int | None = None


def record_channel_event(
    tx: Transaction, workspace_id: int, channel_id: int, event: str, fields: Fields, contact_id: int | None = None
) -> str | None:
    """Queues one event of a channel, see `record_channel_events`; returns its id, None if the event is not sent."""
    recorded = record_channel_events(tx, workspace_id, channel_id, [ChannelEvent(event, fields, contact_id)])
    return recorded[0] if recorded else None


def record_channel_events(
    tx: Transaction, workspace_id: int, channel_id: int, events: Sequence[ChannelEvent]
) -> list[str]:
    """Queues events of a channel for its delivery URL in the caller's transaction; returns the ids of those queued.
    Nothing is queued for a channel that is released or has no delivery URL, for a receiver that was switched off
    because it failed for long, or for events that are switched off. In anonymous workspaces events contain neither
    phone nor URN.
    """
    wanted = _find_subscription(tx, workspace_id, channel_id) if events else None
    if wanted is None:
        return []
    url, names, is_anonymous = wanted
    hidden = ("phone", "urn") if is_anonymous else ()
    deliveries = []
    for each in events:
        if names is None or each.event in names:
            body = encode_form({name: value for name, value in each.fields.items() if name not in hidden})
            deliveries.append(NewDelivery(each.event, url, CONTENT_TYPE, body, channel_id, None, each.contact_id))
    return record_deliveries(tx, workspace_id, deliveries)


def record_flow_event(
    tx: Transaction, workspace_id: int, channel_uuid: str, contact_id: int, payload: Mapping[str, Any]
) -> int | None:
    """Queues a flow event for the receiver of a channel, unless these events are switched off; returns the id of the
    active channel, None if there is none."""
    found = select(channel.c.id, channel.c.webhook_url, channel.c.webhook_events)
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == channel_uuid) & channel.c.is_active
    row = tx.execute(found.where(mine)).first()
    if row is None:
        return None
    channel_id, url, names = row
    if url and (names is None or FLOW in names):
        body = orjson.dumps({"event": FLOW} | dict(payload))
        new = NewDelivery(FLOW, url, "application/json", body, channel_id=channel_id, contact_id=contact_id)
        record_deliveries(tx, workspace_id, [new])
    return channel_id


def record_test_event(tx: Transaction, workspace_id: int, channel_uuid: str) -> str:
    """Queues an event of the type `test` for a channel's delivery URL, even if it is switched off; returns its id.
    Raises RecordMissing for an unknown channel and Refused for one without a delivery URL.
    """
    found = select(channel.c.id, channel.c.uuid, channel.c.address, channel.c.webhook_url).where(
        channel.c.workspace_id == workspace_id, channel.c.uuid == channel_uuid, channel.c.is_active
    )
    row = tx.execute(found).first() if is_uuid(channel_uuid) else None
    if row is None:
        raise RecordMissing("No such channel.")
    channel_id, uuid, address, url = row
    if url is None:
        raise Refused("The channel has no delivery URL.")
    body = encode_form({**channel_fields(TEST_EVENT, EventChannel(channel_id, uuid, address)), "time": tx.now})
    test = NewDelivery(TEST_EVENT, url, CONTENT_TYPE, body, channel_id=channel_id)
    return record_deliveries(tx, workspace_id, [test])[0]


def record_deliveries(tx: Transaction, workspace_id: int, deliveries: Sequence[NewDelivery]) -> list[str]:
    """Queues deliveries and wakes their workers after the commit; returns the event ids, in order."""
    if not deliveries:
        return []
    times = dict.fromkeys(("created_on", "scheduled_on", "due_on"), tx.now)
    rows = [
        asdict(each)
        | {"uuid": new_uuid(), "workspace_id": workspace_id, "receiver": name_receiver(each.url)}
        | {"body": each.body.decode(), **times}
        for each in deliveries
    ]
    tx.execute(insert(delivery), rows)
    tx.wake(WAKE)
    return [str(row["uuid"]) for row in rows]


def follow_channel(tx: Transaction, workspace_id: int, channel_uuid: str, url: str | None) -> None:
    """Redirects pending deliveries of a channel to its new URL; without a new URL they are given up."""
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == channel_uuid)
    found = select(channel.c.id).where(mine).scalar_subquery()
    waiting = (
        delivery.c.workspace_id == workspace_id,
        delivery.c.status == PENDING,
        delivery.c.channel_id == found,
        delivery.c.subscriber_id.is_(None),
    )
    given_up = {"status": FAILED, "last_error": REMOVED, "finished_on": tx.now}
    values = given_up if url is None else {"url": url, "receiver": name_receiver(url)}
    tx.execute(update(delivery).where(*waiting).values(**values))


def name_receiver(url: str) -> str:
    """The receiver of a URL, which all deliveries to one server share: scheme, host and port."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}".lower()[:300]


def _find_subscription(
    tx: Transaction, workspace_id: int, channel_id: int
) -> tuple[str, list[str] | None, bool] | None:
    """The delivery URL of an active channel, its events (None: all), and whether the workspace is anonymous. None for a
    channel without a URL, and for a receiver that was switched off because it failed for long.
    """
    statement = select(channel.c.webhook_url, channel.c.webhook_events, workspace.c.is_anonymous).where(
        channel.c.workspace_id == workspace_id,
        channel.c.id == channel_id,
        channel.c.is_active,
        channel.c.webhook_url.is_not(None),
        ~IS_CHANNEL_OFF,
        workspace.c.id == channel.c.workspace_id,
    )
    url, events, is_anonymous = tx.execute(statement).first() or (None, None, False)
    return None if url is None else (url, events, is_anonymous)
