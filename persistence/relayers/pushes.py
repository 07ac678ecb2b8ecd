"""Asking phones to come (relayer protocol, section 13): which phones are to be pushed, when again, and when no more.

A push is a hint: the phone comes by itself every ten minutes, so nothing depends on one. Units of work that queue
messages for phones, claim or release one write a row for each phone at their end (`persistence.follow_ups`), however
many messages there are. Workers lease the rows that are due, and look only then whether something still waits: what
went out in the answer to a held sync costs no push.

Of the published app, versions from 2.0.1 on carry out each answer at their next sync. So a phone that has fetched its
messages and neither holds nor reports them is pushed once more, and one that was claimed or released twice.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

from sqlalchemy import Executable, delete, func, literal, or_, select

from persistence.database import Transaction
from persistence.leases import Leases, list_receivers
from persistence.relayers.commands import via_of
from persistence.secrets.encryption import open_or_none, sealed_text
from persistence.statements import update
from persistence.tables.channels import CLAIM, RELEASE, SETTLED, channel, phone_push
from persistence.tables.messages import ERRORED, IS_UNSENT, QUEUED, VISIBLE, message

DELAYS = tuple(timedelta(seconds=each) for each in (30, 60, 120, 300))
ROUND = timedelta(minutes=10)
"""After the delays a phone is pushed in this rhythm, in which it comes by itself."""
SILENT_FOR = timedelta(days=7)
"""A phone that was not seen for so long is pushed for what is new, and then no more."""
AGAIN = 2
"""Pushes for a claim or a release: the first one brings the answer, the second one lets the app carry it out."""
REFUSED_FOR = timedelta(days=1)
"""A token that its provider does not know is tried again only if the phone still sends it after this time."""
LONGEST_ERROR = 300

LEASES = Leases(phone_push, until="due_on", count="pushes")
_rows = phone_push.c
_IS_DUE_SOMETIME = _rows.due_on.is_not(None)

SENT: Final = "sent"
REFUSED: Final = "refused"
LATER: Final = "later"
State = Literal["sent", "refused", "later"]


@dataclass(frozen=True, slots=True)
class Push:
    """A push that a worker has leased until `held_until`, and how many began for the same reason, this one included."""

    id: int
    workspace_id: int
    channel_id: int
    via: str
    reason: str
    token: str
    pushes: int
    held_until: datetime


@dataclass(frozen=True, slots=True)
class PushOutcome:
    """What a provider said: it has the push, it does not know the token, or it cannot be asked now, perhaps not before
    `again_on`. Nothing `was_tried` if it was not called."""

    push: Push
    state: State
    error: str | None = None
    again_on: datetime | None = None
    was_tried: bool = True


class _Due(NamedTuple):
    id: int
    workspace_id: int
    channel_id: int
    via: str
    reason: str
    pushes: int
    pushed_on: datetime | None
    refused_on: datetime | None
    refused: str | None
    farewell: str | None
    token: str | None
    last_seen: datetime | None
    has_new: bool | None
    offered_on: datetime | None


def list_due_pushes(tx: Transaction) -> list[tuple[int, str]]:
    """The workspaces and providers for which a push is due."""
    return list_receivers(tx, _rows.workspace_id, _rows.via, _IS_DUE_SOMETIME, _rows.due_on <= tx.now, _rows.due_on)


def lease_pushes(
    tx: Transaction, rooms: Mapping[tuple[int, str], int], lease: timedelta, unavailable: Collection[str] = ()
) -> list[Push]:
    """Leases due pushes, at most so many for each workspace and provider. What is not needed any more ends, also what
    goes by providers that are not set up (`unavailable`)."""
    taken: list[Push] = []
    over: list[_Due] = []
    early: list[int] = []
    until = tx.now + lease
    for (workspace_id, via), room in sorted(rooms.items()):
        for row in tx.execute(_select_due(workspace_id, via, tx.now, room)):
            due = _Due(*row)
            token = _open(tx, phone_push.c.token, due.farewell) or _open(tx, channel.c.push_token, due.token)
            present = via_of(token)
            if token is None or present is None or _is_over(due, tx.now) or _is_refused(tx, due, token):
                over.append(due)
            elif present != via:  # the phone has said another token meanwhile
                tx.execute(update(phone_push).where(_rows.id == due.id).values(via=present))
            elif via in unavailable:
                over.append(due)
            elif due.reason != RELEASE and due.last_seen is not None and tx.now - due.last_seen < SETTLED:
                early.append(due.id)
            else:
                place = (due.id, workspace_id, due.channel_id, due.via, due.reason)
                taken.append(Push(*place, token, due.pushes + 1, until))
    _end(tx, over)
    if early:
        tx.execute(update(phone_push).where(_rows.id.in_(early)).values(due_on=tx.now + SETTLED))
    if taken:
        ids = [each.id for each in taken]
        LEASES.take(tx, ids, until, {each.workspace_id for each in taken})
        tx.execute(update(phone_push).where(_rows.id.in_(ids)).values(pushed_on=tx.now))
    return taken


def record_pushes(tx: Transaction, outcomes: Sequence[PushOutcome]) -> None:
    """Records what providers said of pushes that are still leased, and when each is due again."""
    for each in outcomes:
        push, error = each.push, None if each.error is None else each.error[:LONGEST_ERROR]
        values: dict[str, Any] = {"error": error, "failed_on": None if error is None else tx.now}
        if each.state == REFUSED:
            values |= {"refused_token": push.token, "refused_on": tx.now}
            LEASES.free(tx, [push.id], push.held_until, [push.workspace_id], **values)
            continue
        again_on = tx.now + _delay(push.pushes)
        if each.again_on is not None:
            again_on = max(again_on, each.again_on) if each.was_tried else each.again_on
        owners = [push.workspace_id]
        LEASES.keep(tx, [push.id], push.held_until, again_on, owners, was_tried=each.was_tried, **values)


def read_push_trouble(tx: Transaction) -> tuple[int, str | None]:
    """How many phones could not be pushed in the last day, and what was wrong with the last one."""
    lately = _rows.failed_on > tx.now - timedelta(days=1)
    count = tx.execute(select(func.count()).select_from(phone_push).where(lately)).scalar_one()
    last = select(_rows.via, _rows.error).where(lately).order_by(_rows.failed_on.desc(), _rows.id).limit(1)
    found = tx.execute(last).first()
    return count, None if found is None else f"{found.via}: {found.error}"


def _select_due(workspace_id: int, via: str, now: datetime, limit: int) -> Executable:
    its = (channel.c.id == _rows.channel_id) & (channel.c.workspace_id == _rows.workspace_id) & channel.c.is_active
    theirs = (message.c.workspace_id == _rows.workspace_id) & (message.c.channel_id == _rows.channel_id)
    waits = theirs & IS_UNSENT & message.c.status.in_((QUEUED, ERRORED)) & (message.c.visibility == VISIBLE)
    # The phone gets what waits for its time, perhaps for weeks, when it comes by itself after that.
    waits &= or_(message.c.due_on.is_(None), message.c.due_on <= now)
    new = select(literal(1)).where(waits, message.c.offered_on.is_(None)).limit(1)
    offered = select(func.max(message.c.offered_on)).where(waits)
    columns = (
        *(_rows.id, _rows.workspace_id, _rows.channel_id, _rows.via, _rows.reason, _rows.pushes, _rows.pushed_on),
        *(_rows.refused_on, sealed_text(_rows.refused_token), sealed_text(_rows.token)),
        *(sealed_text(channel.c.push_token), channel.c.last_seen),
        new.correlate(phone_push).scalar_subquery().is_not(None),
        offered.correlate(phone_push).scalar_subquery(),
    )
    mine = (_rows.workspace_id == workspace_id) & (_rows.via == via) & _IS_DUE_SOMETIME & (_rows.due_on <= now)
    found = select(*columns).select_from(phone_push.outerjoin(channel, its)).where(mine)
    return found.order_by(_rows.due_on, _rows.id).limit(limit).with_for_update(of=phone_push, skip_locked=True)


def _open(tx: Transaction, column: Any, sealed: str | None) -> str | None:
    return None if sealed is None else open_or_none(tx.dialect, column, sealed)


def _is_over(due: _Due, now: datetime) -> bool:
    """Whether the phone needs no further push."""
    if due.reason == RELEASE:
        return due.pushes >= AGAIN
    is_silent = due.last_seen is None or due.last_seen < now - SILENT_FOR
    if is_silent and due.pushes > len(DELAYS):
        return True
    if due.has_new:
        return False
    pushed_on, last_seen = due.pushed_on, due.last_seen
    has_come = pushed_on is not None and last_seen is not None and last_seen > pushed_on
    if due.reason == CLAIM:
        return due.pushes >= AGAIN and has_come
    if due.offered_on is None:
        return True
    return has_come and pushed_on is not None and due.offered_on < pushed_on


def _is_refused(tx: Transaction, due: _Due, token: str) -> bool:
    if due.refused_on is None or _open(tx, phone_push.c.refused_token, due.refused) != token:
        return False
    return due.last_seen is None or due.last_seen < due.refused_on + REFUSED_FOR


def _end(tx: Transaction, over: Sequence[_Due]) -> None:
    for is_released in (True, False):
        ids = [each.id for each in over if (each.reason == RELEASE) == is_released]
        if ids and is_released:
            tx.execute(delete(phone_push).where(_rows.id.in_(ids)))
        elif ids:
            tx.execute(update(phone_push).where(_rows.id.in_(ids)).values(due_on=None))


def _delay(pushes: int) -> timedelta:
    return DELAYS[pushes - 1] if 0 < pushes <= len(DELAYS) else ROUND
