"""Messages as v2 shows them: the record, and the list with its filters."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, case, literal, null, select

from persistence.channels.former_channels import SEEN_ID, SEEN_REF, join_channels
from persistence.database import Transaction
from persistence.labels import find_label
from persistence.messages.states import HANDLED, INCOMING
from persistence.sql.columns import is_uuid, read_id
from persistence.sql.json_sql import as_text, declare_record, json_list, json_record, json_record_or_null
from persistence.sql.pages import Order, Page, Position, fetch_page
from persistence.tables.contacts import contact
from persistence.tables.flows import FLOW_REF, flow
from persistence.tables.messages import ARCHIVED, DELETED, VISIBLE, broadcast, label, message, message_label

LABELS_OF_MESSAGE = json_list(
    select(json_record({"uuid": label.c.uuid, "name": label.c.name}).label("item"))
    .join(message_label, message_label.c.label_id == label.c.id)
    .where(message_label.c.message_id == message.c.id)
    .order_by(label.c.name_key)
    .correlate(message)
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
"""`archived`, `media`, `broadcast` and `id` are the legacy extras that published clients and bulk actions use."""

MESSAGE_RECORD = declare_record(MESSAGE_FIELDS)
MASKED_MESSAGE_RECORD = declare_record({**MESSAGE_FIELDS, "urn": null()})
"""The record in an anonymous workspace, which shows no address."""

SOURCE = join_channels(message.join(contact, contact.c.id == message.c.contact_id), message).outerjoin(
    flow, flow.c.id == message.c.flow_id
)

CREATED_ORDER = Order(message.c.created_on, message.c.id)
SENT_ORDER = Order(message.c.sent_on, message.c.id)
LABEL_ORDER = Order(message_label.c.created_on, message_label.c.message_id)

FOLDERS = ("inbox", "flows", "archived", "outbox", "sent", "failed")
INCOMING_FOLDER = "incoming"
NEVER = message.c.id < 0


def messages_order(folder: str | None, label_reference: str | None) -> Order:
    """Newest first by creation; the sent folder by its sent time (interface specification, rules specific to v2)."""
    if folder is not None and folder.lower() == "sent":
        return SENT_ORDER
    return LABEL_ORDER if label_reference is not None and folder is None else CREATED_ORDER


def list_messages(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    message_id: int | None = None,
    uuid: str | None = None,
    broadcast_reference: str | None = None,
    contact_uuid: str | None = None,
    folder: str | None = None,
    label_reference: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    masked: bool = False,
) -> Page:
    """Messages of a workspace; filters combine by AND, unknown references give an empty page.

    Deleted messages show only when asked for by `message_id` or `uuid` (decision D14).
    """
    order = messages_order(folder, label_reference)
    conditions: list[ColumnElement[bool]] = [message.c.workspace_id == workspace_id]
    if message_id is None and uuid is None:
        conditions.append(message.c.visibility != DELETED)
    if message_id is not None:
        conditions.append(message.c.id == message_id)
    if uuid is not None:
        conditions.append(message.c.uuid == uuid)
    if broadcast_reference is not None:
        conditions.append(_of_broadcast(workspace_id, broadcast_reference))
    if contact_uuid is not None:
        conditions.append(_of_contact(workspace_id, contact_uuid))
    if folder is not None:
        conditions += _in_folder(folder.lower())
    if label_reference is not None:
        conditions += _with_label(tx, workspace_id, label_reference)
    if before is not None:
        conditions.append(message.c.created_on <= before)
    if after is not None:
        conditions.append(message.c.created_on >= after)
    return fetch_page(
        tx,
        record=MASKED_MESSAGE_RECORD if masked else MESSAGE_RECORD,
        source=SOURCE,
        source_id=message.c.id,
        order=order,
        conditions=conditions,
        position=position,
        size=size,
    )


def _of_contact(workspace_id: int, contact_uuid: str) -> ColumnElement[bool]:
    if not is_uuid(contact_uuid):
        return NEVER
    owner = select(contact.c.id).where(contact.c.workspace_id == workspace_id, contact.c.uuid == contact_uuid)
    return message.c.contact_id == owner.scalar_subquery()


def _of_broadcast(workspace_id: int, reference: str) -> ColumnElement[bool]:
    if is_uuid(reference):
        mine = (broadcast.c.workspace_id == workspace_id) & (broadcast.c.uuid == reference.lower())
        return message.c.broadcast_id == select(broadcast.c.id).where(mine).scalar_subquery()
    is_number = reference.isascii() and reference.isdecimal()
    return message.c.broadcast_id == read_id(reference) if is_number else NEVER


def _in_folder(folder: str) -> list[ColumnElement[bool]]:
    if folder == INCOMING_FOLDER:
        return [
            message.c.direction == INCOMING,
            message.c.status == HANDLED,
            message.c.visibility.in_((VISIBLE, ARCHIVED)),
        ]
    return [message.c.folder == literal(folder, literal_execute=True)] if folder in FOLDERS else [NEVER]


def _with_label(tx: Transaction, workspace_id: int, reference: str) -> list[ColumnElement[bool]]:
    label_id = find_label(tx, workspace_id, reference)
    if label_id is None:
        return [NEVER, message_label.c.message_id == message.c.id]
    return [message_label.c.label_id == label_id, message_label.c.message_id == message.c.id]


def read_message(tx: Transaction, workspace_id: int, message_id: int, *, masked: bool = False) -> str:
    """One message record as JSON text."""
    mine = (message.c.workspace_id == workspace_id) & (message.c.id == message_id)
    record = MASKED_MESSAGE_RECORD if masked else MESSAGE_RECORD
    return tx.execute(select(as_text(record)).select_from(SOURCE).where(mine)).scalar_one()
