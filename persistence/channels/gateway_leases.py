"""Leases parts of messages in the queue of HTTP gateways, and records their outcomes. Which ones is found here, because
each gateway and priority is a range of the index; `due_on` is both the end of a lease and when a part is due again.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    case,
    delete,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
    union_all,
)

from channels.calls import Later, Outcome, Refused, Sent
from channels.types import GATEWAYS, TYPES
from persistence.changes import change_messages
from persistence.channels.gateway_pace import BULK, CONVERSATION, Pace, charge_pace, lock_paces
from persistence.channels.gateway_parts import SentPart, apply_statuses, detail_of, keep_parts
from persistence.channels.gateway_reports import stop
from persistence.channels.health import GatewayCall, record_calls
from persistence.channels.outages import note_answers
from persistence.channels.threads import Thread
from persistence.channels.traces import hide_secrets
from persistence.database import Transaction
from persistence.leases import Leases, Share, has_row, is_free, is_in_share
from persistence.messages.outgoing import give_up, may_go_out
from persistence.messages.routes import CONTACT_INACTIVE
from persistence.secrets.encryption import open_or_none, sealed_text
from persistence.stamps import changes_of
from persistence.statements import Statement, among, param, statement, update
from persistence.tables.channels import channel
from persistence.tables.messages import (
    DELIVERED,
    ERRORED,
    IS_UNCERTAIN,
    QUEUED,
    READ,
    SENT,
    UNCERTAIN,
    VISIBLE,
    WIRED,
    gateway_send,
    message,
)

RETRY_STEP = timedelta(minutes=5)
MOST_ERRORS = 3
USUAL_WAIT_SECONDS, SHORTEST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 60.0, 1.0, 3600.0
LIMITED_FOR = timedelta(hours=24)
"""A message that its gateway puts off for longer fails."""
GATEWAY_FAILED = "gateway_failed"
SENDING_FAILED = "sending_failed"
LEASES = Leases(gateway_send, until="due_on", is_prepared=False)
UNSENT = (QUEUED, ERRORED)
BY_REQUESTS = tuple(name for name in GATEWAYS if TYPES[name].requests is not None)
"""Types whose messages are requests, or need none; other transports look for their own."""
_IS_UNSENT = message.c.status.in_([literal_column(f"'{status}'") for status in UNSENT])
_IS_UNCONFIRMED = message.c.status.in_([literal_column(f"'{status}'") for status in (*UNSENT, WIRED)])
PRIORITIES = (CONVERSATION, BULK)
REPORTED = (WIRED, SENT, DELIVERED, READ)
"""Gateways know a message by one id: they may report it as sent once they have its first part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedPart:
    """The common data of a row of the queue and its message."""

    id: int
    workspace_id: int
    channel_id: int
    message_id: int
    message_uuid: str
    contact_id: int
    urn: str
    text: str
    attachments: Sequence[Mapping[str, str]]
    quick_replies: Sequence[Mapping[str, str]]
    error_count: int
    template: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySend(QueuedPart):
    """One part of a message (`part` counts from 1) that a worker has leased until `due_on`, with everything that its
    gateway needs. `config` is None if it cannot be decrypted. `is_uncertain` says that a worker died after it began
    this part, or the one before it if the gateway does not recognize repeats. `has_failed`: the gateway's last answer
    was a failure. `is_transliterated`: texts are sent in the alphabet of GSM where they can be. `thread` is what the
    contact wrote last, where that has a subject and the transport asks for it.
    """

    channel_type: str
    address: str | None
    config: Mapping[str, Any] | None
    part: int
    due_on: datetime
    parts_begun: int = 0
    is_uncertain: bool = False
    country: str | None = None
    has_failed: bool = False
    channel_uuid: str = ""
    secret: str | None = field(default=None, repr=False)
    is_transliterated: bool = False
    thread: Thread | None = None


