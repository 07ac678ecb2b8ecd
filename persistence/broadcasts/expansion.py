"""From a broadcast to its messages: a batch of contacts at a time, each contact once.

A batch and the note of how far the broadcast is are one transaction under the lock of the broadcast's row: a worker
that dies leaves neither, and two workers never make messages of the same broadcast.
"""

import logging
from typing import Any

from sqlalchemy import select, update

from flows.queries import QueryError
from persistence.broadcasts.personal_texts import Wording, Writer
from persistence.broadcasts.recipients import count_recipients, next_recipients
from persistence.broadcasts.v2 import COMPLETED, FAILED, PENDING, QUEUED, STARTED
from persistence.database import Transaction
from persistence.messages.outgoing import add_outgoing
from persistence.tables.messages import broadcast
from persistence.workspaces import find_workspace

logger = logging.getLogger("relayboard.worker")

BATCH = 1000


def expand_next(tx: Transaction) -> bool:
    """Make the next batch of messages of the broadcast that has waited longest; whether there may be more to do."""
    tx.execute(update(broadcast).where(broadcast.c.status == PENDING).values(status=QUEUED))
    due = (
        select(broadcast)
        .where(broadcast.c.status.in_((QUEUED, STARTED)))
        .order_by(broadcast.c.modified_on, broadcast.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    row = tx.execute(due).first()
    workspace = None if row is None else find_workspace(tx, row.workspace_id)
    if row is None or workspace is None:
        return False
    mine = (broadcast.c.workspace_id == workspace.id) & (broadcast.c.id == row.id)
    try:
        found = next_recipients(tx, workspace, row, BATCH)
        total = count_recipients(tx, workspace, row) if row.status == QUEUED else row.total
    except QueryError as error:
        tx.execute(update(broadcast).where(mine).values(status=FAILED, modified_on=tx.now))
        logger.warning("Broadcast %s failed: its query cannot be used: %s", row.uuid, error.message)
        return True
    wording = Wording(row.text, row.base_language, row.files, row.quick_replies, row.id, row.is_evaluated)
    texts = Writer(tx, workspace, wording, found.rows)
    has_channel = row.channel_id is not None
    made = add_outgoing(tx, workspace.id, texts.write(), channel_id=row.channel_id, leaves_out_unreachable=has_channel)
    started = row.started + len(made)
    change: dict[str, Any] = {"status": STARTED, "modified_on": tx.now, "started": started, "total": total}
    if found.last_contact_id is not None:
        change["last_contact_id"] = found.last_contact_id
    if found.is_end:
        change |= {"status": COMPLETED, "total": started}
    tx.execute(update(broadcast).where(mine, broadcast.c.status == row.status).values(**change))
    return True
