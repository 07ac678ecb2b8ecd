"""Creates contact fields."""

import re

from sqlalchemy import update

from flows.typed import plain
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.new_records import NewRecord, insert_new
from persistence.sql.names import check_new
from persistence.tables.contacts import FIELD_KEY, FIELD_KEY_LENGTH, FIELD_NAME_LENGTH, field
from persistence.workspaces import hold_workspace

RESERVED_KEYS = {"has", "is", "fields", "urns", "created_on", "last_seen_on"}
NAME = re.compile(r"(?:[^\W_]|[ \-])+\Z")


def make_key(name: str) -> str:
    """The key of a field with this name: `Date of Birth` gives `date_of_birth`."""
    return re.sub(r"[^a-z0-9]+", "_", plain(name).lower()).strip("_")


def new_field(
    tx: Transaction, workspace_id: int, name: str, kind: str, *, key: str | None = None, access: str | None = None
) -> NewRecord:
    """A field to be inserted whose key is derived from its name, unless a key is given; `access` is what agents may do
    with its values (see `set_agent_access`). Raises InvalidInput for a bad, reserved or taken name, LimitReached at the
    workspace's limit.
    """
    hold_workspace(tx, workspace_id)
    name = check_field_name(name)
    key = make_key(name) if key is None else key
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
    name = name.strip()
    if not 1 <= len(name) <= FIELD_NAME_LENGTH:
        raise InvalidInput.on("name", f"1 to {FIELD_NAME_LENGTH} characters.")
    if not NAME.match(name):
        raise InvalidInput.on("name", "Only letters, digits, spaces and hyphens are allowed in field names.")
    return name