@dataclass(frozen=True, slots=True)
class SendOutcome:
    """The outcome of a part: what its channel type says of it, whether the message has further parts, and the call for
    the log. One that was not begun leaves the part as it was.
    """

    send: GatewaySend
    result: Outcome
    has_more: bool = False
    call: GatewayCall | None = None
    is_begun: bool = True

    @property
    def lease(self) -> tuple[int, datetime]:
        """Of which part, and until when: a worker may have had one after the other of the same part."""
        return self.send.id, self.send.due_on

    @property
    def is_accepted(self) -> bool:
        return isinstance(self.result, Sent)

    @property
    def detail(self) -> str:
        """Why it was not accepted, without secrets, as it is told with the message."""
        if isinstance(self.result, Sent):
            return ""
        return detail_of(hide_secrets(self.send.channel_type, self.send.config or {}, self.result.reason)) or ""

    @property
    def is_limited(self) -> bool:
        """Whether the gateway says when it takes something again: that is no error."""
        return isinstance(self.result, Later) and (self.result.seconds is not None or self.result.is_for_all)

    @property
    def wait(self) -> timedelta:
        """How long a gateway that says so is left alone."""
        asked = self.result.seconds if isinstance(self.result, Later) else None
        seconds = USUAL_WAIT_SECONDS if asked is None else min(max(asked, SHORTEST_WAIT_SECONDS), LONGEST_WAIT_SECONDS)
        return timedelta(seconds=seconds)

    @property
    def is_whole(self) -> bool:
        """Whether it says of a message in one part that the gateway has it."""
        return self.is_accepted and self.is_begun and self.send.part == 1 and not self.has_more


@dataclass(slots=True)
class LeasedSends:
    """The leased parts, and when to look again for gateways that have reached their rate limit."""

    sends: list[GatewaySend] = field(default_factory=list)
    look_again_on: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Gateway:
    type: str
    uuid: str
    address: str | None
    country: str | None
    config: Mapping[str, Any] | None
    secret: str | None = field(default=None, repr=False)
    failures: int = 0
    is_transliterated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _DuePart(QueuedPart):
    """A row of the queue that is locked."""

    parts_begun: int
    parts_accepted: int
    attempts: int
    status: str
    visibility: str
    may_go_out: bool

    @property
    def is_sendable(self) -> bool:
        waits = self.status in UNSENT or (self.status in REPORTED and self.parts_begun > 0)
        return waits and self.visibility == VISIBLE


def list_due_gateways(
    tx: Transaction, share: Share = Share.ALL, types: Sequence[str] = BY_REQUESTS
) -> list[tuple[int, int]]:
    """Active gateways of these types with at least one due part, each with its workspace; one index seek per
    gateway."""
    found = _find_due.rows(tx, tx.now, types, share=share)
    return [(workspace_id or 0, channel_id) for workspace_id, channel_id in found]


# Statements that read the queue are not prepared: a plan of the time when it was short would be slow in a flood.
@statement(is_prepared=False)
def _find_due(now: datetime, types: Sequence[str], *, share: Share) -> Executable:
    rows = gateway_send.c
    gateways = select(func.min(rows.channel_id).label("id")).cte("gateways", recursive=True)
    following = select(func.min(rows.channel_id)).where(rows.channel_id > gateways.c.id)
    gateways = gateways.union_all(select(following.scalar_subquery()).where(gateways.c.id.is_not(None)))
    theirs = (rows.channel_id == channel.c.id) & (rows.workspace_id == channel.c.workspace_id)
    one = select(literal(1)).select_from(gateway_send).correlate(channel)
    due = [one.where(theirs, *_is_due(each, now)).order_by(rows.due_on) for each in PRIORITIES]
    has_due = or_(*map(has_row, due)) & is_in_share(share, *due)
    is_known = (channel.c.id == gateways.c.id) & among(channel.c.type, types, "TEXT") & channel.c.is_active
    known = is_known & is_free(channel.c.paused_until, now)
    return select(channel.c.workspace_id, channel.c.id).join(gateways, known).where(has_due)


def lease_sends(tx: Transaction, rooms: Mapping[int, int], lease: timedelta) -> LeasedSends:
    """Leases due parts, conversations first, then the oldest, and at most so many per gateway. Rate limits of gateways
    apply to all workers together. Messages that must no longer be sent are removed from the queue; those to contacts
    that are not active fail.
    """
    paces = lock_paces(tx, rooms)
    allowed = {each: min(room, paces[each].allowance) if each in paces else room for each, room in rooms.items()}
    rows = _lock_due(tx, {each: room for each, room in allowed.items() if room > 0})
    sendable = LEASES.without_suspects(tx, _drop_others(tx, rows), _fail, "channel_id")
    gateways = _find_gateways(tx, {row.channel_id for row in sendable})
    leased = LeasedSends([_read(row, gateways[row.channel_id], tx.now + lease) for row in sendable])
    _keep(tx, leased.sends, tx.now + lease)
    charge_pace(tx, paces, [send.channel_id for send in leased.sends])
    leased.look_again_on = _next_look(paces, rooms, allowed)
    return leased


