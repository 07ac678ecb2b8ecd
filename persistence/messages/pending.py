"""How many messages a channel has not sent yet."""

from typing import Any

from sqlalchemy import BindParameter, bindparam, func, select

from persistence.messages.states import ERRORED, OUTGOING, QUEUED, WIRED
from persistence.tables.channels import channel
from persistence.tables.messages import VISIBLE, message

# Literal values, so that the database can use the partial index of unsent messages.
_UNSENT: BindParameter[Any] = bindparam(None, (QUEUED, WIRED, ERRORED), expanding=True, literal_execute=True)
_OUTGOING: BindParameter[Any] = bindparam(None, OUTGOING, literal_execute=True)

PENDING_COUNT = (
    select(func.count())
    .select_from(message)
    .where(message.c.channel_id == channel.c.id, message.c.workspace_id == channel.c.workspace_id)
    .where(message.c.direction == _OUTGOING, message.c.status.in_(_UNSENT), message.c.visibility == VISIBLE)
    .correlate(channel)
    .scalar_subquery()
)
"""The visible outgoing messages of a channel that are queued, wired or errored, as the server knows them."""
