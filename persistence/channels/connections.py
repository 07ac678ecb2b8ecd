"""Connections of channels that are kept open, such as those to SMS centres, or made again and again, such as those to
mailboxes: which worker has which, its state, and parts of incoming messages until the others are there.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, case, delete, func, select

from channels.calls import Received
from channels.sms import Piece, join
from persistence.channels.event_form import Source
from persistence.channels.gateway_reports import Gateway
from persistence.channels.health import CONNECTION_ENDED, CONNECTION_UNUSED
from persistence.database import Transaction, delete_old
from persistence.leases import Leases, is_free
from persistence.relayers.commands import clean_text
from persistence.secrets.encryption import open_or_none, sealed_text
from persistence.sql.columns import new_uuid
from persistence.statements import update
from persistence.tables.channels import channel, channel_connection, message_piece

LEASE = timedelta(seconds=30)
"""When another worker has the connection of one that died."""
CONNECTING, BOUND, FAILED, ENDED = "connecting", "bound", "failed", CONNECTION_ENDED
UNUSED = CONNECTION_UNUSED
LISTED_AT_ONCE = 500
REASON_LENGTH = 500
PIECES_WAIT = timedelta(minutes=10)
PIECES_KEPT_FOR = timedelta(days=1)
"""Of channels whose connection nobody has."""
PIECES_AT_ONCE = 100
KEY_LENGTH = 64

CONNECTIONS = Leases(channel_connection, count=None)


class LeaseLost(Exception):
    """Another worker has the connection by now."""


@dataclass(frozen=True, slots=True)
class Held:
    """The connection of a channel, made on a day, that a worker has until a time. `gateway` is None if the settings
    cannot be read."""

    id: int
    workspace_id: int
    channel_id: int
    channel_type: str
    made_on: datetime
    holder: str
    held_until: datetime
    gateway: Gateway | None
    remembered: Mapping[str, Any] = field(default_factory=dict)


def has_kept(tx: Transaction, types: Collection[str]) -> bool:
    """Whether there are channels of these types."""
    return tx.execute(select(channel.c.id).where(*_of_types(types)).limit(1)).first() is not None


def take_connections(tx: Transaction, types: Collection[str], holder: str, mine: Mapping[int, datetime]) -> list[Held]:
    """Renews the leases of connections that this worker has, by their ids and until when it has them, and takes those
    of channels of these types that no worker has. Returns all that it has now; others must be ended.
    """
    rows, until = channel_connection.c, tx.now + LEASE
    _add_missing(tx, _of_types(types))
    here = (rows.channel_id == channel.c.id) & (rows.workspace_id == channel.c.workspace_id)
    found = tx.execute(
        select(rows.id, rows.workspace_id).join(channel, here).where(*_of_types(types)).order_by(rows.id)
    )
    owners = {row_id: workspace_id for row_id, workspace_id in found}
    kept: set[int] = set()
    for held_until in sorted({*mine.values()}):
        ids = [each for each, ends in mine.items() if ends == held_until and each in owners]
        if ids and held_until > tx.now:
            kept.update(CONNECTIONS.keep(tx, ids, held_until, until, {owners[each] for each in ids}))
    others = [each for each in owners if each not in kept]
    taken = CONNECTIONS.take_free(tx, others, until)
    if taken:
        tx.execute(update(channel_connection).where(rows.id.in_(taken)).values(holder=holder))
    return _read(tx, sorted(kept | taken.keys()), holder, until)


def list_resting(tx: Transaction, types: Collection[str]) -> list[tuple[int, int]]:
    """Workspaces and channels of these types whose connection has rested, longest first; new ones before them."""
    rows = channel_connection.c
    here = (rows.channel_id == channel.c.id) & (rows.workspace_id == channel.c.workspace_id)
    found = select(channel.c.workspace_id, channel.c.id).outerjoin(channel_connection, here)
    due = found.where(*_of_types(types), is_free(rows.leased_until, tx.now))
    order = (func.coalesce(rows.leased_until, channel.c.created_on), channel.c.id)
    return [(int(owner or 0), number) for owner, number in tx.execute(due.order_by(*order).limit(LISTED_AT_ONCE))]


def take_rested(tx: Transaction, channel_ids: Collection[int], lasts: timedelta) -> list[Held]:
    """Takes the connections of these channels that nobody has, each for so long."""
    rows, until, holder = channel_connection.c, tx.now + lasts, new_uuid()
    wanted = sorted(channel_ids)
    _add_missing(tx, [channel.c.id.in_(wanted), channel.c.workspace_id.is_not(None)])
    ids = tx.execute(select(rows.id).where(rows.channel_id.in_(wanted))).scalars().all()
    taken = sorted(CONNECTIONS.take_free(tx, ids, until))
    if taken:
        tx.execute(update(channel_connection).where(rows.id.in_(taken)).values(holder=holder))
    return _read(tx, taken, holder, until)


def rest(tx: Transaction, held: Held, pause: timedelta, state: str, reason: str | None, **news: Any) -> None:
    """Nobody has this connection for so long; then it is due, or at once if the settings of the channel have changed
    meanwhile. `news` are remembered. Raises LeaseLost."""
    rows, told = channel_connection.c, None if reason is None else reason[:REASON_LENGTH]
    has_changed = any(each.gateway != held.gateway for each in _read(tx, [held.id], held.holder, held.held_until))
    is_same = (rows.state == state) & rows.reason.is_not_distinct_from(told)
    said = {"state": state, "reason": told, "changed_on": case((is_same, rows.changed_on), else_=tx.now)}
    until = tx.now if has_changed else tx.now + pause
    ended = {"leased_until": until, "holder": None, "remembered": remembered_of(tx, held) | news}
    tx.execute(update(channel_connection).where(_is_held(tx, held)).values(**said, **ended))


def give_back(tx: Transaction, held: Sequence[Held]) -> None:
    """Another worker may have these at once."""
    ended = {"leased_until": None, "state": ENDED, "reason": None, "changed_on": tx.now}
    for each in held:
        tx.execute(update(channel_connection).where(_is_held(tx, each)).values(ended))


def note_state(tx: Transaction, held: Held, state: str, reason: str | None = None) -> None:
    """What became of a connection, as long as this worker has it."""
    values = {"state": state, "reason": None if reason is None else reason[:REASON_LENGTH], "changed_on": tx.now}
    tx.execute(update(channel_connection).where(_is_held(tx, held)).values(values))


def remembered_of(tx: Transaction, held: Held) -> dict[str, Any]:
    """What is remembered of a connection, locked until the transaction ends. Raises LeaseLost."""
    row = tx.execute(select(channel_connection.c.remembered).where(_is_held(tx, held)).with_for_update()).first()
    if row is None:
        raise LeaseLost
    return dict(row[0] or {})


def remember(tx: Transaction, held: Held, remembered: Mapping[str, Any]) -> None:
    tx.execute(update(channel_connection).where(_is_held(tx, held)).values(remembered=dict(remembered)))


def store_piece(tx: Transaction, held: Held, piece: Piece) -> Received | None:
    """Keeps a part of a message; returns the message if all its parts are there now."""
    rows = message_piece.c
    keys = {
        "workspace_id": held.workspace_id,
        "channel_id": held.channel_id,
        "sender": clean_text(piece.sender)[:KEY_LENGTH],
        "destination": clean_text(piece.destination)[:KEY_LENGTH],
        "reference": piece.reference,
        "total": piece.total,
    }
    values = keys | {"number": piece.number, "text": clean_text(piece.text), "received_on": tx.now}
    tx.execute(tx.upsert(message_piece).values(**values).on_conflict_do_nothing())
    alike = [rows[name] == value for name, value in keys.items()]
    if tx.execute(select(func.count()).select_from(message_piece).where(*alike)).scalar_one() < piece.total:
        return None
    return _join(tx, keys)


def finish_pieces(tx: Transaction, held: Held) -> list[Received]:
    """Messages of which parts are missing for too long, as what there is of them."""
    rows = message_piece.c
    names = ("workspace_id", "channel_id", "sender", "destination", "reference", "total")
    mine = (rows.workspace_id == held.workspace_id) & (rows.channel_id == held.channel_id)
    groups = select(*(rows[name] for name in names)).where(mine).group_by(*(rows[name] for name in names))
    old = groups.having(func.min(rows.received_on) <= tx.now - PIECES_WAIT).order_by(*names[2:]).limit(PIECES_AT_ONCE)
    return [_join(tx, dict(zip(names, row, strict=True))) for row in tx.execute(old)]


def trim_pieces(tx: Transaction, limit: int) -> int:
    """Deletes parts of messages that nobody has joined; returns their number."""
    return delete_old(tx, message_piece.c.received_on, PIECES_KEPT_FOR, limit)


def _is_held(tx: Transaction, held: Held) -> ColumnElement[bool]:
    rows = channel_connection.c
    row = (rows.workspace_id == held.workspace_id) & (rows.id == held.id)
    return row & (rows.holder == held.holder) & (rows.leased_until > tx.now)


def _of_types(types: Collection[str]) -> tuple[Any, ...]:
    rows = channel.c
    return (rows.type.in_(sorted(types)), rows.is_active, rows.workspace_id.is_not(None))


def _add_missing(tx: Transaction, which: Sequence[ColumnElement[bool]]) -> None:
    rows = channel_connection.c
    has_row = select(rows.id).where(rows.channel_id == channel.c.id, rows.workspace_id == channel.c.workspace_id)
    missing = select(channel.c.id, channel.c.workspace_id).where(*which, ~has_row.exists())
    new: list[dict[str, Any]] = [
        {
            "channel_id": channel_id,
            "workspace_id": workspace_id,
            "state": CONNECTING,
            "changed_on": tx.now,
            "remembered": {},
        }
        for channel_id, workspace_id in tx.execute(missing)
    ]
    if new:
        tx.execute(tx.upsert(channel_connection).on_conflict_do_nothing(), new)


def _read(tx: Transaction, ids: Sequence[int], holder: str, until: datetime) -> list[Held]:
    rows, its = channel_connection.c, channel.c
    columns = (rows.id, rows.workspace_id, rows.remembered, its.id, its.uuid, its.type, its.created_on)
    here = (rows.channel_id == its.id) & (rows.workspace_id == its.workspace_id)
    more = (its.address, its.country, its.schemes, sealed_text(its.config))
    found = select(*columns, *more).join(channel, here).where(rows.id.in_(ids))
    made = []
    for row_id, owner, remembered, number, uuid, kind, made_on, *rest in tx.execute(found):
        address, country, schemes, sealed = rest
        config = open_or_none(tx.dialect, its.config, sealed)
        source = Source(number, uuid, owner, address, country)
        gateway = None if config is None else Gateway(source, schemes[0], config, kind)
        made.append(Held(row_id, owner, number, kind, made_on, holder, until, gateway, remembered or {}))
    return made


def _join(tx: Transaction, keys: Mapping[str, Any]) -> Received:
    """Takes the parts with these keys out of the table."""
    rows = message_piece.c
    gone = delete(message_piece).where(*(rows[name] == value for name, value in keys.items()))
    columns = (rows.sender, rows.destination, rows.reference, rows.total, rows.number, rows.text)
    return join([Piece(*row) for row in tx.execute(gone.returning(*columns))])