def _fail(tx: Transaction, parts: Sequence[_DuePart]) -> None:
    for workspace_id, message_ids in _by_workspace(parts):
        give_up(tx, workspace_id, message_ids, SENDING_FAILED)
    _leave(tx, [part.id for part in parts])


def _next_look(paces: Mapping[int, Pace], rooms: Mapping[int, int], allowed: Mapping[int, int]) -> datetime | None:
    held_up = [pace.next_on for channel_id, pace in paces.items() if allowed[channel_id] < rooms[channel_id]]
    return min(held_up, default=None)


def _is_due(priority: int, now: datetime) -> tuple[ColumnElement[bool], ...]:
    rows = gateway_send.c
    return (rows.priority == literal(priority), rows.due_on <= now)


def _lock_due(tx: Transaction, rooms: Mapping[int, int]) -> list[_DuePart]:
    ids = _pick_first(tx, rooms)
    if not ids:
        return []
    found = _lock_picked.rows(tx, ids, tx.now)
    return [_DuePart(**dict(zip((*_LOCKED, *_OF_MESSAGE), row, strict=True))) for row in found]


_LOCKED: dict[str, ColumnElement[Any]] = {
    **{name: gateway_send.c[name] for name in ("id", "workspace_id", "channel_id", "message_id")},
    **{name: gateway_send.c[name] for name in ("error_count", "parts_begun", "parts_accepted", "attempts")},
}
_OF_MESSAGE: dict[str, ColumnElement[Any]] = {
    "message_uuid": message.c.uuid,
    **{name: message.c[name] for name in ("contact_id", "urn", "text", "attachments", "quick_replies", "template")},
    **{name: message.c[name] for name in ("status", "visibility")},
    "may_go_out": may_go_out(),
}
"""What is known of a due part, and of its message."""


@statement(is_prepared=False)
def _lock_picked(ids: Sequence[int], now: datetime, *, is_sqlite: bool = False) -> Executable:
    rows = gateway_send.c
    its = message.c.id == rows.message_id
    if is_sqlite:
        found = select(*_LOCKED.values(), *_OF_MESSAGE.values()).join(message, its)
    else:
        # A seek for each part: a join would read all messages, if contacts or messages are taken for few.
        sent = [column.label(name) for name, column in _OF_MESSAGE.items()]
        seek = select(*sent).where(its).limit(literal_column("1")).correlate(gateway_send).lateral("sent")
        found = select(*_LOCKED.values(), *seek.c).join(seek, true())
    return (
        found.where(among(rows.id, ids), rows.due_on <= now)
        .order_by(rows.priority, rows.due_on, rows.id)
        .with_for_update(of=gateway_send, skip_locked=True)
    )


def _pick_first(tx: Transaction, rooms: Mapping[int, int]) -> list[int]:
    """The ids of the first due parts of each gateway; each priority is a separate range of the index. A statement of
    its own: in one with others PostgreSQL may look for them once for each part that waits.
    """
    if not rooms:
        return []
    values: dict[str, Any] = {"now": tx.now}
    for number, (channel_id, room) in enumerate(rooms.items()):
        values |= {f"channel_{number}": channel_id, f"room_{number}": room}
    picked: list[int] = []
    taken: Counter[int] = Counter()
    for _, _, part_id, channel_id in sorted(map(tuple, _picking(len(rooms)).rows(tx, **values))):
        if taken[channel_id] < rooms[channel_id]:
            taken[channel_id] += 1
            picked.append(part_id)
    return picked


@cache
def _picking(gateways: int) -> Statement[...]:
    @statement(is_prepared=False)
    def pick(now: datetime, **_rooms: int) -> Executable:
        rows = gateway_send.c
        ranges = []
        for number in range(gateways):
            for priority in PRIORITIES:
                due = rows.channel_id == param(f"channel_{number}"), *_is_due(priority, now)
                first = select(rows.priority, rows.due_on, rows.id, rows.channel_id).where(*due)
                room = param(f"room_{number}")
                ranges.append(select(first.order_by(rows.due_on, rows.id).limit(room).subquery()))
        return union_all(*ranges)

    return pick


