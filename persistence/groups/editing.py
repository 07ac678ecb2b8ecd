"""Renaming and deleting groups, which much else shows."""

from collections.abc import Iterator, Sequence

from sqlalchemy import Select, delete, select, update

from persistence.changes import note_changed
from persistence.database import Transaction
from persistence.deletions import GROUP, note_deleted
from persistence.errors import InUse
from persistence.groups.groups import renew_groups
from persistence.sql.names import name_some, rename_record, require_editable
from persistence.stamps import touch
from persistence.tables.campaigns import campaign
from persistence.tables.contacts import contact, group, group_membership
from persistence.tables.flow_starts import flow_start, flow_start_group
from persistence.tables.flows import flow
from persistence.tables.messages import broadcast, broadcast_group
from persistence.tables.triggers import trigger, trigger_group
from persistence.workspaces import hold_workspace


def rename_group(tx: Transaction, workspace_id: int, uuid: str, name: str) -> int:
    """Rename a group; returns its id. One whose members could not be found is evaluated anew. Raises RecordMissing,
    SystemRecord or InvalidInput.
    """
    hold_workspace(tx, workspace_id)
    group_id = require_editable(tx, workspace_id, group, uuid)
    renew_groups(tx, workspace_id, group.c.id == group_id, group.c.error.is_not(None))
    return rename_record(tx, workspace_id, group, group_id, name, modified_on=tx.now)


def delete_group(tx: Transaction, workspace_id: int, uuid: str) -> None:
    """Delete a group and remove it from archived triggers and campaigns. Raises RecordMissing, SystemRecord, and
    InUse while a trigger or campaign that is not archived uses the group.
    """
    hold_workspace(tx, workspace_id)
    mine = select(group.c.id).where(group.c.workspace_id == workspace_id, group.c.uuid == uuid)
    users = list(_list_users(tx, mine))
    if users:
        raise InUse(f"This group is used by {name_some(users)}: change or archive them first.")
    group_id = require_editable(tx, workspace_id, group, uuid)
    _touch_users(tx, workspace_id, group_id)
    # Waits for transactions that add members; later ones find the group deleted.
    tx.execute(select(group.c.id).where(group.c.id == group_id).with_for_update())
    note_changed(tx, broadcast, workspace_id, _broadcasts_to(tx, workspace_id, group_id))
    tx.flush()
    tx.execute(delete(group_membership).where(group_membership.c.group_id == group_id))
    using = (campaign.c.workspace_id == workspace_id) & (campaign.c.group_id == group_id)
    tx.execute(update(campaign).where(using).values(group_id=None))
    tx.execute(trigger_group.delete().where(trigger_group.c.group_id == group_id))
    tx.execute(delete(group).where(group.c.workspace_id == workspace_id, group.c.id == group_id))
    note_deleted(tx, workspace_id, GROUP, [uuid])


def _broadcasts_to(tx: Transaction, workspace_id: int, group_id: int) -> Sequence[int]:
    """The broadcasts that show a group."""
    links = broadcast_group.c
    mine = (links.workspace_id == workspace_id) & (links.group_id == group_id) & ~links.is_excluded
    return tx.execute(select(links.broadcast_id).where(mine)).scalars().all()


def _touch_users(tx: Transaction, workspace_id: int, group_id: int) -> None:
    """Updates `modified_on` of members and of the starts that show the group."""
    members = select(group_membership.c.contact_id).where(group_membership.c.group_id == group_id)
    touch(tx, contact, workspace_id, contact.c.id.in_(members))
    named = (flow_start_group.c.group_id == group_id) & ~flow_start_group.c.is_excluded
    touch(tx, flow_start, workspace_id, flow_start.c.id.in_(select(flow_start_group.c.start_id).where(named)))


def _list_users(tx: Transaction, groups: Select[int]) -> Iterator[str]:
    """The active campaigns and triggers that use one of these groups, as sentences name them."""
    campaigns = select(campaign.c.name).where(campaign.c.group_id.in_(groups), ~campaign.c.is_archived)
    for name in tx.execute(campaigns.order_by(campaign.c.name)).scalars():
        yield f'the campaign "{name}"'
    using = select(trigger_group.c.trigger_id).where(trigger_group.c.group_id.in_(groups))
    shown = select(trigger.c.type, trigger.c.keywords, flow.c.name).join(flow, flow.c.id == trigger.c.flow_id)
    for kind, keywords, name in tx.execute(shown.where(trigger.c.id.in_(using), ~trigger.c.is_archived)):
        word = f' "{keywords[0]}"' if keywords else ""
        yield f'the {kind} trigger{word} of the flow "{name}"'
