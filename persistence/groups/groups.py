"""Contact groups: manual ones, smart ones with a query, and the system's own."""

from sqlalchemy import Select, delete, select, update

from persistence.database import Transaction
from persistence.errors import LostRace, Refused
from persistence.lists import ListSpec, contains, equals, named, one_of
from persistence.sql.json_sql import declare_record
from persistence.sql.names import check_room, free_name, name_key, require_editable
from persistence.sql.pages import Order
from persistence.stamps import stamped
from persistence.tables.campaigns import campaign
from persistence.tables.contacts import contact, group, group_membership
from persistence.tables.triggers import trigger, trigger_group
from persistence.workspaces import hold_workspace

OPEN_TICKETS = "Open Tickets"

GROUP_RECORD = declare_record(
    {
        "uuid": group.c.uuid,
        "name": group.c.name,
        "query": group.c.query,
        "status": group.c.status,
        "system": group.c.is_system,
        "count": group.c.member_count,
    }
)

GROUPS = ListSpec(
    group,
    GROUP_RECORD,
    Order(group.c.created_on, group.c.id),
    filters={"uuid": equals(group.c.uuid), "name": named(group)},
)
GROUPS_V1 = ListSpec(
    group,
    declare_record({"group": group.c.id, "uuid": group.c.uuid, "name": group.c.name, "size": group.c.member_count}),
    Order(group.c.created_on, group.c.id),
    filters={"uuid": one_of(group.c.uuid), "name": contains(group.c.name_key)},
)


def create_system_groups(tx: Transaction, workspace_id: int) -> None:
    """The groups every workspace has from its beginning."""
    values = {"name": OPEN_TICKETS, "name_key": name_key(OPEN_TICKETS), "query": "tickets > 0"}
    tx.insert(group, workspace_id=workspace_id, is_system=True, created_on=tx.now, modified_on=tx.now, **values)


def create_group(tx: Transaction, workspace_id: int, name: str) -> int:
    """A new manual group; returns its id. Raises InvalidInput for a bad or taken name, LimitReached when full."""
    hold_workspace(tx, workspace_id)
    naming = free_name(tx, workspace_id, group, name)
    check_room(tx, workspace_id, group, ~group.c.is_system)
    return tx.insert(group, workspace_id=workspace_id, created_on=tx.now, modified_on=tx.now, **naming)


def rename_group(tx: Transaction, workspace_id: int, uuid: str, name: str) -> int:
    """Rename a group; returns its id. Raises RecordMissing, SystemRecord or InvalidInput."""
    hold_workspace(tx, workspace_id)
    group_id = require_editable(tx, workspace_id, group, uuid)
    naming = free_name(tx, workspace_id, group, name, besides_id=group_id)
    mine = (group.c.workspace_id == workspace_id) & (group.c.id == group_id)
    if tx.execute(select(group.c.name).where(mine)).scalar_one() != naming["name"]:
        _touch_members(tx, workspace_id, group_id)
    tx.execute(update(group).where(mine).values(modified_on=tx.now, **naming))
    return group_id


def delete_group(tx: Transaction, workspace_id: int, uuid: str) -> None:
    """Delete a group; archived triggers and campaigns lose it.

    Raises RecordMissing, SystemRecord, and Refused while a trigger or campaign that is not archived uses the group.
    """
    hold_workspace(tx, workspace_id)
    mine = select(group.c.id).where(group.c.workspace_id == workspace_id, group.c.uuid == uuid)
    if any(tx.execute(using.limit(1)).first() is not None for using in _uses(mine)):
        raise Refused("Active triggers or campaigns still use this group.")
    group_id = require_editable(tx, workspace_id, group, uuid)
    _touch_members(tx, workspace_id, group_id)
    # Waits for transactions that add members; later ones find the group gone.
    tx.execute(select(group.c.id).where(group.c.id == group_id).with_for_update())
    rows = group_membership.c
    latecomers = select(rows.contact_id).join(contact, contact.c.id == rows.contact_id).where(rows.group_id == group_id)
    if tx.execute(latecomers.where(contact.c.modified_on != stamped(tx, contact, workspace_id)).limit(1)).first():
        raise LostRace
    tx.execute(delete(group_membership).where(rows.group_id == group_id))
    tx.execute(trigger_group.delete().where(trigger_group.c.group_id == group_id))
    tx.execute(delete(group).where(group.c.workspace_id == workspace_id, group.c.id == group_id))


def _touch_members(tx: Transaction, workspace_id: int, group_id: int) -> None:
    """Notes that the members' records change now. Contacts are locked before groups, in the order of ids."""
    members = select(group_membership.c.contact_id).where(group_membership.c.group_id == group_id)
    theirs = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(members)
    held = select(contact.c.id).where(theirs).order_by(contact.c.id).with_for_update(key_share=True)
    moment = stamped(tx, contact, workspace_id)
    tx.execute(update(contact).where(contact.c.id.in_(held)).values(modified_on=moment))


def _uses(groups: Select[int]) -> tuple[Select[int], Select[int]]:
    """The campaigns and triggers at work that use one of these groups."""
    campaigns = select(campaign.c.id).where(campaign.c.group_id.in_(groups), ~campaign.c.is_archived)
    triggers = (
        select(trigger.c.id)
        .join(trigger_group, trigger_group.c.trigger_id == trigger.c.id)
        .where(trigger_group.c.group_id.in_(groups), ~trigger.c.is_archived)
    )
    return campaigns, triggers