def _drop_others(tx: Transaction, parts: Sequence[_DuePart]) -> list[_DuePart]:
    """The parts of messages that are still to be sent; the others are removed from the queue."""
    unsendable = [part for part in parts if part.is_sendable and not part.may_go_out]
    for workspace_id, message_ids in _by_workspace(unsendable):
        give_up(tx, workspace_id, message_ids, CONTACT_INACTIVE)
    _leave(tx, [part.id for part in parts if not (part.is_sendable and part.may_go_out)])
    return [part for part in parts if part.is_sendable and part.may_go_out]


def _leave(tx: Transaction, ids: Sequence[int]) -> None:
    if ids:
        _delete_parts.run(tx, ids)


def _find_gateways(tx: Transaction, channel_ids: Collection[int]) -> dict[int, _Gateway]:
    """The settings of gateways; one that cannot be decrypted does not affect the others."""
    if not channel_ids:
        return {}
    found = {}
    for channel_id, channel_type, uuid, address, country, config, secret, *more in _select_settings.rows(
        tx, sorted(channel_ids)
    ):
        settings = open_or_none(tx.dialect, channel.c.config, config)
        own = open_or_none(tx.dialect, channel.c.secret, secret) if secret else None
        found[channel_id] = _Gateway(channel_type, uuid, address, country, settings, own, *more)
    return found


def _read(row: _DuePart, gateway: _Gateway, due_on: datetime) -> GatewaySend:
    is_uncertain = row.parts_begun > row.parts_accepted
    repeats = is_uncertain and bool((gateway.config or {}).get("recognizes_repeats"))
    return GatewaySend(
        **{each.name: getattr(row, each.name) for each in fields(QueuedPart)},
        channel_type=gateway.type,
        address=gateway.address,
        country=gateway.country,
        channel_uuid=gateway.uuid,
        secret=gateway.secret,
        config=gateway.config,
        part=row.parts_begun if repeats else row.parts_begun + 1,
        due_on=due_on,
        parts_begun=row.parts_begun,
        is_uncertain=is_uncertain,
        has_failed=gateway.failures > 0,
        is_transliterated=bool(gateway.is_transliterated),
    )


def _keep(tx: Transaction, sends: Sequence[GatewaySend], until: datetime) -> None:
    """Leases parts, which does not begin them. A part that a dead worker had begun is passed over, and its message says
    that nobody knows whether the gateway has it.
    """
    if sends:
        LEASES.take(tx, [send.id for send in sends], until, {send.workspace_id for send in sends})
    passed = [send for send in sends if send.is_uncertain and send.part > send.parts_begun]
    if not passed:
        return
    rows = gateway_send.c
    tx.execute(
        update(gateway_send).where(rows.id.in_([each.id for each in passed])).values(parts_accepted=rows.parts_begun)
    )
    for workspace_id, message_ids in _by_workspace(passed):
        change_messages(tx, workspace_id, message_ids, {"failed_reason": UNCERTAIN}, only=_IS_UNCONFIRMED)


def begin_sends(tx: Transaction, sends: Sequence[GatewaySend], lease: timedelta) -> dict[int, datetime]:
    """Counts parts as begun, right before the bytes of their requests are written, so that none is sent twice if a
    worker dies. Returns until when each is leased now; those whose lease is over are missing and must not be sent.
    """
    alike: dict[tuple[int, datetime], list[int]] = {}
    for send in sends:
        alike.setdefault((send.part, send.due_on), []).append(send.id)
    until = tx.now + lease
    begun: dict[int, datetime] = {}
    for (part, due_on), ids in sorted(alike.items()):
        rows = _begin_parts.rows(tx, sorted(ids), part, due_on, until, tx.now)
        begun |= {part_id: until for (part_id,) in rows}
    return begun


