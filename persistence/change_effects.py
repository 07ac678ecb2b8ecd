"""Writes what follows from changes at the end of a unit of work (`persistence.changes`)."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from sqlalchemy import Executable, delete, func, literal, select

from persistence.changes import ACTIVE, MESSAGE, Noted
from persistence.conversations.writes import (
    end_conversations,
    write_conversations,
)
from persistence.database import Transaction, upsert
from persistence.messages.states import INCOMING
from persistence.sql.due_work import beside_index, has_row
from persistence.statements import among, statement
from persistence.tables.changes import conversation, day_count
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from persistence.tables.stamps import record_stamp

DAY = timedelta(days=1)


def write_effects(tx: Transaction, workspace_id: int, noted: Noted) -> None:
    """Writes the conversations and the counts that depend on other messages; the workspace's clock is locked."""
    write_conversations(tx, workspace_id, noted.seen, noted.came)
    end_conversations(tx, workspace_id, sorted(noted.ended))
    new = sorted(each.id for each in noted.new_messages)
    for day, contact_ids in sorted(noted.heard().items()):
        begin = datetime.combine(day, time(), UTC)
        _count_active.run(tx, workspace_id, sorted(contact_ids), new, day, begin, begin + DAY)


@statement
def _count_active(
    workspace_id: int,
    contact_ids: Sequence[int],
    new: Sequence[int],
    day: date,
    begin: datetime,
    until: datetime,
    *,
    is_sqlite: bool = False,
) -> Executable:
    """Counts those of some contacts from whom no other message came on a day."""
    rows = message.c
    theirs = (beside_index(rows.workspace_id) == workspace_id) & (rows.contact_id == contact.c.id)
    that_day = (rows.created_on >= begin) & (rows.created_on < until)
    other = select(rows.id).where(theirs, rows.direction == INCOMING, that_day, ~among(rows.id, new))
    others = has_row(other.correlate(contact).order_by(rows.created_on))
    mine = (beside_index(contact.c.workspace_id) == workspace_id) & among(contact.c.id, contact_ids)
    number = func.count().label("number")
    subject: list[Any] = [workspace_id, literal(ACTIVE), day, literal(0), number]
    counted = select(*subject).select_from(contact).where(mine, ~others).having(func.count() > 0)
    adding = upsert(day_count, is_sqlite=is_sqlite)
    adding = adding.from_select(["workspace_id", "kind", "day", "subject", "number"], counted)
    added = {"number": day_count.c.number + adding.excluded.number}
    return adding.on_conflict_do_update(index_elements=["workspace_id", "kind", "day", "subject"], set_=added)


def forget_messages(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> None:
    """Deletes what is kept about messages that are deleted. A conversation ends with its last message."""
    stamps, rows = record_stamp.c, conversation.c
    of_them = (stamps.workspace_id == workspace_id) & (stamps.kind == MESSAGE) & stamps.record.in_(ids)
    tx.execute(delete(record_stamp).where(of_them))
    mine = (message.c.workspace_id == workspace_id) & message.c.id.in_(ids)
    theirs = (rows.workspace_id == workspace_id) & rows.contact_id.in_(select(message.c.contact_id).where(mine))
    tx.execute(delete(conversation).where(theirs, rows.message_id.in_(ids)))
