"""Messages as v2 shows them: the record, the list with its filters, and times in the folder of sent messages.

Times in the folder of sent messages: it is in the order of sending, while its filters are by the time of creation.
Nearly all messages are sent within a day. So one time tells where the other is, but for a few messages that have an
index of their own.
"""

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Integer, Table, case, func, literal_column, null, select

from persistence.channels.states import SEEN_ID, SEEN_REF, join_channels
from persistence.database import Transaction
from persistence.labels import find_label
from persistence.lists import (
    CHANGE_ORDER,
    Condition,
    ListQuery,
    ListSpec,
    Values,
    belongs_to,
    changed_after,
    equals,
    never,
)
from persistence.messages.states import HANDLED, INCOMING, NOT_DELETED
from persistence.sql.columns import UtcDateTime, is_uuid, read_id
from persistence.sql.json_sql import Template, declare_record, json_record, json_record_or_null, json_shared
from persistence.sql.pages import Order
from persistence.tables.contacts import contact
from persistence.tables.flows import FLOW_REF, flow
from persistence.tables.messages import ARCHIVED, SENT_APART, VISIBLE, broadcast, label, message, message_label

LABELS_OF_MESSAGE = json_shared(
    message.c.id,
    *(message_label.c.message_id, message_label.c.label_id, label.c.id),
    json_record({"uuid": label.c.uuid, "name": label.c.name}),
    label.c.name_key,
)

FIRST_ATTACHMENT = message.c.attachments[0]

MESSAGE_FIELDS: dict[str, ColumnElement[Any]] = {
    "uuid": message.c.uuid,
    "id": message.c.id,
    "contact": json_record({"uuid": contact.c.uuid, "name": contact.c.name}),
    "urn": message.c.urn,
    "channel": json_record_or_null(SEEN_ID, SEEN_REF),
    "direction": message.c.direction,
    "type": message.c.type,
    "status": message.c.status,
    "failed_reason": message.c.failed_reason,
    "visibility": message.c.visibility,
    "archived": (message.c.visibility == ARCHIVED),
    "text": message.c.text,
    "attachments": message.c.attachments,
    "media": case(
        (
            FIRST_ATTACHMENT["url"].as_string().is_not(None),
            FIRST_ATTACHMENT["content_type"].as_string() + ":" + FIRST_ATTACHMENT["url"].as_string(),
        ),
        else_=null(),
    ),
    "quick_replies": message.c.quick_replies,
    "labels": LABELS_OF_MESSAGE,
    "flow": json_record_or_null(flow.c.id, FLOW_REF),
    "broadcast": message.c.broadcast_id,
    "created_on": message.c.created_on,
    "sent_on": message.c.sent_on,
    "modified_on": message.c.modified_on,
}
"""`archived`, `media`, `broadcast` and `id` are older properties that published clients and bulk actions use."""

MESSAGE_RECORD = declare_record(MESSAGE_FIELDS)
MASKED_MESSAGE_RECORD = declare_record({**MESSAGE_FIELDS, "urn": null()})
"""The record in an anonymous workspace, which shows no URN."""

SOURCE = join_channels(message.join(contact, contact.c.id == message.c.contact_id), message).outerjoin(
    flow, flow.c.id == message.c.flow_id
)

CREATED_ORDER = Order(message.c.created_on, message.c.id)
SENT_ORDER = Order(message.c.sent_on, message.c.id)
LABEL_ORDER = Order(message_label.c.created_on, message_label.c.message_id)

SENT_FOLDER = "sent"

OUTGOING_FOLDERS = ("outbox", SENT_FOLDER, "failed")
FOLDERS = {
    # As part of the text, so that the partial index on the sent folder is used.
    folder: message.c.folder == literal_column(f"'{folder}'")
    for folder in ("inbox", "flows", "archived", *OUTGOING_FOLDERS)
}
INCOMING_FOLDER = "incoming"
NEVER = never(message.c.id)
BY_LABEL = frozenset({"label", "before", "after"})
APART = "ix_message_sent_apart"
SENT_WITHIN = timedelta(days=1, seconds=1)
"""A day, and what SQLite's times of day may be rounded by."""

SENT_ON = func.coalesce(message.c.sent_on, message.c.created_on, type_=UtcDateTime())
"""As an expression: for the column alone PostgreSQL would look through all sent messages, in their order, for the first
that fits.
"""


def _order(values: Values) -> Order:
    """Newest first by creation; the sent folder by its sent time (interface specification, rules specific to v2)."""
    if "modified_after" in values:
        return CHANGE_ORDER
    if _is_of_sent(values):
        return SENT_ORDER
    return LABEL_ORDER if "label" in values else CREATED_ORDER


def _chosen_by(values: Values) -> Table:
    """The labels of messages are enough to choose by: deleted messages have none."""
    return message_label if "label" in values and values.keys() <= BY_LABEL else message


