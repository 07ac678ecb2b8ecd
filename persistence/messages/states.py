"""The statuses of messages in both directions."""

from typing import Any

from sqlalchemy import BindParameter, ColumnElement, bindparam, func, literal, literal_column, select

from persistence.tables.channels import channel
from persistence.tables.messages import ARCHIVED, DELETED, VISIBLE, message

INCOMING, OUTGOING = "in", "out"
QUEUED, HANDLED, WIRED, SENT = "queued", "handled", "wired", "sent"
DELIVERED, READ, ERRORED, FAILED = "delivered", "read", "errored", "failed"
UNCERTAIN, RESENT, CIRCLE = "uncertain", "resent", "circle"
"""Reasons of messages: nobody knows whether the gateway has it, because the worker that sent it died; a person has sent
it again as another message; it and others were automatic answers in a circle."""
STATUSES = (QUEUED, HANDLED, WIRED, SENT, DELIVERED, READ, ERRORED, FAILED)


def _listed(*statuses: str) -> ColumnElement[bool]:
    listed: BindParameter[Any] = bindparam(None, statuses, expanding=True, literal_execute=True)
    return message.c.status.in_(listed)


IS_UNSENT = (message.c.direction == literal(OUTGOING, literal_execute=True)) & _listed(QUEUED, WIRED, ERRORED)
IS_UNHANDLED = (message.c.direction == literal(INCOMING, literal_execute=True)) & (
    message.c.status == literal(QUEUED, literal_execute=True)
)
RARE = (QUEUED, WIRED, ERRORED, FAILED)
IS_RARE = _listed(*RARE)
IS_WATCHED = message.c.failed_reason.in_([literal_column(f"'{reason}'") for reason in (UNCERTAIN, CIRCLE)])
IS_UNCERTAIN = IS_WATCHED & (message.c.failed_reason == literal_column(f"'{UNCERTAIN}'"))
IS_ARCHIVED = message.c.visibility == literal_column(f"'{ARCHIVED}'")
IS_VOICE = message.c.type == literal_column("'voice'")
IS_UNDELIVERED = message.c.status.not_in([literal_column(f"'{status}'") for status in (DELIVERED, READ)])
"""Conditions of partial indexes, repeated in statements: SQLite uses such an index only if the statement contains
its condition."""
NOT_DELETED = message.c.visibility != literal_column(f"'{DELETED}'")
"""As part of the text: of a parameter PostgreSQL expects that nothing is left, or plans each time anew."""

PENDING_COUNT = (
    select(func.count())
    .select_from(message)
    .where(message.c.channel_id == channel.c.id, message.c.workspace_id == channel.c.workspace_id)
    .where(IS_UNSENT, message.c.visibility == VISIBLE)
    .correlate(channel)
    .scalar_subquery()
)
"""The visible outgoing messages of a channel that are queued, wired or errored in the database."""
