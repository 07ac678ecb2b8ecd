"""What follows from changes of messages, broadcasts and channels: the time of the change, by the clock of the workspace
(`persistence.stamps`), and the conversations of the messages' contacts. Both are written at the end of the unit of
work, while the workspace's clock is locked: a conversation therefore shows what is visible once this unit is committed,
whatever other units do meanwhile.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Table, delete, select
from sqlalchemy.sql.dml import Insert

from persistence.conversations.writes import refresh_conversations
from persistence.database import Transaction, upsert
from persistence.messages.states import INCOMING
from persistence.sql.columns import split
from persistence.stamps import Stamps
from persistence.tables.changes import conversation, day_count, flow_count
from persistence.tables.messages import message
from persistence.tables.stamps import record_stamp

DAY = timedelta(days=1)
ERRORS = "errors"


@dataclass(slots=True)
class _Noted:
    """Changed records of a workspace: ids by kind, new messages by UUID, the messages that change conversations, what
    runs did, by flow, kind, key and value, and failed attempts to send, by channel.
    """

    ids: dict[str, set[int]] = field(default_factory=dict)
    new_messages: set[str] = field(default_factory=set)
    moved: set[int] = field(default_factory=set)
    flows: Counter[tuple[int, str, str, str]] = field(default_factory=Counter)
    errors: Counter[int] = field(default_factory=Counter)


class Changes:
    """The changes of one unit of work."""

    is_last = True

    def __init__(self) -> None:
        self._noted: dict[int, _Noted] = {}

    def of(self, tx: Transaction, workspace_id: int) -> _Noted:
        tx.before_commit(Stamps).hold_clock(workspace_id)
        return self._noted.setdefault(workspace_id, _Noted())

    def flush(self, tx: Transaction) -> None:
        """Writes the times and the conversations, workspace by workspace in the order of ids."""
        noted, self._noted = self._noted, {}
        stamps = tx.before_commit(Stamps)
        if noted:
            stamps.flush(tx)
        for workspace_id, found in sorted(noted.items(), key=lambda item: item[0]):
            moment = stamps.moment(tx, workspace_id)
            new = _find_new(tx, workspace_id, found.new_messages)
            ids = found.ids.setdefault(message.name, set())
            ids |= new
            for kind, changed in sorted(found.ids.items()):
                _stamp(tx, workspace_id, kind, changed, moment)
            refresh_conversations(tx, workspace_id, found.moved | new)
            counts = _count_new_messages(tx, workspace_id, new)
            counts.update({(ERRORS, tx.now.date(), channel_id): number for channel_id, number in found.errors.items()})
            _add_days(tx, workspace_id, counts)
            _add_flows(tx, workspace_id, found.flows)


def note_changed(tx: Transaction, table: Table, workspace_id: int, ids: Iterable[int]) -> None:
    """Records of a table changed that are not listed by this time otherwise."""
    found = set(ids)
    if found:
        tx.before_commit(Changes).of(tx, workspace_id).ids.setdefault(table.name, set()).update(found)


def note_messages(tx: Transaction, workspace_id: int, ids: Iterable[int]) -> None:
    """These messages changed their status or visibility, so that their conversations may look different."""
    found = set(ids)
    note_changed(tx, message, workspace_id, found)
    if found:
        tx.before_commit(Changes).of(tx, workspace_id).moved.update(found)


def note_new_messages(tx: Transaction, workspace_id: int, uuids: Iterable[str]) -> None:
    """Messages with these UUIDs were stored."""
    found = set(uuids)
    if found:
        tx.before_commit(Changes).of(tx, workspace_id).new_messages.update(found)


def note_passes(tx: Transaction, workspace_id: int, passes: Counter[tuple[int, str, str, str]]) -> None:
    """What runs did: (flow, `exit`, UUID of the exit, "") or (flow, `result`, key, category), and how often."""
    if passes:
        tx.before_commit(Changes).of(tx, workspace_id).flows.update(passes)


def note_errors(tx: Transaction, workspace_id: int, channel_id: int, number: int) -> None:
    """So many attempts to send messages by a channel failed."""
    if number:
        tx.before_commit(Changes).of(tx, workspace_id).errors[channel_id] += number


def _add_days(tx: Transaction, workspace_id: int, counts: Counter[tuple[str, date, int]]) -> None:
    rows = [
        {"workspace_id": workspace_id, "kind": kind, "day": day, "subject": subject, "number": number}
        for (kind, day, subject), number in sorted(counts.items())
    ]
    _add_up(tx, day_count, ["workspace_id", "kind", "day", "subject"], rows)


def _add_flows(tx: Transaction, workspace_id: int, counts: Counter[tuple[int, str, str, str]]) -> None:
    shared = {"workspace_id": workspace_id, "day": tx.now.date()}
    rows = [
        {**shared, "flow_id": flow_id, "kind": kind, "key": key[:64], "value": value[:64], "number": number}
        for (flow_id, kind, key, value), number in sorted(counts.items())
    ]
    _add_up(tx, flow_count, ["workspace_id", "flow_id", "kind", "day", "key", "value"], rows)


def _add_up(tx: Transaction, table: Table, keys: list[str], rows: list[dict[str, Any]]) -> None:
    """Adds to counts; the workspace's clock is locked, so no other unit adds to them meanwhile."""
    if rows:
        statement = tx.upsert(table)
        added = {"number": table.c.number + statement.excluded.number}
        tx.execute(statement.on_conflict_do_update(index_elements=keys, set_=added), rows)


