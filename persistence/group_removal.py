"""Deleting groups that nothing depends on."""

from sqlalchemy import Select, select

from persistence.campaigns import campaign
from persistence.database import Transaction
from persistence.errors import Refused
from persistence.groups import delete_group, group
from persistence.triggers import trigger, trigger_group


def remove_group(tx: Transaction, workspace_id: int, uuid: str) -> None:
    """Delete a group; archived triggers and campaigns lose it.

    Raises RecordMissing, SystemRecord, and Refused while a trigger or campaign that is not archived uses the group.
    """
    mine = select(group.c.id).where(group.c.workspace_id == workspace_id, group.c.uuid == uuid)
    # New users of the group wait for the end of this, or this for theirs.
    tx.execute(mine.with_for_update())
    if any(tx.execute(using.limit(1)).first() is not None for using in _uses(mine)):
        raise Refused("Active triggers or campaigns still use this group.")
    tx.execute(trigger_group.delete().where(trigger_group.c.group_id.in_(mine)))
    delete_group(tx, workspace_id, uuid)


def _uses(groups: Select[tuple[int]]) -> tuple[Select[tuple[int]], Select[tuple[int]]]:
    """The campaigns and triggers at work that use one of these groups."""
    campaigns = select(campaign.c.id).where(campaign.c.group_id.in_(groups), ~campaign.c.is_archived)
    triggers = (
        select(trigger.c.id)
        .join(trigger_group, trigger_group.c.trigger_id == trigger.c.id)
        .where(trigger_group.c.group_id.in_(groups), ~trigger.c.is_archived)
    )
    return campaigns, triggers
