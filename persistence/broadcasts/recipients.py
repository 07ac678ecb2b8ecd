"""Who gets a broadcast: its audience, a batch at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from persistence.audience import Audience, count_contacts, pick_ids
from persistence.database import Transaction
from persistence.sessions.contacts import CONTACT_COLUMNS
from persistence.tables.contacts import contact
from persistence.tables.messages import broadcast_contact, broadcast_group
from persistence.workspaces import Workspace


@dataclass(frozen=True, slots=True)
class Recipients:
    """Some recipients: rows of contacts, the last id looked at (None: nobody was left), and whether that was the end.

    Contacts deleted this very moment are among those looked at and not among the rows.
    """

    rows: Sequence[Any]
    last_contact_id: int | None
    is_end: bool


def next_recipients(tx: Transaction, workspace: Workspace, broadcast: Any, size: int) -> Recipients:
    """Up to `size` recipients after `broadcast.last_contact_id`; they are held until the transaction ends.

    So nobody deletes them meanwhile. Raises QueryError for a query that is broken.
    """
    ids = pick_ids(tx, workspace, _audience(broadcast), broadcast.last_contact_id, size)
    columns = contact.c
    statement = (
        select(*CONTACT_COLUMNS)
        .where(columns.workspace_id == workspace.id, columns.id.in_(ids), ~columns.is_deleted)
        .order_by(columns.id)
        .with_for_update(read=True)
    )
    rows = tx.execute(statement).all() if ids else []
    return Recipients(rows, ids[-1] if ids else None, len(ids) < size)


def count_recipients(tx: Transaction, workspace: Workspace, broadcast: Any) -> int:
    """How many contacts the broadcast goes to as things are now. Raises QueryError."""
    return count_contacts(tx, workspace, _audience(broadcast))


def _audience(broadcast: Any) -> Audience:
    """The audience of a broadcast's row."""
    named, groups = broadcast_contact.c, broadcast_group.c
    return Audience(
        select(named.contact_id).where(named.broadcast_id == broadcast.id),
        select(groups.group_id).where(groups.broadcast_id == broadcast.id).order_by(groups.group_id),
        broadcast.query,
    )
