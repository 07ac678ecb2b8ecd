"""What channels were to workspaces they have left, so that history neither changes nor tells of their new owners.

A phone keeps its row when it moves. Whoever shows records of a workspace with their channels joins them by
`join_channels`, which finds nothing of another workspace's.
"""

from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    and_,
    delete,
    func,
    select,
)

from persistence.database import Transaction
from persistence.tables.channels import channel, former_channel

KEPT = (
    *("uuid", "name", "address", "webhook_url", "webhook_events"),
    *("webhook_secret", "webhook_previous_secret", "webhook_rotated_on"),
)

SEEN_ID: ColumnElement[Any] = func.coalesce(channel.c.id, former_channel.c.channel_id)
SEEN_UUID: ColumnElement[Any] = func.coalesce(channel.c.uuid, former_channel.c.uuid)
SEEN_NAME: ColumnElement[Any] = func.coalesce(channel.c.name, former_channel.c.name)
SEEN_ADDRESS: ColumnElement[Any] = func.coalesce(channel.c.address, former_channel.c.address)
SEEN_REF = {"uuid": SEEN_UUID, "name": SEEN_NAME}
"""A channel as the workspace knows or knew it, in a source made by `join_channels`; a workspace has one of the two."""


def join_channels(source: FromClause, records: FromClause) -> FromClause:
    """The source with the channel that each of these records names, as the record's own workspace knows or knew it."""
    is_mine = and_(channel.c.id == records.c.channel_id, channel.c.workspace_id == records.c.workspace_id)
    was_mine = and_(
        former_channel.c.channel_id == records.c.channel_id, former_channel.c.workspace_id == records.c.workspace_id
    )
    return source.outerjoin(channel, is_mine).outerjoin(former_channel, was_mine)


def note_departure(tx: Transaction, channel_id: int, workspace_id: int) -> None:
    """Keep what a channel has been to the workspace that it is about to leave."""
    kept = tx.execute(select(*(channel.c[name] for name in KEPT)).where(channel.c.id == channel_id)).one()
    values = dict(kept._mapping) | {"left_on": tx.now}
    statement = tx.upsert(former_channel).values(channel_id=channel_id, workspace_id=workspace_id, **values)
    keys = [former_channel.c.channel_id, former_channel.c.workspace_id]
    tx.execute(statement.on_conflict_do_update(index_elements=keys, set_=values))


def note_arrival(tx: Transaction, channel_id: int, workspace_id: int) -> None:
    """Forget what a channel was to a workspace that has it again: from now on its own row says what it is."""
    rows = former_channel.c
    tx.execute(delete(former_channel).where(rows.channel_id == channel_id, rows.workspace_id == workspace_id))
