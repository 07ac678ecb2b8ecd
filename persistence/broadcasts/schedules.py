"""Begins broadcasts whose time has come. One that repeats makes another broadcast each time, in the transaction that
moves its time on: a worker that dies leaves neither, and two workers never make the same one.
"""

from typing import Any

from sqlalchemy import Row, select

from persistence.broadcasts.records import (
    COMPLETED,
    QUEUED,
    WAITS,
    NewBroadcast,
    When,
    create_broadcast,
    find_following,
)
from persistence.changes import note_changed
from persistence.contacts.audience import Audience
from persistence.database import Transaction
from persistence.messages.templated import TemplateWish
from persistence.statements import update
from persistence.tables.contacts import contact, group
from persistence.tables.messages import broadcast, broadcast_contact, broadcast_group
from persistence.workspaces.records import Workspace, find_workspace

BATCH = 1000


def begin_next(tx: Transaction, workspace_id: int) -> bool:
    """Begins the broadcasts of a workspace whose time has come; returns whether there may be more. They are created at
    this moment for those who list them, so the transaction does nothing else and ends soon: who asks for what was
    created since the last time misses none.
    """
    rows = broadcast.c
    theirs = rows.workspace_id == workspace_id
    due = select(broadcast).where(theirs, WAITS, rows.scheduled_on <= tx.now).order_by(rows.scheduled_on, rows.id)
    found = tx.execute(due.limit(BATCH).with_for_update(skip_locked=True)).all()
    ids = [row.id for row in found if row.repeat is None]
    if ids:
        begun = {"status": QUEUED, "created_on": tx.now, "modified_on": tx.now}
        tx.execute(update(broadcast).where(theirs, rows.id.in_(ids)).values(begun))
        note_changed(tx, broadcast, workspace_id, ids)
    repeating = [row for row in found if row.repeat is not None]
    workspace = find_workspace(tx, workspace_id) if repeating else None
    for row in repeating:
        assert workspace is not None, "its broadcasts are there"
        _begin_another(tx, workspace, row)
    return len(found) == BATCH


def _begin_another(tx: Transaction, workspace: Workspace, row: Row[Any]) -> None:
    """Makes the broadcast of one time, late for all that were missed, and moves on the one that repeats."""
    rows = broadcast.c
    wish = row.template and TemplateWish(
        row.template["uuid"], tuple(row.template["variables"]), name=row.template["name"]
    )
    new = NewBroadcast(
        text=row.text,
        base_language=row.base_language,
        audience=_load_audience(tx, workspace.id, row),
        attachments=row.attachments,
        files=row.files,
        quick_replies=row.quick_replies,
        channel_id=row.channel_id,
        is_evaluated=row.is_evaluated,
        when=When(row.scheduled_on),
        template=wish,
    )
    create_broadcast(tx, workspace.id, new, parent_id=row.id)
    repeated = row.repeated + 1
    following = None
    if row.repeat_times is None or repeated < row.repeat_times:
        following = find_following(workspace, When.of(row), row.scheduled_on, tx.now)
    values: dict[str, Any] = {"repeated": repeated, "modified_on": tx.now}
    values |= {"status": COMPLETED} if following is None else {"scheduled_on": following}
    tx.execute(update(broadcast).where(rows.workspace_id == workspace.id, rows.id == row.id).values(values))
    note_changed(tx, broadcast, workspace.id, [row.id])


def _load_audience(tx: Transaction, workspace_id: int, row: Row[Any]) -> Audience:
    """Whom a broadcast names; they are locked against deletion."""
    links, named = broadcast_group.c, broadcast_contact.c
    of_groups = select(group.c.id, links.is_excluded).join(broadcast_group, links.group_id == group.c.id)
    mine = (group.c.workspace_id == workspace_id) & (links.broadcast_id == row.id)
    groups = tx.execute(of_groups.where(mine).order_by(group.c.id).with_for_update(read=True, of=group)).all()
    of_contacts = select(contact.c.id, named.is_named).join(broadcast_contact, named.contact_id == contact.c.id)
    there = (contact.c.workspace_id == workspace_id) & (named.broadcast_id == row.id) & ~contact.c.is_deleted
    contacts = tx.execute(of_contacts.where(there).order_by(contact.c.id).with_for_update(read=True, of=contact)).all()
    return Audience(
        contact_ids=[contact_id for contact_id, is_named in contacts if is_named],
        group_ids=[group_id for group_id, is_excluded in groups if not is_excluded],
        urns=row.urns,
        address_ids=[contact_id for contact_id, is_named in contacts if not is_named],
        query=row.query,
        excluded_group_ids=[group_id for group_id, is_excluded in groups if is_excluded],
    )
