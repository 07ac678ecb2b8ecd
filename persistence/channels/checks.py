"""What providers are asked beside sending: `connect` tells one our URL and secret, when a channel is made, changed or
gets a new secret; `check` asks whether the settings work. A channel has a row for each, with what was said last.

What is asked for again while a worker asks is asked once more afterwards, never at the same time: the provider would
keep whichever comes last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import and_, case, delete, select

from channels.types import GATEWAYS, TYPES
from persistence.channels.channels import SEEN_ID, SEEN_NAME, SEEN_UUID, join_channels
from persistence.database import Transaction
from persistence.errors import Refused
from persistence.leases import Leases
from persistence.lists import ListSpec, belongs_to
from persistence.pages import Order, Selection, read_all
from persistence.records import Record, Shown, optional
from persistence.secrets.encryption import open_or_none, sealed_text
from persistence.sql.columns import is_uuid
from persistence.sql.names import must_exist
from persistence.statements import update
from persistence.tables.channels import channel, channel_check, channel_connection
from persistence.templates import ask_for_templates

Kind = Literal["connect", "check"]
CONNECT: Kind = "connect"
CHECK: Kind = "check"
WAITING, ASKING, ACCEPTED, FAILED = "waiting", "asking", "accepted", "failed"
DELAYS = tuple(timedelta(seconds=each) for each in (30, 120, 600, 1800))
MOST_ATTEMPTS = len(DELAYS) + 1
LONGEST_ERROR = 500
DIED = f"Given up after {MOST_ATTEMPTS} attempts, the last of which ended with its worker."
NOTHING_TO_ASK: Mapping[Kind, str] = {
    CONNECT: "are not told our URL: enter it at the provider",
    CHECK: "cannot be checked: send a test message",
}
LISTED_AT_ONCE = 500
WAKE, SENDING = "checks", "sending"

LEASES = Leases(channel_check, until="due_on")
_rows = channel_check.c
_IS_DUE_SOMETIME = _rows.due_on.is_not(None)
_KEYS = ("channel_id", "kind", "workspace_id")


def _show(row: Shown) -> Shown:
    return row | {"state": WAITING if row["state"] == ASKING else row["state"]}


_SAID = {"state": _rows.state, "checked_on": _rows.checked_on, "error": _rows.error}
CONNECTION = Record(_SAID, present=_rows.state, show=_show)
"""Of a channel, in a source made by `join_connection`."""

CHECK_RECORD = Record(
    {
        "id": _rows.id,
        "channel": optional(SEEN_ID, {"uuid": SEEN_UUID, "name": SEEN_NAME}),
        "kind": _rows.kind,
        "state": _rows.state,
        "attempts": _rows.attempts,
        "error": _rows.error,
        "asked_on": _rows.asked_on,
        "checked_on": _rows.checked_on,
    },
    show=_show,
)
_SOURCE = join_channels(channel_check, channel_check)
CHANNEL_CHECKS = ListSpec(
    channel_check,
    CHECK_RECORD,
    Order(_rows.asked_on, _rows.id),
    source=_SOURCE,
    filters={"channel": belongs_to(_rows.channel_id, channel)},
)


def join_connection() -> Any:
    """Channels, each with what its provider said of the connection."""
    its = (_rows.channel_id == channel.c.id) & (_rows.workspace_id == channel.c.workspace_id) & (_rows.kind == CONNECT)
    return channel.outerjoin(channel_check, its)


@dataclass(frozen=True, slots=True)
class Check:
    """What a worker is to ask a provider, leased until `held_until`; `config` is None if it cannot be decrypted."""

    id: int
    workspace_id: int
    channel_id: int
    kind: str
    asks: int
    attempts: int
    held_until: datetime
    channel_type: str
    channel_uuid: str
    config: Mapping[str, Any] | None = field(repr=False)
    secret: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """What the provider said: it accepted if there is no `error`; `is_final` if it will not change its mind."""

    check: Check
    error: str | None = None
    is_final: bool = False


def ask_provider(tx: Transaction, workspace_id: int, channel_uuid: str, kind: Kind = CHECK) -> int:
    """Has a worker ask the provider of a channel, also for its templates; returns the id of the row that will say what
    came of it. Raises InvalidInput, Refused if the type of the channel has nothing to ask."""
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == channel_uuid.lower()) & channel.c.is_active
    found = tx.execute(select(channel.c.id, channel.c.type).where(mine)).first() if is_uuid(channel_uuid) else None
    channel_id, channel_type = must_exist(found, "channel", channel_uuid)
    if not _has(channel_type, kind):
        raise Refused(f"Channels of the type {channel_type} {NOTHING_TO_ASK[kind]}.")
    if TYPES[channel_type].templates is not None:
        ask_for_templates(tx, workspace_id, channel_id)
    return _ask(tx, workspace_id, channel_id, kind)


def connect_channel(tx: Transaction, workspace_id: int, channel_uuid: str) -> None:
    """The URL, the secret or the settings of a channel are new: its provider is told, if it is one that is, and a
    connection that rests is made now."""
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == channel_uuid.lower())
    channel_id, channel_type = tx.execute(select(channel.c.id, channel.c.type).where(mine)).one()
    if _has(channel_type, CONNECT):
        _ask(tx, workspace_id, channel_id, CONNECT)
    if TYPES[channel_type].transport != "http":
        rows = channel_connection.c
        rests = (rows.workspace_id == workspace_id) & (rows.channel_id == channel_id) & rows.holder.is_(None)
        tx.execute(update(channel_connection).where(rests).values(leased_until=None))
        tx.wake(SENDING)


def _has(channel_type: str, kind: Kind) -> bool:
    known = TYPES[channel_type]
    return channel_type in GATEWAYS and (known.connect if kind == CONNECT else known.check) is not None


def _ask(tx: Transaction, workspace_id: int, channel_id: int, kind: Kind) -> int:
    news = {"state": WAITING, "attempts": 0, "due_on": tx.now, "asked_on": tx.now, "error": None}
    values = {"workspace_id": workspace_id, "channel_id": channel_id, "kind": kind, "asks": 1, **news}
    adding = tx.upsert(channel_check).values(values)
    is_asking = and_(_rows.state == ASKING, _rows.due_on > tx.now)
    again: dict[str, Any] = {name: adding.excluded[name] for name in ("attempts", "asked_on", "error")}
    for name in ("state", "due_on"):
        again[name] = case((is_asking, _rows[name]), else_=adding.excluded[name])
    again["asks"] = _rows.asks + 1
    tx.wake(WAKE)
    stored = adding.on_conflict_do_update(index_elements=_KEYS, set_=again).returning(_rows.id)
    return int(tx.execute(stored).scalar_one())


def read_check(tx: Transaction, workspace_id: int, check_id: int) -> str:
    """A record as JSON text."""
    mine = (_rows.workspace_id == workspace_id) & (_rows.id == check_id)
    order = Order(_rows.id, _rows.id)
    (found,) = read_all(tx, Selection(CHECK_RECORD, _SOURCE, _rows.id, order, [mine]))
    return found


def list_due_checks(tx: Transaction) -> list[tuple[int, int]]:
    """The workspaces and channels whose provider is to be asked."""
    found = select(_rows.workspace_id, _rows.channel_id).where(_IS_DUE_SOMETIME, _rows.due_on <= tx.now)
    due = tx.execute(found.order_by(_rows.due_on, _rows.id).limit(LISTED_AT_ONCE))
    return list(dict.fromkeys((workspace_id, channel_id) for workspace_id, channel_id in due))


def lease_checks(tx: Transaction, channel_ids: Sequence[int], lease: timedelta) -> list[Check]:
    """Leases one that is due of each of these channels. One that ended with its worker too often fails; those of
    removed channels go."""
    its = (channel.c.id == _rows.channel_id) & (channel.c.workspace_id == _rows.workspace_id)
    config, secret = channel.c.config, channel.c.secret
    columns = (_rows.id, _rows.workspace_id, _rows.channel_id, _rows.kind, _rows.asks, _rows.attempts)
    sealed = sealed_text(config).label("sealed_config"), sealed_text(secret).label("sealed_secret")
    found = select(*columns, channel.c.type, channel.c.uuid, channel.c.is_active, *sealed)
    due = _rows.channel_id.in_(sorted(channel_ids)) & _IS_DUE_SOMETIME & (_rows.due_on <= tx.now)
    found = found.select_from(channel_check.outerjoin(channel, its)).where(due).order_by(_rows.due_on, _rows.id)
    until, taken, gone = tx.now + lease, dict[int, Check](), list[int]()
    for row in tx.execute(found.with_for_update(of=channel_check, skip_locked=True)).all():
        if not row.is_active:
            gone.append(row.id)
        elif row.attempts >= MOST_ATTEMPTS:
            _settle(tx, row.id, {"state": FAILED, "due_on": None, "checked_on": tx.now, "error": DIED})
        elif row.channel_id not in taken:
            opened = (
                open_or_none(tx.dialect, config, row.sealed_config),
                open_or_none(tx.dialect, secret, row.sealed_secret),
            )
            place = (row.id, row.workspace_id, row.channel_id, row.kind, row.asks, row.attempts + 1, until)
            taken[row.channel_id] = Check(*place, row.type, row.uuid, *opened)
    if gone:
        tx.execute(delete(channel_check).where(_rows.id.in_(gone)))
    if taken:
        ids = [each.id for each in taken.values()]
        LEASES.take(tx, ids, until, {each.workspace_id for each in taken.values()})
        tx.execute(update(channel_check).where(_rows.id.in_(ids)).values(state=ASKING))
    return list(taken.values())


def record_checks(tx: Transaction, outcomes: Sequence[CheckOutcome]) -> None:
    """Records what providers said, as far as the leases are held. What was asked for again is due at once."""
    for outcome in outcomes:
        check = outcome.check
        mine = (_rows.id == check.id) & (_rows.due_on == check.held_until)
        asks = tx.execute(select(_rows.asks).where(mine).with_for_update()).scalar_one_or_none()
        if asks is None:
            continue
        if asks != check.asks:
            _settle(tx, check.id, {"state": WAITING, "due_on": tx.now, "attempts": 0})
            tx.wake(WAKE)
            continue
        error = None if outcome.error is None else outcome.error[:LONGEST_ERROR]
        values: dict[str, Any] = {"checked_on": tx.now, "error": error}
        if error is None or outcome.is_final or check.attempts >= MOST_ATTEMPTS:
            values |= {"state": ACCEPTED if error is None else FAILED, "due_on": None}
        else:
            values |= {"state": WAITING, "due_on": tx.now + DELAYS[check.attempts - 1]}
        _settle(tx, check.id, values)


def _settle(tx: Transaction, check_id: int, values: Mapping[str, Any]) -> None:
    tx.execute(update(channel_check).where(_rows.id == check_id).values(**values))
