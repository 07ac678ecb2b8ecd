"""Contact fields of a workspace. Much else names them, and is told when one is changed or deleted."""

from collections.abc import Sequence

import regex
from sqlalchemy import ColumnElement, Executable, Row, String, case, delete, func, literal_column, or_, select

from flows.typed import clean
from persistence.database import Transaction
from persistence.deletions import FIELD, note_deleted
from persistence.errors import InUse, InvalidInput, RecordMissing
from persistence.groups.smart_groups import renew_groups_about
from persistence.lists import Condition, ListQuery, ListSpec, NewRecord, equals, insert_new
from persistence.pages import Order
from persistence.records import Record
from persistence.sql.names import (
    JOINERS,
    RESERVED_KEYS,
    check_new,
    free_name,
    make_key,
    make_new_key,
    name_key,
)
from persistence.stamps import touch
from persistence.statements import among, statement, update
from persistence.tables.contacts import FIELD_KEY, FIELD_KEY_LENGTH, FIELD_NAME_LENGTH, contact, field
from persistence.usages import CAMPAIGN, FLOW, GROUP, list_usages, tell_living
from persistence.workspaces.records import Workspace, hold_workspace

TYPES = ("text", "number", "datetime", "state", "district", "ward")

LEGACY_TYPE = case((field.c.type == "number", literal_column("'numeric'", String())), else_=field.c.type)

FIELD_RECORD = Record(
    {
        "key": field.c.key,
        "name": field.c.name,
        "type": field.c.type,
        "label": field.c.name,
        "value_type": LEGACY_TYPE,
        "featured": field.c.is_featured,
        "priority": field.c.priority,
        "agent_access": field.c.agent_access,
    }
)

TYPE_LETTERS = {"text": "T", "number": "N", "datetime": "D", "state": "S", "district": "I", "ward": "W"}
FIELDS_V1 = ListSpec(
    field,
    Record({"key": field.c.key, "label": field.c.name, "value_type": case(TYPE_LETTERS, value=field.c.type)}),
    Order(field.c.created_on, field.c.id),
    filters={"key": lambda _query, part: func.lower(field.c.key).contains(part.lower(), autoescape=True)},
)

NAME = regex.compile(rf"[\p{{L}}\p{{M}}\p{{N}}{JOINERS} \-]+\Z")

DATE_TYPE = "datetime"


def _visible_fields(query: ListQuery) -> list[Condition]:
    """Agents do not see fields that are hidden from them."""
    return [field.c.agent_access != "none"] if query.is_agent else []


FIELDS = ListSpec(
    field,
    FIELD_RECORD,
    Order(field.c.created_on, field.c.id),
    filters={"key": equals(field.c.key)},
    standing=_visible_fields,
)


def find_fields(tx: Transaction, workspace_id: int, keys: Sequence[str]) -> dict[str, tuple[str, str, str]]:
    """Fields by key: (uuid, type, agent access) of those that exist."""
    rows = _select_fields.rows(tx, workspace_id, keys)
    return {key: (uuid, kind, access) for key, uuid, kind, access in rows}


def require_field(tx: Transaction, workspace_id: int, key: str) -> Row[int, str, str]:
    """The id, uuid and type of the field with this key. Raises RecordMissing."""
    mine = (field.c.workspace_id == workspace_id) & (field.c.key == key)
    row = tx.execute(select(field.c.id, field.c.uuid, field.c.type).where(mine)).one_or_none()
    if row is None:
        raise RecordMissing
    return row


def find_key(tx: Transaction, workspace_id: int, name: str) -> str | None:
    """The key of the field whose key is made from this name, otherwise of that with the name."""
    made = make_key(name)
    meant = or_(field.c.key == made, field.c.name_key == name_key(name))
    keys = tx.execute(select(field.c.key).where(field.c.workspace_id == workspace_id, meant)).scalars().all()
    return made if made in keys else next(iter(keys), None)