def record_sends(tx: Transaction, outcomes: Sequence[SendOutcome]) -> None:
    """Updates messages by the responses of their gateways; an outcome counts only while the lease is held. A message is
    wired when all parts are accepted. One that is refused fails at once; one that is put off waits as long as the
    gateway says. After an error it is errored and tried again after five minutes times the number of errors; after the
    third error it is failed with a reason. Accepted parts are not sent again. What was not begun is due again.
    """
    _note_answers(tx, [outcome for outcome in outcomes if outcome.is_begun])
    held = _lock_held(tx, [outcome.send for outcome in outcomes])
    _give_back(tx, [each.send for each in outcomes if not each.is_begun and each.lease in held])
    mine = [outcome for outcome in outcomes if outcome.is_begun and outcome.lease in held]
    _confirm(tx, [each.send for each in outcomes if each.lease not in held and each.is_whole])
    finished = [outcome.send for outcome in mine if outcome.is_accepted and not outcome.has_more]
    for workspace_id, message_ids in _by_workspace(finished):
        change_messages(tx, workspace_id, message_ids, {"status": WIRED, "sent_on": tx.now}, only=_IS_UNSENT)
    _leave(tx, [send.id for send in finished])
    going_on = [outcome.send.id for outcome in mine if outcome.is_accepted and outcome.has_more]
    if going_on:
        again = {"parts_accepted": gateway_send.c.parts_begun, "due_on": gateway_send.c.created_on}
        tx.execute(update(gateway_send).where(gateway_send.c.id.in_(going_on)).values(**again))
    _keep_ids(tx, [outcome for outcome in outcomes if outcome.is_begun], finished)
    _refuse(tx, [outcome for outcome in mine if isinstance(outcome.result, Refused)])
    _put_off(tx, [outcome for outcome in mine if outcome.is_limited], held)
    failed = [each for each in mine if isinstance(each.result, Later) and not each.is_limited]
    _note_errors(tx, failed)
    record_calls(tx, [outcome.call for outcome in outcomes if outcome.call is not None])


def _note_answers(tx: Transaction, outcomes: Sequence[SendOutcome]) -> None:
    """A gateway works that takes messages, refuses some, or says when to come again."""
    works = [each for each in outcomes if not isinstance(each.result, Later) or each.result.seconds is not None]
    working = {each.send.channel_id for each in works}
    failed = Counter(each.send.channel_id for each in outcomes if each.send.channel_id not in working)
    note_answers(tx, {each.send.channel_id for each in works if each.send.has_failed}, failed)


def _keep_ids(tx: Transaction, outcomes: Sequence[SendOutcome], finished: Sequence[GatewaySend]) -> None:
    """Stores by which ids the gateways will speak of these parts; what they have said already counts now."""
    named = [(each.send, each.result.id) for each in outcomes if isinstance(each.result, Sent) and each.result.id]
    if not named:
        return
    keep_parts(
        tx,
        [
            SentPart(send.workspace_id, send.channel_id, send.contact_id, send.message_id, send.part, external_id)
            for send, external_id in named
        ],
    )
    for workspace_id, message_ids in _by_workspace(finished):
        apply_statuses(tx, workspace_id, message_ids)


def _refuse(tx: Transaction, outcomes: Sequence[SendOutcome]) -> None:
    """These are never taken: their messages fail, and contacts that stopped are stopped."""
    _count_errors(tx, [outcome.send for outcome in outcomes])
    _give_up(tx, outcomes)
    for outcome in outcomes:
        if isinstance(outcome.result, Refused) and outcome.result.has_stopped:
            send = outcome.send
            stop(tx, send.workspace_id, send.channel_id, send.contact_id, send.urn)


def _put_off(tx: Transaction, outcomes: Sequence[SendOutcome], held: Mapping[tuple[int, datetime], datetime]) -> None:
    """These wait as long as the gateway says, and with them its whole queue if it takes nothing at all before."""
    over = [each for each in outcomes if held[each.lease] < tx.now - LIMITED_FOR]
    _count_errors(tx, [each.send for each in over])
    _give_up(tx, over)
    rows, pauses = gateway_send.c, dict[int, datetime]()
    for outcome in outcomes:
        due_on, send = tx.now + outcome.wait, outcome.send
        again = {"due_on": due_on, "parts_begun": rows.parts_accepted, "attempts": 0}
        tx.execute(update(gateway_send).where(rows.id == send.id).values(**again))
        if isinstance(outcome.result, Later) and outcome.result.is_for_all:
            pauses[send.channel_id] = max(due_on, pauses.get(send.channel_id, due_on))
    for channel_id, until in sorted(pauses.items()):
        tx.execute(update(channel).where(channel.c.id == channel_id).values(paused_until=until))


def _give_up(tx: Transaction, outcomes: Sequence[SendOutcome]) -> None:
    """The messages of these fail, with what their gateways said last."""
    details = {each.send.message_id: each.detail for each in outcomes}
    for workspace_id, message_ids in _by_workspace(each.send for each in outcomes):
        give_up(tx, workspace_id, message_ids, GATEWAY_FAILED, details)
    _leave(tx, [each.send.id for each in outcomes])


