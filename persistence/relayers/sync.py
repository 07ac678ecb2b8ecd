"""One sync of a phone: stores its reports, returns acknowledgments and its outbox (protocol, 7 to 12)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Executable, Update, bindparam, exists, insert, or_, select

from channels.sms import transliterate, with_links
from persistence.changes import change_messages, note_changed
from persistence.channels.event_form import Source
from persistence.channels.events import find_pending
from persistence.channels.health import note_power_report
from persistence.database import Transaction, delete_old
from persistence.messages.incoming import find_queued
from persistence.messages.outgoing import give_up, may_go_out
from persistence.messages.routes import CONTACT_INACTIVE
from persistence.relayers.commands import (
    CallReport,
    DeliveryReport,
    Report,
    Reset,
    SmsReport,
    StatusReport,
    Upload,
    via_of,
)
from persistence.relayers.relayers import Phone, release_channels
from persistence.relayers.reports import record_calls, record_delivery_reports, record_sms
from persistence.statements import among, statement, update
from persistence.tables.channels import channel, sync_record
from persistence.tables.messages import ERRORED, IS_UNSENT, QUEUED, VISIBLE, WIRED, message

OUTBOX_LIMIT = 1000
FULL_UPLOAD = 2 + 50
"""Besides its identity and state a phone uploads at most 50 reports. A phone with 50 reports has more, perhaps about
messages that it was asked to send: if it were asked again, it would report each of them again, and its queue would
grow without end."""
SYNC_RECORDS_KEPT_FOR = timedelta(days=7)
MOST_LOOKED_AT = 10
"""Messages of a sync, and calls, that are looked at at once; the others were stored later and are handled later."""

Command = dict[str, Any]

WRONG_CLOCK, WRONG_SECRET = "wrong_clock", "wrong_secret"
"""Why a phone was refused: its clock is more than fifteen minutes wrong, or it does not sign with its secret."""
REFUSALS_NOTED_EVERY = timedelta(minutes=1)


def note_secret_used(tx: Transaction, phone: Phone) -> None:
    """Record that the phone uses its newest secret: the previous one is no longer accepted."""
    if not phone.is_secret_used:
        used = {"is_secret_used": True, "previous_secret": None}
        tx.execute(update(channel).where(channel.c.id == phone.id).values(**used))


def note_unclaimed_sync(tx: Transaction, phone: Phone) -> None:
    tx.execute(update(channel).where(channel.c.id == phone.id).values(last_seen=tx.now))


def note_refused(tx: Transaction, phone: Phone, reason: str) -> None:
    """Notes that a phone, or somebody who knows its id, was refused; once a minute, because anybody can cause it."""
    is_known = phone.refused_on is not None and tx.now - phone.refused_on < REFUSALS_NOTED_EVERY
    if phone.workspace_id is None or (is_known and phone.refused_reason == reason):
        return
    refused = {"refused_on": tx.now, "refused_reason": reason}
    tx.execute(update(channel).where(channel.c.id == phone.id).values(**refused))
    note_changed(tx, channel, phone.workspace_id, [phone.id])


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The new messages and calls of a sync, in the order in which they were stored."""

    workspace_id: int
    message_ids: Sequence[int]
    call_ids: Sequence[int]

    def __bool__(self) -> bool:
        return bool(self.message_ids or self.call_ids)


@dataclass(frozen=True, slots=True)
class Synced:
    """What became of a sync: the commands of its answer and, if the outbox is still to be added to them, what it waits
    for, and the record of the sync.
    """

    commands: list[Command]
    awaited: Arrivals | None = None
    record_id: int | None = None


