"""Broadcasts as v1 shows them: one text, plain UUIDs, and a letter for the state."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ColumnElement, String, case, exists, literal, literal_column, select

from persistence.audience import OF_BROADCAST
from persistence.broadcasts.v2 import BROADCASTS_ORDER, COMPLETED, PENDING, QUEUED, STARTED
from persistence.database import Transaction
from persistence.messages.states import IS_UNDELIVERED
from persistence.sql.json_sql import as_text, declare_record, json_text_list
from persistence.sql.numbered_pages import NumberedPage, fetch_numbered_page
from persistence.tables.contacts import contact, group
from persistence.tables.messages import broadcast, message

HAS_UNDELIVERED = exists().where(message.c.broadcast_id == broadcast.c.id, IS_UNDELIVERED).correlate(broadcast)
LETTER = case(
    (broadcast.c.status == literal(PENDING), "I"),
    (broadcast.c.status.in_((QUEUED, STARTED)), "Q"),
    (broadcast.c.status != COMPLETED, "F"),
    ((broadcast.c.started == 0) | HAS_UNDELIVERED, "S"),
    else_="D",
)
"""Delivered is what went to somebody and arrived everywhere; no state is E (contract reference, v1 broadcasts)."""
BASE_TEXT: ColumnElement[str] = broadcast.c.text.op("->>", return_type=String())(broadcast.c.base_language)

SUMMARY_FIELDS: dict[str, ColumnElement[Any]] = {
    "id": broadcast.c.id,
    "urns": broadcast.c.urns,
    "contacts": json_text_list(OF_BROADCAST.list_contacts(contact.c.uuid)),
    "groups": json_text_list(OF_BROADCAST.list_groups(group.c.uuid)),
    "text": BASE_TEXT,
    "created_on": broadcast.c.created_on,
    "status": LETTER,
}
SUMMARY = declare_record(SUMMARY_FIELDS)
MASKED_SUMMARY = declare_record({**SUMMARY_FIELDS, "urns": literal_column("'[]'", JSON())})
"""The record in an anonymous workspace, which shows no address."""


def list_broadcast_summaries(
    tx: Transaction,
    workspace_id: int,
    number: int,
    size: int,
    *,
    ids: Sequence[int] | None = None,
    letters: Sequence[str] | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    masked: bool = False,
) -> NumberedPage:
    """The broadcasts of a workspace, newest first; filters combine by AND, `letters` are capital."""
    conditions: list[ColumnElement[bool]] = [broadcast.c.workspace_id == workspace_id]
    if ids:
        conditions.append(broadcast.c.id.in_(ids))
    if letters:
        conditions.append(LETTER.in_(letters))
    if before is not None:
        conditions.append(broadcast.c.created_on <= before)
    if after is not None:
        conditions.append(broadcast.c.created_on >= after)
    return fetch_numbered_page(
        tx,
        record=MASKED_SUMMARY if masked else SUMMARY,
        source=broadcast,
        order=BROADCASTS_ORDER,
        conditions=conditions,
        number=number,
        size=size,
    )


def read_broadcast_summary(tx: Transaction, workspace_id: int, broadcast_id: int, *, masked: bool = False) -> str:
    """One broadcast's record as JSON text."""
    mine = (broadcast.c.workspace_id == workspace_id) & (broadcast.c.id == broadcast_id)
    record = MASKED_SUMMARY if masked else SUMMARY
    return tx.execute(select(as_text(record)).select_from(broadcast).where(mine)).scalar_one()
