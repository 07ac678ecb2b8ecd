"""Creates, changes and deletes contact fields."""

import re

from sqlalchemy import ColumnElement, delete, select, update

from persistence.campaign_events.v2 import is_date_used
from persistence.database import Transaction
from persistence.errors import InvalidInput, Refused
from persistence.fields import require_field
from persistence.flows.upkeep import find_flow_using
from persistence.groups.smart_groups import renew_groups_about, speaks_of
from persistence.sql.names import check_new, free_name
from persistence.stamps import touch
from persistence.tables.contacts import FIELD_KEY, FIELD_KEY_LENGTH, FIELD_NAME_LENGTH, contact, field, group
from persistence.touches import ALL_FIELDS, note_renamed
from persistence.workspaces import Workspace, hold_workspace

RESERVED_KEYS = {"has", "is", "fields", "urns", "created_on", "last_seen_on"}
NAME = re.compile(r"(?:[^\W_]|[ \-])+\Z")


def make_key(name: str) -> str:
    """The key of a field with this name: `Date of Birth` gives `date_of_birth`."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def create_field(tx: Transaction, workspace_id: int, name: str, kind: str, *, key: str | None = None) -> int:
    """Create a field whose key is derived from its name, unless a key is given; returns its id. Raises InvalidInput for
    a bad, reserved or taken name, LimitReached at the workspace's limit.
    """
    hold_workspace(tx, workspace_id)
    name = check_field_name(name)
    key = make_key(name) if key is None else key
    if not FIELD_KEY.match(key) or len(key) > FIELD_KEY_LENGTH:
        raise InvalidInput.on("name", "The key made from this name has to begin with a letter.")
    if key in RESERVED_KEYS:
        raise InvalidInput.on("name", "The key made from this name is reserved.")
    naming = check_new(tx, workspace_id, field, name, key=key, noun="field")
    note_renamed(tx, workspace_id, ALL_FIELDS, [0])
    return tx.insert(field, workspace_id=workspace_id, key=key, type=kind, created_on=tx.now, **naming)


def set_agent_access(tx: Transaction, workspace_id: int, field_id: int, access: str) -> None:
    """Set what agents may do with a field's values: `none`, `view` or `edit`."""
    note_renamed(tx, workspace_id, ALL_FIELDS, [0])
    mine = (field.c.workspace_id == workspace_id) & (field.c.id == field_id)
    tx.execute(update(field).where(mine).values(agent_access=access))


def check_field_name(name: str) -> str:
    """The trimmed name. Raises InvalidInput for one that no field may have."""
    name = name.strip()
    if not 1 <= len(name) <= FIELD_NAME_LENGTH:
        raise InvalidInput.on("name", f"1 to {FIELD_NAME_LENGTH} characters.")
    if not NAME.match(name):
        raise InvalidInput.on("name", "Only letters, digits, spaces and hyphens are allowed in field names.")
    return name


DATE_TYPE = "datetime"


def change_field(tx: Transaction, workspace_id: int, key: str, name: str, kind: str) -> int:
    """Rename a field or change its type; returns its id. The key stays. Raises RecordMissing or InvalidInput. The type
    of a field cannot change while campaign events count from it. Smart groups whose queries name the field find their
    members again if its type changes.
    """
    hold_workspace(tx, workspace_id)
    field_id, uuid, present = require_field(tx, workspace_id, key)
    is_other_type = present != kind
    if is_other_type and present == DATE_TYPE and is_date_used(tx, workspace_id, key):
        raise InvalidInput.on("type", "Campaign events use this date field.")
    naming = free_name(tx, workspace_id, field, check_field_name(name), besides_id=field_id)
    if is_other_type:
        touch(tx, contact, workspace_id, _has_value(uuid))
    change = update(field).where(field.c.workspace_id == workspace_id, field.c.id == field_id)
    tx.execute(change.values(type=kind, **naming))
    if is_other_type:
        renew_groups_about(tx, workspace_id, key)
    return field_id


def delete_field(tx: Transaction, workspace: Workspace, key: str) -> None:
    """Delete a field; contacts' values of it are never shown again. Raises RecordMissing, and Refused while a smart
    group, a campaign event or a flow uses it.
    """
    hold_workspace(tx, workspace.id)
    field_id, uuid, _ = require_field(tx, workspace.id, key)
    _check_queries(tx, workspace.id, key)
    if is_date_used(tx, workspace.id, key):
        raise Refused("Campaign events use this field.")
    flow_name = find_flow_using(tx, workspace.id, "field", key)
    if flow_name is not None:
        raise Refused(f'The flow "{flow_name}" uses this field.')
    touch(tx, contact, workspace.id, _has_value(uuid))
    note_renamed(tx, workspace.id, ALL_FIELDS, [0])
    tx.execute(delete(field).where(field.c.workspace_id == workspace.id, field.c.id == field_id))


def _check_queries(tx: Transaction, workspace_id: int, key: str) -> None:
    mine = (group.c.workspace_id == workspace_id) & group.c.query.is_not(None)
    for name, query in tx.execute(select(group.c.name, group.c.query).where(mine)):
        if speaks_of(query, key):
            raise Refused(f'The group "{name}" uses this field.')


def _has_value(field_uuid: str) -> ColumnElement[bool]:
    """Whether a contact has a value of a field."""
    has_value: ColumnElement[bool] = contact.c.fields[field_uuid].as_string().is_not(None)
    return ~contact.c.is_deleted & has_value
