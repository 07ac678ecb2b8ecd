"""Contact fields of a workspace."""

from collections.abc import Sequence

from sqlalchemy import Executable, Row, String, case, func, literal_column, select

from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.lists import Condition, ListQuery, ListSpec, equals
from persistence.sql.json_sql import declare_record
from persistence.sql.pages import Order
from persistence.statements import among, statement
from persistence.tables.contacts import field

TYPES = ("text", "number", "datetime", "state", "district", "ward")

LEGACY_TYPE = case((field.c.type == "number", literal_column("'numeric'", String())), else_=field.c.type)

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

TYPE_LETTERS = {"text": "T", "number": "N", "datetime": "D", "state": "S", "district": "I", "ward": "W"}
FIELDS_V1 = ListSpec(
    field,
    declare_record({"key": field.c.key, "label": field.c.name, "value_type": case(TYPE_LETTERS, value=field.c.type)}),
    Order(field.c.created_on, field.c.id),
    filters={"key": lambda _query, part: func.lower(field.c.key).contains(part.lower(), autoescape=True)},
)


def find_fields(tx: Transaction, workspace_id: int, keys: Sequence[str]) -> dict[str, tuple[str, str, str]]:
    """Fields by key: (uuid, type, agent access) of those that exist."""
    rows = _select_fields.rows(tx, workspace_id, keys)
    return {key: (uuid, kind, access) for key, uuid, kind, access in rows}


@statement
def _select_fields(workspace_id: int, keys: Sequence[str]) -> Executable:
    mine = (field.c.workspace_id == workspace_id) & among(field.c.key, keys, "TEXT")
    return select(field.c.key, field.c.uuid, field.c.type, field.c.agent_access).where(mine)


def require_field(tx: Transaction, workspace_id: int, key: str) -> Row[int, str, str]:
    """The id, uuid and type of the field with this key. Raises RecordMissing."""
    mine = (field.c.workspace_id == workspace_id) & (field.c.key == key)
    row = tx.execute(select(field.c.id, field.c.uuid, field.c.type).where(mine)).one_or_none()
    if row is None:
        raise RecordMissing
    return row
