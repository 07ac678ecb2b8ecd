"""Contact groups (manual ones, smart ones with a query, and the system's own) and their members."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, select

from persistence.campaigns.fires import schedule_contacts, unschedule_contacts
from persistence.changes import change_contacts, note_changed
from persistence.database import Transaction
from persistence.deletions import GROUP, note_deleted
from persistence.errors import InUse, InvalidInput, LostRace, nothing_found
from persistence.leases import beside_index
from persistence.lists import ListSpec, NewRecord, contains, equals, insert_new, named, one_of
from persistence.pages import Order
from persistence.records import Record
from persistence.sql.names import (
    check_new,
    find_all_called,
    find_rows_called,
    name_key,
    rename_record,
    require_editable,
)
from persistence.stamps import touch
from persistence.statements import update
from persistence.tables.campaigns import campaign, trigger_group
from persistence.tables.contacts import INITIALIZING, contact, group, group_membership
from persistence.tables.flows import flow_start, flow_start_group
from persistence.tables.messages import broadcast, broadcast_group
from persistence.usages import CAMPAIGN, TRIGGER, list_usages, tell_living
from persistence.workspaces.records import hold_workspace

OPEN_TICKETS = "Open Tickets"
FROM_BEGINNING: dict[str, Any] = {"evaluated_after_id": 0, "attempts": 0, "error": None}

GROUPS_V1 = ListSpec(
    group,
    Record({"group": group.c.id, "uuid": group.c.uuid, "name": group.c.name, "size": group.c.member_count}),
    Order(group.c.created_on, group.c.id),
    filters={"uuid": one_of(group.c.uuid), "name": contains(group.c.name_key)},
)

GROUP_RECORD = Record(
    {
        "uuid": group.c.uuid,
        "name": group.c.name,
        "query": group.c.query,
        "status": group.c.status,
        "system": group.c.is_system,
        "count": group.c.member_count,
        "error": group.c.error,
    }
)
SMART = "Members of a smart group cannot be changed."

GROUPS = ListSpec(
    group,
    GROUP_RECORD,
    Order(group.c.created_on, group.c.id),
    filters={"uuid": equals(group.c.uuid), "name": named(group)},
)


def create_system_groups(tx: Transaction, workspace_id: int) -> None:
    """Create the groups that every workspace has."""
    values = {"name": OPEN_TICKETS, "name_key": name_key(OPEN_TICKETS), "query": "tickets > 0"}
    tx.insert(group, workspace_id=workspace_id, is_system=True, created_on=tx.now, modified_on=tx.now, **values)


def new_group(tx: Transaction, workspace_id: int, name: str) -> NewRecord:
    """A manual group to be inserted. Raises InvalidInput for a bad or taken name, LimitReached at the workspace's
    limit."""
    hold_workspace(tx, workspace_id)
    naming = check_new(tx, workspace_id, group, name, counted=~group.c.is_system)
    return NewRecord(group, {"workspace_id": workspace_id, "created_on": tx.now, "modified_on": tx.now, **naming})


def create_group(tx: Transaction, workspace_id: int, name: str) -> int:
    """Create a manual group; returns its id. Raises what `new_group` raises."""
    return insert_new(tx, new_group(tx, workspace_id, name))


def renew_groups(tx: Transaction, workspace_id: int, *which: ColumnElement[bool]) -> None:
    """Lets a worker find the members of smart groups again: of all, or of those that meet conditions. Waits for
    transactions that use the old members."""
    stale = and_(group.c.workspace_id == workspace_id, group.c.query.is_not(None), *which)
    tx.execute(select(group.c.id).where(stale).order_by(group.c.id).with_for_update())
    tx.execute(update(group).where(stale).values(status=INITIALIZING, evaluated_until=None, **FROM_BEGINNING))
    tx.wake("groups")


def find_manual_groups(tx: Transaction, workspace_id: int, references: Sequence[str], *, field: str) -> list[int]:
    """The ids of groups given by UUID or name (in any case). Raises InvalidInput for unknown groups and smart
    groups."""
    found: list[int] = []
    for row in find_all_called(tx, workspace_id, group, references, field, (group.c.query, group.c.is_system)):
        if row.query is not None or row.is_system:
            raise InvalidInput.on(field, SMART)
        found.append(row.id)
    return list(dict.fromkeys(found))


def find_joinable(tx: Transaction, workspace_id: int, references: Collection[str]) -> dict[str, int | str]:
    """The ids of groups given by UUID or name, by reference, or why contacts cannot join them."""
    rows = find_rows_called(tx, workspace_id, group, references, (group.c.query, group.c.is_system))
    found: dict[str, int | str] = {}
    for reference, row in rows.items():
        if row is None:
            found[reference] = nothing_found(reference)
        else:
            found[reference] = SMART if row.query is not None or row.is_system else row.id
    return found


def add_members(tx: Transaction, workspace_id: int, group_id: int, contact_ids: Sequence[int]) -> list[int]:
    """Add contacts to a group; returns those that were not in it."""
    if not contact_ids:
        return []
    rows = [
        {"workspace_id": workspace_id, "group_id": group_id, "contact_id": contact_id}
        for contact_id in sorted(set(contact_ids))
    ]
    statement = tx.upsert(group_membership).on_conflict_do_nothing()
    added = list(tx.execute(statement.returning(group_membership.c.contact_id), rows).scalars())
    _count(tx, workspace_id, group_id, len(added))
    change_contacts(tx, workspace_id, added)
    schedule_contacts(tx, workspace_id, added)
    return added


def remove_members(tx: Transaction, workspace_id: int, group_id: int, contact_ids: Sequence[int]) -> list[int]:
    """Remove contacts from a group; returns those that were in it."""
    rows = group_membership.c
    statement = delete(group_membership).where(rows.group_id == group_id, rows.contact_id.in_(contact_ids))
    removed = list(tx.execute(statement.returning(rows.contact_id)).scalars())
    _count(tx, workspace_id, group_id, -len(removed))
    change_contacts(tx, workspace_id, removed)
    unschedule_contacts(tx, workspace_id, removed, group_id=group_id)
    return removed


def leave_all_groups(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Remove contacts from all their groups, also smart groups."""
    rows = group_membership.c
    statement = delete(group_membership).where(rows.contact_id.in_(contact_ids))
    removed = tx.execute(statement.returning(rows.group_id, rows.contact_id)).all()
    change_contacts(tx, workspace_id, sorted({contact_id for _, contact_id in removed}))
    for group_id, left in sorted(Counter(group_id for group_id, _ in removed).items()):
        _count(tx, workspace_id, group_id, -left)
    unschedule_contacts(tx, workspace_id, contact_ids)


