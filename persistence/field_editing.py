"""Changes and deletes contact fields, which much else names."""

from sqlalchemy import ColumnElement, delete, select, update

from persistence.campaign_events.v2 import campaigns_with
from persistence.database import Transaction
from persistence.deletions import FIELD, note_deleted
from persistence.errors import InUse, InvalidInput
from persistence.field_writes import check_field_name
from persistence.fields import require_field
from persistence.flows.records import find_flow_using
from persistence.groups.smart_groups import names_field, renew_groups_about
from persistence.sql.names import free_name, name_some
from persistence.stamps import touch
from persistence.tables.campaigns import campaign_event
from persistence.tables.contacts import contact, field, group
from persistence.workspaces import Workspace, hold_workspace

DATE_TYPE = "datetime"


def change_field(tx: Transaction, workspace_id: int, key: str, name: str, kind: str) -> int:
    """Rename a field or change its type; returns its id. The key stays. Raises RecordMissing or InvalidInput. The type
    of a field cannot change while campaign events count from it. Smart groups whose queries name the field find their
    members again if its type changes.
    """
    hold_workspace(tx, workspace_id)
    field_id, uuid, present = require_field(tx, workspace_id, key)
    is_other_type = present != kind
    if is_other_type and present == DATE_TYPE and (users := _campaigns(tx, workspace_id, key)):
        raise InvalidInput.on("type", f"Events of {name_some(users)} count from this date: change them first.")
    naming = free_name(tx, workspace_id, field, check_field_name(name), besides_id=field_id)
    if is_other_type:
        touch(tx, contact, workspace_id, _has_value(uuid))
    change = update(field).where(field.c.workspace_id == workspace_id, field.c.id == field_id)
    tx.execute(change.values(type=kind, **naming))
    if is_other_type:
        renew_groups_about(tx, workspace_id, key)
    return field_id


def delete_field(tx: Transaction, workspace: Workspace, key: str) -> None:
    """Delete a field; contacts' values of it are never shown again. Raises RecordMissing, and InUse while a smart
    group, a campaign event or a flow uses it.
    """
    hold_workspace(tx, workspace.id)
    field_id, uuid, _ = require_field(tx, workspace.id, key)
    _check_queries(tx, workspace.id, key)
    if users := _campaigns(tx, workspace.id, key):
        raise InUse(f"Events of {name_some(users)} count from this field: delete or change them first.")
    flow_name = find_flow_using(tx, workspace.id, "field", key)
    if flow_name is not None:
        raise InUse(f'The flow "{flow_name}" uses this field: change or archive it first.')
    touch(tx, contact, workspace.id, _has_value(uuid))
    tx.execute(delete(field).where(field.c.workspace_id == workspace.id, field.c.id == field_id))
    note_deleted(tx, workspace.id, FIELD, [key])


def _campaigns(tx: Transaction, workspace_id: int, key: str) -> list[str]:
    return campaigns_with(tx, workspace_id, campaign_event.c.relative_to == key)


def _check_queries(tx: Transaction, workspace_id: int, key: str) -> None:
    mine = (group.c.workspace_id == workspace_id) & group.c.query.is_not(None)
    for name, query in tx.execute(select(group.c.name, group.c.query).where(mine)):
        if names_field(query, key):
            raise InUse(f'The query of the group "{name}" uses this field: change or delete the group first.')


def _has_value(field_uuid: str) -> ColumnElement[bool]:
    """Whether a contact has a value of a field."""
    has_value: ColumnElement[bool] = contact.c.fields[field_uuid].as_string().is_not(None)
    return ~contact.c.is_deleted & has_value
