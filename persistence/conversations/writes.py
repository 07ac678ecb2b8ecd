"""Keeps the conversations of contacts up to date, and marks them as read."""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Delete,
    Integer,
    Select,
    bindparam,
    case,
    delete,
    func,
    literal,
    select,
)
from sqlalchemy.sql.dml import Insert

from persistence.database import Transaction, upsert
from persistence.messages.states import INCOMING
from persistence.sql.columns import split
from persistence.sql.index_choice import beside_index
from persistence.stamps import Stamps
from persistence.tables.changes import conversation
from persistence.tables.contacts import contact
from persistence.tables.messages import DELETED, message

INBOX = "inbox"
COUNTED = 100
"""Unread messages are counted among so many last messages of a contact."""

Id = int | BindParameter[int]
OWNER: BindParameter[int] = bindparam("owner", type_=Integer)
THEIRS: BindParameter[Any] = bindparam("theirs", expanding=True)
"""The workspace and its contacts, in statements that are built only once: each message that is stored runs them."""


def refresh_conversations(tx: Transaction, workspace_id: int, message_ids: Collection[int]) -> None:
    """Writes the conversations of the contacts of these messages; a constant number of statements for a thousand. The
    workspace's clock is locked.
    """
    for some in split(sorted(message_ids)):
        found = tx.execute(_asking(), {"owner": workspace_id, "wanted": some}).all()
        heard = sorted(row.contact_id for row in found if row.came)
        _write(tx, workspace_id, sorted(row.contact_id for row in found), heard)


def mark_read(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Nothing in these conversations is unread any more, up to the newest message that is visible now."""
    tx.before_commit(Stamps).hold_clock(workspace_id)
    tx.flush()
    rows = conversation.c
    newest = _newest(workspace_id, func.max(message.c.id), rows.contact_id)
    mine = (rows.workspace_id == workspace_id) & rows.contact_id.in_(contact_ids)
    values: dict[str, Any] = {"read_id": func.coalesce(newest, rows.read_id), "unread_count": 0, "is_unread": False}
    tx.execute(conversation.update().where(mine).values(**values))


def _write(tx: Transaction, workspace_id: int, contact_ids: Sequence[int], heard: Sequence[int]) -> None:
    for theirs, is_counted in ((heard, True), (sorted(set(contact_ids).difference(heard)), False)):
        if theirs:
            tx.execute(_storing(tx.sqlite, is_counted), {"owner": workspace_id, "theirs": theirs})
    tx.execute(_ending(), {"owner": workspace_id, "theirs": contact_ids})


@cache
def _asking() -> Select[int, int]:
    """The contacts of messages, and whether one of their messages came in."""
    came = func.max(case((message.c.direction == INCOMING, 1), else_=0)).label("came")
    mine = (message.c.workspace_id == OWNER) & message.c.id.in_(bindparam("wanted", expanding=True))
    return select(message.c.contact_id, came).where(mine).group_by(message.c.contact_id)


@cache
def _storing(is_sqlite: bool, is_counted: bool) -> Insert:
    """Each row changes once: a second change would make PostgreSQL lock its contact, in the wrong order."""
    last, known = message.alias("last"), conversation.alias("known")
    chosen = _newest(OWNER, message.c.id, contact.c.id, ordered=True)
    columns = (contact.c.workspace_id, contact.c.id, last.c.id, last.c.created_on, last.c.folder)
    read = func.coalesce(known.c.read_id, 0)
    unread = count_unread(OWNER, contact.c.id, read) if is_counted else literal(0)
    theirs = (contact.c.workspace_id == OWNER) & contact.c.id.in_(THEIRS) & ~contact.c.is_deleted
    mine = (known.c.workspace_id == contact.c.workspace_id) & (known.c.contact_id == contact.c.id)
    reading = (
        select(*columns, unread.label("unread_count"), (unread > 0).label("is_unread"), read.label("read_id"))
        .select_from(contact.join(last, (last.c.workspace_id == contact.c.workspace_id) & (last.c.id == chosen)))
        .outerjoin(known, mine)
        .where(theirs)
        .order_by(contact.c.id)
    )
    names = ["workspace_id", "contact_id", "message_id", "last_on", "folder", "unread_count", "is_unread", "read_id"]
    statement = upsert(conversation, is_sqlite=is_sqlite).from_select(names, reading)
    changed = names[2:7] if is_counted else names[2:5]
    return statement.on_conflict_do_update(
        index_elements=["workspace_id", "contact_id"], set_={name: statement.excluded[name] for name in changed}
    )


@cache
def _ending() -> Delete:
    """Contacts whose last message was deleted keep no conversation."""
    rows = conversation.c
    is_there = _newest(OWNER, message.c.id, rows.contact_id, ordered=True)
    return delete(conversation).where(rows.workspace_id == OWNER, rows.contact_id.in_(THEIRS), is_there.is_(None))


def _newest(
    workspace_id: Id, shown: ColumnElement[Any], contact_id: ColumnElement[Any], *, ordered: bool = False
) -> ColumnElement[Any]:
    """A value of the newest message of a contact that is not deleted."""
    theirs = (beside_index(message.c.workspace_id) == workspace_id) & (message.c.contact_id == contact_id)
    found: Select[Any] = select(shown).where(theirs, message.c.visibility != DELETED)
    if ordered:
        found = found.order_by(message.c.created_on.desc(), message.c.id.desc()).limit(1)
    return found.correlate_except(message).scalar_subquery()


def count_unread(workspace_id: Id, contact_id: ColumnElement[Any], read_id: ColumnElement[Any]) -> ColumnElement[int]:
    """How many of the last messages of a contact are in the inbox and come after the message `read_id`."""
    theirs = (beside_index(message.c.workspace_id) == workspace_id) & (message.c.contact_id == contact_id)
    newest = select(message.c.id, message.c.folder).where(theirs)
    newest = newest.order_by(message.c.created_on.desc(), message.c.id.desc()).limit(COUNTED)
    last = newest.correlate_except(message).subquery("last")
    unread = select(func.count()).select_from(last).where(last.c.folder == INBOX, last.c.id > read_id)
    return unread.correlate_except(last).scalar_subquery()