def new_field(
    tx: Transaction, workspace_id: int, name: str, kind: str, *, key: str | None = None, access: str | None = None
) -> NewRecord:
    """A field to be inserted whose key is derived from its name, unless a key is given; `access` is what agents may do
    with its values (see `set_agent_access`). Raises InvalidInput for a bad, reserved or taken name, LimitReached at the
    workspace's limit.
    """
    hold_workspace(tx, workspace_id)
    name = check_field_name(name)
    key = make_new_key(tx, workspace_id, field, name, "field") if key is None else key
    if not FIELD_KEY.match(key) or len(key) > FIELD_KEY_LENGTH:
        raise InvalidInput.on("name", "The key made from this name has to begin with a letter.")
    if key in RESERVED_KEYS:
        raise InvalidInput.on("name", "The key made from this name is reserved.")
    naming = check_new(tx, workspace_id, field, name, key=key, noun="field")
    values = {"workspace_id": workspace_id, "key": key, "type": kind, "created_on": tx.now, **naming}
    return NewRecord(field, values if access is None else {**values, "agent_access": access})


def create_field(
    tx: Transaction, workspace_id: int, name: str, kind: str, *, key: str | None = None, access: str | None = None
) -> int:
    """Create a field; returns its id. Raises what `new_field` raises."""
    return insert_new(tx, new_field(tx, workspace_id, name, kind, key=key, access=access))


def set_agent_access(tx: Transaction, workspace_id: int, field_id: int, access: str) -> None:
    """Set what agents may do with a field's values: `none`, `view` or `edit`."""
    mine = (field.c.workspace_id == workspace_id) & (field.c.id == field_id)
    tx.execute(update(field).where(mine).values(agent_access=access))


def check_field_name(name: str) -> str:
    """The trimmed name. Raises InvalidInput for one that no field may have."""
    name = clean(name)
    if not 1 <= len(name) <= FIELD_NAME_LENGTH:
        raise InvalidInput.on("name", f"1 to {FIELD_NAME_LENGTH} characters.")
    if not NAME.match(name):
        raise InvalidInput.on("name", "Only letters, digits, spaces and hyphens are allowed in field names.")
    return name


def change_field(tx: Transaction, workspace_id: int, key: str, name: str, kind: str) -> int:
    """Rename a field or change its type; returns its id. The key stays. Raises RecordMissing or InvalidInput. The type
    of a field cannot change while campaign events count from it. Smart groups whose queries name the field find their
    members again if its type changes.
    """
    hold_workspace(tx, workspace_id)
    field_id, uuid, present = require_field(tx, workspace_id, key)
    is_other_type = present != kind
    is_counted_from = is_other_type and present == DATE_TYPE
    if is_counted_from and (users := tell_living(list_usages(tx, workspace_id, "field", key), CAMPAIGN)):
        raise InvalidInput.on("type", f"Events of {users} count from this date: change them first.")
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
    usages = list_usages(tx, workspace.id, "field", key)
    if users := tell_living(usages, GROUP):
        raise InUse(f"The query of {users} uses this field: change or delete the group first.")
    if users := tell_living(usages, CAMPAIGN):
        raise InUse(f"Events of {users} count from this field: delete or change them first.")
    if users := tell_living(usages, FLOW):
        raise InUse(f"This field is used by {users}: change or archive them first.")
    touch(tx, contact, workspace.id, _has_value(uuid))
    tx.execute(delete(field).where(field.c.workspace_id == workspace.id, field.c.id == field_id))
    note_deleted(tx, workspace.id, FIELD, [key])


@statement
def _select_fields(workspace_id: int, keys: Sequence[str]) -> Executable:
    mine = (field.c.workspace_id == workspace_id) & among(field.c.key, keys, "TEXT")
    return select(field.c.key, field.c.uuid, field.c.type, field.c.agent_access).where(mine)


def _has_value(field_uuid: str) -> ColumnElement[bool]:
    """Whether a contact has a value of a field."""
    has_value: ColumnElement[bool] = contact.c.fields[field_uuid].as_string().is_not(None)
    return ~contact.c.is_deleted & has_value
