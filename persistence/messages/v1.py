"""Messages as v1 shows them: letters instead of words, label names instead of references, and rich filters."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, case, null, or_, select

from flows.urns import Urn
from flows.words import fold_case
from persistence.contacts.urns import is_one_of
from persistence.database import Transaction
from persistence.messages.states import (
    DELIVERED,
    ERRORED,
    FAILED,
    HANDLED,
    INCOMING,
    OUTGOING,
    QUEUED,
    READ,
    SENT,
    WIRED,
)
from persistence.sql.columns import is_uuid
from persistence.sql.json_sql import declare_record, json_text_list
from persistence.sql.names import name_key
from persistence.sql.numbered_pages import NumberedPage, fetch_numbered_page
from persistence.sql.pages import Order
from persistence.sql.query_functions import FoldedText
from persistence.tables.contacts import contact, contact_urn, group, group_membership
from persistence.tables.messages import ARCHIVED, DELETED, VISIBLE, label, message, message_label

STATUS_LETTERS = {
    QUEUED: "Q",
    WIRED: "W",
    SENT: "S",
    DELIVERED: "D",
    READ: "D",
    HANDLED: "H",
    ERRORED: "E",
    FAILED: "F",
}
DIRECTION_LETTERS = {INCOMING: "I", OUTGOING: "O"}
VOICE = "voice"
NEVER = message.c.id < 0

LABEL_NAMES = json_text_list(
    select(label.c.name.label("item"))
    .join(message_label, message_label.c.label_id == label.c.id)
    .where(message_label.c.message_id == message.c.id)
    .order_by(label.c.name_key)
    .correlate(message)
)

SUMMARY_FIELDS: dict[str, ColumnElement[Any]] = {
    "id": message.c.id,
    "broadcast": message.c.broadcast_id,
    "contact": contact.c.uuid,
    "urn": message.c.urn,
    "status": case(STATUS_LETTERS, value=message.c.status),
    "type": case((message.c.type == VOICE, "V"), (message.c.flow_id.is_not(None), "F"), else_="I"),
    "labels": LABEL_NAMES,
    "relayer": message.c.channel_id,
    "direction": case(DIRECTION_LETTERS, value=message.c.direction),
    "archived": message.c.visibility == ARCHIVED,
    "text": message.c.text,
    "created_on": message.c.created_on,
    "sent_on": message.c.sent_on,
    "delivered_on": case((message.c.status.in_((DELIVERED, READ)), message.c.reported_on), else_=null()),
}

SUMMARY = declare_record(SUMMARY_FIELDS)
MASKED_SUMMARY = declare_record({**SUMMARY_FIELDS, "urn": null()})
"""The record in an anonymous workspace, which shows no address."""

SOURCE = message.join(contact, contact.c.id == message.c.contact_id)
ORDER = Order(message.c.created_on, message.c.id)


@dataclass(frozen=True, slots=True)
class SummaryFilter:
    """Which messages are meant; letters as v1 writes them, capital. None and empty lists leave a property open."""

    ids: Sequence[int] | None = None
    contact_uuids: Sequence[str] | None = None
    group_uuids: Sequence[str] | None = None
    statuses: Sequence[str] | None = None
    directions: Sequence[str] | None = None
    is_archived: bool | None = None
    types: Sequence[str] | None = None
    urns: Sequence[Urn] | None = None
    text: str | None = None
    """A part of the text, in any case."""
    labels: Sequence[str] | None = None
    flow_ids: Sequence[int] | None = None
    broadcast_ids: Sequence[int] | None = None
    channel_ids: Sequence[int] | None = None
    before: datetime | None = None
    after: datetime | None = None

    @property
    def is_settled(self) -> bool:
        """Whether messages fit from their beginning or never: no part of the filter is about what changes later."""
        changing = (self.statuses, self.types, self.labels, self.flow_ids, self.group_uuids, self.urns)
        return self.is_archived is None and not any(changing)


def list_summaries(
    tx: Transaction, workspace_id: int, wanted: SummaryFilter, number: int, size: int, *, masked: bool = False
) -> NumberedPage:
    """The messages of a workspace that fit, newest first; deleted ones never do."""
    conditions = [
        message.c.workspace_id == workspace_id,
        *_by_columns(wanted),
        *_by_words(wanted),
        *_by_owners(tx, workspace_id, wanted),
    ]
    if wanted.labels:
        conditions += _by_labels(tx, workspace_id, wanted.labels)
    return fetch_numbered_page(
        tx,
        record=MASKED_SUMMARY if masked else SUMMARY,
        source=SOURCE,
        order=ORDER,
        conditions=conditions,
        number=number,
        size=size,
        keeps_places=wanted.is_settled,
    )


def _by_columns(wanted: SummaryFilter) -> list[ColumnElement[bool]]:
    rows = message.c
    choices = (
        (rows.id, wanted.ids),
        (rows.flow_id, wanted.flow_ids),
        (rows.broadcast_id, wanted.broadcast_ids),
        (rows.channel_id, wanted.channel_ids),
    )
    found: list[ColumnElement[bool]] = [_is_one_of(column, values) for column, values in choices if values]
    if wanted.before is not None:
        found.append(rows.created_on <= wanted.before)
    if wanted.after is not None:
        found.append(rows.created_on >= wanted.after)
    if wanted.text is not None:
        found.append(FoldedText(rows.text).contains(fold_case(wanted.text), autoescape=True))
    if wanted.is_archived is None:
        found.append(rows.visibility != DELETED)
    else:
        found.append(rows.visibility == (ARCHIVED if wanted.is_archived else VISIBLE))
    return found


def _by_words(wanted: SummaryFilter) -> list[ColumnElement[bool]]:
    rows = message.c
    found: list[ColumnElement[bool]] = []
    if wanted.statuses:
        found.append(rows.status.in_([word for word, letter in STATUS_LETTERS.items() if letter in wanted.statuses]))
    if wanted.directions:
        words = [word for word, letter in DIRECTION_LETTERS.items() if letter in wanted.directions]
        found.append(rows.direction.in_(words))
    if wanted.types:
        is_spoken, is_flow = rows.type == VOICE, rows.flow_id.is_not(None)
        meanings = {"V": is_spoken, "F": and_(~is_spoken, is_flow), "I": and_(~is_spoken, ~is_flow)}
        found.append(or_(NEVER, *(meanings[letter] for letter in wanted.types if letter in meanings)))
    return found


def _by_owners(tx: Transaction, workspace_id: int, wanted: SummaryFilter) -> list[ColumnElement[bool]]:
    """Messages of contacts named by UUID, by a group or by an address; names that mean nobody fit nothing.

    Contacts are looked up first, so that the database goes through their messages and not through everybody's.
    """
    owner = message.c.contact_id
    found: list[ColumnElement[bool]] = []
    if wanted.contact_uuids:
        uuids = [uuid for uuid in wanted.contact_uuids if is_uuid(uuid)]
        named = select(contact.c.id).where(contact.c.workspace_id == workspace_id, contact.c.uuid.in_(uuids))
        found.append(_is_one_of(owner, tx.execute(named).scalars().all()))
    if wanted.urns is not None:
        rows = contact_urn.c
        owning = select(rows.contact_id).where(
            rows.workspace_id == workspace_id,
            rows.contact_id.is_not(None),
            is_one_of(wanted.urns),
        )
        found.append(_is_one_of(owner, tx.execute(owning).scalars().all()))
    if wanted.group_uuids:
        uuids = [uuid for uuid in wanted.group_uuids if is_uuid(uuid)]
        members = select(group_membership.c.contact_id).join(group, group.c.id == group_membership.c.group_id)
        found.append(owner.in_(members.where(group.c.workspace_id == workspace_id, group.c.uuid.in_(uuids))))
    return found


def _is_one_of(
    column: ColumnElement[int] | ColumnElement[int | None], values: Sequence[int | None]
) -> ColumnElement[bool]:
    return column == values[0] if len(values) == 1 else column.in_(values)


def _by_labels(tx: Transaction, workspace_id: int, texts: Sequence[str]) -> list[ColumnElement[bool]]:
    """Required (`+`), forbidden (`-`) and alternative labels; commas part names unless the whole text is one."""
    pieces = {text: [part for part in text.split(",") if part.strip()] for text in texts}
    keys = {_bare_key(part) for text, parts in pieces.items() for part in (text, *parts)}
    named = select(label.c.name_key, label.c.id).where(
        label.c.workspace_id == workspace_id, label.c.name_key.in_(sorted(keys))
    )
    known: dict[str, int] = {row.name_key: row.id for row in tx.execute(named)}
    alternatives: list[int] = []
    found: list[ColumnElement[bool]] = []
    is_open = True
    for text, parts in pieces.items():
        for part in [text] if _bare_key(text) in known else parts:
            label_id = known.get(_bare_key(part), -1)
            if part[0] in "+ ":
                found.append(message.c.id.in_(_labelled([label_id])))
            elif part[0] == "-":
                found.append(message.c.id.not_in(_labelled([label_id])))
            else:
                is_open = False
                alternatives.append(label_id)
    return found if is_open else [*found, message.c.id.in_(_labelled(alternatives))]


def _labelled(label_ids: Sequence[int]) -> Any:
    return select(message_label.c.message_id).where(message_label.c.label_id.in_(label_ids))


def _bare_key(text: str) -> str:
    # A plain `+` in a query string arrives as a blank.
    bare = text[1:] if text[:1] in ("+", "-", " ") else text
    return name_key(bare.strip())
