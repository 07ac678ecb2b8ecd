"""Contact fields of a workspace."""

import re
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Boolean, Column, Index, Integer, String, Table, case, insert, literal, select, update

from persistence.columns import (
    id_column,
    metadata,
    name_columns,
    new_uuid,
    time_column,
    uuid_column,
    workspace_column,
)
from persistence.database import Transaction
from persistence.errors import InvalidInput, RecordMissing
from persistence.names import check_name_is_free, check_room, name_key
from persistence.pages import Order, Page, Position, fetch_page
from persistence.shapes import as_text, declare_record
from persistence.workspaces import hold_workspace

TYPES = ("text", "number", "datetime", "state", "district", "ward")
NAME_LENGTH = KEY_LENGTH = 36
RESERVED_KEYS = {"has", "is", "fields", "urns", "created_on", "last_seen_on"}
ACCESSES = ("none", "view", "edit")
NAME = re.compile(r"(?:[^\W_]|[ \-])+\Z")
KEY = re.compile(r"[a-z][a-z0-9_]*\Z")

field = Table(
    "contact_field",
    metadata,
    id_column(),
    uuid_column(),
    workspace_column(),
    Column("key", String(KEY_LENGTH), nullable=False),
    *name_columns(NAME_LENGTH),
    Column("type", String(8), nullable=False),
    Column("is_featured", Boolean, nullable=False, default=False),
    Column("priority", Integer, nullable=False, default=0),
    Column("agent_access", String(4), nullable=False, default="view"),
    time_column("created_on"),
    Index("uq_contact_field_key", "workspace_id", "key", unique=True),
    Index("uq_contact_field_name", "workspace_id", "name_key", unique=True),
    Index("ix_contact_field_page", "workspace_id", "created_on", "id"),
    sqlite_autoincrement=True,
)
"""`agent_access`: `none` hides the field from agents, `view` lets them read it, `edit` also write it."""

LEGACY_TYPE = case((field.c.type == "number", literal("numeric", literal_execute=True)), else_=field.c.type)

FIELD_RECORD = declare_record(
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

FIELDS_ORDER = Order(field.c.created_on, field.c.id)


def make_key(name: str) -> str:
    """The key of a field with this name: `Date of Birth` gives `date_of_birth`."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def list_fields(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    key: str | None = None,
    for_agent: bool = False,
) -> Page:
    """The fields of a workspace, newest first; agents do not see those hidden from them."""
    conditions = [field.c.workspace_id == workspace_id]
    if key is not None:
        conditions.append(field.c.key == key)
    if for_agent:
        conditions.append(field.c.agent_access != "none")
    return fetch_page(
        tx,
        record=FIELD_RECORD,
        source=field,
        source_id=field.c.id,
        order=FIELDS_ORDER,
        conditions=conditions,
        position=position,
        size=size,
    )


def read_field(tx: Transaction, workspace_id: int, field_id: int) -> str:
    """One field record as JSON text."""
    mine = (field.c.workspace_id == workspace_id) & (field.c.id == field_id)
    document: str = tx.execute(select(as_text(FIELD_RECORD)).where(mine)).scalar_one()
    return document


def find_fields(tx: Transaction, workspace_id: int, keys: Sequence[str]) -> dict[str, tuple[str, str, str]]:
    """Fields by key: (uuid, type, agent access) of those that exist."""
    statement = select(field.c.key, field.c.uuid, field.c.type, field.c.agent_access)
    rows = tx.execute(statement.where(field.c.workspace_id == workspace_id, field.c.key.in_(keys)))
    return {key: (uuid, kind, access) for key, uuid, kind, access in rows}


def create_field(tx: Transaction, workspace_id: int, name: str, kind: str, *, key: str | None = None) -> int:
    """A new field whose key is made from its name, unless one is given; returns its id.

    Raises InvalidInput for a bad, reserved or taken name, LimitReached when the workspace is full.
    """
    hold_workspace(tx, workspace_id)
    name = check_field_name(name)
    key = make_key(name) if key is None else key
    if not KEY.match(key) or len(key) > KEY_LENGTH:
        raise InvalidInput.on("name", "The key made from this name has to begin with a letter.")
    if key in RESERVED_KEYS:
        raise InvalidInput.on("name", "The key made from this name is reserved.")
    check_name_is_free(tx, workspace_id, field, name)
    if find_fields(tx, workspace_id, [key]):
        raise InvalidInput.on("name", "Another field has the key made from this name.")
    check_room(tx, workspace_id, field)
    values = {"uuid": new_uuid(), "key": key, "name": name, "name_key": name_key(name), "type": kind}
    statement = insert(field).values(workspace_id=workspace_id, created_on=tx.now, **values).returning(field.c.id)
    field_id: int = tx.execute(statement).scalar_one()
    return field_id


def set_agent_access(tx: Transaction, workspace_id: int, field_id: int, access: str) -> None:
    """Let agents do nothing with a field's values, see them, or change them too: one of ACCESSES."""
    mine = (field.c.workspace_id == workspace_id) & (field.c.id == field_id)
    tx.execute(update(field).where(mine).values(agent_access=access))


def require_field(tx: Transaction, workspace_id: int, key: str) -> Any:
    """The row of the field with this key. Raises RecordMissing."""
    statement = select(field).where(field.c.workspace_id == workspace_id, field.c.key == key)
    row = tx.execute(statement).one_or_none()
    if row is None:
        raise RecordMissing
    return row


def check_field_name(name: str) -> str:
    """The trimmed name. Raises InvalidInput for one that no field may have."""
    name = name.strip()
    if not 1 <= len(name) <= NAME_LENGTH:
        raise InvalidInput.on("name", f"1 to {NAME_LENGTH} characters.")
    if not NAME.match(name):
        raise InvalidInput.on("name", "Only letters, digits, spaces and hyphens are allowed in field names.")
    return name
