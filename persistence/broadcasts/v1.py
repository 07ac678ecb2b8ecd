"""Broadcasts as v1 shows them: one text, plain UUIDs, and a letter for the status."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import JSON, ColumnElement, String, case, exists, literal, literal_column

from persistence.audience_tables import OF_BROADCAST
from persistence.broadcasts.states import COMPLETED, PENDING, QUEUED, STARTED
from persistence.broadcasts.v2 import only_begun
from persistence.lists import Condition, ListQuery, ListSpec, one_of, within
from persistence.messages.states import IS_UNDELIVERED
from persistence.sql.json_sql import declare_record, json_text_list
from persistence.sql.pages import Order
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
"""`D` means sent to at least one recipient and delivered to all; `E` is never shown (contract reference, v1
broadcasts)."""
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
"""The record in an anonymous workspace, which shows no URN."""


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
