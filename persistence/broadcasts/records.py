"""Broadcasts, one text to many contacts whose messages a worker creates later, as both generations show them."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, String, and_, case, exists, literal

from persistence.audience import list_contacts, list_groups
from persistence.lists import (
    Condition,
    ListQuery,
    ListSpec,
    by_change,
    changed_after,
    equals,
    one_of,
    stamped_on,
    within,
)
from persistence.messages.states import IS_UNDELIVERED
from persistence.pages import Order
from persistence.records import Record
from persistence.tables.contacts import CONTACT_REF, GROUP_REF, contact, group
from persistence.tables.flow_starts import OF_BROADCAST
from persistence.tables.messages import broadcast, message

WAKE = "broadcasts"

_FIELDS: dict[str, Any] = {
    "uuid": broadcast.c.uuid,
    "id": broadcast.c.id,
    "status": broadcast.c.status,
    "progress": Record({"total": broadcast.c.total, "started": broadcast.c.started}),
    "urns": broadcast.c.urns,
    "contacts": list_contacts(OF_BROADCAST, Record(CONTACT_REF)),
    "groups": list_groups(OF_BROADCAST, Record(GROUP_REF)),
    "text": broadcast.c.text,
    "attachments": broadcast.c.attachments,
    "quick_replies": broadcast.c.quick_replies,
    "base_language": broadcast.c.base_language,
    "created_on": broadcast.c.created_on,
    "scheduled_on": broadcast.c.scheduled_on,
    "error": broadcast.c.error,
    "modified_on": stamped_on(broadcast),
}
BROADCAST_RECORD = Record(_FIELDS)
MASKED_BROADCAST_RECORD = Record({**_FIELDS, "urns": []})
"""The record in an anonymous workspace, which shows no URN."""

HAS_UNDELIVERED = exists().where(message.c.broadcast_id == broadcast.c.id, IS_UNDELIVERED).correlate(broadcast)

PENDING, QUEUED, STARTED, COMPLETED, FAILED = "pending", "queued", "started", "completed", "failed"
LETTER = case(
    (broadcast.c.status == literal(PENDING), "I"),
    (broadcast.c.status.in_((QUEUED, STARTED)), "Q"),
    (broadcast.c.status != COMPLETED, "F"),
    ((broadcast.c.started == 0) | HAS_UNDELIVERED, "S"),
    else_="D",
)
"""`D` means sent to at least one recipient and delivered to all; `E` is never shown (contract reference, v1
broadcasts)."""
BASE_TEXT: ColumnElement[str] = broadcast.c.text.op("->>", return_type=String())(broadcast.c.base_language)

SUMMARY_FIELDS: dict[str, Any] = {
    "id": broadcast.c.id,
    "urns": broadcast.c.urns,
    "contacts": list_contacts(OF_BROADCAST, contact.c.uuid),
    "groups": list_groups(OF_BROADCAST, group.c.uuid),
    "text": BASE_TEXT,
    "created_on": broadcast.c.created_on,
    "status": LETTER,
}
SUMMARY = Record(SUMMARY_FIELDS)
MASKED_SUMMARY = Record({**SUMMARY_FIELDS, "urns": []})
"""The record in an anonymous workspace, which shows no URN."""
INTERRUPTED = "interrupted"

HAS_BEGUN: ColumnElement[bool] = broadcast.c.scheduled_on.is_(None) | (
    broadcast.c.scheduled_on <= broadcast.c.created_on
)
IS_SCHEDULED: ColumnElement[bool] = broadcast.c.scheduled_on > broadcast.c.created_on
"""Has not begun: waits for its time, or was stopped before."""
IS_UNFINISHED: ColumnElement[bool] = broadcast.c.status.in_(
    [literal(status, literal_execute=True) for status in (PENDING, QUEUED, STARTED)]
)
IS_GOING = and_(IS_UNFINISHED, HAS_BEGUN)
"""A worker has messages to create."""
WAITS = and_(broadcast.c.status == literal(PENDING, literal_execute=True), IS_SCHEDULED)


def only_begun(query: ListQuery) -> list[Condition]:
    """Broadcasts that have not begun are listed only with the parameter `scheduled`, and then alone; who names one by
    `uuid` or `id` finds it in any case.
    """
    if query.values.get("scheduled"):
        return [IS_SCHEDULED]
    return [] if {"uuid", "id"} & query.values.keys() else [HAS_BEGUN]


BROADCASTS = ListSpec(
    broadcast,
    BROADCAST_RECORD,
    by_change(Order(broadcast.c.created_on, broadcast.c.id)),
    masked=MASKED_BROADCAST_RECORD,
    is_followed=True,
    standing=only_begun,
    options=frozenset({"scheduled"}),
    filters={
        "id": equals(broadcast.c.id),
        "uuid": equals(broadcast.c.uuid),
        "modified_after": changed_after(broadcast),
        **within(broadcast.c.created_on),
    },
)


def _with_letters(_query: ListQuery, letters: Sequence[str]) -> Condition:
    return LETTER.in_([letter.upper() for letter in letters])


BROADCASTS_V1 = ListSpec(
    broadcast,
    SUMMARY,
    Order(broadcast.c.created_on, broadcast.c.id),
    masked=MASKED_SUMMARY,
    standing=only_begun,
    filters={"id": one_of(broadcast.c.id), "status": _with_letters, **within(broadcast.c.created_on)},
)