def _find_new(tx: Transaction, workspace_id: int, uuids: Collection[str]) -> set[int]:
    found: set[int] = set()
    for some in split(sorted(uuids)):
        mine = (message.c.workspace_id == workspace_id) & message.c.uuid.in_(some)
        found.update(tx.execute(select(message.c.id).where(mine)).scalars())
    return found


def _stamp(tx: Transaction, workspace_id: int, kind: str, ids: Collection[int], moment: datetime) -> None:
    if not ids:
        return
    rows: list[dict[str, Any]] = [
        {"workspace_id": workspace_id, "kind": kind, "record": record, "stamped_on": moment} for record in sorted(ids)
    ]
    tx.execute(_stamping(tx.sqlite), rows)


@cache
def _stamping(is_sqlite: bool) -> Insert:
    statement = upsert(record_stamp, is_sqlite=is_sqlite)
    keys = ["workspace_id", "kind", "record"]
    return statement.on_conflict_do_update(index_elements=keys, set_={"stamped_on": statement.excluded.stamped_on})


def forget_messages(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> None:
    """Deletes what is kept about messages that are deleted. A conversation ends with its last message."""
    stamps, rows = record_stamp.c, conversation.c
    of_them = (stamps.workspace_id == workspace_id) & (stamps.kind == message.name) & stamps.record.in_(ids)
    tx.execute(delete(record_stamp).where(of_them))
    mine = (message.c.workspace_id == workspace_id) & message.c.id.in_(ids)
    theirs = (rows.workspace_id == workspace_id) & rows.contact_id.in_(select(message.c.contact_id).where(mine))
    tx.execute(delete(conversation).where(theirs, rows.message_id.in_(ids)))


def _count_new_messages(tx: Transaction, workspace_id: int, ids: Collection[int]) -> Counter[tuple[str, date, int]]:
    """The number of these messages by kind (`came`, `went`), day and channel (0: none), and of contacts (`active`) from
    whom no other message came on that day. The workspace's clock is locked.
    """
    counts: Counter[tuple[str, date, int]] = Counter()
    heard: dict[date, set[int]] = {}
    rows = message.c
    for some in split(sorted(ids)):
        mine = (rows.workspace_id == workspace_id) & rows.id.in_(some)
        for row in tx.execute(select(rows.direction, rows.channel_id, rows.contact_id, rows.created_on).where(mine)):
            day = row.created_on.date()
            is_incoming = row.direction == INCOMING
            counts["came" if is_incoming else "went", day, row.channel_id or 0] += 1
            if is_incoming:
                heard.setdefault(day, set()).add(row.contact_id)
    for day, contact_ids in sorted(heard.items()):
        begin = datetime.combine(day, time(), UTC)
        earlier: set[int] = set()
        for some in split(sorted(contact_ids)):
            theirs = (rows.workspace_id == workspace_id) & rows.contact_id.in_(some) & (rows.direction == INCOMING)
            that_day = (rows.created_on >= begin) & (rows.created_on < begin + DAY)
            found = select(rows.contact_id, rows.id).where(theirs, that_day)
            earlier |= {contact_id for contact_id, message_id in tx.execute(found) if message_id not in ids}
        if contact_ids - earlier:
            counts["active", day, 0] += len(contact_ids - earlier)
    return counts