def set_manual_groups(tx: Transaction, workspace_id: int, contact_id: int, group_ids: Sequence[int]) -> bool:
    """Make these the contact's only manual groups; returns whether anything changed."""
    rows = group_membership.c
    statement = (
        select(rows.group_id)
        .join(group, group.c.id == rows.group_id)
        .where(rows.contact_id == contact_id, group.c.query.is_(None), ~group.c.is_system)
    )
    present = set(tx.execute(statement).scalars())
    for group_id in sorted(present ^ set(group_ids)):
        change = add_members if group_id in set(group_ids) else remove_members
        change(tx, workspace_id, group_id, [contact_id])
    return present != set(group_ids)


def hold_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> list[str]:
    """The statuses of these contacts, locked until this transaction ends. Raises LostRace if one was deleted since the
    caller found it.
    """
    rows = lock_contacts(tx, workspace_id, contact_ids, for_deletion=True)
    if any(is_deleted for _, is_deleted in rows):
        raise LostRace
    return [status for status, _ in rows]


def lock_contacts(
    tx: Transaction, workspace_id: int, contact_ids: Sequence[int] | Select[int], *, for_deletion: bool = False
) -> Sequence[tuple[str, bool]]:
    """The status of contacts and whether they are deleted, locked: all transactions lock them in the order of ids,
    before other rows. `for_deletion` also waits for transactions that add messages, runs or tickets of them, which are
    to be deleted or moved with the contact; for others, such rows may be added meanwhile.
    """
    mine = (beside_index(contact.c.workspace_id) == workspace_id) & contact.c.id.in_(contact_ids)
    columns = (contact.c.status, contact.c.is_deleted)
    locking = select(*columns).where(mine).order_by(contact.c.id).with_for_update(key_share=not for_deletion)
    return tx.execute(locking).all()


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
    group_id = require_editable(tx, workspace_id, group, uuid)
    if users := tell_living(list_usages(tx, workspace_id, "group", uuid), CAMPAIGN, TRIGGER):
        raise InUse(f"This group is used by {users}: change or archive them first.")
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


def _count(tx: Transaction, workspace_id: int, group_id: int, change: int) -> None:
    if change:
        mine = (group.c.workspace_id == workspace_id) & (group.c.id == group_id)
        tx.execute(update(group).where(mine).values(member_count=group.c.member_count + change))


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
