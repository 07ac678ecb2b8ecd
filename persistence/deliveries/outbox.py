"""Deliveries of events to webhooks, created in the transaction that causes the event, and their ledger: those that were
made are delivered, failed, or pending. Nothing else happens to them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Executable, delete, func, select

from persistence.channels.event_form import CONTENT_TYPE, FLOW, JSON_TYPE, Fields, encode_form, encode_json
from persistence.database import Transaction
from persistence.deliveries.settings import IS_CHANNEL_OFF, OF_CHANNEL, Endpoint, is_delivery_to, name_at, name_receiver
from persistence.sql.columns import new_uuid
from persistence.statements import insert_rows, statement, update
from persistence.tables.accounts import workspace
from persistence.tables.channels import channel
from persistence.tables.deliveries import (
    DELIVERED,
    FAILED,
    JSON,
    PENDING,
    delivery,
    webhook_receiver,
    webhook_trouble,
)

WAKE = "webhooks"
REMOVED = "The delivery URL was removed before this delivery."

_insert_deliveries = insert_rows(
    delivery,
    (
        *("uuid", "workspace_id", "event", "url", "receiver", "content_type", "body", "channel_id", "subscriber_id"),
        *("contact_id", "status", "attempts", "created_on", "scheduled_on", "due_on"),
    ),
)

MADE, SENT_AGAIN = "made", "sent_again"


@dataclass(frozen=True, slots=True)
class ChannelEvent:
    """One event of a channel with its parameters; `contact_id` is the contact who gets a reply without recipients."""

    event: str
    fields: Fields
    contact_id: int | None = None


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """A body to send to a URL, for a channel or a subscriber; `is_paced` if that has a rate limit. `uuid` is the id of
    the event, if the body has it.
    """

    event: str
    url: str
    content_type: str
    body: bytes
    channel_id: int | None = None
    subscriber_id: int | None = None
    contact_id: int | None = None
    is_paced: bool = False
    uuid: str | None = None

    def receiver(self, workspace_id: int) -> str:
        if not self.is_paced:
            return name_receiver(self.url)
        return name_receiver(self.url, Endpoint(workspace_id, self.channel_id, self.subscriber_id))


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
    url, names, is_anonymous, is_paced, form = wanted
    kind, encode = (JSON_TYPE, encode_json) if form == JSON else (CONTENT_TYPE, encode_form)
    hidden = ("phone", "urn") if is_anonymous else ()
    deliveries = []
    for each in events:
        if names is None or each.event in names:
            body = encode({name: value for name, value in each.fields.items() if name not in hidden})
            deliveries.append(NewDelivery(each.event, url, kind, body, channel_id, None, each.contact_id, is_paced))
    return record_deliveries(tx, workspace_id, deliveries)


def record_flow_event(
    tx: Transaction, workspace_id: int, channel_uuid: str, contact_id: int, payload: Mapping[str, Any]
) -> int | None:
    """Queues a flow event for the receiver of a channel, unless it or these events are switched off; returns the id of
    the active channel, None if there is none."""
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == channel_uuid) & channel.c.is_active
    channel_id = tx.execute(select(channel.c.id).where(mine)).scalar_one_or_none()
    wanted = None if channel_id is None else _find_subscription(tx, workspace_id, channel_id)
    if wanted is not None:
        url, names, _, is_paced, _ = wanted
        if names is None or FLOW in names:
            body = orjson.dumps({"event": FLOW} | dict(payload))
            new = NewDelivery(FLOW, url, "application/json", body, channel_id, None, contact_id, is_paced)
            record_deliveries(tx, workspace_id, [new])
    return channel_id


def record_deliveries(tx: Transaction, workspace_id: int, deliveries: Sequence[NewDelivery]) -> list[str]:
    """Queues deliveries and wakes their workers after the commit; returns the event ids, in order."""
    if not deliveries:
        return []
    times = dict.fromkeys(("created_on", "scheduled_on", "due_on"), tx.now)
    rows = [
        {
            "uuid": each.uuid or new_uuid(),
            "workspace_id": workspace_id,
            "event": each.event,
            "url": each.url,
            "receiver": each.receiver(workspace_id),
            "content_type": each.content_type,
            "body": each.body.decode(),
            "channel_id": each.channel_id,
            "subscriber_id": each.subscriber_id,
            "contact_id": each.contact_id,
            "status": PENDING,
            "attempts": 0,
            **times,
        }
        for each in deliveries
    ]
    _insert_deliveries.run(tx, rows)
    count_made(tx, len(rows))
    tx.wake(WAKE)
    return [str(row["uuid"]) for row in rows]


def follow_channel(tx: Transaction, workspace_id: int, channel_uuid: str, url: str | None) -> None:
    """Redirects pending deliveries of a channel to its new URL; without a new URL they are given up."""
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == channel_uuid)
    endpoint = Endpoint(workspace_id, channel_id=tx.execute(select(channel.c.id).where(mine)).scalar_one())
    if url is None:
        give_up_waiting(tx, endpoint, REMOVED)
        return
    waiting = is_delivery_to(endpoint) & (delivery.c.status == PENDING)
    tx.execute(update(delivery).where(waiting).values(url=url, receiver=name_at(tx, endpoint, url)))


def follow_replacement(tx: Transaction, workspace_id: int, channel_id: int, to_id: int) -> None:
    """The receiver of a channel is now that of another one, with what was set for it, with what it did not accept, and
    with what waits for it."""
    new = Endpoint(workspace_id, channel_id=to_id)
    for table in (webhook_receiver, webhook_trouble):
        mine = table.c.workspace_id == workspace_id
        tx.execute(delete(table).where(mine, table.c.channel_id == to_id))
        tx.execute(update(table).where(mine, table.c.channel_id == channel_id).values(channel_id=to_id))
    url = tx.execute(select(channel.c.webhook_url).where(channel.c.id == to_id)).scalar_one()
    if url is not None:
        waiting = is_delivery_to(Endpoint(workspace_id, channel_id=channel_id)) & (delivery.c.status == PENDING)
        tx.execute(update(delivery).where(waiting).values(channel_id=to_id, receiver=name_at(tx, new, url)))


def give_up_waiting(tx: Transaction, endpoint: Endpoint, why: str) -> None:
    """Gives up what waits for a receiver; it can be sent again."""
    waiting = is_delivery_to(endpoint) & (delivery.c.status == PENDING)
    given_up = {"status": FAILED, "last_error": why, "finished_on": tx.now}
    count_moved(tx, FAILED, tx.execute(update(delivery).where(waiting).values(**given_up)).rowcount)


@statement
def _select_subscription(workspace_id: int, channel_id: int) -> Executable:
    columns = (channel.c.webhook_url, channel.c.webhook_events, workspace.c.is_anonymous)
    return (
        select(*columns, webhook_receiver.c.per_second.is_not(None), webhook_receiver.c.format)
        .select_from(
            channel.join(workspace, workspace.c.id == channel.c.workspace_id).outerjoin(webhook_receiver, OF_CHANNEL)
        )
        .where(
            channel.c.workspace_id == workspace_id,
            channel.c.id == channel_id,
            channel.c.is_active,
            channel.c.webhook_url.is_not(None),
            ~IS_CHANNEL_OFF,
        )
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


def count_deliveries(tx: Transaction, workspace_id: int, conditions: Sequence[ColumnElement[bool]] = ()) -> Ledger:
    """The counts of a workspace's deliveries that meet the conditions; trimmed ones are no longer counted."""
    mine = (delivery.c.workspace_id == workspace_id, *conditions)
    statement = select(delivery.c.status, func.count()).where(*mine).group_by(delivery.c.status)
    counts = {status: count for status, count in tx.execute(statement)}
    return Ledger(counts.get(PENDING, 0), counts.get(DELIVERED, 0), counts.get(FAILED, 0))


def count_made(tx: Transaction, number: int) -> None:
    """Counts new deliveries for `/metrics` once they are committed."""
    count_moved(tx, MADE, number)


def count_moved(tx: Transaction, state: str, number: int) -> None:
    """Counts deliveries that got another status, or are sent again."""
    if number > 0:
        tx.after_commit(partial(_count, state, number))


def _find_subscription(
    tx: Transaction, workspace_id: int, channel_id: int
) -> tuple[str, list[str] | None, bool, bool, str | None] | None:
    """The delivery URL of an active channel, its events (None: all), whether the workspace is anonymous, whether the
    receiver has a rate limit, and its format. None for a channel without a URL, and for a receiver that is switched
    off.
    """
    found = _select_subscription.rows(tx, workspace_id, channel_id)
    return found[0] if found else None


def _count(state: str, number: int) -> None:
    from relayboard.base.metrics import deliveries  # noqa: PLC0415  # it loads much, and few commands move deliveries

    deliveries.labels(state).inc(number)
