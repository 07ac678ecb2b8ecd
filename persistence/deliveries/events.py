"""Events of a workspace for those who subscribe to them. A subscription is a subscriber with types of events instead of
a resthook, and a receiver of webhooks like others. Who changes something notes what it is (`tell`); at the end of the
unit of work each subscription gets a delivery for each event, in the same transaction. While nobody subscribes nothing
is read or written: the clock of the workspace says so (`workspace_clock.told`).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import ColumnElement, select, update

from persistence.broadcasts.records import BROADCASTS
from persistence.channels.channels import Networks, check_webhook_url, new_webhook_secret
from persistence.contact_imports.contact_imports import CONTACT_IMPORTS
from persistence.contacts.records import CONTACTS
from persistence.database import Transaction
from persistence.deliveries.outbox import NewDelivery, record_deliveries
from persistence.deliveries.settings import (
    IS_SUBSCRIBER_OFF,
    IS_SUBSCRIBER_PACED,
    Endpoint,
    end_trouble,
    is_delivery_to,
    name_at,
)
from persistence.errors import InvalidInput, RecordMissing
from persistence.exports.exports import EXPORTS
from persistence.flow_starts.flow_starts import STARTS
from persistence.lists import ListQuery, ListSpec
from persistence.messages.records import MESSAGES
from persistence.records import Shown
from persistence.resthooks import CONTENT_TYPE, end_subscriptions
from persistence.runs.records import RUNS
from persistence.sql.columns import new_uuid, split, time_text
from persistence.sql.names import check_room
from persistence.stamps import (
    BROADCAST_DONE,
    CONTACT_CHANGED,
    CONTACT_CREATED,
    EVENT_AREAS,
    EXPORT_DONE,
    IMPORT_DONE,
    MESSAGE_FAILED,
    MESSAGE_RECEIVED,
    MESSAGE_SENT,
    RUN_COMPLETED,
    START_DONE,
    TICKET_ASSIGNED,
    TICKET_CLOSED,
    TICKET_OPENED,
    Told,
    changes_of,
)
from persistence.tables.deliveries import PENDING, delivery, resthook_subscriber
from persistence.tickets.records import TICKETS
from persistence.workspaces.records import Workspace, find_workspace, hold_workspace

SUBSCRIPTIONS_PER_WORKSPACE = 20
IS_SUBSCRIPTION = resthook_subscriber.c.events.is_not(None)
RECORDS_AT_ONCE = 500
"""Whose events are in memory together: a contact with all fields and groups that it may have takes 200 kB."""


RECORDS: Mapping[str, ListSpec] = {
    **dict.fromkeys((CONTACT_CREATED, CONTACT_CHANGED), CONTACTS),
    **dict.fromkeys((MESSAGE_RECEIVED, MESSAGE_SENT, MESSAGE_FAILED), MESSAGES),
    **dict.fromkeys((TICKET_OPENED, TICKET_ASSIGNED, TICKET_CLOSED), TICKETS),
    BROADCAST_DONE: BROADCASTS,
    START_DONE: STARTS,
    RUN_COMPLETED: RUNS,
    IMPORT_DONE: CONTACT_IMPORTS,
    EXPORT_DONE: EXPORTS,
}
"""The list of v2 whose record an event has as `data`; a contact that is gone is only named."""
LINKS = {IMPORT_DONE: "rejects_url", EXPORT_DONE: "download_url"}
"""Where files are: only who may read the record gets such a link, which holds for minutes."""


def create_subscription(
    tx: Transaction, workspace: Workspace, url: str, events: Sequence[str], networks: Networks = None
) -> tuple[int, str]:
    """Subscribes a URL to events from now on; returns the subscription's id and the secret that signs its events, which
    is not shown again. Raises InvalidInput, LimitReached.
    """
    hold_workspace(tx, workspace.id)
    chosen = check_events(events)
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
    tx: Transaction, endpoint: Endpoint, changes: Mapping[str, Any], networks: Networks = None
) -> None:
    """Changes the URL or the events of a subscription, whose workspace is held. What waits goes to the new URL. Raises
    InvalidInput.
    """
    rows, values = resthook_subscriber.c, dict[str, Any]()
    if "events" in changes:
        values["events"] = check_events(changes["events"] or ())
    if "url" in changes:
        if changes["url"] is None:
            raise InvalidInput.on("url", "A subscription has a URL; delete it to end it.")
        values["target_url"] = check_webhook_url(changes["url"], networks=networks)
        end_trouble(tx, subscriber_ids=[endpoint.subscriber_id or 0])
    mine = (rows.workspace_id == endpoint.workspace_id) & (rows.id == endpoint.subscriber_id)
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


def record_events(tx: Transaction, workspace_id: int, told: Told, moment: datetime) -> None:
    """Makes a delivery of each of these events for each subscription to its type, with the record as it is now, at the
    end of the unit of work. Some statements for each kind of records and each RECORDS_AT_ONCE of them.
    """
    subscriptions = _find_subscriptions(tx, workspace_id)
    workspace = find_workspace(tx, workspace_id) if subscriptions else None
    if workspace is None:
        return
    wanted = {event for each in subscriptions for event in each.events}
    created = told.get(CONTACT_CREATED, {}).keys()
    for name, records in told.items():
        # Who is told of a new contact knows what else this unit of work gave it.
        left = [each for each in records if name != CONTACT_CHANGED or each not in created]
        for some in split(left, RECORDS_AT_ONCE) if name in wanted else ():
            theirs = [each for each in subscriptions if name in each.events]
            events = _read_events(tx, workspace, name, {one: records[one] for one in some})
            record_deliveries(
                tx,
                workspace_id,
                [_deliver(workspace, each, name, moment, event) for event in events for each in theirs],
            )


def write_body(workspace_uuid: str, event_id: str, name: str, moment: datetime, data: Shown) -> bytes:
    """The body of an event: `data` is the record. `id` is the same in the header `webhook-id`."""
    shown = {"id": event_id, "type": name, "timestamp": time_text(moment), "workspace": workspace_uuid, "data": data}
    return orjson.dumps(shown)


@dataclass(frozen=True, slots=True)
class _Subscription:
    id: int
    url: str
    events: Collection[str]
    is_paced: bool


@dataclass(frozen=True, slots=True)
class _Event:
    """The record of an event, and the contact whose data it holds."""

    data: Shown
    contact_id: int | None = None


def _find_subscriptions(tx: Transaction, workspace_id: int) -> list[_Subscription]:
    """The subscriptions of a workspace that are not switched off."""
    rows = resthook_subscriber.c
    mine = (rows.workspace_id == workspace_id) & IS_SUBSCRIPTION & ~IS_SUBSCRIBER_OFF
    found = select(rows.id, rows.target_url, rows.events, IS_SUBSCRIBER_PACED).where(mine).order_by(rows.id)
    return [
        _Subscription(number, url, frozenset(events or ()), is_paced)
        for number, url, events, is_paced in tx.execute(found)
    ]


def _read_events(
    tx: Transaction, workspace: Workspace, name: str, records: Mapping[int | str, str | None]
) -> list[_Event]:
    """The records as v2 lists them to administrators, by two statements, which are kept for a single record; those that
    it does not list have no event.
    """
    spec = RECORDS.get(name)
    if spec is None:
        return [_Event({"uuid": uuid, "merged_into": other}) for uuid, other in records.items()]
    table, query = spec.table, ListQuery(tx, workspace, {"paths": False} if spec is RUNS else {})
    key = table.c.uuid if all(isinstance(one, str) for one in records) else table.c.id
    (first, *others), mine = records, table.c.workspace_id == workspace.id
    named: ColumnElement[bool] = key.in_(list(records)) if others else key == first
    shown = [orjson.loads(each) for each in spec.read(query, *spec.conditions(query), named)]
    owner = table.c.contact_id if "contact_id" in table.c else table.c.id if spec is CONTACTS else None
    owners: dict[str, int] = {}
    if owner is not None and shown:
        owners = {uuid: number for uuid, number in tx.execute(select(table.c.uuid, owner).where(mine, named))}
    hidden = {LINKS[name]: None} if name in LINKS else {}
    return [_Event(each | hidden, owners.get(each["uuid"])) for each in shown]


def _deliver(workspace: Workspace, to: _Subscription, name: str, moment: datetime, event: _Event) -> NewDelivery:
    event_id = new_uuid()
    body = write_body(workspace.uuid, event_id, name, moment, event.data)
    return NewDelivery(
        name,
        to.url,
        CONTENT_TYPE,
        body,
        subscriber_id=to.id,
        contact_id=event.contact_id,
        is_paced=to.is_paced,
        uuid=event_id,
    )
