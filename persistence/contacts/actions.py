"""The actions on many contacts by their names in generation 2, for those that are named and for all that match."""

from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import select

from persistence.contacts.bulk import (
    Period,
    archive_messages_of,
    block_contacts,
    interrupt_contacts,
    join_group,
    leave_group,
    restore_messages_of,
    unblock_contacts,
)
from persistence.contacts.deletion import delete_contacts
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.groups.groups import find_manual_groups, hold_contacts
from persistence.messages.incoming import answer_again
from persistence.tables.contacts import contact

ADD = "add"
WITH_GROUP = {ADD: join_group, "remove": leave_group}
MOVING: Mapping[str, Callable[[Transaction, int, Sequence[int], Period | None], list[int]]] = {
    **dict.fromkeys(("archive_messages", "archive"), archive_messages_of),
    "restore_messages": restore_messages_of,
}
"""What can be limited to messages that changed within a period."""
LISTED = (*WITH_GROUP, *MOVING)
"""The actions that tell which contacts they changed."""
WITHOUT_GROUP: Mapping[str, Callable[[Transaction, int, Sequence[int]], None]] = {
    "block": block_contacts,
    "unblock": unblock_contacts,
    "interrupt": interrupt_contacts,
    "delete": delete_contacts,
    "answer_again": answer_again,
}


def find_group(tx: Transaction, workspace_id: int, action: str, group: str | None) -> int | None:
    """The id of the manual group that an action needs, None for one that takes none. Raises InvalidInput."""
    if action in WITH_GROUP:
        if not group:
            raise InvalidInput.across(f'The action "{action}" needs a group.')
        return find_manual_groups(tx, workspace_id, [group], field="group")[0]
    if group:
        raise InvalidInput.across(f'The action "{action}" takes no group.')
    return None


def check_choices(action: str, *, lists_changed: bool, has_time: bool) -> None:
    """Raises InvalidInput if an action is asked for what it cannot tell, or given a time that it does not need."""
    if lists_changed and action not in LISTED:
        raise InvalidInput.on("list_changed", f'The action "{action}" does not tell what it changed.')
    if has_time and action not in MOVING:
        raise InvalidInput.on("changed_after", f'The action "{action}" takes no time.')


def act(
    tx: Transaction,
    workspace_id: int,
    action: str,
    contact_ids: Sequence[int],
    group_id: int | None,
    changed: Period | None = None,
) -> list[int]:
    """Does an action, with the group that `find_group` has found for it. Returns the contacts that one of those which
    are `LISTED` has changed. Raises InvalidInput if one of the contacts does not allow it, and LostRace if one was
    deleted since the caller found it.
    """
    if group_id is not None:
        return WITH_GROUP[action](tx, workspace_id, contact_ids, group_id)
    hold_contacts(tx, workspace_id, contact_ids)
    if action in MOVING:
        return MOVING[action](tx, workspace_id, contact_ids, changed)
    WITHOUT_GROUP[action](tx, workspace_id, contact_ids)
    return []


def uuids_of(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> list[str]:
    """The UUIDs of contacts, in the order of their ids."""
    mine = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(contact_ids)
    return list(tx.execute(select(contact.c.uuid).where(mine).order_by(contact.c.id)).scalars())
