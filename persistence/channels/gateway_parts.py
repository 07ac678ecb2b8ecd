"""The parts of messages by the ids that providers gave them, and what statuses say of them. A message is delivered when
all its parts are, and failed when one is. A status may come before its part is recorded: it is kept, and counts then.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import and_, case, select

from channels.calls import State, Status
from flows.words import told
from persistence.channels.event_form import Source
from persistence.database import Transaction, delete_old
from persistence.relayers.commands import LARGEST_ID, DeliveryReport, clean_text
from persistence.relayers.reports import record_delivery_reports
from persistence.tables.channels import channel, gateway_part
from persistence.tables.messages import DETAIL_LENGTH, gateway_send

KEPT_FOR = timedelta(days=30)
KEY_LENGTH = 255
RANKS: Mapping[State, int] = {"sent": 1, "failed": 2, "delivered": 3, "read": 4}
"""A higher one of a part replaces a lower one: what failed may have arrived after all, what arrived has not failed."""
STATES = {rank: state for state, rank in RANKS.items()}
FAILED = RANKS["failed"]
REPORTS = {"sent": "mt_sent", "failed": "mt_fail", "delivered": "mt_dlvd", "read": "mt_read"}

KEYS = ("channel_id", "external_id", "workspace_id")

_rows = gateway_part.c


@dataclass(frozen=True, slots=True)
class SentPart:
    """A part that the provider has, by the id that it gave it."""

    workspace_id: int
    channel_id: int
    contact_id: int
    message_id: int
    part: int
    external_id: str


class Told(NamedTuple):
    """What became of something that a gateway reported, as a sentence, and of which message it was."""

    text: str
    message_id: int | None = None


def keep_parts(tx: Transaction, parts: Collection[SentPart]) -> None:
    """Stores the ids of parts; one statement for all. A provider that gives an id again means the latest part."""
    by_key = {(each.channel_id, _key(each.external_id)): each for each in parts}
    if not by_key:
        return
    values = [
        {
            "workspace_id": each.workspace_id,
            "channel_id": each.channel_id,
            "external_id": key,
            "contact_id": each.contact_id,
            "message_id": each.message_id,
            "part": each.part,
            "state": 0,
            "created_on": tx.now,
        }
        for (_, key), each in sorted(by_key.items())
    ]
    statement = tx.upsert(gateway_part).values(values)
    new = statement.excluded
    is_early = _rows.message_id.is_(None)
    again: dict[str, Any] = {name: new[name] for name in ("contact_id", "message_id", "part", "created_on")}
    again["state"] = case((is_early, _rows.state), else_=0)
    tx.execute(statement.on_conflict_do_update(index_elements=KEYS, set_=again))


def apply_statuses(tx: Transaction, workspace_id: int, message_ids: Collection[int]) -> None:
    """Lets the statuses count that came before the last part of these messages was recorded."""
    mine = (_rows.workspace_id == workspace_id) & _rows.message_id.in_(sorted(message_ids)) & (_rows.state > 0)
    found = tx.execute(select(_rows.channel_id, _rows.message_id).where(mine).distinct()).all()
    sources = _find_sources(tx, workspace_id, {channel_id for channel_id, _ in found})
    for channel_id, message_id in found:
        if message_id is not None and channel_id in sources:
            _apply(tx, sources[channel_id], message_id)


def note_status(tx: Transaction, source: Source, status: Status) -> Told:
    """Records what a provider says of a part or of a message of this channel; returns what became of it."""
    reason = detail_of(status.reason) if status.state == "failed" else None
    if not status.id:
        return _note_of_message(tx, source, status, reason)
    rank, key = RANKS[status.state], _key(status.id)
    values = {"workspace_id": source.workspace_id, "channel_id": source.id, "external_id": key}
    news: dict[str, Any] = {"state": rank, "state_on": status.on, "reason": reason}
    statement = tx.upsert(gateway_part).values({**values, **news, "part": 0, "created_on": tx.now})
    is_news = _rows.state < rank
    changed = {name: case((is_news, statement.excluded[name]), else_=_rows[name]) for name in news}
    stored = statement.on_conflict_do_update(index_elements=KEYS, set_=changed).returning(_rows.message_id)
    message_id = tx.execute(stored).scalar_one()
    if message_id is None:
        return Told(f"No message of this channel has the id {told(status.id)}, so far.")
    return Told(_apply(tx, source, message_id), message_id)


def trim_parts(tx: Transaction, limit: int) -> int:
    """Deletes ids that are older than KEPT_FOR; returns their number."""
    return delete_old(tx, _rows.created_on, KEPT_FOR, limit)


def detail_of(reason: str) -> str | None:
    """What a provider said of a failure, as it is stored with a message; None if it said nothing."""
    return " ".join(clean_text(reason).split())[:DETAIL_LENGTH] or None


def _note_of_message(tx: Transaction, source: Source, status: Status, reason: str | None) -> Told:
    text = status.message
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(LARGEST_ID)) else 0
    report = DeliveryReport(REPORTS[status.state], number, status.on, reason)
    if number > LARGEST_ID or not record_delivery_reports(tx, source, [report]):
        return Told(f"No message of this channel has the number {told(text)}.")
    return Told(f"Message {number} is {status.state}.", number)


def _apply(tx: Transaction, source: Source, message_id: int) -> str:
    """Gives a message the status that its parts have together; while some wait to be sent, it can only fail."""
    its = (_rows.workspace_id == source.workspace_id) & (_rows.message_id == message_id)
    statement = select(_rows.state, _rows.state_on, _rows.reason).where(its, _rows.channel_id == source.id)
    found = tx.execute(statement.order_by(_rows.part)).all()
    states = [state for state, *_ in found]
    rank = FAILED if FAILED in states else min(states)
    waits = and_(gateway_send.c.workspace_id == source.workspace_id, gateway_send.c.message_id == message_id)
    if rank == 0 or (rank != FAILED and tx.execute(select(gateway_send.c.id).where(waits)).first() is not None):
        return f"A part of message {message_id} is {STATES[max(states)]}."
    moments = [moment for state, moment, _ in found if state == rank and moment is not None]
    reason = next((reason for state, _, reason in found if state == rank and reason), None)
    report = DeliveryReport(REPORTS[STATES[rank]], message_id, max(moments, default=None), reason)
    record_delivery_reports(tx, source, [report])
    return f"Message {message_id} is {STATES[rank]}."


def _find_sources(tx: Transaction, workspace_id: int, channel_ids: Collection[int]) -> dict[int, Source]:
    rows = channel.c
    if not channel_ids:
        return {}
    mine = (rows.workspace_id == workspace_id) & rows.id.in_(sorted(channel_ids))
    found = tx.execute(select(rows.id, rows.uuid, rows.address, rows.country).where(mine))
    return {number: Source(number, uuid, workspace_id, address, country) for number, uuid, address, country in found}


def _key(external_id: str) -> str:
    """The id as it is stored: a longer one as its hash."""
    if len(external_id) <= KEY_LENGTH and "\x00" not in external_id:
        return external_id
    return hashlib.sha256(external_id.encode("utf-8", "replace")).hexdigest()