def _standing(query: ListQuery) -> list[Condition]:
    """Deleted messages are listed only with `id` or `uuid` (decision D14), and to those who ask for changes."""
    if query.values.keys() & {"id", "uuid", "modified_after"} or _chosen_by(query.values) is message_label:
        return []
    return [NOT_DELETED]


def _of_broadcast(query: ListQuery, reference: str) -> Condition:
    if is_uuid(reference):
        return belongs_to(message.c.broadcast_id, broadcast)(query, reference.lower())
    is_number = reference.isascii() and reference.isdecimal()
    return message.c.broadcast_id == read_id(reference) if is_number else NEVER


def _in_folder(query: ListQuery, folder: str) -> list[Condition]:
    folder = folder.lower()
    if folder == INCOMING_FOLDER:
        return [
            message.c.direction == INCOMING,
            message.c.status == HANDLED,
            message.c.visibility.in_((VISIBLE, ARCHIVED)),
        ]
    if folder in OUTGOING_FOLDERS and "label" in query.values:  # only incoming messages have labels
        return [NEVER]
    return [FOLDERS.get(folder, NEVER)]


def _with_label(query: ListQuery, reference: str) -> list[Condition]:
    label_id = find_label(query.tx, query.workspace.id, reference)
    mine = _has_label(label_id) if label_id is not None else never(message_label.c.message_id)
    return [mine] if _chosen_by(query.values) is message_label else [mine, message_label.c.message_id == message.c.id]


def _before(query: ListQuery, moment: datetime) -> list[Condition]:
    if _is_of_sent(query.values):
        return sent_before(query.tx, query.workspace.id, moment)
    return [_time_column(query) <= moment]


def _after(query: ListQuery, moment: datetime) -> list[Condition]:
    if _is_of_sent(query.values):
        return sent_after(query.tx, query.workspace.id, moment)
    return [_time_column(query) >= moment]


MESSAGES = ListSpec(
    message,
    MESSAGE_RECORD,
    _order,
    source=SOURCE,
    masked=MASKED_MESSAGE_RECORD,
    standing=_standing,
    is_followed=True,
    chosen_by=_chosen_by,
    filters={
        "id": equals(message.c.id),
        "uuid": equals(message.c.uuid),
        "broadcast": _of_broadcast,
        "contact": belongs_to(message.c.contact_id, contact),
        "folder": _in_folder,
        "label": _with_label,
        "modified_after": changed_after(message),
        "before": _before,
        "after": _after,
    },
)


class _IsSentApart(Template, sqlite=SENT_APART["sqlite"], postgresql=SENT_APART["postgresql"], kind=Integer()):
    """Whether a message was not sent within a day of its creation, as its index says it. A Boolean would be compared
    with 1 on SQLite, which then does not know the condition of the index.
    """


def sent_before(tx: Transaction, workspace_id: int, moment: datetime) -> list[Condition]:
    """Sent messages that were created until then. The list begins with the last one that was sent within a day, or with
    one of those that were sent later; one statement finds that.
    """
    late = _find_apart(tx, workspace_id, func.max(SENT_ON), message.c.created_on <= moment)
    latest = moment + SENT_WITHIN
    return [message.c.created_on <= moment, message.c.sent_on <= (latest if late is None else max(latest, late))]


def sent_after(tx: Transaction, workspace_id: int, moment: datetime) -> list[Condition]:
    """Sent messages that were created since then, which few clocks say were sent before; one statement finds those."""
    early = _find_apart(tx, workspace_id, func.min(SENT_ON), message.c.created_on >= moment)
    return [message.c.created_on >= moment, message.c.sent_on >= (moment if early is None else min(moment, early))]


def _is_of_sent(values: Values) -> bool:
    return bool(values.get("folder", "").lower() == SENT_FOLDER)


@lru_cache(maxsize=1000)
def _has_label(label_id: int) -> Condition:
    """Kept, because to build the condition and to compare it with known ones takes as long as to find the label."""
    return message_label.c.label_id == label_id


def _time_column(query: ListQuery) -> ColumnElement[Any]:
    """The time of creation; of a label, as in the label's own index."""
    return message_label.c.created_on if "label" in query.values else message.c.created_on


def _find_apart(
    tx: Transaction, workspace_id: int, wanted: ColumnElement[Any], condition: Condition
) -> datetime | None:
    mine = message.c.workspace_id == workspace_id
    is_sent = message.c.folder == literal_column(f"'{SENT_FOLDER}'")
    is_apart = _IsSentApart(message.c.sent_on, message.c.created_on)
    statement = select(wanted).where(mine, is_sent, is_apart, condition)
    # SQLite would as soon read the whole folder.
    found: datetime | None = tx.execute(statement.with_hint(message, f"INDEXED BY {APART}", "sqlite")).scalar_one()
    return found