def apply_sync(tx: Transaction, phone: Source, upload: Upload, may_wait: Callable[[], bool]) -> Synced:
    """Store the reports of a claimed phone and respond to them; a constant number of statements for any 50 commands.
    Every report is acknowledged, even an unknown one, so that none can block the phone's queue. Repeats change nothing.
    A sync that brought something new gets its outbox later (`fetch_outbox`), if it `may_wait`.
    """
    claim = _note_status(tx, phone, upload)
    reports = [report for _, report in upload.reports]
    message_ids, new = record_sms(tx, phone, [report for report in reports if isinstance(report, SmsReport)])
    calls = record_calls(tx, phone, [report for report in reports if isinstance(report, CallReport)])
    record_delivery_reports(tx, phone, [report for report in reports if isinstance(report, DeliveryReport)])
    answer = claim + [_acknowledge(number, report, message_ids) for number, report in upload.reports]
    if any(isinstance(report, Reset) for report in reports):
        release_channels(tx, phone.workspace_id, channel.c.id == phone.id, tells_phones=False)
        return Synced(answer)
    _note_held(tx, phone, upload)
    arrivals = Arrivals(phone.workspace_id, new, calls)
    if arrivals and may_wait():
        return Synced(answer, arrivals, _record_sync(tx, phone, upload, len(claim)))
    outbox = _read_outbox(tx, phone, upload)
    _record_sync(tx, phone, upload, len(claim) + len(outbox))
    return Synced(answer + outbox)


def fetch_outbox(tx: Transaction, phone: Source, upload: Upload, synced: Synced) -> list[Command]:
    """What the phone should send, for a sync that has waited."""
    outbox = _read_outbox(tx, phone, upload)
    if outbox and synced.record_id is not None:
        count = {"outgoing_count": sync_record.c.outgoing_count + len(outbox)}
        mine = (sync_record.c.workspace_id == phone.workspace_id) & (sync_record.c.id == synced.record_id)
        tx.execute(update(sync_record).where(mine).values(**count))
    return outbox


def leave_unhandled(tx: Transaction, arrivals: Sequence[Arrivals]) -> list[Arrivals]:
    """What of each of these is not handled yet; one statement for all messages and one for all calls. What flows
    replied is in the outbox as soon as a message counts as handled: both are committed together.
    """
    workspaces = list({each.workspace_id for each in arrivals})
    messages = [number for each in arrivals for number in each.message_ids[:MOST_LOOKED_AT]]
    calls = [number for each in arrivals for number in each.call_ids[:MOST_LOOKED_AT]]
    queued = find_queued(tx, workspaces, messages)
    pending = find_pending(tx, workspaces, calls)
    return [
        replace(each, message_ids=_left(each.message_ids, queued), call_ids=_left(each.call_ids, pending))
        for each in arrivals
    ]


def _left(ids: Sequence[int], unhandled: Collection[int]) -> list[int]:
    return [*(number for number in ids[:MOST_LOOKED_AT] if number in unhandled), *ids[MOST_LOOKED_AT:]]


class _Unsent(NamedTuple):
    """A message for the phone, and whether it may still be sent."""

    id: int
    urn: str
    text: str
    attachments: Sequence[Mapping[str, str]]
    offered_on: datetime | None
    may_go_out: bool
    is_transliterated: bool


def trim_syncs(tx: Transaction, limit: int) -> int:
    """Deletes sync records that are older than SYNC_RECORDS_KEPT_FOR, except the newest of each phone; returns their
    number."""
    rows, later = sync_record.c, sync_record.alias("later")
    has_later = exists().where(later.c.channel_id == rows.channel_id, later.c.id > rows.id)
    return delete_old(tx, rows.created_on, SYNC_RECORDS_KEPT_FOR, limit, has_later)


def _acknowledge(number: object, report: Report, message_ids: dict[SmsReport, int]) -> Command:
    acknowledgement = {"cmd": "ack", "p_id": number}
    if isinstance(report, SmsReport) and report in message_ids:
        acknowledgement["extra"] = {"msg_id": message_ids[report]}
    return acknowledgement


def _note_status(tx: Transaction, phone: Source, upload: Upload) -> list[Command]:
    """Store the phone's state; returns a `claim` command if the phone has the id of another workspace."""
    seen: dict[str, Any] = {"last_seen": tx.now, "down_since": None}
    if upload.push_token:
        seen |= {"push_token": upload.push_token, "push_via": via_of(upload.push_token)}
    status = upload.status
    if status is not None:
        seen |= _state(status)
    given = {f"new_{name}": value for name, value in seen.items()}
    tx.execute(_update_phone(tuple(seen)), {"its_id": phone.id, **given})
    note_changed(tx, channel, phone.workspace_id, [phone.id])
    if status is None:
        return []
    note_power_report(tx, phone.workspace_id, phone.id)
    return [] if status.workspace_id == phone.workspace_id else [{"cmd": "claim", "org_id": phone.workspace_id}]


