"""Events of a workspace for those who subscribe to them (`subscriptions.py`). Who changes something notes what it is
(`tell`); at the end of the unit of work each subscription gets a delivery for each event, in one transaction. While
nobody subscribes nothing is read or written: the clock of the workspace says so (`workspace_clock.told`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

import orjson
from sqlalchemy import ColumnElement, select

from persistence.broadcasts.records import BROADCASTS
from persistence.contact_imports.contact_imports import CONTACT_IMPORTS
from persistence.contacts.records import CONTACTS
from persistence.database import Transaction
from persistence.deliveries.outbox import NewDelivery, record_deliveries
from persistence.deliveries.settings import IS_SUBSCRIBER_OFF, IS_SUBSCRIBER_PACED
from persistence.deliveries.subscriptions import IS_SUBSCRIPTION, write_body
from persistence.exports.exports import EXPORTS
from persistence.flow_starts.flow_starts import STARTS
from persistence.lists import ListQuery, ListSpec
from persistence.messages.records import MESSAGES
from persistence.records import Shown
from persistence.resthooks import CONTENT_TYPE
from persistence.runs.records import RUNS
from persistence.sql.columns import new_uuid, split
from persistence.stamps import (
    BROADCAST_DONE,
    CONTACT_CHANGED,
    CONTACT_CREATED,
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
)
from persistence.tables.deliveries import resthook_subscriber
from persistence.tickets.records import TICKETS
from persistence.workspaces.records import Workspace, find_workspace

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
    it does not list have no event. A broadcast that is stopped before it begins has one, though lists show it only to
    who names it.
    """
    spec = RECORDS.get(name)
    if spec is None:
        return [_Event({"uuid": uuid, "merged_into": other}) for uuid, other in records.items()]
    table, query = spec.table, ListQuery(tx, workspace, {"paths": False} if spec is RUNS else {})
    key = table.c.uuid if all(isinstance(one, str) for one in records) else table.c.id
    (first, *others), mine = records, table.c.workspace_id == workspace.id
    named: ColumnElement[bool] = key.in_(list(records)) if others else key == first
    listed = [] if spec is BROADCASTS else spec.conditions(query)
    shown = [orjson.loads(each) for each in spec.read(query, *listed, named)]
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
