"""Deleting groups that nothing depends on."""

from sqlalchemy import select

from persistence.campaigns import campaign
from persistence.database import Transaction
from persistence.errors import Refused
from persistence.groups import delete_group, group


def remove_group(tx: Transaction, workspace_id: int, uuid: str) -> None:
    """Delete a group. Raises RecordMissing, SystemRecord, and Refused while a campaign that is not archived uses it."""
    using = (
        select(campaign.c.id)
        .join(group, group.c.id == campaign.c.group_id)
        .where(group.c.workspace_id == workspace_id, group.c.uuid == uuid, ~campaign.c.is_archived)
    )
    if tx.execute(using.limit(1)).first() is not None:
        raise Refused("Active triggers or campaigns still use this group.")
    delete_group(tx, workspace_id, uuid)