@cache
def _update_phone(names: tuple[str, ...]) -> Update:
    values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
    return update(channel).where(channel.c.id == bindparam("its_id")).values(**values)


def _state(status: StatusReport) -> dict[str, Any]:
    said = {"device": status.device, "os": status.os, "app_version": status.app_version}
    return {
        "power_level": status.power_level,
        "power_status": status.power_status,
        "power_source": status.power_source,
        "network_type": status.network_type,
        "pending_count": len(status.pending),
        "retry_count": len(status.retry),
        **{name: value for name, value in said.items() if value is not None},
    }


def _held_by(upload: Upload) -> Sequence[int]:
    """The messages that the phone has and tries to send."""
    return upload.status.pending + upload.status.retry if upload.status is not None else ()


def _note_held(tx: Transaction, phone: Source, upload: Upload) -> None:
    """Messages that the phone has become wired."""
    held = _held_by(upload)
    if held:
        mine = (message.c.workspace_id == phone.workspace_id) & (message.c.channel_id == phone.id)
        unsent = mine & IS_UNSENT & (message.c.visibility == VISIBLE)
        waits = message.c.status.in_((QUEUED, ERRORED)) & message.c.id.in_(held)
        change_messages(tx, phone.workspace_id, unsent & waits, {"status": WIRED, "sent_on": tx.now})


def _read_outbox(tx: Transaction, phone: Source, upload: Upload) -> list[Command]:
    """What the phone should send: unsent messages that it does not have, oldest first, equal texts together. Errored
    ones are offered again. If the upload was full, messages that it was asked to send before are left out. Messages to
    contacts that are not active fail.
    """
    held, only_new = _held_by(upload), upload.command_count >= FULL_UPLOAD
    rows = _select_unsent.rows(tx, phone.workspace_id, phone.id, held, tx.now, only_new=only_new)
    found = [_Unsent(*row) for row in rows]
    give_up(tx, phone.workspace_id, [row.id for row in found if not row.may_go_out], CONTACT_INACTIVE)
    going = [row for row in found if row.may_go_out]
    new = [row.id for row in going if row.offered_on is None]
    change_messages(tx, phone.workspace_id, new, {"offered_on": tx.now})
    commands: list[Command] = []
    for row in going:
        text = transliterate(row.text) if row.is_transliterated else row.text
        text = with_links(text, [attachment["url"] for attachment in row.attachments])
        if not commands or commands[-1]["msg"] != text:
            commands.append({"cmd": "mt_bcast", "msg": text, "to": []})
        commands[-1]["to"].append({"phone": row.urn.partition(":")[2], "id": row.id})
    return commands


@statement(is_prepared=False)
def _select_unsent(
    workspace_id: int, channel_id: int, held: Sequence[int], now: datetime, *, only_new: bool
) -> Executable:
    columns = (message.c.id, message.c.urn, message.c.text, message.c.attachments, message.c.offered_on)
    may_go, fails = may_go_out(), (message.c.status == QUEUED) | (message.c.status == ERRORED)
    mine = (message.c.workspace_id == workspace_id) & (message.c.channel_id == channel_id)
    is_transliterated = select(channel.c.transliterates).where(channel.c.id == channel_id).scalar_subquery()
    unsent = (
        select(*columns, may_go.label("may_go_out"), is_transliterated.label("is_transliterated"))
        .where(mine & IS_UNSENT & (message.c.visibility == VISIBLE))
        .where(or_(message.c.due_on.is_(None), message.c.due_on <= now))
        .where(fails | may_go, ~among(message.c.id, held))
    )
    if only_new:
        unsent = unsent.where(message.c.offered_on.is_(None))
    return unsent.order_by(message.c.created_on, message.c.id).limit(OUTBOX_LIMIT)


def _record_sync(tx: Transaction, phone: Source, upload: Upload, outgoing_count: int) -> int | None:
    status = upload.status
    if status is None:
        return None
    values = {name: value for name, value in _state(status).items() if name in sync_record.c}
    mine = {"workspace_id": phone.workspace_id, "channel_id": phone.id}
    counts = {"incoming_count": max(0, upload.command_count - 2), "outgoing_count": outgoing_count}
    made = tx.execute(insert(sync_record).values(**mine, created_on=tx.now, **values, **counts))
    return int(made.inserted_primary_key[0]) if made.inserted_primary_key else None
