"""Finds contacts, and performs the bulk actions of v2 and v1 on them."""

from collections.abc import Sequence

from sqlalchemy import literal

from persistence.changes import change_contacts, change_messages, differs, hold_messages
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.groups.groups import add_members, hold_contacts, leave_all_groups, remove_members
from persistence.groups.smart_groups import refresh_contacts
from persistence.messages.outgoing import fail_waiting
from persistence.messages.states import INCOMING
from persistence.runs.runs import EXPIRED
from persistence.sessions.sessions import interrupt_contacts as interrupt_sessions
from persistence.tables.contacts import ACTIVE, BLOCKED, contact
from persistence.tables.messages import ARCHIVED, VISIBLE, message
from persistence.workspaces import find_workspace

_IS_NEW_STATUS, _IS_BLOCKED = differs(contact.c.status), contact.c.status == literal(BLOCKED)


def join_group(tx: Transaction, workspace_id: int, contact_ids: Sequence[int], group_id: int) -> None:
    """Add contacts to a manual group. Raises InvalidInput if one of them is not active; then none is added."""
    statuses = hold_contacts(tx, workspace_id, contact_ids)
    if any(status != ACTIVE for status in statuses):
        raise InvalidInput.across("Only active contacts can be in groups.")
    add_members(tx, workspace_id, group_id, contact_ids)


def leave_group(tx: Transaction, workspace_id: int, contact_ids: Sequence[int], group_id: int) -> None:
    hold_contacts(tx, workspace_id, contact_ids)
    remove_members(tx, workspace_id, group_id, contact_ids)


def block_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Block contacts: they leave all groups and flows, their messages are dropped, and nothing is sent to them. Queued
    messages to them fail.
    """
    interrupt_contacts(tx, workspace_id, contact_ids)
    change_contacts(tx, workspace_id, contact_ids, {"status": BLOCKED}, only=_IS_NEW_STATUS)
    fail_waiting(tx, workspace_id, contact_ids)
    leave_all_groups(tx, workspace_id, contact_ids)


def unblock_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Make blocked contacts active again and add them to their smart groups; manual groups are not restored."""
    change_contacts(tx, workspace_id, contact_ids, {"status": ACTIVE}, only=_IS_BLOCKED)
    workspace = find_workspace(tx, workspace_id)
    if workspace is not None:
        refresh_contacts(tx, workspace, contact_ids)


def interrupt_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Interrupt the flow in which contacts wait; a running sprint of one of them is not recorded."""
    interrupt_sessions(tx, workspace_id, contact_ids, ends_leases=True)


def expire_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """`interrupt_contacts` for v1, where the runs end as expired."""
    interrupt_sessions(tx, workspace_id, contact_ids, status=EXPIRED, ends_leases=True)


def archive_messages_of(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Archive all visible incoming messages of these contacts; labels no longer count them."""
    theirs = (
        (message.c.workspace_id == workspace_id)
        & message.c.contact_id.in_(contact_ids)
        & (message.c.direction == INCOMING)
    )
    # All of them, not only visible ones: others may become visible while this waits for locks.
    hold_messages(tx, theirs)
    change_messages(tx, workspace_id, theirs & (message.c.visibility == VISIBLE), {"visibility": ARCHIVED})
