"""Tickets."""

from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.sql.columns import is_uuid
from persistence.tables.tickets import CLOSED, OPEN
from persistence.tickets.actions import assign_tickets, change_topic, choose_tickets, close_tickets, reopen_tickets
from persistence.tickets.assignees import find_assignee
from persistence.topics import find_topic
from persistence.workspaces import Workspace
from relayboard.commands.kinds.kind import Writes
from relayboard.refusal import CommandFailed
from relayboard.usage.parts import Options


def _change(tx: Transaction, workspace: Workspace, given: Options) -> int:
    if not is_uuid(given.uuid):
        raise RecordMissing
    chosen = choose_tickets(tx, workspace.id, [given.uuid])
    if given.assignee is not None or given.unassign:
        assignee_id = None if given.unassign else find_assignee(tx, workspace.id, given.assignee)
        assign_tickets(tx, workspace.id, chosen, assignee_id, None)
    if given.topic is not None:
        topic_id = find_topic(tx, workspace.id, given.topic) if is_uuid(given.topic) else None
        if topic_id is None:
            raise CommandFailed(f"there is no topic {given.topic}")
        change_topic(tx, workspace.id, chosen, topic_id, None)
        chosen = choose_tickets(tx, workspace.id, [given.uuid])
    if given.status == CLOSED:
        close_tickets(tx, workspace, chosen, None)
    elif given.status == OPEN and chosen[0].status == CLOSED and reopen_tickets(tx, workspace, chosen, None):
        raise CommandFailed("the contact has another open ticket")
    return chosen[0].id


WRITES = Writes(change=_change)
