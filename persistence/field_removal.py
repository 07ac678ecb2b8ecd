"""Deleting contact fields that nothing depends on."""

from sqlalchemy import select

from flows.queries import QueryError, inspect, parse_query
from persistence.campaign_events import is_date_used
from persistence.database import Transaction
from persistence.errors import Refused
from persistence.fields import delete_field, field
from persistence.flow_uses import find_flow_using
from persistence.groups import group
from persistence.query_scope import open_group_scope
from persistence.workspaces import Workspace


def remove_field(tx: Transaction, workspace: Workspace, key: str) -> None:
    """Delete a field. Raises RecordMissing, and Refused while a query group, a campaign event or a flow uses it."""
    scope = open_group_scope(tx, workspace)
    mine = (group.c.workspace_id == workspace.id) & group.c.query.is_not(None)
    for name, text in tx.execute(select(group.c.name, group.c.query).where(mine)):
        try:
            query = parse_query(text, scope.environment, scope.resolver, clock=scope.clock)
        except QueryError:
            continue  # it names something that is gone already, so it has no members that could change
        if any(used == key for used, _ in inspect(query).fields):
            raise Refused(f'The group "{name}" uses this field.')
    tx.execute(select(field.c.id).where(field.c.workspace_id == workspace.id, field.c.key == key).with_for_update())
    if is_date_used(tx, workspace.id, key):
        raise Refused("Campaign events use this field.")
    flow_name = find_flow_using(tx, workspace.id, "field", key)
    if flow_name is not None:
        raise Refused(f'The flow "{flow_name}" uses this field.')
    delete_field(tx, workspace.id, key)
