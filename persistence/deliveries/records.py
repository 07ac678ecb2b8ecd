"""What operators see of and do with deliveries: records, a delivery with its body and its attempts, counts, sending
again, trimming.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson
from sqlalchemy import ColumnElement, and_, case, func, null, or_, select

from persistence.channels.channels import SEEN_ID, SEEN_NAME, SEEN_REF, SEEN_UUID, join_channels
from persistence.channels.event_form import CHANNEL_EVENTS
from persistence.database import Transaction, delete_old
from persistence.deliveries.outbox import SENT_AGAIN, WAKE, count_moved
from persistence.deliveries.settings import Endpoint, is_delivery_to, name_at
from persistence.errors import RecordMissing, Refused
from persistence.lists import ListQuery, ListSpec, Rule, belongs_to, equals, find_record, never, within
from persistence.pages import Order
from persistence.records import Record, Related, Shown, optional
from persistence.secrets.encryption import hide_in_url
from persistence.sql.columns import is_uuid, read_id, time_text
from persistence.sql.names import must_exist
from persistence.stamps import EVENT_AREAS
from persistence.statements import update
from persistence.tables.channels import channel, former_channel
from persistence.tables.contacts import CONTACT_REF, contact
from persistence.tables.deliveries import FAILED, PENDING, delivery, delivery_attempt, resthook_subscriber
from persistence.tokens import Areas, covers
from persistence.workspaces.records import Workspace, hold_workspace

NO_URL = "The receiver of this delivery has no URL any more."
KEPT_FOR = timedelta(days=7)
"""How long a finished delivery can be listed and sent again."""

ATTEMPT_RECORD = Record(
    {
        "uuid": delivery_attempt.c.uuid,
        "number": delivery_attempt.c.number,
        "scheduled_on": delivery_attempt.c.scheduled_on,
        "finished_on": delivery_attempt.c.finished_on,
        "duration_ms": delivery_attempt.c.duration_ms,
        "status": delivery_attempt.c.status,
        "error": delivery_attempt.c.error,
        "answer": delivery_attempt.c.answer,
        "started_on": delivery_attempt.c.started_on,
        "url": delivery_attempt.c.url,
        "signed": delivery_attempt.c.signed,
        "answer_headers": delivery_attempt.c.answer_headers,
    }
)
"""What operators see of an attempt, and what `persistence.deliveries.records` reads."""

DELIVERY_RECORD = Record(
    {
        "uuid": delivery.c.uuid,
        "event": delivery.c.event,
        "channel": optional(SEEN_ID, SEEN_REF),
        "subscriber": delivery.c.subscriber_id,
        "url": delivery.c.url,
        "body": delivery.c.body,
        "status": delivery.c.status,
        "created_on": delivery.c.created_on,
        "finished_on": delivery.c.finished_on,
        "attempts": Related(delivery_attempt.c.delivery_id, delivery_attempt, ATTEMPT_RECORD, delivery_attempt.c.id),
    }
)


def _hide(record: Shown) -> Shown:
    return record | {"url": hide_in_url(record["url"])}


_LISTED: dict[str, Any] = {
    "uuid": delivery.c.uuid,
    "event": delivery.c.event,
    "channel": optional(SEEN_ID, {"uuid": SEEN_UUID, "name": func.coalesce(SEEN_NAME, "")}),
    "subscriber": delivery.c.subscriber_id,
    "contact": optional(contact.c.id, CONTACT_REF),
    "url": delivery.c.url,
    "status": delivery.c.status,
    "attempts": delivery.c.attempts,
    "created_on": delivery.c.created_on,
    "next_attempt_on": case((delivery.c.status == PENDING, delivery.c.scheduled_on), else_=null()),
    "finished_on": delivery.c.finished_on,
    "last_status": delivery.c.last_status,
    "last_error": delivery.c.last_error,
}

_is_of_contact = and_(contact.c.id == delivery.c.contact_id, contact.c.workspace_id == delivery.c.workspace_id)

MOST_ATTEMPTS = 100


_FILTERS: Mapping[str, Rule] = {
    "uuid": equals(delivery.c.uuid),
    "receiver": lambda query, receiver: is_to(query.workspace.id, receiver),
    "event": equals(delivery.c.event),
    "status": equals(delivery.c.status),
    "contact": belongs_to(delivery.c.contact_id, contact),
    **within(delivery.c.created_on),
}
DELIVERIES = ListSpec(
    delivery,
    DELIVERY_RECORD,
    Order(delivery.c.created_on, delivery.c.id),
    source=join_channels(delivery, delivery),
    filters={**_FILTERS, "channel": belongs_to(delivery.c.channel_id, channel)},
)
"""For operators: each delivery with its attempts."""


def in_areas(areas: Areas) -> list[ColumnElement[bool]]:
    """The conditions on the deliveries that a token with these areas sees and sends again: events of its areas, and
    tests of its receivers."""
    if areas is None:
        return []
    known = {**CHANNEL_EVENTS, "resthook": "flows", **EVENT_AREAS}
    rows = delivery.c
    wanted: list[ColumnElement[bool]] = [rows.event.in_([event for event, area in known.items() if area in areas])]
    is_test = rows.event == "test"
    wanted += [is_test & rows.subscriber_id.is_(None)] if covers(areas, "channels") else []
    wanted += [is_test & rows.subscriber_id.is_not(None)] if covers(areas, "flows") else []
    return [or_(*wanted)]


def _covered(query: ListQuery) -> list[ColumnElement[bool]]:
    return in_areas(query.areas)


LISTED_DELIVERIES = ListSpec(
    delivery,
    Record(_LISTED, show=_hide),
    Order(delivery.c.created_on, delivery.c.id),
    source=join_channels(delivery.outerjoin(contact, _is_of_contact), delivery),
    standing=_covered,
    filters=_FILTERS,
)
"""For the API: without bodies and attempts."""


def send_again(tx: Transaction, workspace_id: int, uuid: str) -> bool:
    """Sends a finished delivery again to the current URL of its receiver, with the same event id. Returns False if
    there is no such delivery. Raises Refused if its receiver no longer has a URL.
    """
    finished = (delivery.c.workspace_id == workspace_id, delivery.c.uuid == uuid, delivery.c.status != PENDING)
    if tx.execute(select(delivery.c.id).where(*finished)).first() is None:
        return False
    if not _reopen(tx, workspace_id, delivery.c.uuid == uuid):
        raise Refused(NO_URL)
    return True


def send_all_again(tx: Transaction, workspace_id: int, uuids: Sequence[str], areas: Areas = None) -> int:
    """Sends the finished ones of these deliveries again, like `send_again`; returns their number. Raises InvalidInput
    for an unknown one, or one of another area, and Refused if the receiver of one has no URL any more.
    """
    wanted = [uuid.lower() for uuid in uuids]
    hold_workspace(tx, workspace_id)
    mine = (delivery.c.workspace_id == workspace_id) & delivery.c.uuid.in_(wanted)
    wanted_rows = select(delivery.c.uuid, delivery.c.status).where(mine, *in_areas(areas))
    found = {row.uuid: row.status for row in tx.execute(wanted_rows)}
    for uuid in uuids:
        must_exist(found.get(uuid.lower()), "deliveries", uuid)
    finished = {uuid for uuid, status in found.items() if status != PENDING}
    sent = _reopen(tx, workspace_id, delivery.c.uuid.in_(sorted(finished))) if finished else 0
    if sent < len(finished):
        raise Refused(NO_URL)
    return sent


def send_failed_again(
    tx: Transaction, workspace_id: int, since: datetime, receiver: str | None = None, areas: Areas = None
) -> int:
    """Sends failed deliveries of these areas that were created since a time again, only those to one receiver if it is
    named; returns their number. Those whose receiver no longer has a URL are left out.
    """
    hold_workspace(tx, workspace_id)
    theirs = [] if receiver is None else [is_to(workspace_id, receiver)]
    failed = (delivery.c.status == FAILED, delivery.c.created_on >= since)
    return _reopen(tx, workspace_id, *failed, *theirs, *in_areas(areas))


def trim_deliveries(tx: Transaction, limit: int = 1000) -> int:
    """Deletes finished deliveries, with their attempts, that are older than KEPT_FOR; returns their number."""
    return delete_old(tx, delivery.c.finished_on, KEPT_FOR, limit)


def is_to(workspace_id: int, receiver: str) -> ColumnElement[bool]:
    """The condition on deliveries to the channel with this UUID, also one that has left the workspace, or to the
    subscriber with this id, also a former one.
    """
    if receiver.isdecimal():
        return delivery.c.subscriber_id == read_id(receiver)
    if not is_uuid(receiver):
        return never(delivery.c.id)
    here, left = channel.c, former_channel.c
    of_it = select(here.id).where(here.workspace_id == workspace_id, here.uuid == receiver)
    of_former = select(left.channel_id).where(left.workspace_id == workspace_id, left.uuid == receiver)
    found = func.coalesce(of_it.scalar_subquery(), of_former.scalar_subquery())
    return delivery.c.channel_id == found


def read_delivery(tx: Transaction, workspace: Workspace, uuid: str, areas: Areas = None) -> dict[str, Any]:
    """A delivery with its body and its latest attempts, oldest first. Raises RecordMissing, also for one of
    another area than these."""
    listed = find_record(ListQuery(tx, workspace, areas=areas), LISTED_DELIVERIES, "uuid", uuid)
    if listed is None:
        raise RecordMissing
    mine = (delivery.c.workspace_id == workspace.id) & (delivery.c.uuid == uuid.lower())
    delivery_id, content_type, body = tx.execute(
        select(delivery.c.id, delivery.c.content_type, delivery.c.body).where(mine)
    ).one()
    rows = delivery_attempt.c
    its = (rows.workspace_id == workspace.id) & (rows.delivery_id == delivery_id)
    found = select(delivery_attempt).where(its).order_by(rows.id.desc()).limit(MOST_ATTEMPTS)
    attempts = [_describe(dict(row), uuid.lower(), content_type) for row in tx.execute(found).mappings()]
    shown: dict[str, Any] = orjson.loads(listed)
    return shown | {"content_type": content_type, "body": body, "attempt_log": attempts[::-1]}


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
            moved = update(delivery).where(*finished, is_delivery_to(endpoint))
            reopened += tx.execute(moved.values(url=url, receiver=name_at(tx, endpoint, url), **fresh)).rowcount
    if reopened:
        count_moved(tx, SENT_AGAIN, reopened)
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


def _describe(row: Mapping[str, Any], event_id: str, content_type: str) -> dict[str, Any]:
    started_on = row["started_on"]
    headers = {"Content-Type": content_type, "webhook-id": event_id}
    if started_on is not None:
        headers["webhook-timestamp"] = str(int(started_on.timestamp()))
    if row["signed"]:
        headers["webhook-signature"] = " ".join(f"{scheme},***" for scheme in row["signed"].split())
    response = {"status": row["status"], "headers": row["answer_headers"] or {}, "body": row["answer"]}
    return {
        "number": row["number"],
        "scheduled_on": time_text(row["scheduled_on"]),
        "started_on": None if started_on is None else time_text(started_on),
        "finished_on": time_text(row["finished_on"]),
        "duration_ms": row["duration_ms"],
        "request": {"method": "POST", "url": row["url"], "headers": headers},
        "response": None if row["status"] is None else response,
        "error": row["error"],
    }
