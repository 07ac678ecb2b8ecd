"""Changing contact fields that others depend on, and deleting those that nothing depends on.

Another type, or none, changes what contacts' records show, and what queries find.
"""

from sqlalchemy import delete, select, update

from persistence.campaign_events import is_date_used
from persistence.contacts import contact
from persistence.database import Transaction
from persistence.errors import InvalidInput, Refused
from persistence.fields import check_field_name, field, require_field
from persistence.flow_uses import find_flow_using
from persistence.groups import group
from persistence.names import check_name_is_free, name_key
from persistence.smart_groups import renew_groups_about, speaks_of
from persistence.stamps import stamped
from persistence.workspaces import Workspace, hold_workspace

DATE_TYPE = "datetime"


def alter_field(tx: Transaction, workspace_id: int, key: str, name: str, kind: str) -> int:
    """Rename a field or change its type; its id. The key stays. Raises RecordMissing or InvalidInput.

    A field that campaign events count from holds dates as long as they do. Groups whose queries speak of a field that
    gets another type find their members anew.
    """
    hold_workspace(tx, workspace_id)
    row = require_field(tx, workspace_id, key)
    is_other_type = row.type != kind
    if is_other_type and row.type == DATE_TYPE and is_date_used(tx, workspace_id, key):
        raise InvalidInput.on("type", "Campaign events use this date field.")
    name = check_field_name(name)
    check_name_is_free(tx, workspace_id, field, name, besides_id=row.id)
    if is_other_type:
        _touch_contacts_with(tx, workspace_id, row.uuid)
    change = update(field).where(field.c.workspace_id == workspace_id, field.c.id == row.id)
    tx.execute(change.values(name=name, name_key=name_key(name), type=kind))
    if is_other_type:
        renew_groups_about(tx, workspace_id, key)
    return int(row.id)


def remove_field(tx: Transaction, workspace: Workspace, key: str) -> None:
    """Delete a field; contacts' values of it are no longer shown and never come back.

    Raises RecordMissing, and Refused while a query group, a campaign event or a flow uses it.
    """
    hold_workspace(tx, workspace.id)
    row = require_field(tx, workspace.id, key)
    _check_queries(tx, workspace.id, key)
    if is_date_used(tx, workspace.id, key):
        raise Refused("Campaign events use this field.")
    flow_name = find_flow_using(tx, workspace.id, "field", key)
    if flow_name is not None:
        raise Refused(f'The flow "{flow_name}" uses this field.')
    _touch_contacts_with(tx, workspace.id, row.uuid)
    tx.execute(delete(field).where(field.c.workspace_id == workspace.id, field.c.id == row.id))


def _check_queries(tx: Transaction, workspace_id: int, key: str) -> None:
    mine = (group.c.workspace_id == workspace_id) & group.c.query.is_not(None)
    for name, query in tx.execute(select(group.c.name, group.c.query).where(mine)):
        if speaks_of(query, key):
            raise Refused(f'The group "{name}" uses this field.')


def _touch_contacts_with(tx: Transaction, workspace_id: int, field_uuid: str) -> None:
    """Notes that the records of contacts with a value of a field change now; contacts are locked before all else."""
    has_value = contact.c.fields[field_uuid].as_string().is_not(None)
    held = (
        select(contact.c.id)
        .where(contact.c.workspace_id == workspace_id, ~contact.c.is_deleted, has_value)
        .order_by(contact.c.id)
        .with_for_update(key_share=True)
    )
    moment = stamped(tx, contact, workspace_id)
    tx.execute(update(contact).where(contact.c.id.in_(held)).values(modified_on=moment))
