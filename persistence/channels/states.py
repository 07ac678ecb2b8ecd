"""What kind of channel a row is, when a phone counts as lost, and what it was when it left a workspace: conditions and
limits that many modules need.

The state of channels when they left a workspace, so that old records neither change nor show data of the new owner. A
phone keeps its row when it moves. Lists that show records with their channels join them by `join_channels`, which finds
nothing of other workspaces.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    FromClause,
    and_,
    bindparam,
    case,
    delete,
    func,
    null,
    select,
)

from persistence.channels.types import GATEWAYS, RELAYERS
from persistence.database import Transaction
from persistence.tables.channels import channel, former_channel

LOST_AFTER = timedelta(minutes=30)

_REFUSED_SINCE = channel.c.refused_on > func.coalesce(channel.c.last_seen, channel.c.created_on)
REFUSED: tuple[ColumnElement[datetime | None], ColumnElement[str | None]] = (
    case((_REFUSED_SINCE, channel.c.refused_on), else_=null()),
    case((_REFUSED_SINCE, channel.c.refused_reason), else_=null()),
)
"""When a phone was refused last, and why, if no sync succeeded since."""

KEPT = (
    *("uuid", "name", "address", "webhook_url", "webhook_events"),
    *("webhook_secret", "webhook_previous_secret", "webhook_rotated_on"),
)

SEEN_ID: ColumnElement[Any] = func.coalesce(channel.c.id, former_channel.c.channel_id)
SEEN_UUID: ColumnElement[Any] = func.coalesce(channel.c.uuid, former_channel.c.uuid)
SEEN_NAME: ColumnElement[Any] = func.coalesce(channel.c.name, former_channel.c.name)
SEEN_ADDRESS: ColumnElement[Any] = func.coalesce(channel.c.address, former_channel.c.address)
SEEN_REF = {"uuid": SEEN_UUID, "name": SEEN_NAME}
"""A channel as the workspace knows or knew it, in a source made by `join_channels`; a workspace has either the
channel or its former state."""


def _listed(types: Sequence[str]) -> ColumnElement[bool]:
    listed: BindParameter[Any] = bindparam(None, list(types), expanding=True, literal_execute=True)
    return channel.c.type.in_(listed)


IS_RELAYER, IS_GATEWAY = _listed(RELAYERS), _listed(GATEWAYS)
IS_REFUSED = IS_RELAYER & channel.c.is_active & _REFUSED_SINCE


def join_channels(source: FromClause, records: FromClause) -> FromClause:
    """The source, joined with the channel of each record, as the record's own workspace knows or knew it."""
    is_mine = and_(channel.c.id == records.c.channel_id, channel.c.workspace_id == records.c.workspace_id)
    was_mine = and_(
        former_channel.c.channel_id == records.c.channel_id, former_channel.c.workspace_id == records.c.workspace_id
    )
    return source.outerjoin(channel, is_mine).outerjoin(former_channel, was_mine)


def note_departure(tx: Transaction, channel_id: int, workspace_id: int) -> str:
    """Store the state of a channel for the workspace that it is about to leave; returns its UUID."""
    kept = tx.execute(select(*(channel.c[name] for name in KEPT)).where(channel.c.id == channel_id)).one()
    values = dict(kept._mapping) | {"left_on": tx.now}
    statement = tx.upsert(former_channel).values(channel_id=channel_id, workspace_id=workspace_id, **values)
    keys = [former_channel.c.channel_id, former_channel.c.workspace_id]
    tx.execute(statement.on_conflict_do_update(index_elements=keys, set_=values))
    uuid: str = kept.uuid
    return uuid


def note_arrival(tx: Transaction, channel_id: int, workspace_id: int) -> None:
    """Delete the former state of a channel for a workspace that has it again: from now on the channel's row counts."""
    rows = former_channel.c
    tx.execute(delete(former_channel).where(rows.channel_id == channel_id, rows.workspace_id == workspace_id))
