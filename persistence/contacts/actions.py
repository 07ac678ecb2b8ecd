"""The actions on many contacts by their names in generation 2, for those that are named and for all that match."""

from collections.abc import Sequence

from persistence.contacts.bulk import (
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

ADD = "add"
WITH_GROUP = {ADD: join_group, "remove": leave_group}
WITHOUT_GROUP = {
    "block": block_contacts,
    "unblock": unblock_contacts,
    "interrupt": interrupt_contacts,
    "archive_messages": archive_messages_of,
    "archive": archive_messages_of,
    "restore_messages": restore_messages_of,
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


def act(tx: Transaction, workspace_id: int, action: str, contact_ids: Sequence[int], group_id: int | None) -> None:
    """Does an action, with the group that `find_group` has found for it. Raises InvalidInput if one of the contacts
    does not allow it, and LostRace if one was deleted since the caller found it.
    """
    if group_id is not None:
        WITH_GROUP[action](tx, workspace_id, contact_ids, group_id)
        return
    hold_contacts(tx, workspace_id, contact_ids)
    WITHOUT_GROUP[action](tx, workspace_id, contact_ids)