def _give_back(tx: Transaction, sends: Sequence[GatewaySend]) -> None:
    """Nothing was written of these: they are as they were before they were leased."""
    rows, by_begun = gateway_send.c, dict[int, list[int]]()
    for send in sends:
        by_begun.setdefault(send.parts_begun, []).append(send.id)
    for begun, ids in by_begun.items():
        as_before = {"due_on": rows.created_on, "parts_begun": begun, "attempts": 0}
        tx.execute(update(gateway_send).where(rows.id.in_(ids)).values(as_before))


def _confirm(tx: Transaction, sends: Sequence[GatewaySend]) -> None:
    """The worker that was taken for dead knows that the gateway has these messages."""
    for workspace_id, message_ids in _by_workspace(sends):
        change_messages(tx, workspace_id, message_ids, {"failed_reason": None}, only=IS_UNCERTAIN)


def _lock_held(tx: Transaction, sends: Sequence[GatewaySend]) -> dict[tuple[int, datetime], datetime]:
    """The leases of these parts that are held now, with when the parts were queued."""
    if not sends:
        return {}
    found = _lock_parts.rows(tx, sorted({send.id for send in sends}))
    return {(part_id, due_on): created_on for part_id, due_on, created_on in found}


def _by_workspace(parts: Iterable[QueuedPart]) -> list[tuple[int, list[int]]]:
    """The ids of the messages of parts, by workspace."""
    found: dict[int, list[int]] = {}
    for part in parts:
        found.setdefault(part.workspace_id, []).append(part.message_id)
    return sorted(found.items())


def _count_errors(tx: Transaction, sends: Sequence[GatewaySend]) -> None:
    for (workspace_id, channel_id), number in sorted(
        Counter((each.workspace_id, each.channel_id) for each in sends).items()
    ):
        changes_of(tx, workspace_id).errors[channel_id] += number


def _note_errors(tx: Transaction, outcomes: Sequence[SendOutcome]) -> None:
    by_count: dict[int, list[SendOutcome]] = {}
    _count_errors(tx, [outcome.send for outcome in outcomes])
    for outcome in outcomes:
        by_count.setdefault(outcome.send.error_count + 1, []).append(outcome)
    for errors, failed in by_count.items():
        state = {"status": ERRORED, "error_count": errors, "sent_on": None}
        for workspace_id, theirs in _by_workspace(each.send for each in failed):
            change_messages(tx, workspace_id, theirs, state, only=_IS_UNSENT)
        if errors >= MOST_ERRORS:
            _give_up(tx, failed)
            continue
        ids = [each.send.id for each in failed]
        again = {"error_count": errors, "due_on": tx.now + errors * RETRY_STEP, "attempts": 0}
        begun = {"parts_begun": gateway_send.c.parts_accepted}
        tx.execute(update(gateway_send).where(gateway_send.c.id.in_(ids)).values(**again, **begun))


@statement(is_prepared=False)
def _begin_parts(ids: Sequence[int], begun: int, held_until: datetime, until: datetime, now: datetime) -> Executable:
    rows = gateway_send.c
    is_held = (rows.due_on == held_until) & (rows.due_on > now)
    # Some gateways recognize a part that is begun again: it may end workers as one that was not begun may.
    attempts = case((rows.parts_begun == begun, rows.attempts), else_=literal(0))
    values = {"parts_begun": begun, "due_on": until, "attempts": attempts}
    return update(gateway_send).where(among(rows.id, ids), is_held).values(values).returning(rows.id)


@statement(is_prepared=False)
def _lock_parts(ids: Sequence[int]) -> Executable:
    rows = gateway_send.c
    return select(rows.id, rows.due_on, rows.created_on).where(among(rows.id, ids)).order_by(rows.id).with_for_update()


@statement(is_prepared=False)
def _delete_parts(ids: Sequence[int]) -> Executable:
    return delete(gateway_send).where(among(gateway_send.c.id, ids))


@statement
def _select_settings(channel_ids: Sequence[int]) -> Executable:
    rows = channel.c
    columns = (rows.id, rows.type, rows.uuid, rows.address, rows.country)
    sealed = map(sealed_text, (rows.config, rows.secret))
    return select(*columns, *sealed, rows.failures, rows.transliterates).where(among(rows.id, channel_ids))
