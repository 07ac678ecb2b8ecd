"""Writes what follows from changes at the end of a unit of work (`persistence.changes`)."""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, Table, bindparam, delete, select
from sqlalchemy.sql.dml import Insert

from persistence.changes import MESSAGE, Noted
from persistence.conversations.writes import refresh_conversations
from persistence.database import Transaction, upsert
from persistence.messages.states import INCOMING
from persistence.sql.columns import split
from persistence.tables.changes import conversation, day_count, flow_count
from persistence.tables.messages import message
from persistence.tables.stamps import record_stamp

DAY = timedelta(days=1)
ERRORS = "errors"


def write_effects(tx: Transaction, workspace_id: int, noted: Noted, moment: datetime) -> None:
    """Writes the time of the change, the conversations and the counts; the workspace's clock is locked."""
    new = _find_new(tx, workspace_id, noted.new_messages)
    ids = noted.ids.setdefault(MESSAGE, set())
    ids |= new
    for kind, changed in sorted(noted.ids.items()):
        _stamp(tx, workspace_id, kind, changed, moment)
    refresh_conversations(tx, workspace_id, noted.moved | new)
    counts = _count_new_messages(tx, workspace_id, new)
    counts.update({(ERRORS, tx.now.date(), channel_id): number for channel_id, number in noted.errors.items()})
    _add_days(tx, workspace_id, counts)
    _add_flows(tx, workspace_id, noted.flows)


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
        tx.execute(_adding(table, tuple(keys), tx.sqlite), rows)


@cache
def _adding(table: Table, keys: tuple[str, ...], is_sqlite: bool) -> Insert:
    statement = upsert(table, is_sqlite=is_sqlite)
    added = {"number": table.c.number + statement.excluded.number}
    return statement.on_conflict_do_update(index_elements=keys, set_=added)


_OWN = message.c.workspace_id == bindparam("owner")
_WANTED: BindParameter[Any] = bindparam("wanted", expanding=True)
_NEW = select(message.c.id).where(_OWN, message.c.uuid.in_(_WANTED))
_COUNTED = select(message.c.direction, message.c.channel_id, message.c.contact_id, message.c.created_on).where(
    _OWN, message.c.id.in_(_WANTED)
)


def _find_new(tx: Transaction, workspace_id: int, uuids: Collection[str]) -> set[int]:
    found: set[int] = set()
    for some in split(sorted(uuids)):
        found.update(tx.execute(_NEW, {"owner": workspace_id, "wanted": some}).scalars())
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
    of_them = (stamps.workspace_id == workspace_id) & (stamps.kind == MESSAGE) & stamps.record.in_(ids)
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
        for row in tx.execute(_COUNTED, {"owner": workspace_id, "wanted": some}):
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
