"""Globals: named values that all flows of a workspace share."""

import regex
from sqlalchemy import ColumnElement, delete, select

from persistence.database import Transaction
from persistence.deletions import GLOBAL, note_deleted
from persistence.errors import InUse, InvalidInput, RecordMissing
from persistence.lists import ListSpec, NewRecord, equals, insert_new, reversible, within
from persistence.records import Record
from persistence.sql.names import JOINERS, check_new, free_name, make_new_key
from persistence.stamps import stamped
from persistence.statements import update
from persistence.tables.service import GLOBAL_NAME_LENGTH, global_value
from persistence.usages import FLOW, list_usages, tell_living
from persistence.workspaces.records import hold_workspace

GLOBAL_RECORD = Record(
    {
        "key": global_value.c.key,
        "name": global_value.c.name,
        "value": global_value.c.value,
        "modified_on": global_value.c.modified_on,
    }
)

GLOBALS = ListSpec(
    global_value,
    GLOBAL_RECORD,
    reversible(global_value.c.modified_on, global_value.c.id),
    filters={"key": equals(global_value.c.key), **within(global_value.c.modified_on)},
    options=frozenset({"reverse"}),
    is_followed=True,
)

VALUE_LENGTH = 10_000
NAME = regex.compile(rf"[\w\p{{M}}{JOINERS} \-]+\Z")


def new_global(tx: Transaction, workspace_id: int, name: str, value: str) -> NewRecord:
    """A global to be inserted whose key is derived from its name. Raises InvalidInput for a bad or taken name or a bad
    value, LimitReached at the workspace's limit.
    """
    hold_workspace(tx, workspace_id)
    name, value = _check_name(name), _check_value(value)
    key = make_new_key(tx, workspace_id, global_value, name, "global")
    naming = check_new(tx, workspace_id, global_value, name, key=key, noun="global")
    values = {"workspace_id": workspace_id, "key": key, "value": value, "created_on": tx.now, **naming}
    return NewRecord(global_value, values, is_stamped=True)


def create_global(tx: Transaction, workspace_id: int, name: str, value: str) -> int:
    """Create a global; returns its id. Raises what `new_global` raises."""
    return insert_new(tx, new_global(tx, workspace_id, name, value))


def change_global(tx: Transaction, workspace_id: int, key: str, value: str, name: str | None = None) -> int:
    """Change the value of a global and, if given, its name; its key stays. Returns its id. Raises RecordMissing or
    InvalidInput.
    """
    hold_workspace(tx, workspace_id)
    global_id = _find(tx, workspace_id, key)
    values = {"value": _check_value(value)}
    if name is not None:
        values |= free_name(tx, workspace_id, global_value, _check_name(name), besides_id=global_id)
    change = update(global_value).where(_is_of(workspace_id), global_value.c.id == global_id)
    tx.execute(change.values(modified_on=stamped(tx, global_value, workspace_id), **values))
    return global_id


def delete_global(tx: Transaction, workspace_id: int, key: str) -> None:
    """Delete a global. Raises RecordMissing, and InUse while a flow that is not archived uses it."""
    hold_workspace(tx, workspace_id)
    if users := tell_living(list_usages(tx, workspace_id, "global", key), FLOW):
        raise InUse(f"This global is used by {users}: change or archive them first.")
    global_id = _find(tx, workspace_id, key)
    tx.execute(delete(global_value).where(_is_of(workspace_id), global_value.c.id == global_id))
    note_deleted(tx, workspace_id, GLOBAL, [key])


def _find(tx: Transaction, workspace_id: int, key: str) -> int:
    statement = select(global_value.c.id).where(_is_of(workspace_id), global_value.c.key == key)
    global_id = tx.execute(statement).scalar_one_or_none()
    if global_id is None:
        raise RecordMissing
    return global_id


def _is_of(workspace_id: int) -> ColumnElement[bool]:
    return global_value.c.workspace_id == workspace_id


def _check_name(name: str) -> str:
    name = name.strip()
    if not 1 <= len(name) <= GLOBAL_NAME_LENGTH:
        raise InvalidInput.on("name", f"1 to {GLOBAL_NAME_LENGTH} characters.")
    if not NAME.match(name):
        raise InvalidInput.on("name", "Only letters, digits, spaces, hyphens and underscores are allowed.")
    return name


def _check_value(value: str) -> str:
    if not value.strip():
        raise InvalidInput.on("value", "An empty value is not allowed.")
    if len(value) > VALUE_LENGTH:
        raise InvalidInput.on("value", f"At most {VALUE_LENGTH} characters.")
    return value
