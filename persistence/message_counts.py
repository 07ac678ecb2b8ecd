"""Counts new messages and the contacts from whom they came, by day (UTC)."""

from collections import Counter
from collections.abc import Collection
from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import select

from persistence.database import Transaction
from persistence.messages.states import INCOMING
from persistence.sql.columns import split
from persistence.tables.messages import message

DAY = timedelta(days=1)


def count_new_messages(tx: Transaction, workspace_id: int, ids: Collection[int]) -> Counter[tuple[str, date, int]]:
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
